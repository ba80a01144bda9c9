"""The fabric around the switches: cables, links, and who is at the far end of a port."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar, cast

from sonic_sim.configdb import ConfigDb, Hash
from sonic_sim.faults import Faults
from sonic_sim.orchagent import Orchagent
from sonic_sim.spec import SimCable, SimHost

_PAM4_LANE_MBPS = 50000


class Switch(Protocol):
    """The part of a switch that the network uses."""

    name: str
    db: ConfigDb
    orchagent: Orchagent
    faults: Faults


AnySwitch = TypeVar("AnySwitch", bound=Switch)
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class End:
    """One end of a cable."""

    node: str
    port: str


def end_of(text: str) -> End:
    """Read ``device:port``. Raises ValueError."""
    node, colon, port = text.partition(":")
    if not (node and colon and port):
        raise ValueError(f"'{text}' is not DEVICE:PORT")
    return End(node, port)


@dataclass(frozen=True, slots=True)
class Port:
    """A PORT row as the link sees it; ``speed_mbps`` 0 where it is missing."""

    name: str
    admin_up: bool
    speed_mbps: int
    fec: str
    autoneg: bool
    mtu: int
    alias: str
    # Between ASIC and module.
    lanes: int = 1


@dataclass(frozen=True, slots=True)
class Address:
    """An IPv4 or IPv6 address with its prefix length on an interface."""

    interface: str
    address: str
    length: int


class _Derived(NamedTuple):
    """A value, and the version of the sources that it was made from."""

    version: object
    value: object


class Network(Generic[AnySwitch]):
    """All devices and hosts with the cables between them. Derived values are kept until their sources change."""

    def __init__(self) -> None:
        """Begin without anything."""
        self.devices: dict[str, AnySwitch] = {}
        self.hosts: dict[str, SimHost] = {}
        # Of the hosts that have any.
        self.host_faults: dict[str, Faults] = {}
        self.cables: dict[End, End] = {}
        # Whether nodes are only the far ends of cables, which all talk to each other; machines send by themselves.
        self.invents_traffic = True
        self.version = 0
        # By switch, and by what the value is.
        self._derived: dict[str, dict[str, _Derived]] = {}

    def add_device(self, device: AnySwitch) -> None:
        """Take a switch into the fabric, in the place of one with its name; cables stay in their ports."""
        self._derived.pop(device.name, None)
        self.devices[device.name] = device
        self.version += 1

    def plug(self, cable: SimCable) -> None:
        """Plug a cable, unplugging present ones in its ports."""
        a = end_of(cable.a)
        b = end_of(cable.b)
        self.unplug(a)
        self.unplug(b)
        self.cables[a] = b
        self.cables[b] = a
        self.version += 1

    def unplug(self, end: End) -> None:
        """Pull the cable out of a port."""
        far_end = self.cables.pop(end, None)
        if far_end is not None:
            self.cables.pop(far_end, None)
        self.version += 1

    def cable_list(self) -> list[SimCable]:
        """Return each cable once, sorted by its ends."""
        cables = set()
        for a, b in self.cables.items():
            # Each cable is kept by both of its ends.
            first, second = sorted(((a.node, a.port), (b.node, b.port)))
            cables.add((first, second))
        return [SimCable(":".join(first), ":".join(second)) for first, second in sorted(cables)]

    def kept(self, device: Switch, what: str, version: object, make: Callable[[], Value]) -> Value:
        """Return a value of a switch, made again only if ``version`` of its sources differs from the last one.

        ``what`` tells the values of one switch apart.
        """
        values = self._derived.setdefault(device.name, {})
        last = values.get(what)
        if last is not None and last.version == version:
            return cast("Value", last.value)
        value = make()
        values[what] = _Derived(version, value)
        return value

    def ports(self, device: Switch) -> dict[str, Port]:
        """Return the ports of a switch by name."""
        return self.kept(device, "ports", device.db.version, lambda: _ports(device))

    def addresses(self, device: Switch) -> tuple[Address, ...]:
        """Return the addresses of routed ports and loopbacks."""
        return self.kept(device, "addresses", device.db.version, lambda: tuple(_addresses(device)))

    def far_end(self, device: Switch, port: str) -> End | None:
        """Return the other end of the cable in a port; None if no cable is plugged."""
        return self.cables.get(End(device.name, port))

    def link_up(self, device: Switch, port: str) -> bool:
        """Tell whether a port is operationally up.

        It is if a cable is plugged and both ends are enabled and agree on speed, FEC and autonegotiation; a node's end
        is up while the node is powered.
        """
        far = self.far_end(device, port)
        if far is None:
            return False
        here = self._enabled_port(device, port)
        if here is None:
            return False
        if far.node in self.hosts:
            return self.hosts[far.node].powered
        remote = self.devices.get(far.node)
        if remote is None:
            return False
        there = self._enabled_port(remote, far.port)
        return there is not None and compatible(here, there)

    def _enabled_port(self, device: Switch, name: str) -> Port | None:
        """Return a port unless something at its own switch keeps it down; else None."""
        port = self.ports(device).get(name)
        if port is None or not port.admin_up:
            return None
        # The virtual ports of a switch without orchagent have no carrier.
        if device.orchagent.crashed or device.faults.cuts(name):
            return None
        return port


def compatible(a: Port, b: Port) -> bool:
    """Tell whether a link between two ports comes up."""
    # Optics may change the number of lanes, so only the whole speed has to agree.
    if a.autoneg != b.autoneg or a.speed_mbps != b.speed_mbps:
        return False
    return a.fec == b.fec or "auto" in (a.fec, b.fec)


def _ports(device: Switch) -> dict[str, Port]:
    return {name: port_of(name, row) for name, row in device.db.table("PORT").items()}


def port_of(name: str, row: Hash) -> Port:
    """Return a PORT row as the link sees it."""
    speed = _number(row.get("speed", ""), 0)
    lanes = row.get("lanes", "").count(",") + 1
    # From 50 Gb/s a lane (PAM4) FEC is not a choice: ports without the field run RS.
    default = "rs" if speed >= _PAM4_LANE_MBPS * lanes else "none"
    return Port(
        name=name,
        admin_up=row.get("admin_status", "down") == "up",
        speed_mbps=speed,
        fec=row.get("fec", default),
        autoneg=row.get("autoneg", "off") == "on",
        mtu=_number(row.get("mtu", ""), 9100),
        alias=row.get("alias", name),
        lanes=lanes,
    )


def _number(text: str, default: int) -> int:
    return int(text) if text.isdigit() else default


def _addresses(device: Switch) -> Iterable[Address]:
    """Yield the addresses that the rows of a switch's interfaces state."""
    for table in ("INTERFACE", "LOOPBACK_INTERFACE", "VLAN_INTERFACE", "PORTCHANNEL_INTERFACE"):
        for key in device.db.table(table):
            interface, bar, prefix = key.partition("|")
            address, slash, length = prefix.partition("/")
            if bar and slash and length.isdigit():
                yield Address(interface, address, int(length))
