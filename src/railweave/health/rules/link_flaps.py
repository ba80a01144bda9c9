"""Links that went down and up between the readings: each time BGP converges anew and NCCL may give up."""

from collections.abc import Iterator

from railweave.diagnostics import Severity
from railweave.health.case import HealthCase
from railweave.health.codes import LINK_FLAPS
from railweave.health.model import HealthFinding, HealthRule, port_finding
from railweave.health.needs import LINK_CHANGES
from railweave.health.reading import FLAPS
from railweave.health.rules.link_errors import cable_fix
from railweave.wording import counted


def _judge(case: HealthCase) -> Iterator[HealthFinding]:
    """Yield a finding for each port whose link went down and up between the readings."""
    for port, switch in case.counted():
        changes = switch.port(port.port).grown(FLAPS) or 0
        # One change is a link that went down or came up for good.
        if changes >= 2:
            message = f"went down and up {counted(changes // 2, 'time')} in {switch.seconds:.0f} s"
            yield port_finding(LINK_FLAPS, Severity.ERROR, port, message, cable_fix())


RULE = HealthRule(LINK_FLAPS, "links stay up", _judge, (LINK_CHANGES,))
