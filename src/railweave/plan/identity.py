"""Renumbering: changes that take an identity away from a device that runs.

A provisioned device keeps its AS number, loopback and link addresses for life (design rule: no identity depends on a
count). A change of one of them means that the intent renumbers the fabric, which needs an explicit word. A port whose
cable moves to another neighbour may get the address of its new link: that is growth, not renumbering.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from railweave.plan.model import Plan
from railweave.sonic.change import Change, Op


@dataclass(frozen=True, slots=True)
class Renumbering:
    """One identity of a running device that would differ: ``what`` is an AS number, a loopback or a port's address."""

    device: str
    what: str
    before: str
    after: str

    def __str__(self) -> str:
        """Return the sentence of a diagnostic."""
        return f"{self.device}: {self.what} {self.before} would become {self.after}"


def find_renumbering(plan: Plan) -> tuple[Renumbering, ...]:
    """Return every identity that ``plan`` would change on a provisioned device."""
    found: list[Renumbering] = []
    for name, changes in plan.changes_by_device().items():
        if not plan.devices[name].unprovisioned:
            found += _of_device(name, changes)
    return tuple(found)


def _of_device(device: str, changes: tuple[Change, ...]) -> Iterable[Renumbering]:
    for change in changes:
        if change.table == "DEVICE_METADATA" and change.field == "bgp_asn" and change.op is Op.UPDATE:
            yield Renumbering(device, "AS number", str(change.before), str(change.after))
    moved = {change.key for change in changes if change.table == "DEVICE_NEIGHBOR"}
    for port, before, after in _readdressed(changes, "LOOPBACK_INTERFACE"):
        yield Renumbering(device, port, before, after)
    for port, before, after in _readdressed(changes, "INTERFACE"):
        if port not in moved:
            yield Renumbering(device, port, before, after)


def _readdressed(changes: Iterable[Change], table: str) -> Iterable[tuple[str, str, str]]:
    """Yield (port, address before, address after) of ports that lose one address and get another."""
    lost: dict[str, str] = {}
    got: dict[str, str] = {}
    for change in changes:
        port, bar, address = change.key.partition("|")
        if change.table == table and bar and change.field is None:
            if change.op is Op.REMOVE:
                lost[port] = address
            elif change.op is Op.ADD:
                got[port] = address
    return [(port, before, got[port]) for port, before in lost.items() if port in got]
