"""orchagent waits for ever for what a buffer row names and nobody wrote, and a lossless profile without room behind it
drops: rows of overrides and of live switches are resolved down to the pool and the chip. What a switch shares out
otherwise than designed moves the depth at which PFC pauses."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from railweave.catalog.load import load_catalog
from railweave.checks.registry import Breach, Breaches, LinkBreach, LinkBreaches, LinkEnds, SwitchRead, rule
from railweave.sonic.buffer_faults import buffer_differences, buffer_faults
from railweave.wording import first_few

if TYPE_CHECKING:
    from railweave.sonic.port_settings import PortSettings
    from railweave.sonic.resolved import BufferUse

RULE = rule(
    "H-pools",
    "buffer rows reference existing pools and profiles, and fit",
    __doc__,
    "overrides: {leaf: {BUFFER_PROFILE: {mine: {pool: no_such_pool, size: '0', dynamic_th: '0'}}}}",
)


@RULE.on_switch
def check_buffer_rows(read: SwitchRead) -> Breaches:
    """Yield a breach for each buffer row of a switch that references what does not exist, or does not fit."""
    model = load_catalog().find_switch(read.fabric.switch_of[read.name].panel.model)
    # Without it only the sum of the pools is not compared.
    chip_bytes = model.asic.buffer_bytes if model is not None else None
    for row, fault, fix in buffer_faults(read.tables, chip_bytes):
        yield Breach("", f"{row} of {read.name} {fault}", fix, devices=(read.name,))


@RULE.on_switch
def check_conflicts(switch: SwitchRead) -> Breaches:
    """Yield a breach for each buffer table with queues or groups that two rows set to different values.

    orchagent takes rows in the order of their keys, not of time.
    """
    yield from conflicts(switch, in_buffer=True)


def conflicts(switch: SwitchRead, *, in_buffer: bool) -> Breaches:
    """Yield a breach for each table with objects that two rows set to different values.

    With ``in_buffer`` these are the buffer tables, without it all others.
    """
    keys_of_table: dict[str, list[str]] = {}
    for table, key in switch.read.conflicts:
        if table.startswith("BUFFER") is in_buffer:
            keys_of_table.setdefault(table, []).append(key)
    for table, keys in keys_of_table.items():
        message = f"two rows of {table} of {switch.name} set {first_few(keys, 4)} otherwise: which one acts is open"
        yield Breach("", message, "take one of them out", devices=(switch.name,))


@RULE.on_switch
def compare_shared_settings(switch: SwitchRead) -> Breaches:
    """Yield a breach for each row that holds for all ports and differs from the design.

    These are pools, their sizes, and what headroom is computed from.
    """
    for row, difference, fix in buffer_differences(switch.read, switch.design):
        yield Breach("", f"{row} of {switch.name} {difference}", f"{fix} on {switch.name}", devices=(switch.name,))


@RULE.on_link
def compare_with_design(link: LinkEnds) -> LinkBreaches:
    """Yield a breach for each group, queue and port with another buffer than designed.

    Buffers are compared by their meaning: names may differ.
    """
    for end in link.switches:
        for buffer in _designed_buffers(end, link.design(end)):
            if buffer.actual != buffer.design:
                message = (
                    f"{buffer.name} of {end}, towards {link.far(end)}, has {_uses_text(buffer.actual)}, by design"
                    f" {_uses_text(buffer.design)}"
                )
                yield LinkBreach(end, buffer.name, message, f"set the buffer rows of {end} as rendered")


Uses = tuple["BufferUse | None", ...]


class _ComparedBuffer(NamedTuple):
    """A group or queue, or a table with rows of whole ports, with its buffers as they are set and as designed."""

    name: str
    actual: Uses
    design: Uses


def _designed_groups(
    end: "PortSettings", actual: "Mapping[int, BufferUse | None]", design: "Mapping[int, BufferUse | None]"
) -> Iterator[_ComparedBuffer]:
    """Yield the groups of a port that have a buffer by design, without those that H-headroom reports."""
    for group, intended_use in design.items():
        use = actual.get(group)
        if not _is_reported_by_headroom(end, group, use, intended_use):
            yield _ComparedBuffer(f"priority group {group}", (use,), (intended_use,))


def _designed_buffers(end: "PortSettings", design: "PortSettings") -> Iterator[_ComparedBuffer]:
    """Yield the groups, queues and tables of a port that have a buffer by design, as far as they were read."""
    # None: the tables were not read, so nothing is known to be missing.
    if end.group_buffers is not None:
        yield from _designed_groups(end, end.group_buffers, design.group_buffers or {})
    if end.queue_buffers is not None:
        for queue, intended_use in (design.queue_buffers or {}).items():
            yield _ComparedBuffer(f"queue {queue}", (end.queue_buffers.get(queue),), (intended_use,))
    for table, intended_uses in design.port_buffers.items():
        uses = end.port_buffers.get(table)
        if uses is not None and intended_uses is not None:
            yield _ComparedBuffer(table, uses, intended_uses)


def _is_reported_by_headroom(
    end: "PortSettings", group: int, actual: "BufferUse | None", intended: "BufferUse | None"
) -> bool:
    """Tell whether H-headroom reports a group: one that lacks headroom, or has too little."""
    if intended is None:
        return False
    needs_headroom = intended.is_computed or intended.xoff_bytes
    if needs_headroom and group not in (end.headroom or ()):
        return True
    if actual is None or not intended.xoff_bytes:
        return False
    return (actual.xoff_bytes or 0) < intended.xoff_bytes


def _uses_text(uses: Uses) -> str:
    return " and ".join(str(use or "no buffer profile") for use in uses) or "no buffer profile"
