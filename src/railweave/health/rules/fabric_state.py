"""Links, neighbors and sessions that are not as designed, and other state that `railweave verify` compares."""

from collections import defaultdict
from collections.abc import Iterator

from railweave.diagnostics import Severity
from railweave.health.case import HealthCase
from railweave.health.codes import BGP_DOWN, LINK_DOWN, OTHER_STATE, WRONG_NEIGHBOR
from railweave.health.model import HealthFinding, HealthRule, port_finding
from railweave.plan.outcome import CheckKind, VerifyCheck
from railweave.wording import command_line, counted, first_few

_KINDS_ELSEWHERE = frozenset({CheckKind.MTU, CheckKind.REACHABLE, CheckKind.ERRORS})
"""Kinds that other rules judge, or that make a switch unread."""


def _state_fix() -> str:
    """Return how to see what differs."""
    return f"`{command_line('verify')}` shows each of them, `{command_line('drift')}` what differs from the intent"


def _links_down(case: HealthCase) -> Iterator[HealthFinding]:
    """Yield a finding for each cabled port whose link is down."""
    for check in _failed(case, CheckKind.LINK):
        port = case.port_of.get((check.device, check.subject))
        if port is not None:
            message = f"is {check.actual}, expected {check.expected}"
            fix = f"check power of {port.peer}, cable and optics; `show interfaces status {port.port}`"
            yield port_finding(LINK_DOWN, Severity.ERROR, port, message, fix)


def _wrong_neighbors(case: HealthCase) -> Iterator[HealthFinding]:
    """Yield a finding for each cabled port with another LLDP neighbor than planned."""
    for check in _failed(case, CheckKind.LLDP):
        port = case.port_of.get((check.device, check.subject))
        if port is not None:
            message = f"has the LLDP neighbor {check.actual}, expected {check.expected}"
            fix = f"plug the cable as its label says (`{command_line('bom', '--labels', 'FILE')}`)"
            yield port_finding(WRONG_NEIGHBOR, Severity.ERROR, port, message, fix)


def _sessions_down(case: HealthCase) -> Iterator[HealthFinding]:
    """Yield a finding for each BGP session that is not established."""
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


def _other_state(case: HealthCase) -> Iterator[HealthFinding]:
    """Yield a finding for each switch and each kind of failed check that no other rule judges."""
    failed: dict[tuple[str, CheckKind], list[VerifyCheck]] = defaultdict(list)
    kinds_of_other_rules = _KINDS_ELSEWHERE | {CheckKind.LINK, CheckKind.LLDP, CheckKind.BGP}
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
            fix=_state_fix(),
        )


def _failed(case: HealthCase, kind: CheckKind) -> Iterator[VerifyCheck]:
    """Return the failed checks of a kind."""
    return (check for check in case.checks if check.kind is kind and not check.ok)


LINKS = HealthRule(LINK_DOWN, "links are up", _links_down)
NEIGHBORS = HealthRule(WRONG_NEIGHBOR, "cables are in the ports of the plan", _wrong_neighbors)
SESSIONS = HealthRule(BGP_DOWN, "BGP sessions are established", _sessions_down)
STATE = HealthRule(OTHER_STATE, "the switches are in the designed state", _other_state)
