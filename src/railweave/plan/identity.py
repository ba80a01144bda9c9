"""Renumbering: changes that take an identity away from a device that runs.

A provisioned device keeps its AS number, loopback and link addresses for life (design rule: no identity depends on a
count). A change of one of them means that the intent renumbers the fabric, which needs an explicit word. A port whose
cable moves to another neighbor may get the address of its new link: that is growth, not renumbering.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from railweave.plan.model import Plan
from railweave.sonic.delta.change import Change, Delta, Op
from railweave.sonic.delta.subject import Subject, SubjectKind
from railweave.sonic.render.interfaces import LOOPBACK


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
    for name, delta in plan.deltas.items():
        if not plan.devices[name].unprovisioned:
            found += _of_device(name, delta)
    return tuple(found)


def _of_device(device: str, delta: Delta) -> Iterable[Renumbering]:
    told = [(change, change.subject) for change in delta]
    for change, subject in told:
        if subject.kind is SubjectKind.DEVICE and change.field == "bgp_asn" and change.op is Op.UPDATE:
            yield Renumbering(device, "AS number", str(change.before), str(change.after))
    moved = {subject.port for _, subject in told if subject.kind is SubjectKind.LINK}
    readdressed = _readdressed(told)
    # The switch's own address is more than one of its ports.
    for port, before, after in sorted(readdressed, key=lambda one: not one[0].startswith(LOOPBACK)):
        if port not in moved:
            yield Renumbering(device, port, before, after)


def _readdressed(told: Iterable[tuple[Change, Subject]]) -> Iterable[tuple[str, str, str]]:
    """Yield (port, address before, address after) of ports that lose one address and get another."""
    lost: dict[str, str] = {}
    got: dict[str, str] = {}
    for change, subject in told:
        if subject.kind is SubjectKind.ADDRESS and change.field is None:
            if change.op is Op.REMOVE:
                lost[subject.port] = subject.name
            elif change.op is Op.ADD:
                got[subject.port] = subject.name
    return [(port, before, got[port]) for port, before in lost.items() if port in got]
