"""Frames with errors: a dirty or damaged cable, or a dying optic."""

from collections.abc import Iterator

from railweave.acceptance.counter_names import CounterMeaning
from railweave.diagnostics import Severity
from railweave.health.case import HealthCase
from railweave.health.codes import LINK_ERRORS
from railweave.health.limits import ERRORS_PER_S
from railweave.health.model import HealthFinding, HealthRule, port_finding
from railweave.health.needs import PORT_ERRORS
from railweave.wording import command_line


def cable_fix() -> str:
    """Return what to do about a cable that damages or loses frames."""
    return f"clean or replace the cable and its optics at both ends; `{command_line('links')}` grades the cable"


def _judge(case: HealthCase) -> Iterator[HealthFinding]:
    """Yield a finding for each port that counts more frames with errors than a healthy one."""
    for port, switch in case.counted():
        errors = switch.port(port.port).growth(CounterMeaning.ERRORS)
        if errors is not None and errors > ERRORS_PER_S * switch.seconds:
            rate = errors / switch.seconds
            message = f"counts {rate:,.1f} frames with errors a second, at most {ERRORS_PER_S:g}"
            yield port_finding(LINK_ERRORS, Severity.ERROR, port, message, cable_fix())


RULE = HealthRule(LINK_ERRORS, "links carry frames without errors", _judge, (PORT_ERRORS,))
