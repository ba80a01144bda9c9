"""Two ends of a link with different MTUs: RDMA packets that do not fit are dropped, short ones pass, and jobs hang."""

from collections.abc import Iterator

from railweave.diagnostics import Severity
from railweave.health.case import HealthCase
from railweave.health.codes import MTU_MISMATCH
from railweave.health.limits import ERRORS_PER_S
from railweave.health.model import HealthFinding, HealthRule, port_finding
from railweave.plan.outcome import CheckKind
from railweave.wording import command_line

_OVERSIZE = "SAI_PORT_STAT_ETHER_RX_OVERSIZE_PKTS"
# What drops a frame that is too long, by chip.
_REFUSED = ("SAI_PORT_STAT_IF_IN_ERRORS", "SAI_PORT_STAT_IF_IN_DISCARDS")


def _judge(case: HealthCase) -> Iterator[HealthFinding]:
    """Yield a finding for each port with another MTU than designed, or that dropped frames longer than its MTU."""
    for check in case.checks:
        port = case.port_of.get((check.device, check.subject))
        if check.kind is CheckKind.MTU and not check.ok and port is not None:
            message = f"has MTU {check.actual}, the design has {check.expected}"
            fix = f"`{command_line('drift')}` shows the row, `{command_line('deploy')}` restores it"
            yield port_finding(MTU_MISMATCH, Severity.ERROR, port, message, fix)
    for port, switch in case.counted():
        row = switch.port(port.port)
        oversize = row.grown(_OVERSIZE) or 0
        # Some chips count every jumbo frame here, but drop only those that exceed the MTU.
        refused = max(row.grown(name) or 0 for name in _REFUSED)
        if oversize > ERRORS_PER_S * switch.seconds and refused >= oversize:
            message = f"dropped {oversize:,} frames that were longer than its MTU"
            fix = f"set the MTU of {port.peer} to that of the design (`{command_line('hosts', 'plan')}` for nodes)"
            yield port_finding(MTU_MISMATCH, Severity.ERROR, port, message, fix)


RULE = HealthRule(MTU_MISMATCH, "both ends of every link have the designed MTU", _judge)
