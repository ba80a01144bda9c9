"""Which switches of a running fabric forward nothing, so that schedulers can keep jobs off them."""

from collections import defaultdict

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
    """Return the switches of ``target`` that forward nothing, with the reason, and what remains unknown.

    Drained switches and those in SONiC's maintenance count, and switches without any BGP session. A switch that cannot
    be read counts as failed unless a neighbor has a session with it: then only its management is down, and a warning
    names it. Raises UsageError for an unknown target.
    """
    reading = status(project, target)
    switches = {switch.device: reason for switch in reading.read if (reason := _stated(switch))}
    checks = verify(project, target, counters=False).checks
    up = _with_session(checks)
    unknown = []
    for unread in reading.unread:
        if unread.device in up:
            unknown.append(unread.device)
        else:
            switches[unread.device] = FAILED
    for device in _without_session(checks):
        switches.setdefault(device, NO_SESSION)
    if not unknown:
        return switches, ()
    return switches, (f"{compact(unknown)}: not read, but neighbors have links up to it; exported as in service",)


def _stated(switch: SwitchStatus) -> str:
    if is_drained_whole(switch):
        return DRAINED
    if switch.maintenance is not Maintenance.NONE:
        return IN_MAINTENANCE
    return ""


def _with_session(checks: tuple[VerifyCheck, ...]) -> set[str]:
    """Return the devices that a neighbor sees by LLDP on the intended port."""
    return {check.expected.split()[0] for check in checks if check.kind is CheckKind.LLDP and _is_met(check)}


def _without_session(checks: tuple[VerifyCheck, ...]) -> list[str]:
    """Return the devices that were read and none of whose BGP sessions is established."""
    sessions: dict[str, list[bool]] = defaultdict(list)
    for check in checks:
        if check.kind is CheckKind.BGP:
            sessions[check.device].append(_is_met(check))
    return [device for device, established in sessions.items() if not any(established)]


def _is_met(check: VerifyCheck) -> bool:
    # A check that the target leaves out fails nothing, and shows nothing either.
    return check.ok and not check.skipped
