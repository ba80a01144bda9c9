"""Findings of `railweave health`, what could not be judged, and the rules as values."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from railweave.diagnostics import Severity
from railweave.health.case import HealthCase, WatchedPort
from railweave.health.reading import CounterKind


class HealthFinding(NamedTuple):
    """What is wrong, where, and what to do; ``ports`` are ``DEVICE PORT``, ``cables`` as `bom --labels` names them."""

    code: str
    severity: Severity
    message: str
    devices: tuple[str, ...]
    ports: tuple[str, ...]
    cables: tuple[str, ...]
    fix: str


class HealthGap(NamedTuple):
    """What could not be judged, and why; ``codes`` are the rules, empty if rows were left out of all of them."""

    codes: tuple[str, ...]
    devices: tuple[str, ...]
    reason: str
    fix: str


class CounterNeed(NamedTuple):
    """A kind of counter in ``ports``, ``queues`` or ``groups`` without which a rule judges nothing."""

    table: str
    kind: CounterKind
    # What turns it on.
    fix: str
    # The first SONiC release that counts it; empty for all.
    since: str = ""


class HealthRule(NamedTuple):
    """A rule: its code, what holds in a healthy fabric, and the function that yields the findings."""

    code: str
    title: str
    judge: Callable[[HealthCase], Iterable[HealthFinding]]
    needs: tuple[CounterNeed, ...] = ()


@dataclass(frozen=True, slots=True)
class HealthReport:
    """The findings of one look at a fabric, errors first. ``unread`` says why switches were not judged."""

    fabric: str
    target: str
    # Between the two readings.
    seconds: float
    # Switches that were judged.
    judged: int
    findings: tuple[HealthFinding, ...]
    unread: Mapping[str, str]
    gaps: tuple[HealthGap, ...] = ()

    @property
    def ok(self) -> bool:
        """Tell whether every switch was read and nothing is wrong."""
        return not self.findings and not self.unread


def port_finding(code: str, severity: Severity, port: WatchedPort, message: str, fix: str) -> HealthFinding:
    """Return a finding at one port; ``message`` continues the name of the port."""
    return HealthFinding(
        code=code,
        severity=severity,
        message=f"{port.text} {message}",
        devices=(port.device,),
        ports=(port.name,),
        cables=(port.cable,),
        fix=fix,
    )
