"""Whether switches and NICs can serve two markings at once: buffers of the phases between (H-budget), groups that lose
their buffer under traffic, and NICs that serve one lossless priority only."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from railweave.catalog.load import load_catalog
from railweave.checks.buffers import buffer_findings
from railweave.diagnostics import Diagnostic, Severity, Where, error, in_order, warning
from railweave.fabric.model import Fabric
from railweave.fabric.policy import BufferModel
from railweave.hosts.values import host_vendor
from railweave.plan.phases.planning import Phase, PhaseKind
from railweave.qos.buffering import ranges
from railweave.qos.mmu.headroom import buffer_model

_FIX = (
    "change one class at a time, use shorter cables, or accept the loss: stop what uses the class and deploy with"
    " --single-step"
)

Places = Callable[[str], Where]


def _has_own_buffers(phase: Phase, head: Fabric) -> bool:
    """Tell whether a phase before the last has buffers to check: the head has checks of its own."""
    return phase.kind is PhaseKind.SWITCHES and phase.fabric is not head and not phase.leaving


def check_phases(base: Fabric, phases: Sequence[Phase], where: Places) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of the phases that follow ``base``, errors first; ``where`` finds an intent path.

    Errors are buffers without room for the lossless classes of a phase before the last; the head itself has checks of
    its own.
    """
    head = phases[-1].fabric
    place = where("traffic_classes")
    nics = tuple(_nics(base, phases, place))
    between = [phase for phase in phases[:-1] if _has_own_buffers(phase, head)]
    if not between:
        return nics
    of_head = {(finding.code, finding.message) for finding in buffer_findings(head, where)}
    errors: list[Diagnostic] = []
    for phase in between:
        errors += _errors(phase, of_head, place)
    return in_order((*nics, *errors, *_rewritten(base, [phase.fabric for phase in phases], place)))


def _errors(phase: Phase, of_head: Collection[tuple[str, str]], place: Where) -> Iterator[Diagnostic]:
    """Yield the errors in a phase that head does not have as well."""
    during = "while both markings are served" if "marking" in phase.values else phase.title
    for finding in buffer_findings(phase.fabric, lambda _: place):
        if finding.severity is Severity.ERROR and (finding.code, finding.message) not in of_head:
            yield finding._replace(message=f"{during}: {finding.message}", fix=_FIX)


def _nics(base: Fabric, phases: Sequence[Phase], place: Where) -> Iterator[Diagnostic]:
    """Yield an error for each vendor whose NICs serve fewer lossless priorities than a phase between needs."""
    needed = max((len(_lossless(phase.nodes)) for phase in phases if phase.is_of_nodes), default=0)
    if needed <= max(len(_lossless(base)), len(_lossless(phases[-1].fabric))):
        return
    fabric = phases[-1].nodes
    vendors = {host_vendor(fabric, host) for host in fabric.hosts}
    for vendor in sorted(vendor for vendor in vendors if vendor is not None):
        most = load_catalog().vendor_pack(vendor).lossless_priorities
        if most < needed:
            yield error(
                "RW516",
                f"between the two markings GPU nodes have to serve {needed} lossless priorities, and the tools of"
                f" `{vendor}` set up {most}: a node that has changed would lose what the others send",
                place,
                fix="keep the priority and change the code point alone; or stop what uses the class and deploy with"
                " --single-step",
            )


def _rewritten(base: Fabric, fabrics: Iterable[Fabric], place: Where) -> Iterator[Diagnostic]:
    """Yield a warning if priority groups that stay lose their buffer for a moment."""
    # SONiC's buffer manager joins neighboring priorities in one row, such as 3-4, which is removed with the first of
    # them (``sonic.delta.daemon_rows``).
    before = base
    for fabric in fabrics:
        removed, kept = _removed_rows(_lossless(before), _lossless(fabric))
        if removed and _looks_headroom_up(fabric):
            yield warning(
                "RW516",
                f"BUFFER_PG {', '.join(removed)}, which SONiC's buffer manager makes of neighboring lossless"
                " priorities, goes from one port after the other: for a moment lossless packets on priority"
                f" {', '.join(map(str, kept))} have no headroom there",
                place,
                fix="choose a priority that is not adjacent to another lossless one, or run these phases while little"
                " uses the class",
            )
            return
        before = fabric


def _removed_rows(before: set[int], after: set[int]) -> tuple[list[str], list[int]]:
    """Return the rows of joined priorities of which only some stay lossless, and those that stay."""
    removed = []
    kept: set[int] = set()
    for span in ranges(before):
        staying = after.intersection(_numbers(span))
        if staying and not after.issuperset(_numbers(span)):
            removed.append(span)
            kept |= staying
    return removed, sorted(kept)


def _looks_headroom_up(fabric: Fabric) -> bool:
    """Tell whether a switch has the traditional buffer model, in which SONiC makes groups too."""
    policy = fabric.policies.sonic
    return any(
        switch.panel.buffers is not None and buffer_model(switch.panel.buffers, policy) is BufferModel.TRADITIONAL
        for switch in fabric.switches
    )


def _lossless(fabric: Fabric) -> set[int]:
    return {traffic_class.priority for traffic_class in fabric.policies.classes if traffic_class.lossless}


def _numbers(group: str) -> range:
    first, _, last = group.partition("-")
    return range(int(first), int(last or first) + 1)
