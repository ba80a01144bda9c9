"""The ports that a change of one device shuts down permanently, and their far ends as the device had them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from railweave.sonic.delta.change import Change, Op

SERVER = "Server"
"""``DEVICE_NEIGHBOR_METADATA`` type of a GPU node."""


@dataclass(frozen=True, slots=True)
class ClosingPort:
    """A port that is shut down or removed.

    ``far_end`` is the device that a changed or removed row of DEVICE_NEIGHBOR named, empty if there is no such row.
    ``is_server`` tells that it is a GPU node whose DEVICE_NEIGHBOR_METADATA row the change removes too.
    """

    port: str
    far_end: str
    is_server: bool = False


def closing_ports(changes: Iterable[Change]) -> tuple[ClosingPort, ...]:
    """Return the ports that ``changes`` of one device close, in the order of the changes."""
    changes = tuple(changes)
    far_end_of = _far_ends_before(changes)
    servers = {
        change.key
        for change in changes
        if change.table == "DEVICE_NEIGHBOR_METADATA" and _field(change.before, "type") == SERVER
    }
    closing = []
    for port in dict.fromkeys(change.key for change in changes if change.table == "PORT" and _closes(change)):
        far_end = far_end_of.get(port, "")
        closing.append(ClosingPort(port, far_end, is_server=far_end in servers))
    return tuple(closing)


def _closes(change: Change) -> bool:
    """Tell whether a change of a port shuts it down, or removes it while it is up."""
    if change.field == "admin_status":
        return change.before == "up" and change.after != "up"
    is_removal = change.field is None and change.op is Op.REMOVE
    return is_removal and _field(change.before, "admin_status") == "up"


def _far_ends_before(changes: Iterable[Change]) -> dict[str, str]:
    """Return the devices that rows of DEVICE_NEIGHBOR named before they are changed or removed, by port."""
    far_ends: dict[str, str] = {}
    for change in changes:
        if change.table != "DEVICE_NEIGHBOR" or change.op is Op.ADD:
            continue
        if change.field is None:
            far_ends[change.key] = _field(change.before, "name")
        elif change.field == "name":
            far_ends[change.key] = str(change.before)
    return far_ends


def _field(row: object, name: str) -> str:
    if isinstance(row, Mapping):
        return str(row.get(name, ""))
    return ""
