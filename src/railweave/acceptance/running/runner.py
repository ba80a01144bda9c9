"""Runs the rounds of a plan in blocks: nodes by their own clocks, switches read here between rounds.

The controller may end at any moment. What the nodes do of a block they do without it, and the journal says which
rounds count; the next run fetches their results and carries out the rest.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from railweave.acceptance.folder import read_results
from railweave.acceptance.judge.disturbance import disturbed_rounds
from railweave.acceptance.judge.reading import case_in
from railweave.acceptance.model import AcceptanceRound, PlannedTest
from railweave.acceptance.running.answers import (
    NodeAnswer,
    NodeSet,
    SwitchSet,
    not_started,
    rebooted,
    tests_without_tools,
    unfinished_rounds,
    wrong_clocks,
)
from railweave.acceptance.running.journal import AcceptanceJournal, progress_of
from railweave.acceptance.running.keeping import BlockResults
from railweave.acceptance.running.node_work import (
    block_work,
    interfaces_of,
    members_of,
    programs_of,
)
from railweave.acceptance.running.request import RunRequest, RunSummary, WallClock
from railweave.acceptance.running.results import ResultsFolder
from railweave.acceptance.running.timely import TimelySwitches
from railweave.acceptance.running.timing import Pace, TimedRound, pace_of, round_times, simulated_pace, split_rounds
from railweave.errors import RailweaveError
from railweave.wording import counted

# What Ansible takes to start a block beyond what it took to prepare the nodes.
_START_S = 3.0
# No round follows the last reading of a block.
_LAST_READING_S = 30.0
_LATE = "switches were not read in time"
# A poll begins in every interval, and takes a while itself (sonic-sairedis syncd/FlexCounter.cpp).
_POLL_INTERVALS = 1.1
# Asked again for the results of a block, for nodes that were not reached.
_FETCHES = 3
_FETCH_PAUSE_S = 2.0


@dataclass
class AcceptanceRunner:
    """One run; ``show`` takes a sentence for each round.

    ``poll_s`` is how long switches may take until they have polled what they counted, in seconds of tests.
    """

    request: RunRequest
    nodes: NodeSet
    switches: SwitchSet
    clock: WallClock
    show: Callable[[str], None] = lambda _: None
    problems: dict[str, str] = field(default_factory=dict)
    poll_s: float = 0.0

    def __post_init__(self) -> None:
        """Read how far earlier runs came."""
        plan = self.request.read.plan
        self.tests = {test.id: test for test in plan.tests}
        self.tests_of = {planned.id: planned.tests for planned in self.request.rounds}
        self.files = ResultsFolder(self.request.folder)
        self.journal = AcceptanceJournal(self.request.folder, self.clock.now)
        self.progress = progress_of(self.journal.lines())
        # The nodes need not keep what earlier runs have of them, and remove it when they are prepared.
        self.stored_before = dict(self.progress.stored)
        self.interfaces = interfaces_of(plan)
        self.prepared: Mapping[str, NodeAnswer] = {}
        # Nodes that take no part, and tests that cannot run, with the reason.
        self.unusable: dict[str, str] = {}
        self.refused: dict[str, str] = {}
        self.timely = TimelySwitches(self.switches, self.request.switches, self.problems)
        self.pace = Pace()
        self.lead_s = _START_S

    # Preparation

    def prepare(self) -> Mapping[str, NodeAnswer]:
        """Prepare the nodes, store what an earlier run left on them, and return their answers."""
        started = self.clock.now()
        programs = programs_of(self._planned())
        requests = {node: {**self._request(node), "programs": programs} for node in self.request.nodes}
        self.prepared = self.nodes.ask("prepare", requests)
        self.lead_s = _START_S + 1.5 * (self.clock.now() - started)
        self._leave_out({node: answer.error for node, answer in self.prepared.items() if answer.error})
        self._leave_out(wrong_clocks(self.prepared))
        for block in self.progress.incomplete:
            self._store_results(block, self.prepared)
        return self.prepared

    def _planned(self) -> list[PlannedTest]:
        return [self.tests[test] for planned in self.request.rounds for test in planned.tests]

    def _leave_out(self, nodes: Mapping[str, str]) -> None:
        """Leave out ``nodes``, which have their reasons, and the tests that they take part in."""
        self.unusable.update(nodes)
        self.problems.update(nodes)
        self.refused = tests_without_tools(self._planned(), self.prepared, self.unusable)

    def _measure_pace(self, *, repeats: bool = False) -> Pace:
        """Return the pace of rounds, after reading the counters of the switches once; ``repeats`` allows more time."""
        poll_s = _POLL_INTERVALS * self.poll_s * self.request.factor
        return self._pace(repeats=repeats)._replace(poll_s=round(poll_s, 2))

    def _pace(self, *, repeats: bool) -> Pace:
        """Return the pace without the time of polls, from how long devices take to read their counters.

        For simulated nodes it follows from how slow the machine is; there ``repeats`` doubles all times and ``lead_s``.
        """
        switch_s = self.timely.measure(self.clock.now(), patient=repeats)
        if self.request.slowness is not None:
            slowness = self.request.slowness()
            if repeats:
                # The machine that simulates all nodes had too little time for the first attempt.
                slowness *= 2
                self.lead_s *= 2
            nics = sum(map(len, self.interfaces.values()))
            return simulated_pace(self.request.factor, switch_s, nics, slowness)
        answers = [answer for node, answer in self.prepared.items() if node not in self.unusable]
        node_s = max((float(answer.document.get("reading_s") or 0.0) for answer in answers), default=0.0)
        return pace_of(self.request.factor, max(node_s, switch_s), [answer.offset_s for answer in answers])

    def _request(self, node: str) -> dict[str, Any]:
        """Return the members that every request to a node has."""
        return {
            "plan": self.request.read.sha256,
            # A run that began anew has blocks of the same names: a node drops those that this journal lacks.
            "blocks": list(self.progress.blocks),
            "has": self.progress.delivered_by(node),
            "nics": self.interfaces.get(node, ()),
            "programs": (),
        }

    # Rounds

    def run(self) -> RunSummary:
        """Carry out what is left of the plan, and return its summary; an interrupt ends it with ``interrupted`` set."""
        self._note("run", plan_sha256=self.request.read.sha256, limit=self.request.limit)
        interrupted = False
        try:
            self.pace = self._measure_pace()
            for rounds in split_rounds(self._rounds_to_run(), self.pace):
                self._run_block(rounds)
            # Rounds that were disturbed or not read in time are repeated once.
            rounds_to_repeat = self._rounds_to_repeat()
            if rounds_to_repeat:
                self.timely.read_all_again()
                self.pace = self._measure_pace(repeats=True)
                for rounds in split_rounds(rounds_to_repeat, self.pace):
                    self._run_block(rounds)
            self._clear_nodes()
        except KeyboardInterrupt:
            interrupted = True
        finally:
            self._end()
        summary = self.summary(interrupted=interrupted)
        self.journal.add("end", ok=summary.ok, interrupted=interrupted, not_run=len(summary.not_run))
        return summary

    def summary(self, *, interrupted: bool = False) -> RunSummary:
        """Return what ran of the request so far."""
        not_run = {}
        for planned in self.request.rounds:
            # None if the round has no results.
            reasons = self.progress.not_run.get(planned.id)
            for test in planned.tests:
                if reasons is None:
                    not_run[test] = self.refused.get(test) or self._round_remark(planned.id)
                elif test in reasons:
                    not_run[test] = reasons[test]
        return RunSummary(
            fabric=self.request.read.plan.fabric,
            rounds=len(self.request.rounds),
            tests=sum(len(planned.tests) for planned in self.request.rounds),
            not_run=not_run,
            problems=self.problems,
            repeated=self.progress.repeated,
            interrupted=interrupted,
        )

    def _round_remark(self, round_id: str) -> str:
        """Return why a round has no results."""
        block = self.progress.block_of.get(round_id, "")
        if round_id in self.progress.missed.get(block, ()):
            return _LATE
        return "its round did not run"

    def _rounds_to_run(self) -> list[AcceptanceRound]:
        """Return the rounds that are not done, without the tests that cannot run."""
        rounds = []
        for planned in self.request.rounds:
            tests = tuple(test for test in planned.tests if test not in self.refused)
            not_run = self.progress.not_run.get(planned.id)
            # Without results of the round all of its tests are missing.
            lacks_results = not_run is None or bool(not_run.keys() - self.refused.keys())
            if tests and lacks_results:
                rounds.append(planned._replace(tests=tests))
        return rounds

    def _rounds_to_repeat(self) -> list[AcceptanceRound]:
        return [planned for planned in self._rounds_to_run() if planned.id in self.progress.repeated]

    def _run_block(self, rounds: Sequence[AcceptanceRound]) -> None:
        """Carry out rounds as a block, store their results, and note which rounds to repeat."""
        block = f"b{len(self.progress.blocks) + 1}"
        for planned in rounds:
            # Also of tests that cannot run any more: their results have no counters of this attempt.
            self.files.clear(planned.id, self.tests_of[planned.id])
        self._note("block", block=block, rounds=[planned.id for planned in rounds])
        times = round_times(rounds, self.clock.now() + self.lead_s, self.pace)
        timed_rounds = [TimedRound(planned, moments) for planned, moments in zip(rounds, times, strict=True)]
        nodes = [node for node in self.request.nodes if node not in self.unusable]
        works = block_work(block, self.request.read.sha256, timed_rounds, self.tests, nodes)
        requests = {node: {**self._request(node), "work": work} for node, work in works.items()}
        start_answers = self._start(requests, timed_rounds[0].times.read)
        self._follow(block, timed_rounds)
        answers = self._fetch(nodes)
        idle = not_started(block, start_answers, answers)
        self.problems.update(idle)
        self._store_results(block, answers, idle)
        # A node that does not answer would delay the start of all others.
        self._leave_out({node: answer.error for node, answer in answers.items() if answer.error})
        # Nobody has checked the settings with which it came back: `--resume` does.
        self._leave_out(rebooted(self.prepared, answers))
        self._repeat_without(rounds, idle)
        self._repeat_unfinished(block, answers)
        self._repeat_disturbed(rounds)

    def _start(self, requests: Mapping[str, Mapping[str, Any]], first_reading: float) -> Mapping[str, NodeAnswer]:
        """Start a block on nodes, and return their answers.

        A node that did not answer is asked once more, if there is time before the first reading, because all rounds
        would lack it. If it had started nevertheless, it refuses, and stores its results.
        """
        began = self.clock.now()
        answers = dict(self.nodes.ask("start", requests))
        now = self.clock.now()
        took_s = now - began
        self.lead_s = max(self.lead_s, _START_S + 1.5 * took_s)
        unanswered = {node: requests[node] for node, answer in answers.items() if answer.error}
        # A few nodes take less time than all of them.
        has_time = now + took_s / 2 < first_reading
        if unanswered and has_time:
            second_answers = self.nodes.ask("start", unanswered)
            answers.update({node: answer for node, answer in second_answers.items() if not answer.error})
        return answers

    def _repeat_without(self, rounds: Sequence[AcceptanceRound], idle: Mapping[str, str]) -> None:
        """Mark for repetition the rounds of a block whose tests lacked a node that did not start it."""
        for planned in rounds:
            idle_members = sorted(self._members(planned.id) & idle.keys())
            if idle_members and self._may_repeat(planned.id):
                node = idle_members[0]
                self._note("repeat", round=planned.id, why=f"{node}: {idle[node]}")

    def _repeat_unfinished(self, block: str, answers: Mapping[str, NodeAnswer]) -> None:
        """Mark for repetition the rounds of simulated nodes in which tools failed."""
        # Only a machine that simulates all nodes may have been too slow for the tools.
        if self.request.slowness is None:
            return
        for round_id, why in unfinished_rounds(block, answers).items():
            if self._may_repeat(round_id):
                self._note("repeat", round=round_id, why=why)

    def _may_repeat(self, round_id: str) -> bool:
        """Tell whether a round was not repeated before, and has a test that can run."""
        all_tests_are_refused = self.refused.keys() >= set(self.tests_of[round_id])
        return round_id not in self.progress.repeated and not all_tests_are_refused

    def _follow(self, block: str, timed_rounds: Sequence[TimedRound]) -> None:
        """Read the switches between the rounds of a block, and note each round that was read in time.

        One reading is that after a round, and that before the next one.
        """
        previous_id = ""
        was_read_before = False
        for number, (planned, times) in enumerate(timed_rounds, 1):
            self._wait_until(times.read)
            readings = self._switch_counters(times.serve)
            if previous_id:
                self._note_after(block, previous_id, readings, was_read_before=was_read_before)
            was_read_before = readings is not None
            self._write_switches(planned.id, "before", readings)
            self._note("before", block=block, round=planned.id)
            contents = f"{planned.kind.value}, {counted(len(planned.tests), 'test')}"
            self.show(f"{planned.id} ({number} of {len(timed_rounds)}): {contents}, {times.end - times.send:.0f} s")
            previous_id = planned.id
        self._wait_until(timed_rounds[-1].times.end + self.pace.poll_s)
        readings = self._switch_counters(self.clock.now() + _LAST_READING_S)
        self._note_after(block, previous_id, readings, was_read_before=was_read_before)

    def _note_after(
        self, block: str, round_id: str, readings: Mapping[str, Any] | None, *, was_read_before: bool
    ) -> None:
        """Store the reading after a round, which counts if the switches were read in time before and after it."""
        self._write_switches(round_id, "after", readings)
        self._note("after", block=block, round=round_id, read=was_read_before and readings is not None)

    def _switch_counters(self, deadline: float) -> Mapping[str, Any] | None:
        """Return the counters of the switches by name; None if one came after ``deadline`` and the round is lost."""
        return self.timely.read(self.clock.now(), deadline)

    def _write_switches(self, round_id: str, when: str, readings: Mapping[str, Any] | None) -> None:
        if readings is None:
            return
        for name in self.request.switches:
            if name in readings:
                self.files.write_counters(round_id, when, name, readings[name])
            else:
                self.files.write_missing(round_id, when, name, self.problems.get(name, "it was not read"))

    # Results

    def _fetch(self, nodes: Iterable[str]) -> dict[str, NodeAnswer]:
        """Return the answers of the nodes about a block that has ended; nodes that fail are asked again."""
        # Their clocks may be late by what the rounds allow for, and the last counters are read after the end.
        self.clock.sleep(self.pace.start_s + self.pace.read_s)
        answers: dict[str, NodeAnswer] = {}
        missing = list(nodes)
        for attempt in range(_FETCHES):
            if attempt:
                self.clock.sleep(_FETCH_PAUSE_S)
            answers.update(self.nodes.ask("fetch", {node: self._request(node) for node in missing}))
            missing = [node for node in missing if answers[node].error or answers[node].document.get("runs")]
            if not missing:
                break
        return answers

    def _store_results(
        self, block: str, answers: Mapping[str, NodeAnswer], idle: Mapping[str, str] | None = None
    ) -> None:
        """Write what nodes stored of a block, and note why tests of its rounds do not count and which to repeat.

        ``idle`` is why nodes did not start the block.
        """
        results = BlockResults(
            block=block, answers=answers, prepared=self.prepared, files=self.files, tests=self.tests, idle=idle or {}
        )
        self.problems.update(results.problems)
        not_run: dict[str, dict[str, str]] = {}
        repeat_reasons = dict.fromkeys(self.progress.missed[block], _LATE)
        for number, round_id in enumerate(self.progress.blocks[block]):
            was_repeated_later = self.progress.block_of[round_id] != block
            if was_repeated_later or round_id not in self.progress.followed[block]:
                continue
            results.write(round_id, number)
            tests = self._possible_tests(round_id)
            without_result = dict(results.without_result(tests))
            uncounted = dict(results.without_counters(tests, round_id, number))
            not_run[round_id] = {**self._refused_tests(round_id), **uncounted, **without_result}
            # If something ended a node early, somebody should look at it before `--resume` repeats the round.
            if uncounted and not without_result and not results.cut_short:
                repeat_reasons[round_id] = min(uncounted.values())
        self._note("results", block=block, not_run=not_run, owing=results.owing)
        for round_id, why in sorted(repeat_reasons.items()):
            if self._may_repeat(round_id):
                self._note("repeat", round=round_id, why=why)

    def _possible_tests(self, round_id: str) -> list[str]:
        return [test for test in self.tests_of.get(round_id, ()) if test not in self.refused]

    def _refused_tests(self, round_id: str) -> dict[str, str]:
        return {test: self.refused[test] for test in self.tests_of.get(round_id, ()) if test in self.refused}

    def _members(self, round_id: str) -> set[str]:
        """Return the nodes that take part in the tests of a round."""
        return {node for test in self.tests_of[round_id] for node in members_of(self.tests[test])}

    def _repeat_disturbed(self, rounds: Sequence[AcceptanceRound]) -> None:
        """Mark for repetition the rounds of a block in which somebody else used the fabric."""
        names = {planned.id for planned in rounds}
        plan = self.request.read.plan
        results, _ = read_results(self.request.folder, plan)
        case = case_in(self.request.folder, plan, results, rounds=names)
        for round_id, why in disturbed_rounds(case).items():
            if round_id in names and self._may_repeat(round_id):
                self._note("repeat", round=round_id, why=why)

    def _end(self) -> None:
        """End whatever runs on the nodes, and store what an interrupted block left there."""
        nodes = [node for node in self.request.nodes if node in self.prepared]
        if not nodes or not self.progress.unfetched:
            return
        self.show("ending the tests that run")
        answers = self.nodes.ask("stop", {node: self._request(node) for node in nodes})
        for block in self.progress.unfetched:
            self._store_results(block, answers)

    def _clear_nodes(self) -> None:
        """Let the nodes remove the results that are stored here. A node that fails to is cleared by the next run."""
        # A run that had nothing to do still clears the nodes that it has prepared.
        if self.progress.stored == self.stored_before and not self.prepared:
            return
        nodes = [node for node in self.request.nodes if node not in self.unusable]
        with suppress(RailweaveError):
            self.nodes.ask("stop", {node: self._request(node) for node in nodes})

    # The journal

    def _note(self, event: str, **members: Any) -> None:
        """Append a line to the journal, and update the progress by it."""
        self.journal.add(event, **members)
        self.progress.take({"event": event, **members})

    def _wait_until(self, moment: float) -> None:
        self.clock.sleep(max(0.0, moment - self.clock.now()))
