"""Whether switches and NICs can serve two markings at once: buffers of the phases between (H-budget), groups that have
to be written anew under traffic, and NICs that serve one lossless priority only."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from railweave.catalog.load import load_catalog
from railweave.checks.buffers import buffer_findings
from railweave.diagnostics import Diagnostic, Severity, Where, error, in_order, warning
from railweave.fabric.model import Fabric
from railweave.hosts.values import host_vendor
from railweave.plan.phases import Phase, PhaseKind
from railweave.qos.buffering import ranges

_FIX = (
    "change one class at a time, use shorter cables, or accept the loss: stop what uses the class and deploy with"
    " --single-step"
)

Places = Callable[[str], Where]


def check_phases(base: Fabric, phases: Sequence[Phase], where: Places) -> tuple[Diagnostic, ...]:
    """Return what is wrong with the phases that lead away from ``base``, errors first; ``where`` finds an intent path.

    Errors are buffers without room for the lossless classes of a phase before the last; what the head itself lacks
    its own checks report.
    """
    head = phases[-1].fabric
    place = where("traffic_classes")
    nics = tuple(_nics(base, phases, place))
    between = [
        phase
        for phase in phases[:-1]
        if phase.kind is PhaseKind.SWITCHES and phase.fabric is not head and not phase.leaving
    ]
    if not between:
        return nics
    known = {(one.code, one.message) for one in buffer_findings(head, where)}
    between_findings = [
        one._replace(
            message=f"{'while both markings are served' if 'marking' in phase.values else phase.title}: {one.message}"
        )
        for phase in between
        for one in _errors(phase, place)
        if (one.code, one.message) not in known
    ]
    return in_order((*nics, *between_findings, *_rewritten(base, [phase.fabric for phase in phases], place)))


def _errors(phase: Phase, place: Where) -> Iterator[Diagnostic]:
    for one in buffer_findings(phase.fabric, lambda _: place):
        if one.severity is Severity.ERROR:
            yield one._replace(fix=_FIX)


def _nics(base: Fabric, phases: Sequence[Phase], place: Where) -> Iterator[Diagnostic]:
    """Yield an error for each vendor whose NICs serve fewer lossless priorities than a phase between asks for."""
    asked = max((len(_lossless(phase.nodes)) for phase in phases if phase.is_of_nodes), default=0)
    if asked <= max(len(_lossless(base)), len(_lossless(phases[-1].fabric))):
        return
    fabric = phases[-1].nodes
    vendors = {host_vendor(fabric, host) for host in fabric.hosts}
    for vendor in sorted(one for one in vendors if one is not None):
        if (most := load_catalog().vendor_pack(vendor).lossless_priorities) < asked:
            yield error(
                "RW516",
                f"between the two markings GPU nodes have to serve {asked} lossless priorities, and the tools of"
                f" `{vendor}` set up {most}: a node that has changed would lose what the others send",
                place,
                fix="keep the priority and change the code point alone; or stop what uses the class and deploy with"
                " --single-step",
            )


def _rewritten(base: Fabric, fabrics: Iterable[Fabric], place: Where) -> Iterator[Diagnostic]:
    """Yield a warning where priority groups that stay get another row: SONiC keeps neighbors in one (``3-4``)."""
    before = base
    for fabric in fabrics:
        stay = _lossless(before) & _lossless(fabric)
        gone = [one for one in _groups(before) if one not in _groups(fabric) and stay & set(_numbers(one))]
        if gone and any(switch.panel.buffers for switch in fabric.switches):
            yield warning(
                "RW516",
                f"on every port, under traffic, BUFFER_PG {', '.join(gone)} is written anew as"
                f" {', '.join(_groups(fabric))}: for that moment lossless packets have no headroom",
                place,
                fix="choose a priority that is no neighbor of another lossless one, or run these phases while little"
                " uses the class",
            )
            return
        before = fabric


def _lossless(fabric: Fabric) -> set[int]:
    return {one.priority for one in fabric.policies.classes if one.lossless}


def _groups(fabric: Fabric) -> tuple[str, ...]:
    return ranges(_lossless(fabric))


def _numbers(group: str) -> range:
    first, _, last = group.partition("-")
    return range(int(first), int(last or first) + 1)
