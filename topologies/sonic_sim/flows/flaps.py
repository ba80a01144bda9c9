"""Transitions of links as orchagent counts them in ``PORT_TABLE`` of APPL_DB: each up and each down is one.

The state of a link is checked when its row is read, and after each change of its switch. A bad copper cable flaps at
random times, each time too short for BGP, whose sessions stay.
"""

from dataclasses import dataclass
from random import Random
from time import gmtime, strftime

from sonic_sim.configdb import Hash
from sonic_sim.device import Device, Fabric
from sonic_sim.faults import FaultKind
from sonic_sim.flows.link_faults import of_cable
from sonic_sim.network import End

_HOUR_S = 3600.0
# How long a flap of a copper cable is.
_FLAP_S = 0.3
_FORM = "%a %b %d %H:%M:%S %Y"


@dataclass(slots=True)
class _Link:
    """One port since swss started."""

    swss_up: float
    up: bool = False
    transitions: int = 0
    down_at: float | None = None
    up_at: float | None = None
    # The flaps of its cable that are in ``transitions`` already.
    counted_flaps: int = 0


@dataclass(slots=True)
class _Cable:
    """A cable that flaps: when its fault began, and its flaps until now."""

    since: float
    next_at: float
    flaps: int = 0
    last_at: float = 0.0


class Flaps:
    """The transitions of all ports of a fabric."""

    def __init__(self, net: Fabric, random: Random) -> None:
        self._net = net
        self._random = random
        self._links: dict[End, _Link] = {}
        self._followed: dict[str, tuple[int, int]] = {}
        self._cables: dict[frozenset[End], _Cable] = {}

    def look(self, device: Device) -> None:
        """Count the transitions of a switch's ports and of those at the other ends of their cables."""
        for port in self._net.ports(device):
            end = End(device.name, port)
            self._count_port(device, end)
            far = self._net.cables.get(end)
            if far is None:
                continue
            neighbor = self._net.devices.get(far.node)
            if neighbor is not None and far.port in self._net.ports(neighbor):
                self._count_port(neighbor, far)

    def follow(self, device: Device) -> None:
        """Count the transitions of a switch if it changed since the last time."""
        version = (device.db.version, device.faults.version)
        if self._followed.get(device.name) != version:
            self._followed[device.name] = version
            self.look(device)

    def row(self, device: Device, port: str) -> Hash:
        """Return the fields of a port, with its transitions until now; none for a port that was never up."""
        end = End(device.name, port)
        self._count_port(device, end)
        link = self._links[end]
        row: Hash = {}
        if link.transitions:
            row["flap_count"] = str(link.transitions)
        for name, moment in (("last_down_time", link.down_at), ("last_up_time", link.up_at)):
            if moment is not None:
                row[name] = strftime(_FORM, gmtime(moment))
        return row

    def _count_port(self, device: Device, end: End) -> None:
        """Count the transitions of one port until now."""
        now = device.clock.now()
        link = self._links.get(end)
        if link is None or link.swss_up != device.times.swss_up:
            # Counters of swss begin again, and earlier flaps of the cable do not count.
            link = _Link(device.times.swss_up)
            self._links[end] = link
            cable = self._cable(end, now)
            if cable is not None:
                link.counted_flaps = cable.flaps
        up = self._net.link_up(device, end.port)
        if up != link.up:
            self._turn(link, now, up=up)
        cable = self._cable(end, now)
        if up and cable is not None and cable.flaps > link.counted_flaps:
            # Each flap is a transition down and one up.
            link.transitions += 2 * (cable.flaps - link.counted_flaps)
            link.counted_flaps = cable.flaps
            link.down_at = cable.last_at
            link.up_at = cable.last_at + _FLAP_S

    @staticmethod
    def _turn(link: _Link, now: float, *, up: bool) -> None:
        """Count that a link went up or down."""
        link.up = up
        if up:
            # The first link-up counts too (portsorch.cpp): links come up with swss.
            link.up_at = now if link.transitions else link.swss_up
        else:
            link.down_at = now
        link.transitions += 1

    def _cable(self, end: End, now: float) -> _Cable | None:
        """Return the cable of a port with its flaps until now; None for one that does not flap."""
        fault = of_cable(self._net, FaultKind.BAD_COPPER, end)
        far = self._net.cables.get(end)
        if fault is None or far is None:
            return None
        if fault.flaps <= 0:
            return None
        key = frozenset({end, far})
        cable = self._cables.get(key)
        if cable is None or cable.since != fault.since:
            flaps = 0 if cable is None else cable.flaps
            # A cable flaps at once when its fault is armed.
            cable = _Cable(fault.since, fault.since, flaps)
            self._cables[key] = cable
        while cable.next_at <= now:
            cable.flaps += 1
            cable.last_at = cable.next_at
            cable.next_at += self._random.expovariate(fault.flaps / _HOUR_S)
        return cable
