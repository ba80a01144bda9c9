"""The verdict on an acceptance, from its plan, the results of its tests and the counters of its rounds."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from railweave.acceptance.counter_names import CounterMeaning
from railweave.acceptance.counters import round_diagnostics
from railweave.acceptance.jobs import JobResult
from railweave.acceptance.judge.case import Case
from railweave.acceptance.judge.disturbance import disturbed_rounds
from railweave.acceptance.judge.elements import Symptom
from railweave.acceptance.judge.findings import AcceptanceFinding, findings
from railweave.acceptance.judge.outcomes import MeasuredTest, OutcomeStatus
from railweave.acceptance.judge.reading import case_of
from railweave.acceptance.judge.registry import JudgeRule, judge_rules
from railweave.acceptance.judge.rules.a10_job import JOB_RULE
from railweave.acceptance.judge.spread import loaded_links, unloaded_links
from railweave.acceptance.judge.tally import RoundTally
from railweave.acceptance.model import AcceptancePlan, CoveredLink
from railweave.acceptance.readings import DeviceCounters, NodeResult
from railweave.diagnostics import Diagnostic, Severity, has_errors, warning
from railweave.wording import counted, first_few, listed, natural_key

_NO_RESULT = "results of tests are missing"


class VerdictKind(StrEnum):
    """The verdict: failed over incomplete over passed."""

    PASSED = "passed"
    FAILED = "failed"
    INCOMPLETE = "incomplete"


class RuleState(StrEnum):
    """Whether a rule was judged."""

    JUDGED = "judged"
    # Its counters or results are missing: the verdict is incomplete.
    NOT_RUN = "not-run"
    # The devices do not have its counters: the verdict says so and stands.
    NOT_JUDGEABLE = "not-judgeable"
    NOT_PLANNED = "not-planned"


class RuleStatus(NamedTuple):
    """The state of a rule and the reason."""

    code: str
    state: RuleState
    reason: str = ""


class Shares(NamedTuple):
    """How many of something were planned, and how many were done."""

    planned: int
    done: int


@dataclass(frozen=True, slots=True)
class AcceptanceVerdict:
    """What `railweave acceptance judge` says."""

    plan: AcceptancePlan
    verdict: VerdictKind
    outcomes: Mapping[str, MeasuredTest]
    findings: tuple[AcceptanceFinding, ...]
    rules: tuple[RuleStatus, ...]
    pairs: Shares
    links: Shares
    diagnostics: tuple[Diagnostic, ...]
    # The programs that measured, with their releases.
    tools: tuple[str, ...]


def judge(
    plan: AcceptancePlan,
    results: Iterable[NodeResult],
    counters: Iterable[DeviceCounters],
    diagnostics: Iterable[Diagnostic] = (),
    *,
    job: JobResult | None = None,
    without: Collection[str] = (),
) -> AcceptanceVerdict:
    """Return the verdict on a plan with its results and counters.

    ``diagnostics`` are those of reading them, and ``without`` are the codes of rules to leave out.
    """
    results = tuple(results)
    case = case_of(plan, results, counters, job)
    return judge_case(case, results, diagnostics, without=without)


def judge_case(
    case: Case,
    results: Iterable[NodeResult],
    diagnostics: Iterable[Diagnostic] = (),
    *,
    without: Collection[str] = (),
) -> AcceptanceVerdict:
    """Return the verdict on a case (see `judge`); ``results`` are those that the case was made of."""
    plan = case.index.plan
    all_tallies = case.tallies
    remarks = list(diagnostics)
    for tally in all_tallies.values():
        remarks += round_diagnostics(tally.devices)
    disturbed = disturbed_rounds(case)
    if disturbed:
        case = _undisturbed(case, disturbed)
        remarks += [_disturbed_remark(name, reason) for name, reason in disturbed.items()]
    rules = [rule for rule in judge_rules() if rule.code not in without]
    states = tuple(_state(rule, case, all_tallies) for rule in rules)
    symptoms: list[Symptom] = []
    for rule in rules:
        symptoms += rule.look(case)
    all_findings = findings(case, symptoms)
    remarks += _remarks(case, states)
    unloaded = unloaded_links(case)
    if unloaded:
        remarks.append(_unloaded_remark(unloaded))
    is_incomplete = has_errors(remarks) or _has_gaps(case, states)
    tools = {result.meta.tool_version for result in results if result.meta is not None}
    return AcceptanceVerdict(
        plan=plan,
        verdict=_verdict_kind(all_findings, is_incomplete=is_incomplete),
        outcomes=case.outcomes,
        findings=all_findings,
        rules=states,
        pairs=_pair_shares(case),
        links=Shares(len(plan.links), len(loaded_links(case))),
        diagnostics=tuple(dict.fromkeys(remarks)),
        tools=tuple(sorted(tools - {""})),
    )


def _pair_shares(case: Case) -> Shares:
    """Return how many pairs were planned, and how many of them have a value."""
    pairs = [test for test in case.index.plan.tests if test.receiver is not None]
    measured = sum(case.outcomes[test.id].status is not OutcomeStatus.NOT_RUN for test in pairs)
    return Shares(planned=len(pairs), done=measured)


def _undisturbed(case: Case, disturbed: Mapping[str, str]) -> Case:
    """Return a case without the disturbed rounds, whose tests count as not run."""
    outcomes = dict(case.outcomes)
    for round_id, reason in disturbed.items():
        remark = f"round {round_id} was disturbed: {reason}"
        for test in case.index.tests_of[round_id]:
            outcomes[test.id] = MeasuredTest(OutcomeStatus.NOT_RUN, (), None, remark)
    tallies = {round_id: tally for round_id, tally in case.tallies.items() if round_id not in disturbed}
    return Case(case.index, outcomes, tallies, case.job)


def _disturbed_remark(name: str, reason: str) -> Diagnostic:
    fix = f"repeat round {name} while nobody else uses the fabric"
    return warning("RW941", f"round {name} is not judged, other traffic disturbed it: {reason}", fix=fix)


def _state(rule: JudgeRule, case: Case, tallies: Mapping[str, RoundTally]) -> RuleStatus:
    """Return whether a rule is judged, and why not.

    ``tallies`` are those of all rounds with counters, disturbed ones included.
    """
    if rule.code == JOB_RULE and case.job is None:
        return RuleStatus(rule.code, RuleState.NOT_PLANNED, "no job.json says what a job reached")
    if CounterMeaning.PFC_SENT in rule.needs and not case.lossless_queues:
        return RuleStatus(rule.code, RuleState.NOT_PLANNED, "no class of the plan is lossless")
    rounds = [planned.id for planned in case.index.plan.rounds if planned.kind in rule.kinds and planned.tests]
    if not rounds:
        return RuleStatus(rule.code, RuleState.NOT_PLANNED, "the plan has no round that it looks at")
    reason = _missing_reason(rule, case, tallies, rounds)
    if reason:
        return RuleStatus(rule.code, RuleState.NOT_RUN, reason)
    return _state_by_support(rule, case)


def _state_by_support(rule: JudgeRule, case: Case) -> RuleStatus:
    """Return whether a rule is judged, by the counters that not every device has (`JudgeRule.supported`).

    The results and the counters that every device has are there already.
    """
    names = _meanings_text(rule.supported)
    if not rule.by_switches:
        if rule.supported and rule.supported.isdisjoint(case.meanings):
            return RuleStatus(rule.code, RuleState.NOT_JUDGEABLE, f"no device counts {names}")
        return RuleStatus(rule.code, RuleState.JUDGED)
    counting = case.switches_with(rule.supported)
    if not counting:
        return RuleStatus(rule.code, RuleState.NOT_JUDGEABLE, f"no switch counts {names}")
    not_counting = sorted(case.index.links_of.keys() - counting, key=natural_key)
    if not_counting:
        return RuleStatus(rule.code, RuleState.JUDGED, f"{names} are not counted by {first_few(not_counting)}")
    return RuleStatus(rule.code, RuleState.JUDGED)


def _missing_reason(rule: JudgeRule, case: Case, tallies: Mapping[str, RoundTally], rounds: list[str]) -> str:
    """Return what a rule lacks; empty if it can be judged. A rule that needs no counters needs results.

    ``rounds`` are those that it looks at.
    """
    if not rule.needs:
        tests = [test for round_id in rounds for test in case.index.tests_of[round_id]]
        if any(case.outcomes[test.id].measures for test in tests):
            return ""
        return _NO_RESULT
    rounds_without_counters = [round_id for round_id in rounds if round_id not in tallies]
    if rounds_without_counters:
        return f"counters are missing in {first_few(rounds_without_counters)}"
    if rule.by_switches and not case.switches_with(rule.needs):
        return f"no switch counts {_meanings_text(rule.needs)}"
    if rule.needs.isdisjoint(case.meanings):
        return f"no device counts {_meanings_text(rule.needs)}"
    return ""


def _meanings_text(meanings: Iterable[CounterMeaning]) -> str:
    return " or ".join(sorted(meanings))


def _verdict_kind(result: Iterable[AcceptanceFinding], *, is_incomplete: bool) -> VerdictKind:
    if any(finding.severity is Severity.ERROR for finding in result):
        return VerdictKind.FAILED
    if is_incomplete:
        return VerdictKind.INCOMPLETE
    return VerdictKind.PASSED


def _has_gaps(case: Case, states: Iterable[RuleStatus]) -> bool:
    """Tell whether a test or a rule did not run, counters are missing, or nothing was planned."""
    if not case.outcomes:
        return True
    return (
        any(outcome.status is OutcomeStatus.NOT_RUN for outcome in case.outcomes.values())
        or any(status.state is RuleState.NOT_RUN for status in states)
        or any(counts.incomplete for counts in case.tallies.values())
    )


def _remarks(case: Case, states: Iterable[RuleStatus]) -> Iterator[Diagnostic]:
    """Yield a warning for all rules with the same state and reason, and one for all tests that did not run."""
    codes_of: dict[tuple[RuleState, str], list[str]] = {}
    for status in states:
        if status.reason and status.state is not RuleState.NOT_PLANNED:
            codes_of.setdefault((status.state, status.reason), []).append(status.code)
    for (state, reason), codes in codes_of.items():
        verb = "is" if len(codes) == 1 else "are"
        state_text = "judged in part" if state is RuleState.JUDGED else state.value
        yield warning("RW942", f"{listed(codes)} {verb} {state_text}: {reason}", fix=_fix(reason))
    not_run = [outcome for outcome in case.outcomes.values() if outcome.status is OutcomeStatus.NOT_RUN]
    if not_run:
        reasons = first_few(dict.fromkeys(outcome.remark for outcome in not_run), 3, "; ")
        message = f"{counted(len(not_run), 'test')} did not run: {reasons}"
        yield warning("RW943", message, fix="run them again")


def _fix(reason: str) -> str:
    """Return what to do about a rule that was not judged for ``reason``."""
    if reason == _NO_RESULT:
        return "run its rounds and put what the tools write into `results/` (docs/reference/acceptance-results.md)"
    for meaning, fix in _TURN_ON.items():
        # A reason names the counters that are missing.
        if meaning in reason:
            return fix
    return (
        "read the counters of all switches and nodes before and after each round (docs/reference/acceptance-results.md)"
    )


_TURN_ON = {
    CounterMeaning.MARKS: "state `telemetry: {}`, or `counterpoll wredqueue enable` (from SONiC 202505 on), and repeat",
    CounterMeaning.DROPS: "turn them on (`counterpoll queue enable`, `counterpoll pg-drop enable`) and repeat them",
    CounterMeaning.PFC_SENT: "turn them on (`counterpoll port enable`; on nodes `ethtool -S`) and repeat them",
}


def _unloaded_remark(links: Collection[CoveredLink]) -> Diagnostic:
    cables = first_few(dict.fromkeys(link.cable for link in links))
    share = "`acceptance.covered_share` in every round, at least in one direction"
    message = f"{counted(len(links), 'link')} carried less than {share}: {cables}"
    return warning("RW944", message, fix="repeat the rounds, or plan a higher level: a hash may leave a link unused")
