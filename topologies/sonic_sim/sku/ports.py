"""The ports that templates write rows for, and the uses of a switch whose rows are not simulated."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sonic_sim.sku.data import NotSimulatedError, Row, undefined


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


def check_use(data: Mapping[str, Any]) -> None:
    """Raise NotSimulatedError for a switch whose templates write rows that no GPU fabric has."""
    localhost = data.get("DEVICE_METADATA", {}).get("localhost", {})
    remap = data.get("SYSTEM_DEFAULTS", {}).get("tunnel_qos_remap", {})
    uses = {
        "remapped traffic of a tunnel between two ToRs": remap.get("status") == "enabled",
        "a ToR that shares its servers with another (DualToR)": localhost.get("subtype") == "DualToR",
        "a card of a VoQ chassis": localhost.get("switch_type") == "voq",
        "a backend for storage": localhost.get("storage_device") == "true",
    }
    for use, is_used in uses.items():
        if is_used:
            raise NotSimulatedError(f"the QoS and buffer rows of {use} are not simulated")


def ports_of(data: Mapping[str, Any], without_table: Sequence[str] = (), *, dpus: bool = True) -> Ports:
    """Return the ports of a configuration; ``without_table`` are those of one that has no ports.

    A template of a SKU's own knows no ports that lead to DPUs (``dpus``).
    """
    rows = data.get("PORT")
    dpc: list[str] = []
    if rows is None:
        every = list(without_table)
    else:
        # Recirculation and inband ports of a chassis have no queues of their own.
        every = [name for name in rows if not name.startswith(("Ethernet-Rec", "Ethernet-IB"))]
        dpc = [name for name in every if dpus and rows[name].get("role") == "Dpc"]
    neighbors = data.get("DEVICE_NEIGHBOR")
    if neighbors is None:
        return Ports(tuple(every), tuple(every), (), tuple(dpc))
    inactive = [name for name in every if name not in neighbors and name not in dpc]
    return Ports(tuple(every), (*neighbors, *dpc), tuple(inactive), tuple(dpc))


def port_rows(ports: Sequence[str], pattern: Mapping[str, Row]) -> Iterator[tuple[str, Row]]:
    """Yield the rows of ports; a key of the pattern follows the port's name."""
    for port in ports:
        for part, row in pattern.items():
            key = f"{port}|{part}" if part else port
            yield key, row
