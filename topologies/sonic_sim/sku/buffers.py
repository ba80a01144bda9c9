"""Rows of the buffer templates of an image, computed.

The rules are those of sonic-buildimage 202505 (files/build_templates/buffers_config.j2); what the folder of a SKU adds
(device/*/*/*/{buffers,buffers_dynamic}.json.j2, buffers_defaults_*.j2) is in ``data.json``.
"""

from collections.abc import Mapping
from typing import Any

from sonic_sim.sku.data import MissingTemplateError, Tables, layout_of, rows_of, undefined
from sonic_sim.sku.ports import Ports, localhost_of, port_rows, ports_of

_METERS = {
    "internal": "5m", "torrouter_server": "5m", "leafrouter_torrouter": "40m", "spinerouter_leafrouter": "300m",
    "regionalhub_spinerouter": "80000m", "aznghub_spinerouter": "80000m",
}  # fmt: skip
"""Cable lengths by the roles of both ends."""


def _topology(data: Mapping[str, Any], default: str) -> str:
    """Return the part of the fabric that buffers are made for, by the switch's type."""
    localhost = localhost_of(data) if "DEVICE_METADATA" in data else {}
    role = str(localhost.get("type", "")).lower()
    if "mgmt" in role:
        return default
    if "torrouter" in role:
        return "t0"
    if "leafrouter" in role:
        return "t1"
    if "spinerouter" not in role:
        return default
    if str(localhost.get("subtype", "")).lower() == "lowerspinerouter":
        return "lt2"
    return "ft2" if role == "fabricspinerouter" else "t2"


def _layout(data: Mapping[str, Any], sku: Mapping[str, Any], model: str) -> Mapping[str, Any]:
    """Return the buffers of the topology. Raises MissingTemplateError where the folder has no defaults for it."""
    topology = _topology(data, sku["default"])
    layouts: Mapping[str, int] = sku[model]
    if topology not in layouts:
        raise MissingTemplateError(f"buffers_defaults_{topology}.j2")
    return layout_of(layouts[topology])


def buffer_tables(data: Mapping[str, Any], sku: Mapping[str, Any], *, dynamic: bool) -> tuple[Ports, Tables]:
    """Return the ports that have buffers, and all tables of them.

    Raises ProgramError as Jinja does, MissingTemplateError.
    """
    layout = _layout(data, sku, "dynamic" if dynamic else "traditional")
    ports = ports_of(data, [f"Ethernet{number}" for number in range(*layout.get("ports", (0,)))])
    meters = {port: _cable(data, layout, port, ports) for port in ports.every}
    tables: Tables = {"CABLE_LENGTH": {"AZURE": meters}}
    for part in ("always", *(["with_inactive"] if ports.inactive else [])):
        for table, rows in rows_of(layout.get(part, {})).items():
            tables[table] = tables.get(table, {}) | rows
    for names, part in ((ports.active, "active"), (ports.inactive, "inactive")):
        # A configuration without any port has not even empty tables of them.
        patterns = rows_of(layout.get(part, {})) if ports.active or ports.inactive else {}
        for table, pattern in patterns.items():
            tables[table] = tables.get(table, {}) | dict(port_rows(names, pattern))
    return ports, tables


def _cable(data: Mapping[str, Any], layout: Mapping[str, Any], port: str, ports: Ports) -> str:
    """Return the length of a port's cable by the roles of both ends."""
    meters: Mapping[str, str] = layout.get("meters", _METERS)
    internal = meters.get("internal", _METERS["internal"])
    role = str(data.get("DEVICE_METADATA", {}).get("localhost", {}).get("type", ""))
    length = _by_neighbor(data, meters, port, role)
    if port in ports.dpc:
        return "0m"
    if length is None and port.startswith("Ethernet-BP"):  # a port of the backplane
        length = internal
    is_member = any(member[1] == port for member in data.get("VLAN_MEMBER", ()))
    if length is None and is_member and "torrouter" in role.lower() and "mgmt" not in role.lower():
        length = meters.get(f"{role}_server".lower().replace("backend", ""))
    return str(layout["cable"]) if length is None else length


def _by_neighbor(data: Mapping[str, Any], meters: Mapping[str, str], port: str, role: str) -> str | None:
    """Return the length of the cable to a port's neighbor, None where its type is unknown. Raises ProgramError."""
    neighbor = data.get("DEVICE_NEIGHBOR", {}).get(port, {}).get("name")
    row = data.get("DEVICE_NEIGHBOR_METADATA", {}).get(neighbor)
    if not row:
        return None
    if "type" not in row:
        raise undefined("'dict object' has no attribute 'type'")
    far_role = str(row["type"])
    if far_role.lower() == "asic":
        return meters.get("internal", _METERS["internal"])
    if far_role.lower() == "edgezoneaggregator":
        far_role = "LeafRouter"
    for pair in (f"{role}_{far_role}", f"{far_role}_{role}"):
        # Switches of a backend have the cables of their kind in the frontend.
        length = meters.get(pair.lower().replace("backend", ""))
        if length is not None:
            return length
    return None
