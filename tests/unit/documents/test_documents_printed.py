"""What the commands really print, on a small simulated fabric, against the published schemas."""

import fcntl
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import tool_outputs
from command_rig import CommandRig
from json_schemas import Draft202012Validator

from railweave.hosts.outcome import ChangeKind, HostChange, HostNote, HostResult, HostsRun, HostState
from railweave.report.documents import COMMANDS, ERROR, named_schema, schema_name, versioned
from railweave.report.hosts import hosts_json

pytestmark = pytest.mark.slow

PHASES = Path(__file__).resolve().parents[2] / "golden" / "phases"
SPINE, LEAF = "lab-spine1", "lab-leaf1"
NOT_RUN_HERE = {"hosts plan", "hosts apply", "hosts rollback", "acceptance run", "lab up"}
"""Commands that need nodes or Docker; `lab up` prints what `lab render` prints.

tests/e2e/test_e2e_acceptance_run.py holds what `acceptance run` prints."""

Documents = dict[str, list[Any]]


class Rig(CommandRig):
    """A project on a simulator, which keeps every document that its commands print."""

    in_process = True

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "lab-4.yml")
        self.printed: Documents = {}

    def note(self, command: str, *words: str, status: int = 0) -> Any:
        """Run a command and keep its document under the command, or under ``error`` where it was refused."""
        document = self.json(*command.split(), *words, status=status)
        self.printed.setdefault(ERROR if "error" in document else command, []).append(document)
        return document

    def edit(self, before: str, after: str) -> None:
        text = self.intent.read_text(encoding="utf-8")
        assert before in text
        self.intent.write_text(text.replace(before, after), encoding="utf-8")

    def commit(self) -> None:
        git = ["git", "-C", str(self.folder), "-c", "user.name=a", "-c", "user.email=a@example.net"]
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
            subprocess.run([*git, *words], check=True)


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Documents:
    rig = Rig(tmp_path_factory.mktemp("documents") / "project")
    rig.commit()
    try:
        offline(rig)
        live(rig)
    finally:
        rig.run("sim", "down", "--all", status=None)
    return rig.printed


def offline(rig: Rig) -> None:
    rig.note("check", str(rig.folder / "absent.yml"), status=1)
    rig.note("size")
    rig.note("check")
    rig.note("bom")
    intent = str(rig.folder / "intent" / "lab-4.yml")
    rig.note("compare", intent, intent)
    rig.note("compare", intent, "--suggest")
    rig.note("failures")
    rates = rig.folder / "rates.yml"
    rates.write_text("rates: {switch: {failures_per_year: 0.1, repair_hours: 5}}\n", encoding="utf-8")
    rig.note("failures", "--rates", str(rates))
    for part in ("fabric", "stripe-0", LEAF):
        rig.note("draw", "--of", part)
    rig.note("export", "all", "--out", str(rig.folder / "handed-on"))
    rig.note("export", "--list")
    rig.note("telemetry render", "--out", str(rig.folder / "monitoring"))
    rig.note("export", "slurm-tree")
    rig.note("export", "--check", str(rig.folder / "handed-on" / "slurm-tree.conf"))
    accepted(rig)
    rig.note("report", "--out", str(rig.folder / "fabric.html"))
    rig.note("render", "--out", str(rig.folder / "out"))
    for row in ("PORT", "router bgp"):
        rig.note("explain", LEAF, row)
    rig.note("explain", LEAF, "PROT", status=1)
    rig.note("explain", "RW108")
    rig.note("codes")
    rig.note("models")
    rig.note("lab render")
    for command in ("sim status", "audit", "rollout list"):
        rig.note(command)


def accepted(rig: Rig) -> None:
    """Plan tests, and judge them while their results are missing."""
    tests = rig.folder / "accepted"
    rig.note("acceptance plan", "--level", "smoke", "--out", str(tests))
    result = tests / "results" / "r000-0000.json"
    result.parent.mkdir()
    result.write_text(next(iter(tool_outputs.ALL.values())), encoding="utf-8")
    rig.note("acceptance read", str(result))
    rig.note("acceptance judge", str(tests), status=1)


def live(rig: Rig) -> None:
    rig.note("sim up")
    rig.note("sim cable", f"{LEAF}:Ethernet112", f"{SPINE}:Ethernet0")
    rig.note("trust", "--yes")
    rig.note("plan")
    rig.note("rehearse", status=1)
    rig.note("rehearse", "--provision")
    rig.note("deploy", "--yes", status=1)
    rig.note("deploy", "--yes", "--provision")
    rig.note("deploy", "--yes")
    rig.note("facts collect", "--out", str(rig.folder / "facts"), "--limit", f"{LEAF},{SPINE}")
    drained(rig)
    changed(rig)
    faulty(rig)


def drained(rig: Rig) -> None:
    rig.note("drain", SPINE, "--yes", "--wait", "0")
    rig.note("drain")
    rig.note("status")
    rig.note("undrain", SPINE)
    graded = rig.note("links show", "--seconds", "1")
    (uplink,) = [link["cable"] for link in graded["links"] if link["a"]["device"] == LEAF][:1]
    rig.note("links drain", uplink, "--yes")
    rig.note("undrain", LEAF)
    rig.note("links soak", uplink, "--seconds", "1", "--readings", "2")
    rig.note("recover", SPINE, LEAF)
    rig.note("selftest", LEAF, "--spare", "--yes", status=1)


