"""Results of a block from the answers of its nodes: files, and the reasons why tests of its rounds do not count."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from railweave.acceptance.folder import measuring_nodes
from railweave.acceptance.model import PlannedTest
from railweave.acceptance.readers.registry import read_tool_output
from railweave.acceptance.running.answers import NodeAnswer, StoredBlock, rebooted, stored_block
from railweave.acceptance.running.node_work import members_of
from railweave.acceptance.running.results import ResultsFolder


@dataclass(frozen=True, slots=True)
class BlockResults:
    """The answers of nodes about one block, and what nodes answered when they were prepared."""

    block: str
    answers: Mapping[str, NodeAnswer]
    prepared: Mapping[str, NodeAnswer]
    files: ResultsFolder
    tests: Mapping[str, PlannedTest]
    # Why nodes did not start the block.
    idle: Mapping[str, str]
    # What each node stored of the block; None where it did not answer, or has delivered it before.
    stored: dict[str, StoredBlock | None] = field(default_factory=dict)
    # The error of the file system of a node.
    problems: dict[str, str] = field(default_factory=dict)
    # Why a node stored only a part of the block or nothing, if the reason is known.
    cut_short: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Sort what the nodes answered by what it means.

        Of several reasons for a missing result the last one counts: no answer, an idle node, a reboot, a problem of the
        file system.
        """
        for node, answer in self.answers.items():
            stored = stored_block(answer, self.block)
            self.stored[node] = stored
            if stored is not None and stored.problem:
                self.problems[node] = stored.problem
            elif answer.error:
                self.cut_short[node] = answer.error
            elif node in self.idle:
                self.cut_short[node] = self.idle[node]
        self.cut_short.update(rebooted(self.prepared, self.answers))
        self.cut_short.update(self.problems)

    @property
    def owing(self) -> list[str]:
        """Return the nodes that did not answer, and may have stored results."""
        return [node for node, answer in self.answers.items() if answer.error]

    def write(self, round_id: str, number: int) -> None:
        """Write the outputs and counters of a round; ``number`` is its index in the block.

        Raises RailweaveError if a file cannot be written.
        """
        for node, stored in self.stored.items():
            if stored is None:
                continue
            # The reading after a round is that before the next one.
            if number in stored.readings:
                self.files.write_counters(round_id, "before", node, stored.readings[number])
            if number + 1 in stored.readings:
                self.files.write_counters(round_id, "after", node, stored.readings[number + 1])
            versions = self.prepared[node].document.get("versions") or {}
            for test in stored.tests:
                if test.round == round_id and not test.why:
                    words = self.tests[test.test].argv.get(node, ("",))
                    self.files.write_test(node, test, str(versions.get(words[0]) or ""))

    def without_result(self, tests: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield each of ``tests`` that has no result, with the reason. A test that failed has one."""
        for test in tests:
            reason = self._no_result_reason(self.tests[test])
            if reason:
                yield test, reason

    def _no_result_reason(self, test: PlannedTest) -> str:
        """Return the node without a result of a test and its reason; empty if the test has its results."""
        nodes = [name for name in members_of(test) if name in test.argv]
        # Nodes that were cut short first: failures of the other nodes follow from that.
        for node in sorted(nodes, key=lambda name: name not in self.cut_short):
            reason = self._missing_on(node, test)
            if reason:
                return f"{node}: {reason}"
        return ""

    def _missing_on(self, node: str, test: PlannedTest) -> str:
        """Return why a node has no result of a test; empty if it has one."""
        stored = self.stored.get(node)
        if stored is None:
            # A result that was fetched before is a file here.
            if self.files.has_test(test.id, node):
                return ""
            return self.cut_short.get(node, "it has no results")
        stored_test = next((candidate for candidate in stored.tests if candidate.test == test.id), None)
        if stored_test is None:
            return self.cut_short.get(node, "somebody ended its tests before this round")
        if stored_test.why:
            return stored_test.why
        has_succeeded = not stored_test.meta.get("rc")
        if node in measuring_nodes(test) and has_succeeded and not _is_readable(stored_test.output):
            return f"the output of {stored_test.meta['argv'][0]} has no form that is known"
        return ""

    def without_counters(self, tests: Iterable[str], round_id: str, number: int) -> Iterator[tuple[str, str]]:
        """Yield each of ``tests`` with a node that lacks its counters before or after the round, with the reason.

        ``number`` is the index of the round in the block.
        """
        uncounted_nodes = self._uncounted_nodes(round_id, number)
        for test in tests:
            for node in members_of(self.tests[test]):
                if node in uncounted_nodes:
                    yield test, f"{node}: {self.cut_short.get(node, 'its counters of the round did not arrive')}"
                    break

    def _uncounted_nodes(self, round_id: str, number: int) -> set[str]:
        """Return the nodes without both readings of a round, in their answers or in files of an earlier fetch."""
        nodes = set()
        for node, stored in self.stored.items():
            if stored is not None:
                has_both = {number, number + 1} <= stored.readings.keys()
            else:
                has_both = all(self.files.has_counters(round_id, when, node) for when in ("before", "after"))
            if not has_both:
                nodes.add(node)
        return nodes


def _is_readable(output: str) -> bool:
    return bool(read_tool_output(output.encode()).format)
