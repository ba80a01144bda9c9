"""Links, neighbors and sessions that are not as designed, and other state that `railweave verify` compares."""

from collections import defaultdict
from collections.abc import Iterator

from railweave.diagnostics import Severity
from railweave.health.case import HealthCase
from railweave.health.codes import BGP_DOWN, LINK_DOWN, OTHER_STATE, WRONG_NEIGHBOR
from railweave.health.model import HealthFinding, HealthRule, port_finding
from railweave.plan.outcome import CheckKind, VerifyCheck
from railweave.wording import command_line, counted, first_few

_ELSEWHERE = frozenset({CheckKind.MTU, CheckKind.REACHABLE, CheckKind.ERRORS})
"""Kinds that other rules judge, or that make a switch unread."""


def _show() -> str:
    return f"`{command_line('verify')}` shows each of them, `{command_line('drift')}` what differs from the intent"


def _down(case: HealthCase) -> Iterator[HealthFinding]:
    for check in _failed(case, CheckKind.LINK):
        port = case.port_of.get((check.device, check.subject))
        if port is not None:
            message = f"is {check.actual}, expected {check.expected}"
            fix = f"check power of {port.peer}, cable and optics; `show interfaces status {port.port}`"
            yield port_finding(LINK_DOWN, Severity.ERROR, port, message, fix)


def _neighbors(case: HealthCase) -> Iterator[HealthFinding]:
    for check in _failed(case, CheckKind.LLDP):
        port = case.port_of.get((check.device, check.subject))
        if port is not None:
            message = f"has the LLDP neighbor {check.actual}, expected {check.expected}"
            fix = f"plug the cable as its label says (`{command_line('bom', '--labels', 'FILE')}`)"
            yield port_finding(WRONG_NEIGHBOR, Severity.ERROR, port, message, fix)


def _sessions(case: HealthCase) -> Iterator[HealthFinding]:
    for check in _failed(case, CheckKind.BGP):
        message = f"{check.device}: BGP with {check.subject} is {check.actual}, expected {check.expected}"
        fix = "see `vtysh -c 'show bgp summary'`; findings at the same link come first"
        yield HealthFinding(
            code=BGP_DOWN,
            severity=Severity.ERROR,
            message=message,
            devices=(check.device,),
            ports=(),
            cables=(),
            fix=fix,
        )


def _others(case: HealthCase) -> Iterator[HealthFinding]:
    """Yield one finding for each switch and kind of check that no other rule has."""
    failed: dict[tuple[str, CheckKind], list[VerifyCheck]] = defaultdict(list)
    kinds_of_other_rules = _ELSEWHERE | {CheckKind.LINK, CheckKind.LLDP, CheckKind.BGP}
    for check in case.checks:
        if not check.ok and check.kind not in kinds_of_other_rules:
            failed[check.device, check.kind].append(check)
    for (device, kind), checks in failed.items():
        subjects = first_few([check.subject for check in checks], 3)
        message = f"{device}: {counted(len(checks), 'check')} of kind {kind} failed: {subjects} ({checks[0].actual})"
        yield HealthFinding(
            code=OTHER_STATE,
            severity=Severity.ERROR,
            message=message,
            devices=(device,),
            ports=(),
            cables=(),
            fix=_show(),
        )


def _failed(case: HealthCase, kind: CheckKind) -> Iterator[VerifyCheck]:
    return (check for check in case.checks if check.kind is kind and not check.ok)


LINKS = HealthRule(LINK_DOWN, "links are up", _down)
NEIGHBORS = HealthRule(WRONG_NEIGHBOR, "cables are in the ports of the plan", _neighbors)
SESSIONS = HealthRule(BGP_DOWN, "BGP sessions are established", _sessions)
STATE = HealthRule(OTHER_STATE, "the switches are in the designed state", _others)
