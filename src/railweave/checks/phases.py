"""Whether switches and NICs can serve two markings at once: buffers of the phases between (H-budget), groups that lose
their buffer under traffic, and NICs that serve one lossless priority only."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from railweave.catalog.load import load_catalog
from railweave.checks.buffers import buffer_findings
from railweave.diagnostics import Diagnostic, Severity, Where, error, in_order, warning
from railweave.fabric.model import Fabric
from railweave.fabric.policy import BufferModel
from railweave.hosts.values import host_vendor
from railweave.plan.phases import Phase, PhaseKind
from railweave.qos.buffering import ranges
from railweave.qos.mmu.headroom import buffer_model

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
    """Yield a warning where priority groups that stay lose their buffer for a moment: SONiC's buffer manager joins
    neighbors in a row of its own, which goes with the first of them (``sonic.delta.daemon_rows``)."""
    before = base
    for fabric in fabrics:
        stay, joined = _lossless(before) & _lossless(fabric), ranges(_lossless(before))
        gone = [
            span for span in joined if stay & set(_numbers(span)) and not _lossless(fabric).issuperset(_numbers(span))
        ]
        if gone and _looks_headroom_up(fabric):
            kept = sorted(stay & {number for span in gone for number in _numbers(span)})
            yield warning(
                "RW516",
                f"BUFFER_PG {', '.join(gone)}, which SONiC's buffer manager makes of neighboring lossless priorities,"
                f" goes from one port after the other: for a moment lossless packets on priority"
                f" {', '.join(map(str, kept))} have no headroom there",
                place,
                fix="choose a priority that is no neighbor of another lossless one, or run these phases while little"
                " uses the class",
            )
            return
        before = fabric


def _looks_headroom_up(fabric: Fabric) -> bool:
    """Tell whether a switch has the traditional buffer model, in which SONiC makes groups too."""
    policy = fabric.policies.sonic
    return any(
        switch.panel.buffers is not None and buffer_model(switch.panel.buffers, policy) is BufferModel.TRADITIONAL
        for switch in fabric.switches
    )


def _lossless(fabric: Fabric) -> set[int]:
    return {one.priority for one in fabric.policies.classes if one.lossless}


def _numbers(group: str) -> range:
    first, _, last = group.partition("-")
    return range(int(first), int(last or first) + 1)
