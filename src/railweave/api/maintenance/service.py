"""Which switches of a running fabric forward nothing, so that schedulers can keep jobs off them."""

from railweave.api.maintenance.status import status
from railweave.api.project import Project
from railweave.api.verification import verify
from railweave.plan.outcome import CheckKind, VerifyCheck
from railweave.plan.status import SwitchStatus, is_drained_whole
from railweave.sonic.frr.maintenance import Maintenance
from railweave.wording import compact

DRAINED = "is drained"
IN_MAINTENANCE = "is in maintenance"
FAILED = "is not readable and has no link up to its neighbors"
NO_SESSION = "has no BGP session"


def out_of_service(project: Project, target: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the reason for each switch of ``target`` that forwards nothing, by name, and warnings.

    Drained switches and those in SONiC's maintenance count, and switches without any BGP session. A switch that cannot
    be read counts as failed unless a neighbor sees it by LLDP: then only its management is down, and a warning names
    it. Raises UsageError for an unknown target.
    """
    fabric_status = status(project, target)
    reasons = {}
    for switch in fabric_status.read:
        reason = _maintenance_reason(switch)
        if reason:
            reasons[switch.device] = reason
    checks = verify(project, target, counters=False).checks
    seen_devices = _seen_by_neighbors(checks)
    only_unmanaged = []
    for unread in fabric_status.unread:
        if unread.device in seen_devices:
            only_unmanaged.append(unread.device)
        else:
            reasons[unread.device] = FAILED
    for device in _without_session(checks):
        reasons.setdefault(device, NO_SESSION)
    if not only_unmanaged:
        return reasons, ()
    warning = f"{compact(only_unmanaged)}: not read, but neighbors have links up to it; exported as in service"
    return reasons, (warning,)


def _maintenance_reason(switch: SwitchStatus) -> str:
    """Return why an operator has taken a switch out of service, empty if nobody has."""
    if is_drained_whole(switch):
        return DRAINED
    if switch.maintenance is not Maintenance.NONE:
        return IN_MAINTENANCE
    return ""


def _seen_by_neighbors(checks: tuple[VerifyCheck, ...]) -> set[str]:
    """Return the devices that a neighbor sees by LLDP on the intended port."""
    # What such a check expects is the name of the neighbor and its port.
    return {check.expected.split()[0] for check in checks if check.kind is CheckKind.LLDP and _is_met(check)}


def _without_session(checks: tuple[VerifyCheck, ...]) -> list[str]:
    """Return the devices that were read and none of whose BGP sessions is established."""
    has_session: dict[str, bool] = {}
    for check in checks:
        if check.kind is CheckKind.BGP:
            has_session[check.device] = has_session.get(check.device, False) or _is_met(check)
    return [device for device, is_established in has_session.items() if not is_established]


def _is_met(check: VerifyCheck) -> bool:
    # A check that the target skips counts as passed, but proves nothing.
    return check.ok and not check.skipped
