"""The ports that a change of one device shuts down permanently, and their far ends as the device had them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from railweave.sonic.delta.change import Change, Op

SERVER = "Server"
"""``DEVICE_NEIGHBOR_METADATA`` type of a GPU node."""


@dataclass(frozen=True, slots=True)
class ClosingPort:
    """A port that is shut down or removed.

    ``far_end`` is the device that DEVICE_NEIGHBOR named until now, empty where none. ``is_server`` says that it is a
    GPU node whose DEVICE_NEIGHBOR_METADATA row the change removes too.
    """

    port: str
    far_end: str
    is_server: bool = False


def closing_ports(changes: Iterable[Change]) -> tuple[ClosingPort, ...]:
    """Return the ports that ``changes`` of one device close, in their order."""
    changes = tuple(changes)
    far_ends = dict(_far_ends(changes))
    servers = {
        change.key
        for change in changes
        if change.table == "DEVICE_NEIGHBOR_METADATA" and _field(change.before, "type") == SERVER
    }
    closed = dict.fromkeys(change.key for change in changes if change.table == "PORT" and _closes(change))
    return tuple(ClosingPort(port, far_ends.get(port, ""), far_ends.get(port, "") in servers) for port in closed)


def _closes(change: Change) -> bool:
    if change.field == "admin_status":
        return change.before == "up" and change.after != "up"
    return change.field is None and change.op is Op.REMOVE and _field(change.before, "admin_status") == "up"


def _far_ends(changes: Iterable[Change]) -> Iterable[tuple[str, str]]:
    for change in changes:
        if change.table == "DEVICE_NEIGHBOR" and change.op is not Op.ADD:
            if change.field is None:
                yield change.key, _field(change.before, "name")
            elif change.field == "name":
                yield change.key, str(change.before)


def _field(row: object, name: str) -> str:
    if isinstance(row, Mapping):
        return str(row.get(name, ""))
    return ""
