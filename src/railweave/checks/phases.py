"""Whether the switches can serve two markings at once: buffers in the phases between (check H-budget)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from railweave.checks.buffers import buffer_findings
from railweave.diagnostics import Diagnostic, Severity, Where
from railweave.fabric.model import Fabric
from railweave.plan.phases import Phase, PhaseKind

_FIX = (
    "change one class at a time, use shorter cables, or accept the loss: stop what uses the class and deploy with"
    " --at-once"
)


def check_phases(phases: Sequence[Phase], where: Callable[[str], Where]) -> tuple[Diagnostic, ...]:
    """Return an error for each buffer that has no room for the lossless classes of a phase before the last.

    ``where`` finds an intent path's place. What the head itself lacks is told by its own checks.
    """
    head = phases[-1].fabric
    known = {_subject(one) for one in buffer_findings(head, where)}

    def classes(_: str) -> Where:
        return where("traffic_classes")

    return tuple(dict.fromkeys(one for phase in phases[:-1] for one in _errors(phase, head, classes, known)))


def _errors(
    phase: Phase, head: Fabric, where: Callable[[str], Where], known: set[tuple[str, str]]
) -> Iterator[Diagnostic]:
    if phase.kind is not PhaseKind.SWITCHES or phase.fabric is head:
        return
    for one in buffer_findings(phase.fabric, where):
        if one.severity is Severity.ERROR and _subject(one) not in known:
            message = f"while both markings are served (phase {phase.number}): {one.message}"
            yield replace(one, message=message, fix=_FIX)


def _subject(one: Diagnostic) -> tuple[str, str]:
    return one.code, one.message
