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
_NOT_READ = "not read"


class CounterAnswer(NamedTuple):
    """What a switch answered to one reading: counters as `SwitchDriver.all_counters` returns them, or an error."""

    counters: Mapping[str, Any]
    error: str = ""


def compare_switches(
    ports: Mapping[str, tuple[WatchedPort, ...]],
    before: Mapping[str, CounterAnswer],
    after: Mapping[str, CounterAnswer],
) -> tuple[dict[str, CountedSwitch], dict[str, str]]:
    """Return the growth of the counters of each switch, and for other switches the reason why they are not judged.

    Both are by the name of the switch; ``ports`` are the cabled ports of each.
    """
    switches: dict[str, CountedSwitch] = {}
    unread: dict[str, str] = {}
    for name, watched in ports.items():
        growth = _growth_or_reason(name, [port.port for port in watched], before.get(name), after.get(name))
        if isinstance(growth, str):
            unread[name] = growth
        else:
            switches[name] = growth
    return switches, unread


def _growth_or_reason(
    name: str, ports: list[str], before: CounterAnswer | None, after: CounterAnswer | None
) -> CountedSwitch | str:
    """Return the growth between two answers of a switch, or the first reason why there is none."""
    if before is None:
        return _NOT_READ
    if before.error:
        return before.error
    if after is None:
        return _NOT_READ
    if after.error:
        return after.error
    return compare_readings(name, ports, before.counters, after.counters)


def judge_health(case: HealthCase, rules: tuple[HealthRule, ...] = RULES) -> tuple[HealthFinding, ...]:
    """Return the findings of all rules: errors first, then warnings, both in the order of the rules."""
    findings: list[HealthFinding] = []
    for rule in rules:
        findings += rule.judge(case)
    return tuple(sorted(findings, key=lambda finding: finding.severity is not Severity.ERROR))


def health_gaps(case: HealthCase, rules: tuple[HealthRule, ...] = RULES) -> tuple[HealthGap, ...]:
    """Return what was not judged: a gap for each counter that switches lack, and one for each remark on their rows."""
    # The rules that need a counter.
    codes_of: dict[CounterNeed, list[str]] = defaultdict(list)
    for rule in rules:
        for need in rule.needs:
            codes_of[need].append(rule.code)
    devices_without: dict[CounterNeed, list[str]] = defaultdict(list)
    for name, switch in case.switches.items():
        for need in codes_of:
            if not any(row.has(need.kind) for row in switch.rows(need.table)):
                devices_without[need].append(name)
    release = case.fabric.policies.sonic.release
    gaps = [_gap(need, codes_of[need], devices, release) for need, devices in devices_without.items()]
    return (*gaps, *_row_gaps(case))


def _gap(need: CounterNeed, codes: list[str], devices: list[str], release: str) -> HealthGap:
    """Return the gap of the rules ``codes``, which need a counter that ``devices`` lack.

    If SONiC has the counter only from a later release than ``release`` on, the fix is an upgrade.
    """
    reason = f"no counter of {need.kind} in {need.table}"
    fix = need.fix
    release_lacks_counter = bool(need.since) and release.isdecimal() and release < need.since
    if release_lacks_counter:
        reason = f"{reason}: SONiC {release} has none"
        fix = f"upgrade to SONiC {need.since} or later"
    return HealthGap(tuple(codes), tuple(devices), reason, fix)


def _row_gaps(case: HealthCase) -> Iterator[HealthGap]:
    """Yield a gap for each remark on the rows of a switch, which concerns all rules."""
    for name, switch in case.switches.items():
        for remark in switch.remarks:
            yield HealthGap((), (name,), remark, _CLEARED_FIX)
