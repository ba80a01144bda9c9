"""From two readings and a verification to findings: every rule is judged where its counters are."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from railweave.diagnostics import Severity
from railweave.health.case import HealthCase, WatchedPort
from railweave.health.model import CounterNeed, HealthFinding, HealthGap, HealthRule
from railweave.health.reading import CountedSwitch, compare_readings
from railweave.health.registry import RULES

_CLEARED_FIX = "repeat it, and clear no counters meanwhile"


class CounterAnswer(NamedTuple):
    """What a switch answered to one reading: counters as `SwitchDriver.all_counters` returns them, or an error."""

    counters: Mapping[str, Any]
    error: str = ""


def compare_switches(
    ports: Mapping[str, tuple[WatchedPort, ...]],
    before: Mapping[str, CounterAnswer],
    after: Mapping[str, CounterAnswer],
) -> tuple[dict[str, CountedSwitch], dict[str, str]]:
    """Return what switches counted, and why others are not judged, both by name."""
    switches: dict[str, CountedSwitch] = {}
    unread: dict[str, str] = {}
    for name, watched in ports.items():
        answers = (before.get(name), after.get(name))
        error = _error(answers)
        if error:
            unread[name] = error
            continue
        first, last = (answer.counters for answer in answers if answer is not None)
        growth = compare_readings(name, [port.port for port in watched], first, last)
        if isinstance(growth, str):
            unread[name] = growth
        else:
            switches[name] = growth
    return switches, unread


def _error(answers: tuple[CounterAnswer | None, ...]) -> str:
    for answer in answers:
        if answer is None:
            return "not read"
        if answer.error:
            return answer.error
    return ""


def judge_health(case: HealthCase, rules: tuple[HealthRule, ...] = RULES) -> tuple[HealthFinding, ...]:
    """Return the findings of all rules, errors first, in the order of the rules."""
    findings: list[HealthFinding] = []
    for rule in rules:
        findings += rule.judge(case)
    return tuple(sorted(findings, key=lambda finding: finding.severity is not Severity.ERROR))


def health_gaps(case: HealthCase, rules: tuple[HealthRule, ...] = RULES) -> tuple[HealthGap, ...]:
    """Return what was not judged: rules whose counters a switch lacks, and rows that were cleared or missing."""
    missing: dict[CounterNeed, list[str]] = defaultdict(list)
    codes: dict[CounterNeed, list[str]] = defaultdict(list)
    for rule in rules:
        for need in rule.needs:
            codes[need].append(rule.code)
    for name, switch in case.switches.items():
        for need in codes:
            if not any(row.has(need.kind) for row in switch.rows(need.table)):
                missing[need].append(name)
    gaps = [
        HealthGap(tuple(codes[need]), tuple(names), *_why(need, case.fabric.policies.sonic.release))
        for need, names in missing.items()
    ]
    return (*gaps, *_remarks(case))


def _why(need: CounterNeed, release: str) -> tuple[str, str]:
    """Return why a counter is missing, and what to do about it."""
    reason = f"no counter of {need.kind} in {need.table}"
    if need.since and release.isdecimal() and release < need.since:
        return f"{reason}: SONiC {release} has none", f"upgrade to SONiC {need.since} or later"
    return reason, need.fix


def _remarks(case: HealthCase) -> Iterator[HealthGap]:
    for name, switch in case.switches.items():
        for remark in switch.remarks:
            yield HealthGap((), (name,), remark, _CLEARED_FIX)
