"""What the buffer templates of an image make of a configuration, computed.

The rules are those of sonic-buildimage 202505 (files/build_templates/buffers_config.j2); what the folder of a SKU adds
(device/*/*/*/{buffers,buffers_dynamic}.json.j2, buffers_defaults_*.j2) is in ``data.json``.
"""

from collections.abc import Mapping
from typing import Any

from sonic_sim.sku.data import MissingTemplateError, Tables, layout_of, rows_of, undefined
from sonic_sim.sku.ports import (
    Ports,
    is_dual,
    is_remapped,
    is_voq,
    localhost_of,
    port_rows,
    ports_of,
    system_ports,
    tunnel_ports,
)

_METERS = {
    "internal": "5m", "torrouter_server": "5m", "leafrouter_torrouter": "40m", "spinerouter_leafrouter": "300m",
    "regionalhub_spinerouter": "80000m", "aznghub_spinerouter": "80000m",
}  # fmt: skip
"""Cable lengths by the roles of both ends."""
_OF_TUNNEL = "generate_queue_buffers_with_extra_lossless_queues"
_SYSTEM_QUEUES = {"3-4": "egress_lossless_profile", "0-2": "egress_lossy_profile", "5-6": "egress_lossy_profile"}


def _topology(data: Mapping[str, Any], default: str) -> str:
    """Return the part of the fabric that buffers are made for, by the switch's type."""
    localhost = localhost_of(data) if "DEVICE_METADATA" in data else {}
    role, part = str(localhost.get("type", "")).lower(), str(localhost.get("subtype", "")).lower()
    if "mgmt" in role:
        return default
    if "torrouter" in role:
        return "t0"
    if "leafrouter" in role:
        return "t1"
    if "spinerouter" not in role:
        return default
    return "lt2" if part == "lowerspinerouter" else "ft2" if role == "fabricspinerouter" else "t2"


def _layout(data: Mapping[str, Any], sku: Mapping[str, Any], model: str) -> Mapping[str, Any]:
    """Return the buffers of the topology. Raises MissingTemplateError where the folder has no defaults for it."""
    topology = _topology(data, sku["default"])
    known: Mapping[str, int] = sku[model]
    if topology not in known:
        raise MissingTemplateError(f"buffers_defaults_{topology}.j2")
    return layout_of(known[topology])


def _remapped(
    data: Mapping[str, Any], sku: Mapping[str, Any], model: str, base: Mapping[str, Any], tunnel: bool
) -> Mapping[str, Any]:
    """Return the layout that holds where a tunnel is remapped: by the switch's kind, and with ports that carry it.

    Raises ProgramError where a template of the SKU defines no such layout for a switch without a type.
    """
    if "remap" not in sku or not is_remapped(data):
        return base
    localhost = data.get("DEVICE_METADATA", {}).get("localhost", {})
    known, topology = sku["remap"][model], _topology(data, sku["default"])
    other = f"{topology} of another type"
    apart = other in known and localhost.get("type") != "LeafRouter"
    if apart and tunnel and "type" not in localhost:
        raise undefined(f"'jinja2.environment.TemplateModule object' has no attribute '{_OF_TUNNEL}'")
    number = known[other if apart else topology][2 * is_dual(localhost) + tunnel]
    return base if number is None else layout_of(number)


def buffer_tables(data: Mapping[str, Any], sku: Mapping[str, Any], *, dynamic: bool) -> tuple[Ports, Tables]:
    """Return the ports that have buffers, and all tables of them.

    Raises ProgramError as Jinja does, MissingTemplateError.
    """
    model = "dynamic" if dynamic else "traditional"
    base = _layout(data, sku, model)
    ports = ports_of(data, [f"Ethernet{number}" for number in range(*base.get("ports", (0,)))])
    tunnel = tunnel_ports(data, ports.active)
    layout = _remapped(data, sku, model, base, bool(tunnel))
    meters = {port: _cable(data, layout, port, ports) for port in ports.every}
    tables: Tables = {"CABLE_LENGTH": {"AZURE": meters}}
    for part in ("always", *(["with_inactive"] if ports.inactive else [])):
        for table, rows in rows_of(layout.get(part, {})).items():
            tables[table] = tables.get(table, {}) | rows
    if not ports.active and not ports.inactive:
        return ports, tables
    of_tunnel = tunnel if "extra" in layout else ()
    plain = tuple(port for port in ports.active if port not in of_tunnel)
    for names, part in ((plain, "active"), (of_tunnel, "extra"), (ports.inactive, "inactive")):
        for table, pattern in rows_of(layout.get(part, {})).items():
            tables[table] = tables.get(table, {}) | dict(port_rows(names, pattern))
    if is_voq(data):
        queues = {part: {"profile": profile} for part, profile in _SYSTEM_QUEUES.items()}
        tables["BUFFER_QUEUE"] = dict(port_rows(system_ports(data), queues))
    return ports, tables


def _cable(data: Mapping[str, Any], layout: Mapping[str, Any], port: str, ports: Ports) -> str:
    """Return the length of a port's cable by the roles of both ends."""
    meters: Mapping[str, str] = layout.get("meters", _METERS)
    role = str(data.get("DEVICE_METADATA", {}).get("localhost", {}).get("type", ""))
    neighbor = data.get("DEVICE_NEIGHBOR", {}).get(port, {}).get("name")
    other = data.get("DEVICE_NEIGHBOR_METADATA", {}).get(neighbor)
    found: str | None = None
    if other:
        if "type" not in other:
            raise undefined("'dict object' has no attribute 'type'")
        there = str(other["type"])
        if there.lower() == "asic":
            found = meters.get("internal", _METERS["internal"])
        else:
            there = "LeafRouter" if there.lower() == "edgezoneaggregator" else there
            pairs = (f"{one}_{two}".lower().replace("backend", "") for one, two in ((role, there), (there, role)))
            found = next((meters[pair] for pair in pairs if pair in meters), None)
    if port in ports.dpc:
        return "0m"
    if found is None and port.startswith("Ethernet-BP"):
        found = meters.get("internal", _METERS["internal"])
    members = any(member[1] == port for member in data.get("VLAN_MEMBER", ()))
    if found is None and members and "torrouter" in role.lower() and "mgmt" not in role.lower():
        found = meters.get(f"{role}_server".lower().replace("backend", ""))
    return str(layout["cable"]) if found is None else found
