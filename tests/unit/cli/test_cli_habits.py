"""What a person expects of any command line: the version at once, an intent in either place, names completed."""

import contextlib
import os
import pty
import re
import subprocess
import sys
import termios
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from parsed_commands import parse
from planned_devices import planned

from nornir_railweave.events import Event, Step
from nornir_railweave.rollout.journal import Journal
from railweave import __version__, api
from railweave.api.journal.rollout_project import open_rollout_project
from railweave.api.operator import SILENT
from railweave.cli import completion
from railweave.cli.main import app, main
from railweave.cli.show import write_json
from railweave.errors import RailweaveError, UsageError
from railweave.plan.model import DeviceState, Plan
from railweave.plan.rollout import RolloutMetadata

ROOT = Path(__file__).resolve().parents[3]
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the intents one (fabric pod1) and two (fabric pod2), and the targets lab and sim."""
    text = (ROOT / "intent" / "pod-32.yml").read_text(encoding="utf-8")
    for name, fabric in (("one", "pod1"), ("two", "pod2")):
        path = tmp_path / "intent" / f"{name}.yml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(re.sub("^fabric: .*", f"fabric: {fabric}", text, flags=re.M), encoding="utf-8")
    (tmp_path / "inventory").mkdir()
    for target in ("lab", "sim", "production.example"):
        (tmp_path / "inventory" / f"{target}.yml").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    for name in ("RAILWEAVE_INTENT", "RAILWEAVE_JOURNALS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def unfinished(project: Path, fabric: str, intent: str, target: str = "lab") -> str:
    """Leave the journal of a rollout that committed a switch and was cut off; return its name."""
    devices = {"leaf1": planned(DeviceState.CHANGED, running_sha256="0" * 64)}
    plan = Plan(fabric, target, "f" * 64, devices, (("leaf1",),))
    with closing(Journal(project / ".railweave/journal", fabric, target, RolloutMetadata(intent=intent))) as journal:
        journal(journal.opening(plan))
        journal(Event(Step.OUTCOME, "leaf1", details={"outcome": "new"}))
        return journal.name


def test_the_version_is_printed_without_the_command_line() -> None:
    code = "import sys; sys.argv[1:] = ['--version']; from railweave.cli import run; run(); print(*sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert said[0] == f"railweave {__version__}"
    assert not {"typer", "rich", "railweave.cli.main", "railweave.api"} & set(said[1].split())


@pytest.mark.parametrize(
    ("words", "late"),
    [
        ("--help", ["pydantic", "yaml", "rich", "railweave.api.project", "railweave.catalog"]),
        pytest.param(
            "size intent/pod-32.yml",
            ["tomllib", "railweave.sonic.frr", "railweave.sonic.resolved", "railweave.failures", "nornir", "napalm"],
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_command_imports_and_reads_nothing_that_it_does_not_need(words: str, late: list[str]) -> None:
    code = (
        "import sys; opened = []\n"
        "sys.addaudithook(lambda event, what: opened.append(str(what[0])) if event == 'open' else None)\n"
        f"sys.argv[1:] = {words.split()}\nfrom railweave.cli import run\n"
        "try: run()\nfinally: print(*sys.modules, *opened, file=sys.stderr)"
    )
    # In a measured process, coverage imports modules of its own.
    env = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    seen = ran.stderr.splitlines()[-1].split()
    assert not set(late) & set(seen)
    assert not [one for one in seen if one.endswith("entry_points.txt")], "what packages are installed is no matter"


@pytest.mark.parametrize(
    "words",
    ["explain pod1-leaf1 PORT", "drain pod1-leaf1", "undrain -t lab pod1-leaf1 --yes", "replace pod1-leaf1",
     "trust", "recover pod1-leaf1", "rollback ROLLOUT --target lab", "sim cable a:1 b:2", "sim power-off gpu1",
     "sim fault pod1-leaf1 clear", "sim replace pod1-leaf1", "plan --markdown", "verify", "drift", "hosts plan"],
)  # fmt: skip
def test_an_intent_is_an_argument_or_an_option_of_every_command(words: str) -> None:
    typed = words.split()
    contexts = parse([*typed, "intent/one.yml"]), parse([*typed, "--intent", "intent/one.yml"])
    for context in contexts:
        assert Path("intent/one.yml") in (context.params.get("intent"), context.params["option"])
    others = [
        {name: value for name, value in one.params.items() if name not in ("intent", "option")} for one in contexts
    ]
    assert others[0] == others[1]


def test_a_value_of_an_option_and_a_command_for_a_switch_are_no_intents() -> None:
    assert parse(["drift", "--ignore", "mine.yml"]).params["ignore"] == Path("mine.yml")
    assert parse(["rollback", "--order", "order.yml"]).params["option"] is None
    assert parse(["sim", "ssh", "pod1-leaf1", "cat", "/tmp/a.yml"]).params["option"] is None
    assert parse(["diff", "intent/one.yml", "intent/two.yml"]).params["option"] is None


def test_two_files_are_compared_without_naming_an_intent(project: Path, capsys: Capture) -> None:
    assert main(["diff", "intent/one.yml", "intent/one.yml"]) == 0
    assert "no changes" in capsys.readouterr().out


def test_the_journal_knows_the_intent_of_a_rollout(project: Path) -> None:
    name = unfinished(project, "pod2", "intent/two.yml")
    for options in ({"resume": True}, {"rollout": name}, {}):
        assert open_rollout_project(None, SILENT, "lab", **options).intent == Path("intent/two.yml")
    assert open_rollout_project("intent/one.yml", SILENT, "lab").intent == Path("intent/one.yml")
    with pytest.raises(UsageError, match="intent/ holds 2 intents"):
        open_rollout_project(None, SILENT, "sim")


@pytest.mark.parametrize("verb", [["deploy", "--resume"], ["rollback"]])
def test_a_lab_that_is_to_be_started_is_named_by_the_intent_of_the_journal(
    verb: list[str], project: Path, capsys: Capture
) -> None:
    (project / "inventory/lab.yml").write_text("source: lab\n", encoding="utf-8")
    unfinished(project, "pod2", "intent/two.yml")
    assert main([*verb, "--target", "lab", "--yes"]) != 0
    assert "`railweave lab up --intent intent/two.yml`" in capsys.readouterr().err


def test_rollouts_of_two_intents_are_told_apart_by_their_names(project: Path) -> None:
    names = [unfinished(project, fabric, f"intent/{file}.yml") for fabric, file in (("pod1", "one"), ("pod2", "two"))]
    with pytest.raises(UsageError) as refused:
        open_rollout_project(None, SILENT, "lab", resume=True)
    said = str(refused.value)
    assert said.startswith("rollouts of 2 intents could be meant: `railweave deploy --resume ")
    for name in names:
        assert f"`railweave deploy --resume {name} --target lab`" in said
        assert open_rollout_project(None, SILENT, "lab", rollout=name).intent.stem in ("one", "two")


def test_an_intent_that_is_gone_is_not_taken_from_the_journal(project: Path) -> None:
    unfinished(project, "pod3", "intent/three.yml")
    (project / "intent/two.yml").unlink()
    assert open_rollout_project(None, SILENT, "lab", resume=True).intent == Path("intent/one.yml")


@pytest.mark.parametrize(
    ("complete", "words"),
    [
        (completion.intents, ["intent/one.yml", "intent/two.yml"]),
        (completion.targets, ["lab", "sim"]),
    ],
)
def test_files_of_the_project_are_completed(project: Path, complete: Callable[[], list[str]], words: list[str]) -> None:
    assert complete() == words


def test_rollouts_and_codes_are_completed(project: Path) -> None:
    assert completion.rollouts() == []
    name = unfinished(project, "pod1", "intent/one.yml")
    assert completion.rollouts() == [name]
    assert "RW108" in completion.codes()


@pytest.mark.parametrize(
    ("line", "incomplete", "first"),
    [
        (["drain", "intent/two.yml"], "", "pod2-leaf1"),
        (["sim", "ssh", "--intent", "intent/one.yml"], "", "pod1-leaf1"),
        (["drain"], "", None),
        (["drain", "absent.yml"], "", None),
        (["explain", "intent/one.yml", "x"], "pod1-leaf1", "pod1-leaf1"),
        (["explain", "intent/one.yml", "x"], "R", "RW001"),
        (["explain", "x"], "acc", "acceptance"),
    ],
)
def test_a_switch_is_completed_by_the_intent_of_the_line(
    project: Path, line: list[str], incomplete: str, first: str | None
) -> None:
    try:
        context = parse(line)
    except Exception:  # the argument that is being completed is missing
        context = parse([*line, "x"])
    found = completion.switches_and_codes(context, incomplete)
    assert (first in found) if first else not found


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("models nvidia-sn56", ["nvidia-sn5600", "nvidia-sn5610n", "nvidia-sn5640"]),
        ("sim power-off --intent intent/one.yml gpu3", ["gpu3", *(f"gpu3{number}" for number in range(3))]),
        ("sim fault --intent intent/one.yml pod1-leaf1 re", ["refuse-commit"]),
        ("sim fault --intent intent/one.yml pod1-leaf1 c", ["clear"]),
        ("hosts plan --intent intent/one.yml --limit gpu1,gpu32", ["gpu1,gpu32"]),
        ("hosts plan intent/one.yml --limit gpu1,gpu32", ["gpu1,gpu32"]),
        ("hosts apply intent/one.yml --yes -l gpu32", ["gpu32"]),
    ],
)
@pytest.mark.usefixtures("project")
def test_models_nodes_and_faults_are_completed(
    line: str, offered: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("_RAILWEAVE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"railweave {line}")
    monkeypatch.setenv("COMP_CWORD", str(line.count(" ") + 1))
    with pytest.raises(SystemExit):
        app(prog_name="railweave")
    assert capsys.readouterr().out.split() == offered


@pytest.mark.slow
@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_lines_fit_the_terminal_of_any_kind(project: Path, term: str) -> None:
    screen, inside = pty.openpty()
    termios.tcsetwinsize(inside, (25, 60))
    code = "from railweave.cli import run; run()"
    words = [sys.executable, "-c", code, "check", "intent/one.yml"]
    environ = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | {"TERM": term}
    with os.fdopen(screen, "rb", buffering=0) as terminal, subprocess.Popen(words, stdout=inside, env=environ) as run:
        os.close(inside)
        said = b""
        with contextlib.suppress(OSError):  # the end of a terminal whose program has ended
            while piece := terminal.read(4096):
                said += piece
    assert run.returncode == 0
    lines = re.sub(r"\x1b\[[0-9;]*m", "", said.decode()).split("\r\n")
    assert 40 < max(map(len, lines)) <= 60


def test_an_unknown_row_is_no_success(project: Path, capsys: Capture) -> None:
    assert main(["explain", "intent/one.yml", "pod1-leaf1", "NOPE"]) == 1
    assert capsys.readouterr().out == "pod1-leaf1 has no row or line 'NOPE'\n"
    assert main(["explain", "intent/one.yml", "pod1-leaf1", "PORT"]) == 0


def test_a_file_that_is_no_intent_ends_with_the_summary_too(project: Path, capsys: Capture) -> None:
    Path("bad.yml").write_text("fabric: [\n", encoding="utf-8")
    assert main(["check", "bad.yml"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "✗ bad.yml: 1 error, 0 warnings"


def test_the_list_of_targets_is_colored_on_a_terminal_alone() -> None:
    said = subprocess.run(["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "  deploy     plan, deploy and verify INTENT on TARGET\n" in said
    assert "\033" not in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("sim boot", "Error: No such command 'boot'.\ncommands: up, down, status, ssh, cable, power-off, power-on, "),
        ("rollout lst", "Error: No such command 'lst'. Did you mean 'list'?\n"),
        ("rollout list --limit 3", "Error: No such option: --limit\noptions: --all, --json\n"),
        ("drift --exitcode", "Error: No such option: --exitcode (Possible options: --exit-code)\n"),
        ("sim fault pod1-leaf1", "Error: Missing argument 'KIND'.\nKIND: The fault, such as slow, or `clear`.\n"),
        ("replace", "Error: Missing argument 'DEVICE'.\nDEVICE: The switch to replace, such as pod1-spine2.\n"),
        ("sim up --intent", "Error: Option '--intent' requires an argument.\n--intent FILE: Intent file.\n"),
        ("verify --wait -1", "greater than or equal to 0\n--wait SECONDS: Retry until all checks pass, at most"),
    ],
)
def test_a_wrong_usage_names_what_is_accepted(words: str, said: str, capfd: Capture) -> None:
    assert main(words.split()) == 64
    assert said in capfd.readouterr().err


def test_an_option_before_the_command_for_a_switch_is_refused(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"leaf1": SimpleNamespace(address="127.0.0.1", port=22)}
    endpoints = SimpleNamespace(devices=known, known_hosts="known", key_file="key", username="admin")
    monkeypatch.setattr("sonic_sim.control.endpoints", lambda _state: endpoints)
    opened = api.open_project(project / "intent" / "one.yml")
    assert api.sim.ssh_command(opened, "leaf1", ["show lldp table"])[-1] == "show lldp table"
    said = r"^'-c' is not a command of a switch: write it without options, as in `leaf1 'show lldp table'`$"
    with pytest.raises(UsageError, match=said):
        api.sim.ssh_command(opened, "leaf1", ["-c", "show lldp table"])


def test_a_file_for_a_plan_in_a_folder_that_is_not_there_names_the_command_that_makes_it(project: Path) -> None:
    with pytest.raises(RailweaveError, match=r"No such file or directory: make its folder first, `mkdir -p .*/plans`"):
        write_json(project / "plans" / "plan.json", {})
    with pytest.raises(RailweaveError, match=r"Is a directory: name a file in it, such as .*/intent/plan\.json$"):
        write_json(project / "intent", {})


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("a:1", "name both ends, `railweave sim cable A:PORT B:PORT --intent intent/one.yml`, or a phase,"),
        ("--phase 2", "a phase is named by both: --from REV, the revision that is deployed, and --phase N"),
        ("a:1 --from main --phase 2", "a phase names its cables itself: omit a:1"),
    ],
)
def test_a_simulators_cable_is_named_by_its_ends_or_by_a_phase(
    project: Path, capsys: Capture, words: str, message: str
) -> None:
    assert main(["sim", "cable", *words.split(), "intent/one.yml"]) == 64
    assert message in " ".join(capsys.readouterr().err.split())


def test_a_command_that_is_interrupted_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_words: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(api, "open_project", interrupted)
    assert main(["links"]) == 130
    assert capsys.readouterr().err == "interrupted\n"
