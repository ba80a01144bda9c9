"""The ports that templates write rows for: all, those with a neighbor, those that carry a tunnel's remapped traffic."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sonic_sim.sku.data import Row, undefined


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports that the templates write rows for; ``dpc`` ports lead to DPUs."""

    every: tuple[str, ...]
    active: tuple[str, ...]
    inactive: tuple[str, ...]
    dpc: tuple[str, ...]


def localhost_of(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the metadata. Raises ProgramError where there is none."""
    if "DEVICE_METADATA" not in data:
        raise undefined("'DEVICE_METADATA' is undefined")
    if "localhost" not in data["DEVICE_METADATA"]:
        raise undefined("'dict object' has no attribute 'localhost'")
    return dict(data["DEVICE_METADATA"]["localhost"])


def ports_of(data: Mapping[str, Any], without_table: Sequence[str] = (), *, dpus: bool = True) -> Ports:
    """Return the ports of a configuration; ``without_table`` are those of one that has no ports.

    A template of a SKU's own knows no ports that lead to DPUs (``dpus``).
    """
    rows = data.get("PORT")
    if rows is None:
        every, dpc = list(without_table), []
    else:
        every = [name for name in rows if not name.startswith(("Ethernet-Rec", "Ethernet-IB"))]
        dpc = [name for name in every if dpus and rows[name].get("role") == "Dpc"]
    neighbors = data.get("DEVICE_NEIGHBOR")
    if neighbors is None:
        return Ports(tuple(every), tuple(every), (), tuple(dpc))
    inactive = [name for name in every if name not in neighbors and name not in dpc]
    return Ports(tuple(every), (*neighbors, *dpc), tuple(inactive), tuple(dpc))


def port_rows(ports: Sequence[str], pattern: Mapping[str, Row]) -> Iterator[tuple[str, Row]]:
    """Yield the rows of ports; a key of the pattern is what follows the port's name."""
    for port in ports:
        for part, row in pattern.items():
            yield (f"{port}|{part}" if part else port), row


def is_remapped(data: Mapping[str, Any]) -> bool:
    """Tell whether the traffic of a tunnel between two ToRs gets lossless priorities of its own."""
    return bool(data.get("SYSTEM_DEFAULTS", {}).get("tunnel_qos_remap", {}).get("status") == "enabled")


def is_dual(localhost: Mapping[str, Any]) -> bool:
    """Tell whether a switch is one of two ToRs that servers are attached to."""
    return localhost.get("subtype") == "DualToR"


def tunnel_ports(data: Mapping[str, Any], active: Sequence[str]) -> tuple[str, ...]:
    """Return the active ports that carry the tunnel: those of a leaf to ToRs, those of a dual ToR to leaves.

    Raises ProgramError where the neighbor of a port is asked for and there is no such row.
    """
    if not active or not is_remapped(data):
        return ()
    if "DEVICE_METADATA" not in data:
        raise undefined("'DEVICE_METADATA' is undefined")
    localhost = data["DEVICE_METADATA"].get("localhost", {})
    wanted = {
        *(["ToRRouter"] if localhost.get("type") == "LeafRouter" else []),
        *(["LeafRouter"] if is_dual(localhost) else []),
    }
    if not wanted or "DEVICE_NEIGHBOR_METADATA" not in data:
        return ()
    return tuple(port for port in active if _far_type(data, port) in wanted)


def _far_type(data: Mapping[str, Any], port: str) -> str | None:
    if "DEVICE_NEIGHBOR" not in data:
        raise undefined("'DEVICE_NEIGHBOR' is undefined")
    if port not in data["DEVICE_NEIGHBOR"]:
        raise undefined(f"'dict object' has no attribute '{port}'")
    found: str | None = data["DEVICE_NEIGHBOR_METADATA"].get(data["DEVICE_NEIGHBOR"][port].get("name"), {}).get("type")
    return found


def is_voq(data: Mapping[str, Any]) -> bool:
    """Tell whether a switch queues what all cards of its chassis send, by system port."""
    return bool(data.get("DEVICE_METADATA", {}).get("localhost", {}).get("switch_type") == "voq")


def system_ports(data: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the front ports of all cards of a chassis, as keys of its queues name them."""
    names = ("|".join(key) if "|" not in key else key for key in data.get("SYSTEM_PORT", ()))
    return tuple(name for name in names if "cpu" not in name.lower() and "IB" not in name and "Rec" not in name)