def changed(rig: Rig) -> None:
    """Change the fabric, take it back, and look at what is left of it."""
    rig.edit("fabric: lab\n", "fabric: lab\noverrides: {leaf: {SYSLOG_SERVER: {10.9.9.9: {}}}}\n")
    for command in ("diff", "phases", "retire"):
        rig.note(command, "HEAD")
    rig.note("plan")
    rig.note("drift")
    rig.note("verify")
    rig.note("health", "--seconds", "1")
    rig.note("deploy", "--from", "HEAD", "--yes")
    rig.note("rollback", "--yes")
    for command in ("rollout show", "rollout list", "audit"):
        rig.note(command)
    rig.note("rollout pause", status=1)
    with at_work(rig.folder / ".railweave"):
        for command in ("rollout pause", "rollout continue", "rollout abort", "status"):
            rig.note(command)


@contextmanager
def at_work(state: Path) -> Iterator[None]:
    """Hold the newest journal, as the process of a running rollout does."""
    newest = max(state.rglob("*.jsonl"), key=lambda path: (path.parent.name == "journal", path.stat().st_mtime))
    with newest.open("rb") as journal:
        fcntl.flock(journal, fcntl.LOCK_EX)
        yield


def faulty(rig: Rig) -> None:
    """Let a switch be silent and another be replaced."""
    rig.run("sim", "fault", SPINE, "unreachable")
    rig.note("sim status")
    for command in ("plan", "drift", "verify", "status"):
        rig.note(command, status=1)
    rig.note("health", "--seconds", "1", status=1)
    rig.note("deploy", "--yes", status=1)
    rig.run("sim", "fault", SPINE, "clear")
    rig.note("sim replace", SPINE)
    rig.note("replace", SPINE)


RUNNABLE = pytest.mark.parametrize("command", sorted({*COMMANDS, ERROR} - NOT_RUN_HERE))


def strict(command: str) -> Draft202012Validator:
    return Draft202012Validator(named_schema(command))


@RUNNABLE
def test_what_a_command_prints_is_as_published(command: str, printed: Documents) -> None:
    for document in printed[command]:
        wrong = [f"{error.json_path}: {error.message[:200]}" for error in strict(command).iter_errors(document)]
        assert not wrong, f"report/schemas/{schema_name(command)}.json (or common.json) is behind: {wrong}"


@RUNNABLE
def test_a_schema_refuses_a_key_that_it_does_not_know_wherever_it_stands(command: str, printed: Documents) -> None:
    validator = strict(command)
    for document in map(cut_short, printed[command]):
        assert validator.is_valid(document)
        for place in mappings(document):
            place["strange"] = [[["key"]]]
            found = validator.is_valid(document)
            del place["strange"]
            # A line of the audit log may be of another version.
            assert found is (command == "audit" and "began_at" in place)


def cut_short(node: Any) -> Any:
    """Return a document with the first two entries of its lists."""
    if isinstance(node, dict):
        return {name: cut_short(value) for name, value in node.items()}
    return [cut_short(one) for one in node[:2]] if isinstance(node, list) else node


def mappings(node: Any) -> Iterator[dict[str, Any]]:
    """Return the mappings of a document."""
    if isinstance(node, dict):
        yield node
        for value in list(node.values()):
            yield from mappings(value)
    elif isinstance(node, list):
        for one in node:
            yield from mappings(one)


@pytest.mark.parametrize("command", sorted({*COMMANDS, ERROR} - NOT_RUN_HERE - {"codes"}))
def test_a_schema_misses_every_key_that_is_always_there(command: str, printed: Documents) -> None:
    for document in printed[command]:
        for key in set(document) & set(named_schema(command).get("required", ())):
            assert not strict(command).is_valid({name: value for name, value in document.items() if name != key})


NODES = (
    HostResult("gpu1", HostState.UNCHANGED),
    HostResult(
        "gpu2",
        HostState.CHANGED,
        (HostChange(ChangeKind.SETTING, "rail0", "trust", "pcp", "dscp"),),
        notes=(HostNote("rail0", "LINK_TYPE_P1", "is 1, not 2", is_pending=False),),
    ),
    HostResult("gpu3", HostState.FAILED, error="no such tool"),
)


@pytest.mark.parametrize(
    "run",
    [HostsRun("lab", "sim", False, NODES), HostsRun("lab", "sim", True, NODES, "1 failed, 0 allowed")],
    ids=["dry run", "applied"],
)
def test_a_run_on_nodes_is_as_published(run: HostsRun) -> None:
    strict("hosts apply").validate(versioned(hosts_json(run)))


def test_a_phase_of_the_nodes_is_as_published(printed: Documents) -> None:
    in_phases = next(document for document in printed["deploy"] if "phases" in document)
    nodes = hosts_json(HostsRun("lab", "sim", True, NODES))
    step = {"number": 2, "title": "nodes mark anew", "kind": "hosts", "nodes": nodes}
    validator = strict("deploy")
    validator.validate({**in_phases, "steps": [*in_phases["steps"], step]})
    assert not validator.is_valid({**in_phases, "steps": [{**step, "nodes": {**nodes, "strange": 1}}]})


@pytest.mark.parametrize("path", sorted(PHASES.glob("*.json")), ids=lambda path: path.stem)
def test_phases_with_cables_are_as_published(path: Path) -> None:
    strict("phases").validate(versioned(json.loads(path.read_text(encoding="utf-8"))))
