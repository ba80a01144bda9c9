"""The list of commands: grouped, a line each at 80 columns; words of Terraform, Ansible and Containerlab are known."""

import pytest

from railweave.cli.groups import SECTIONS
from railweave.cli.main import app, main

Capture = pytest.CaptureFixture[str]
GROUPS = [group.name for group in app.registered_groups]


def test_every_command_is_in_one_section() -> None:
    listed = [name for names in SECTIONS.values() for name in names]
    commands = [command.callback.__name__ for command in app.registered_commands if command.callback]
    assert sorted(listed) == sorted([*commands, *map(str, GROUPS)])


@pytest.mark.parametrize("words", [[], *([group] for group in GROUPS)])
def test_every_summary_is_a_whole_line_at_80_columns(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*words, "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if line.startswith("  ") and line.endswith(("...", " "))] == []


def test_the_commands_are_listed_by_section(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    main(["--help"])
    said = capsys.readouterr().out
    assert (
        "Change:\n"
        "  plan        Dry run: show what a deployment would change.\n"
        "  rehearse    Run the deployment on simulated copies of the switches.\n"
        "  deploy      Plan, then apply the changes wave by wave.\n"
        "  rollout     List rollouts; pause, continue or abort a running one.\n"
        "  rollback    Roll back a rollout: restore the earlier configuration.\n"
    ) in said
    headings = [line[:-1] for line in said.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert headings == ["Options", *SECTIONS]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("apply", "Error: No such command 'apply'. Did you mean `railweave deploy`?\n"),
        ("validate", "Error: No such command 'validate'. Did you mean `railweave check`?\n"),
        ("fmt", "Error: No such command 'fmt'. Did you mean `railweave check`?\n"),
        ("destroy", "Error: No such command 'destroy'. Did you mean `railweave sim down` or `railweave lab down`?\n"),
        ("lab destroy", "Error: No such command 'destroy'. Did you mean 'down'?\n"),
        ("deploy --dry-run", "Error: No such option: --dry-run. Did you mean `railweave plan`?\n"),
        ("deploy --check", "Error: No such option: --check. Did you mean `railweave plan`?\n"),
        ("hosts apply --check", "Error: No such option: --check. Did you mean `railweave hosts plan`?\n"),
        ("plan --dry-run", "Error: No such option: --dry-run. Omit it: `plan` changes nothing.\n"),
        ("deploy --auto-approve", "Error: No such option: --auto-approve. Did you mean --yes?\n"),
        # No option of `size` does the same: its options are listed.
        ("size --auto-approve", "Error: No such option: --auto-approve\noptions: --intent, --draw, --json"),
    ],
)
def test_words_of_other_tools_are_answered_by_ours(words: str, said: str, capfd: Capture) -> None:
    assert main(words.split()) == 64
    assert said in capfd.readouterr().err
