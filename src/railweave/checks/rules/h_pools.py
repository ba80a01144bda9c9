"""orchagent waits for ever for what a buffer row names and nobody wrote, and a lossless profile without room behind it
drops: rows of overrides and of live switches are resolved down to the pool and the chip. What a switch shares out
otherwise than designed moves the depth at which PFC pauses."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

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
def rows(read: SwitchRead) -> Breaches:
    """Resolve every buffer row of a switch."""
    model = load_catalog().find_switch(read.fabric.switch_of[read.name].panel.model)
    # Without it only the sum of the pools is not compared.
    chip_bytes = model.asic.buffer_bytes if model is not None else None
    for row, what, fix in buffer_faults(read.tables, chip_bytes):
        yield Breach("", f"{row} of {read.name} {what}", fix, devices=(read.name,))


@RULE.on_switch
def twice(switch: SwitchRead) -> Breaches:
    """Look for queues and groups that two rows set: orchagent takes rows in the order of their keys, not of time."""
    yield from conflicts(switch, in_buffer=True)


def conflicts(switch: SwitchRead, *, in_buffer: bool) -> Breaches:
    """Yield the buffers, or else the queues, that two rows set otherwise."""
    alike: dict[str, list[str]] = {}
    for table, key in switch.read.conflicts:
        if table.startswith("BUFFER") is in_buffer:
            alike.setdefault(table, []).append(key)
    for table, keys in alike.items():
        message = f"two rows of {table} of {switch.name} set {first_few(keys, 4)} otherwise: which one acts is open"
        yield Breach("", message, "take one of them out", devices=(switch.name,))


@RULE.on_switch
def shared(switch: SwitchRead) -> Breaches:
    """Compare what holds for all ports with the design: pools, their sizes, and what headroom is computed from."""
    for row, what, fix in buffer_differences(switch.read, switch.design):
        yield Breach("", f"{row} of {switch.name} {what}", f"{fix} on {switch.name}", devices=(switch.name,))


@RULE.on_link
def as_designed(link: LinkEnds) -> LinkBreaches:
    """Compare the buffer of every group, queue and port with the design, by meaning: names may differ."""
    for end in link.switches:
        for what, actual, design in _uses(end, link.design(end)):
            if actual != design:
                message = f"{what} of {end}, towards {link.far(end)}, has {_words(actual)}, by design {_words(design)}"
                yield LinkBreach(end, what, message, f"set the buffer rows of {end} as rendered")


Uses = tuple["BufferUse | None", ...]


def _group_uses(
    end: "PortSettings", actual: "Mapping[int, BufferUse | None]", designed: "Mapping[int, BufferUse | None]"
) -> Iterator[tuple[str, Uses, Uses]]:
    for group, intended in designed.items():
        use = actual.get(group)
        if not _is_reported_by_headroom(end, group, use, intended):
            yield f"priority group {group}", (use,), (intended,)


def _uses(end: "PortSettings", design: "PortSettings") -> Iterator[tuple[str, Uses, Uses]]:
    """Yield the groups, queues and ports that have a buffer by design, with the actual and the designed buffer."""
    # None: the tables were not read, so nothing is known to be missing.
    if end.group_buffers is not None:
        yield from _group_uses(end, end.group_buffers, design.group_buffers or {})
    if end.queue_buffers is not None:
        for queue, intended in (design.queue_buffers or {}).items():
            yield f"queue {queue}", (end.queue_buffers.get(queue),), (intended,)
    for table, intended_uses in design.port_buffers.items():
        uses = end.port_buffers.get(table)
        if uses is not None and intended_uses is not None:
            yield table, uses, intended_uses


def _is_reported_by_headroom(
    end: "PortSettings", group: int, actual: "BufferUse | None", intended: "BufferUse | None"
) -> bool:
    """Tell whether H-headroom reports a group: one that lacks headroom, or has too little."""
    if intended is None:
        return False
    if (intended.is_computed or intended.xoff_bytes) and group not in (end.headroom or ()):
        return True
    return bool(intended.xoff_bytes and actual and (actual.xoff_bytes or 0) < intended.xoff_bytes)


def _words(uses: Uses) -> str:
    return " and ".join(str(use or "no buffer profile") for use in uses) or "no buffer profile"
