"""The answers of nodes and switches while an acceptance runs, as values; a node's answer may lack any member."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from railweave.acceptance.folder import is_tested_version
from railweave.acceptance.model import PlannedTest
from railweave.acceptance.running.node_work import members_of
from railweave.acceptance.running.timing import CLOCK_LIMIT_S


@dataclass(frozen=True, slots=True)
class NodeAnswer:
    """The answer of a node to a part; ``error`` says why there is none."""

    document: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    # How far its clock is ahead, measured when the answer arrived.
    offset_s: float = 0.0


class NodeSet(Protocol):
    """The nodes of an acceptance, as the program on each of them answers."""

    def ask(self, part: str, requests: Mapping[str, Mapping[str, Any]]) -> Mapping[str, NodeAnswer]:
        """Return the answers of nodes to ``prepare``, ``start``, ``fetch`` or ``stop``."""


class SwitchReading(NamedTuple):
    """The counters of a switch (``SwitchDriver.all_counters``), empty where ``error`` says why."""

    counters: Mapping[str, Any]
    error: str
    # When it answered, in Unix seconds of the controller.
    answered: float


class SwitchSet(Protocol):
    """The switches of an acceptance."""

    def read(self, names: Iterable[str]) -> Mapping[str, SwitchReading]:
        """Return the counters of switches."""


class StoredTest(NamedTuple):
    """What a node stored of a test: the tool's output, or why it did not run."""

    test: str
    round: str
    why: str
    meta: Mapping[str, Any]
    output: str


@dataclass(frozen=True, slots=True)
class StoredBlock:
    """What a node stored of a block."""

    tests: tuple[StoredTest, ...] = ()
    # Readings of its counters by number: before the round of that number, and after the one before.
    readings: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    # The first error of its file system.
    problem: str = ""
    ended: bool = False


def stored_block(answer: NodeAnswer, block: str) -> StoredBlock | None:
    """Return what a node stored of a block, from the lines of its answer about it; None if there are none."""
    lines = (answer.document.get("blocks") or {}).get(block)
    if not isinstance(lines, list):
        return None
    tests = []
    readings: dict[int, Mapping[str, Any]] = {}
    problem = ""
    ended = False
    for line in lines:
        if "test" in line:
            tests.append(_stored_test(line))
        elif "reading" in line:
            readings[int(line["reading"])] = {key: line[key] for key in ("at", "boot", "nics")}
        elif "problem" in line:
            problem = problem or str(line["problem"])
        ended = ended or "ended" in line
    return StoredBlock(tuple(tests), readings, problem, ended)


def _stored_test(line: Mapping[str, Any]) -> StoredTest:
    # perftest and mpirun report their errors on standard error, which is all there is then.
    output = line["out"] or line["err"]
    return StoredTest(str(line["test"]), str(line["round"]), str(line["why"]), line["meta"], output)


def not_started(block: str, started: Mapping[str, NodeAnswer], answers: Mapping[str, NodeAnswer]) -> dict[str, str]:
    """Return why nodes did not start a block, by node.

    ``started`` are the answers to its start, ``answers`` those to the fetch after it. A node whose first answer was
    lost has started nevertheless if it stored something of the block.
    """
    idle = {}
    for node, answer in started.items():
        if answer.error and stored_block(answers[node], block) is None:
            idle[node] = answer.error
    return idle


def rebooted(prepared: Mapping[str, NodeAnswer], answers: Mapping[str, NodeAnswer]) -> dict[str, str]:
    """Return the nodes that have booted since they were prepared, each with the reason why its tests did not run."""
    nodes = {}
    for node, answer in answers.items():
        boot_before = prepared[node].document.get("boot")
        if boot_before and not answer.error and answer.document.get("boot") != boot_before:
            nodes[node] = "it was rebooted while tests ran"
    return nodes


def unfinished_rounds(block: str, answers: Mapping[str, NodeAnswer]) -> dict[str, str]:
    """Return the rounds of a block in which a tool did not run or failed, each with the first reason."""
    reasons: dict[str, str] = {}
    for node, answer in answers.items():
        stored = stored_block(answer, block) or StoredBlock()
        for test in stored.tests:
            if test.why or test.meta.get("rc"):
                reasons.setdefault(test.round, f"{node}: {test.why or 'a tool failed'}")
    return reasons


def wrong_clocks(answers: Mapping[str, NodeAnswer]) -> dict[str, str]:
    """Return why the clocks of nodes are refused, by node."""
    return {
        node: f"its clock differs by {answer.offset_s:+,.0f} s: set it (NTP)"
        for node, answer in answers.items()
        if not answer.error and abs(answer.offset_s) > CLOCK_LIMIT_S
    }


def tests_without_tools(
    tests: Iterable[PlannedTest], answers: Mapping[str, NodeAnswer], unusable: Mapping[str, str]
) -> dict[str, str]:
    """Return why tests cannot run, by test id: a node is ``unusable``, or its tool is missing or of an unknown version.

    ``answers`` are those of the nodes when they were prepared, and ``unusable`` is the reason by node.
    """
    refused: dict[str, str] = {}
    for test in tests:
        for node in members_of(test):
            reason = unusable.get(node) or _missing_tool(test, node, answers[node])
            if reason:
                refused[test.id] = f"{node}: {reason}"
                break
    return refused


def _missing_tool(test: PlannedTest, node: str, answer: NodeAnswer) -> str:
    """Return why a node cannot run its command of a test; empty if it can, or if it has none."""
    words = test.argv.get(node)
    if words is None:
        return ""
    if test.receiver is None:
        # The launcher is checked; a collective prints its own version.
        return "" if answer.document.get("launchers") else "neither mpirun nor srun is installed"
    version = (answer.document.get("versions") or {}).get(words[0])
    if version is None:
        return f"{words[0]} is not installed"
    if not is_tested_version(version):
        return f"{version} is not a release whose output is known"
    return ""
