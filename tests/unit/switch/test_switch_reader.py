"""The forced command of the reader: the verbs that read, and nothing that a shell could make of the rest."""

import re
from importlib.resources import files

import pytest

from railweave_switch import __main__ as started
from railweave_switch.main import EXIT_REFUSED, PROGRAM
from railweave_switch.reader import READ_ONLY, DeniedError, allowed_command


@pytest.mark.parametrize("verb", READ_ONLY)
def test_what_changes_nothing_goes_on_to_sudo(verb: str) -> None:
    asked = f"sudo -n {PROGRAM} {verb} --expect abc --config 'a b'"
    assert allowed_command(asked, PROGRAM) == ["sudo", "-n", PROGRAM, verb, "--expect", "abc", "--config", "a b"]


@pytest.mark.parametrize(
    "asked",
    [
        "",
        "id",
        "sudo -n id",
        f"sudo -n {PROGRAM}",
        f"sudo -n {PROGRAM} apply --length 3",
        f"sudo -n {PROGRAM} install --sha256 x",
        f"sudo -n {PROGRAM} _guard x",
        f"sudo -n {PROGRAM}; id",
        f"sudo -i {PROGRAM} read",
        f"sudo -n /tmp/{PROGRAM} read",
        "sudo -n 'unclosed",
        "scp -t /etc",
    ],
)
def test_all_else_is_denied(asked: str) -> None:
    with pytest.raises(DeniedError, match="this login only reads"):
        allowed_command(asked, PROGRAM)


def test_no_shell_reads_what_follows_the_verb() -> None:
    with pytest.raises(DeniedError):
        allowed_command(f"sudo -n {PROGRAM} read; reboot", PROGRAM)
    assert allowed_command(f"sudo -n {PROGRAM} read --config $(id) ; reboot", PROGRAM)[4:] == [
        "--config", "$(id)", ";", "reboot",
    ]  # fmt: skip


def test_the_program_becomes_the_command_or_refuses(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[list[str]] = []
    monkeypatch.setattr("railweave_switch.__main__.os.execvp", lambda name, words: ran.append(list(words)))
    monkeypatch.setenv("SSH_ORIGINAL_COMMAND", f"sudo -n {PROGRAM} status")
    started.start(["reader"])
    assert ran == [["sudo", "-n", PROGRAM, "status"]]
    monkeypatch.setenv("SSH_ORIGINAL_COMMAND", "bash")
    assert started.start(["reader"]) == EXIT_REFUSED
    assert "Changes need the writer's key" in capsys.readouterr().err


def test_sudo_allows_the_same_verbs() -> None:
    rules = files("railweave.starter") / "gitops" / "switch" / "sudoers-railweave"
    _, _, alias = rules.read_text("utf-8").partition("RAILWEAVE_READ = ")
    assert set(re.findall(rf"{re.escape(PROGRAM)} (\w+)", alias)) == set(READ_ONLY)
