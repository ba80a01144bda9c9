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

    Errors are NICs that serve too few lossless priorities, and buffers without room for the lossless classes of a phase
    before the last. The last one has the fabric of the intent itself, which has checks of its own. The warning is about
    priority groups that lose their buffer for a moment.
    """
    last_fabric = phases[-1].fabric
    place = where("traffic_classes")
    nic_errors = tuple(_nic_errors(base, phases, place))
    earlier_phases = [phase for phase in phases[:-1] if _has_own_buffers(phase, last_fabric)]
    if not earlier_phases:
        return nic_errors
    last_messages = {(finding.code, finding.message) for finding in buffer_findings(last_fabric, where)}
    buffer_errors: list[Diagnostic] = []
    for phase in earlier_phases:
        buffer_errors += _buffer_errors(phase, last_messages, place)
    warnings = _rewritten_groups(base, [phase.fabric for phase in phases], place)
    return in_order((*nic_errors, *buffer_errors, *warnings))


def _buffer_errors(phase: Phase, last_messages: Collection[tuple[str, str]], place: Where) -> Iterator[Diagnostic]:
    """Yield the errors in the buffers of a phase, except those (code and message) that the last phase has too."""
    during = phase.title
    if "marking" in phase.values:
        during = "while both markings are served"
    for finding in buffer_findings(phase.fabric, lambda _: place):
        if finding.severity is Severity.ERROR and (finding.code, finding.message) not in last_messages:
            yield finding._replace(message=f"{during}: {finding.message}", fix=_FIX)


def _nic_errors(base: Fabric, phases: Sequence[Phase], place: Where) -> Iterator[Diagnostic]:
    """Yield an error for each vendor whose NICs serve fewer lossless priorities than a phase between needs."""
    needed = max((len(_lossless(phase.nodes)) for phase in phases if phase.is_of_nodes), default=0)
    needed_before_or_after = max(len(_lossless(base)), len(_lossless(phases[-1].fabric)))
    if needed <= needed_before_or_after:
        return
    fabric = phases[-1].nodes
    vendors = {host_vendor(fabric, host) for host in fabric.hosts}
    for vendor in sorted(vendor for vendor in vendors if vendor is not None):
        supported = load_catalog().vendor_pack(vendor).lossless_priorities
        if supported < needed:
            yield error(
                "RW516",
                f"between the two markings GPU nodes have to serve {needed} lossless priorities, and the tools of"
                f" `{vendor}` set up {supported}: a node that has changed would lose what the others send",
                place,
                fix="keep the priority and change the code point alone; or stop what uses the class and deploy with"
                " --single-step",
            )


def _rewritten_groups(base: Fabric, fabrics: Iterable[Fabric], place: Where) -> Iterator[Diagnostic]:
    """Yield a warning for the first phase in which priority groups that stay lose their buffer for a moment."""
    # SONiC's buffer manager joins neighboring priorities in one row, such as 3-4, which is removed with the first of
    # them (``sonic.delta.daemon_rows``).
    before = base
    for fabric in fabrics:
        removed_rows, kept_priorities = _removed_rows(_lossless(before), _lossless(fabric))
        if removed_rows and _makes_headroom_groups(fabric):
            yield warning(
                "RW516",
                f"BUFFER_PG {', '.join(removed_rows)}, which SONiC's buffer manager makes of neighboring lossless"
                " priorities, goes from one port after the other: for a moment lossless packets on priority"
                f" {', '.join(map(str, kept_priorities))} have no headroom there",
                place,
                fix="choose a priority that is not adjacent to another lossless one, or run these phases while little"
                " uses the class",
            )
            return
        before = fabric


def _removed_rows(before: set[int], after: set[int]) -> tuple[list[str], list[int]]:
    """Return the rows of joined priorities, such as ``3-4``, of which only some stay lossless, and these priorities."""
    removed_rows = []
    kept_priorities: set[int] = set()
    for row in ranges(before):
        priorities = _priorities(row)
        kept = after.intersection(priorities)
        if kept and len(kept) < len(priorities):
            removed_rows.append(row)
            kept_priorities |= kept
    return removed_rows, sorted(kept_priorities)


def _makes_headroom_groups(fabric: Fabric) -> bool:
    """Tell whether a switch has the traditional buffer model, in which SONiC makes headroom groups itself."""
    policy = fabric.policies.sonic
    return any(
        switch.panel.buffers is not None and buffer_model(switch.panel.buffers, policy) is BufferModel.TRADITIONAL
        for switch in fabric.switches
    )


def _lossless(fabric: Fabric) -> set[int]:
    """Return the lossless priorities."""
    return {traffic_class.priority for traffic_class in fabric.policies.classes if traffic_class.lossless}


def _priorities(row: str) -> range:
    """Return the priorities of a row of BUFFER_PG: ``3`` or ``3-4``."""
    first, _, last = row.partition("-")
    return range(int(first), int(last or first) + 1)
