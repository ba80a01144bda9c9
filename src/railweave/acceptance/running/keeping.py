"""What nodes stored of a block becomes files of results, and reasons why tests of its rounds do not count."""

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
    # By node the error of its file system, and why it stored no more, if something is known to have ended it.
    problems: dict[str, str] = field(default_factory=dict)
    cut_short: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Read the answers."""
        for node, answer in self.answers.items():
            kept = stored_block(answer, self.block)
            self.stored[node] = kept
            if kept is not None and kept.problem:
                self.problems[node] = kept.problem
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
        """Write outputs and counters of the round with that number in the block; raises RailweaveError."""
        for node, kept in self.stored.items():
            if kept is None:
                continue
            for when, place in (("before", number), ("after", number + 1)):
                if place in kept.readings:
                    self.files.write_counters(round_id, when, node, kept.readings[place])
            versions = self.prepared[node].document.get("versions") or {}
            for test in kept.tests:
                if test.round == round_id and not test.why:
                    words = self.tests[test.test].argv.get(node, ("",))
                    self.files.write_test(node, test, str(versions.get(words[0]) or ""))

    def without_result(self, tests: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield the tests that did not run, and why; one that failed did run."""
        for test in tests:
            why = self._why_no_result(self.tests[test])
            if why:
                yield test, why

    def _why_no_result(self, test: PlannedTest) -> str:
        nodes = [name for name in members_of(test) if name in test.argv]
        # What fails on the others follows from a node that is gone.
        for node in sorted(nodes, key=lambda name: name not in self.cut_short):
            why = self._why_not_on(node, test)
            if why:
                return f"{node}: {why}"
        return ""

    def _why_not_on(self, node: str, test: PlannedTest) -> str:
        kept = self.stored.get(node)
        if kept is None and self.files.has_test(test.id, node):
            # It was fetched before.
            return ""
        if kept is None:
            return self.cut_short.get(node, "it has no results")
        own = next((each for each in kept.tests if each.test == test.id), None)
        if own is None:
            return self.cut_short.get(node, "somebody ended its tests before this round")
        if own.why:
            return own.why
        if node in measuring_nodes(test) and not own.meta.get("rc") and not _is_readable(own.output):
            return f"the output of {own.meta['argv'][0]} has no form that is known"
        return ""

    def without_counters(self, tests: Iterable[str], round_id: str, number: int) -> Iterator[tuple[str, str]]:
        """Yield the tests of a round of whose nodes one lacks the counters before or after it, and why."""
        lacking = self._uncounted_nodes(round_id, number)
        for test in tests:
            for node in members_of(self.tests[test]):
                if node in lacking:
                    yield test, f"{node}: {self.cut_short.get(node, 'its counters of the round did not arrive')}"
                    break

    def _uncounted_nodes(self, round_id: str, number: int) -> set[str]:
        nodes = set()
        for node, kept in self.stored.items():
            if kept is not None:
                is_whole = {number, number + 1} <= kept.readings.keys()
            else:
                is_whole = all(self.files.has_counters(round_id, when, node) for when in ("before", "after"))
            if not is_whole:
                nodes.add(node)
        return nodes


def _is_readable(output: str) -> bool:
    return bool(read_tool_output(output.encode()).format)
