"""The specification of a simulated fabric: devices with their boot configuration, hosts, and cables."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

FieldValue = str | list[str]
ConfigDbDocument = dict[str, dict[str, dict[str, FieldValue]]]
"""``{table: {key: {field: text or list}}}``, the form of ``sonic-cfggen -d --print-data``."""


@dataclass(frozen=True, slots=True)
class SimModule:
    """What is plugged into a cage: a transceiver, or the end of a cable."""

    # ``QSFP-DD``, ``OSFP``, ``QSFP28`` …
    form_factor: str
    # ``400G-DR4``.
    name: str
    serial: str
    # Of the whole cage, on the wire, in each direction.
    lanes: int
    # Of the cable.
    length_m: int = 0
    # A cable with fixed ends, of copper or optical.
    fixed: bool = False
    copper: bool = False


@dataclass(frozen=True, slots=True)
class SimDevice:
    """A switch: ``factory`` is the CONFIG_DB that it boots with; ``without`` names programs that its image lacks.

    ``modules`` are those in its cages by port; the ports of one cage have the same.
    """

    name: str
    factory: ConfigDbDocument
    serial: str
    mac: str
    asic: str = "vs"
    without: tuple[str, ...] = ()
    modules: Mapping[str, SimModule] = field(default_factory=dict)

    @property
    def hwsku(self) -> str:
        """The hardware SKU of the factory configuration."""
        value = self.factory.get("DEVICE_METADATA", {}).get("localhost", {}).get("hwsku", "")
        return value if isinstance(value, str) else ""

    def lanes(self) -> frozenset[str]:
        """All SerDes lanes of the switch: they belong to the hardware, whatever the breakout."""
        lanes: set[str] = set()
        for row in self.factory.get("PORT", {}).values():
            text = row.get("lanes", "")
            if isinstance(text, str):
                lanes.update(text.split(","))
        return frozenset(lanes - {""})


@dataclass(frozen=True, slots=True)
class SimNic:
    """A network interface of a node, one port of a NIC: ``rdma`` and ``pci`` are its RDMA device and PCI address."""

    name: str
    mac: str
    rdma: str
    pci: str
    # nvidia, broadcom, amd or intel, whose tools the node has; empty for another vendor.
    vendor: str = ""
    speed_gbps: int = 0
    # As ethtool names it: RS, BaseR or Off.
    fec: str = "RS"
    # As the kernel shows the slot, speed and width: ("32.0 GT/s PCIe", "16").
    pcie: tuple[str, ...] = ()
    # The number of the NIC from 0; its ports share it.
    nic: int = 0


@dataclass(frozen=True, slots=True)
class SimHost:
    """A server: it brings its links up and speaks LLDP with its name and port names, unless it is not ``powered``.

    ``mtu`` in bytes, IP layer. With ``nics`` it is a machine (`sonic_sim.nodes`), where the system allows that;
    ``frontend`` is an interface that it has beside them.
    """

    name: str
    mac: str
    mtu: int = 9000
    powered: bool = True
    nics: tuple[SimNic, ...] = ()
    frontend: str = ""


def host_from_json(value: Mapping[str, Any]) -> SimHost:
    """Return the server that was written as plain values."""
    # JSON has no tuples.
    nics = tuple(SimNic(**{**nic, "pcie": tuple(nic["pcie"])}) for nic in value.get("nics", ()))
    return SimHost(**{**value, "nics": nics})


@dataclass(frozen=True, slots=True)
class SimCable:
    """A cable between two ends, each ``device:port`` (port: ``Ethernet8`` of a switch, any name of a host)."""

    a: str
    b: str


@dataclass(frozen=True, slots=True)
class SimState:
    """The state of a switch that joins the fabric, in place of the factory configuration.

    ``running`` is its CONFIG_DB and ``frr`` the text of its running FRR, None where FRR does not run; ``startup`` and
    ``startup_frr`` are what it boots. ``version_file`` is ``/etc/sonic/sonic_version.yml``, empty for the simulator's
    own. ``digest_key`` and ``generation`` are those that the transaction program keeps on the switch.
    """

    running: ConfigDbDocument
    frr: str | None
    startup: ConfigDbDocument
    startup_frr: str | None = None
    version_file: str = ""
    digest_key: str = ""
    generation: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SimSpec:
    """A whole simulated fabric; ``states`` has the devices that do not begin as the factory leaves them."""

    fabric: str
    devices: tuple[SimDevice, ...]
    hosts: tuple[SimHost, ...] = ()
    cables: tuple[SimCable, ...] = field(default=())
    states: Mapping[str, SimState] = field(default_factory=dict)

    def to_json(self) -> str:
        """Return the JSON form; `spec_from_json` reads it back."""
        import orjson

        return orjson.dumps(self).decode()


def spec_from_json(text: str | bytes) -> SimSpec:
    """Return the specification that `SimSpec.to_json` wrote. Raises ValueError if the text has another shape."""
    # Imported only now: a lab's node takes this module for its values and has only what Debian packages.
    import orjson

    try:
        return _spec(orjson.loads(text))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a simulator specification: {error}") from error


def _spec(document: Mapping[str, Any]) -> SimSpec:
    return SimSpec(
        fabric=document["fabric"],
        devices=tuple(map(switch_from_json, document["devices"])),
        hosts=tuple(map(host_from_json, document["hosts"])),
        cables=tuple(SimCable(**cable) for cable in document["cables"]),
        states={name: SimState(**state) for name, state in document.get("states", {}).items()},
    )


def switch_from_json(value: Mapping[str, Any]) -> SimDevice:
    """Return the switch that was written as plain values."""
    # JSON has no tuples; folders of earlier simulators have neither of them.
    without = tuple(value.get("without", ()))
    modules = {port: SimModule(**module) for port, module in value.get("modules", {}).items()}
    return SimDevice(**{**value, "without": without, "modules": modules})
