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
    """Return the topology that buffers are made for by the type of the switch, ``default`` for other types."""
    localhost = localhost_of(data) if "DEVICE_METADATA" in data else {}
    # Types have variants that end with the same word, such as BackEndToRRouter and MgmtToRRouter.
    role = str(localhost.get("type", "")).lower()
    if "mgmt" in role:
        return default
    if "torrouter" in role:
        return "t0"
    if "leafrouter" in role:
        return "t1"
    if "spinerouter" in role:
        return _spine_topology(role, str(localhost.get("subtype", "")).lower())
    return default


def _spine_topology(role: str, subtype: str) -> str:
    if subtype == "lowerspinerouter":
        return "lt2"
    if role == "fabricspinerouter":
        return "ft2"
    return "t2"


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
    # Without a table of ports the template takes a range of numbers: start, end and step.
    ports = ports_of(data, [f"Ethernet{number}" for number in range(*layout.get("ports", (0,)))])
    meters = {port: _cable(data, layout, port, ports) for port in ports.every}
    tables: Tables = {"CABLE_LENGTH": {"AZURE": meters}}
    _add_rows(tables, rows_of(layout.get("always", {})))
    if ports.inactive:
        _add_rows(tables, rows_of(layout.get("with_inactive", {})))
    # A configuration without any port has not even empty tables of them.
    if ports.active or ports.inactive:
        for part, names in (("active", ports.active), ("inactive", ports.inactive)):
            patterns = rows_of(layout.get(part, {}))
            _add_rows(tables, {table: dict(port_rows(names, pattern)) for table, pattern in patterns.items()})
    return ports, tables


def _add_rows(tables: Tables, rows_of_tables: Mapping[str, Any]) -> None:
    for table, rows in rows_of_tables.items():
        # A new table, because its rows are shared by all configurations.
        tables[table] = tables.get(table, {}) | rows


def _cable(data: Mapping[str, Any], layout: Mapping[str, Any], port: str, ports: Ports) -> str:
    """Return the length of a port's cable by the roles of both ends. Raises ProgramError."""
    meters: Mapping[str, str] = layout.get("meters", _METERS)
    role = str(data.get("DEVICE_METADATA", {}).get("localhost", {}).get("type", ""))
    # The template looks at the neighbor of every port, and fails at one without a type.
    length = _by_neighbor(data, meters, port, role)
    if port in ports.dpc:
        return "0m"
    is_of_backplane = port.startswith("Ethernet-BP")
    if length is None and is_of_backplane:
        length = meters.get("internal", _METERS["internal"])
    # Keys of VLAN_MEMBER are pairs of VLAN and port.
    is_member = any(member[1] == port for member in data.get("VLAN_MEMBER", ()))
    is_tor = "torrouter" in role.lower() and "mgmt" not in role.lower()
    if length is None and is_member and is_tor:
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
