"""What the QoS template of an image makes of a configuration, computed.

The rules are those of sonic-buildimage 202505 (files/build_templates/qos_config.j2); what the folder of a SKU adds
(device/*/*/*/qos.json.j2) is in ``data.json``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sonic_sim.shell.programs import ProgramError
from sonic_sim.sku.buffers import buffer_tables
from sonic_sim.sku.data import Row, Tables, rows_of
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

_BACKEND = ("BackEndToRRouter", "BackEndLeafRouter")
_WITH_PFC_GROUPS = ("mellanox", "barefoot")
_LOSSLESS = {"wred_profile": "AZURE_LOSSLESS"}


@dataclass(frozen=True, slots=True)
class _Use:
    """What a switch is used for, as far as its QoS depends on it."""

    kind: str = ""
    """``apollo`` and ``compute``: resources of another name; else empty."""
    storage: bool = False
    groups: bool = False
    """PFC's priorities are mapped to groups by a map of their own."""
    tunnel: tuple[str, ...] = ()
    """The ports that carry remapped traffic of a tunnel."""
    remap: Mapping[str, Any] | None = None
    """The maps of the SKU for such traffic, where it is remapped."""
    uplinks: bool = False
    """The ports with other maps are those that carry the tunnel (a ToR), else all others (a leaf)."""


def qos_tables(data: Mapping[str, Any], sku: Mapping[str, Any]) -> Tables:
    """Return all tables of QoS. Raises ProgramError as Jinja does, MissingTemplateError."""
    own: Mapping[str, Any] = sku["qos"]
    alone = "alone" in own  # the SKU has a template of its own in place of the general one
    if not alone:
        buffer_tables(data, sku, dynamic=False)  # the general template imports that of the buffers
    ports = ports_of(data, dpus=not alone)
    for port in (*(data.get("PORT", ()) if alone else ports.every), *ports.active):
        _number(port)
    localhost: Mapping[str, Any] = {} if alone else localhost_of(data)
    maps = None if alone else _tunnel_maps(own.get("remap"), localhost)
    groups = not alone and data.get("asic_type") in _WITH_PFC_GROUPS
    use = _use(data, localhost, ports, maps, groups=groups)
    tables = _general(ports, use) | _of_sku(own, use) | _of_tunnel(maps, use)
    tables = {name: dict(rows) for name, rows in tables.items() if rows is not None}
    for port in ports.active:
        patterns = {"PORT_QOS_MAP": {"": _port_maps(port, ports, use)}, "QUEUE": _queues(port, ports, use)}
        for table, pattern in (patterns | rows_of(own.get("active", {}))).items():
            tables.setdefault(table, {}).update(port_rows([port], pattern))
        if use.groups and port in tables["PORT_QOS_MAP"]:
            tables["PORT_QOS_MAP"][port] |= {"pfc_to_pg_map": "AZURE_DUALTOR" if port in use.tunnel else "AZURE"}
    for table, pattern in rows_of(own.get("joined", {})).items():
        tables[table] = dict(port_rows([",".join(sorted(ports.active, key=_number))], pattern))
    if is_voq(data) and not alone:
        tables["QUEUE"] = dict(port_rows(system_ports(data), _plain_queues()))
    return tables


def _use(
    data: Mapping[str, Any], localhost: Mapping[str, Any], ports: Ports, maps: Mapping[str, Any] | None, *, groups: bool
) -> _Use:
    backend = localhost.get("type") in _BACKEND
    resources = localhost.get("resource_type")
    compute = backend and resources == "ComputeAI"
    remapped = maps is not None and is_remapped(data)
    return _Use(
        kind="apollo" if resources == "DL-NPU-Apollo" else "compute" if compute else "",
        storage=backend and localhost.get("storage_device") == "true",
        groups=groups,
        tunnel=tunnel_ports(data, ports.active) if remapped else (),
        remap=maps if remapped else None,
        uplinks=localhost.get("type") != "LeafRouter",
    )


def _tunnel_maps(known: Mapping[str, Any] | None, localhost: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the SKU's maps for remapped traffic that its template defines for such a switch."""
    if known is None:
        return None
    if localhost.get("type") == "LeafRouter":
        return dict(known["leaf"])
    if is_dual(localhost) and (known["any_type"] or localhost.get("type") == "ToRRouter"):
        return dict(known["dual"])
    return None


def _general(ports: Ports, use: _Use) -> Tables:
    """Return the tables that the general template has for every SKU."""
    weights = (1, 1, 100) if use.kind == "apollo" else (14, 15)
    return _maps(ports, use) | {
        "SCHEDULER": _schedulers(weights),
        "WRED_PROFILE": {"AZURE_LOSSLESS": _marking()},
        "PORT_QOS_MAP": {} if use.storage else {"global": {"dscp_to_tc_map": "AZURE"}},
        "QUEUE": {},
    }


def _schedulers(weights: tuple[int, ...]) -> Mapping[str, Row]:
    return {f"scheduler.{place}": {"type": "DWRR", "weight": str(weight)} for place, weight in enumerate(weights)}


def _of_sku(own: Mapping[str, Any], use: _Use) -> Tables:
    """Return the tables of the SKU, without those that its use has others in place of."""
    replaced = {*(["DSCP_TO_TC_MAP"] if use.storage else []), *(["SCHEDULER"] if use.kind == "apollo" else [])}
    return {table: rows for table, rows in rows_of(own.get("tables", {})).items() if table not in replaced}


def _of_tunnel(maps: Mapping[str, Any] | None, use: _Use) -> Tables:
    """Return the maps for remapped traffic; some of them serve a backend for computing as well."""
    if maps is None or (use.remap is None and use.kind != "compute"):
        return {}
    tables = rows_of(maps["tables"])
    if use.remap is None:
        tables = {name: tables[name] for name in ("TC_TO_PRIORITY_GROUP_MAP", "DSCP_TO_TC_MAP")}
    if use.storage:
        tables.pop("DSCP_TO_TC_MAP")
    return tables | ({"SCHEDULER": _schedulers((40, 30, 25, 5))} if use.kind == "compute" else {})


def _number(port: str) -> int:
    """Return what ports are sorted by. Raises ProgramError as SONiC's filter does where a name has no number."""
    digits = port[11:] if "BP" in port else port[8:]
    if not digits.isdigit():
        raise ProgramError(f"ValueError: invalid literal for int() with base 10: {digits!r}")
    return int(digits) + (1024 if "BP" in port else 0)


def _maps(ports: Ports, use: _Use) -> Tables:
    same = {str(number): str(number) for number in range(8)}
    no_groups = {str(number): "0" for number in range(7)} | {"7": "7"}
    classes = {str(number): "1" for number in range(64)}
    classes |= {"3": "3", "4": "4", "5": "2", "8": "0", "46": "5", "48": "6"}
    lossless = {"3": "3", "4": "4"}
    of_tunnel = {"AZURE_DUALTOR": lossless | {"2": "2", "6": "6"}} if use.tunnel else {}
    return {
        "TC_TO_PRIORITY_GROUP_MAP": {"AZURE": no_groups | lossless} | ({"AZURE_DPC": no_groups} if ports.dpc else {}),
        "MAP_PFC_PRIORITY_TO_QUEUE": {"AZURE": same},
        "TC_TO_QUEUE_MAP": {"AZURE": same},
        ("DOT1P_TO_TC_MAP" if use.storage else "DSCP_TO_TC_MAP"): {
            "AZURE": same | {"0": "1", "1": "0"} if use.storage else classes
        },
        **({"PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": {"AZURE": lossless} | of_tunnel} if use.groups else {}),
    }


def _marking() -> Row:
    colors = ("green", "yellow", "red")
    values = {"max_threshold": "2097152", "min_threshold": "1048576", "drop_probability": "5"}
    enabled = {f"wred_{color}_enable": "true" for color in colors}
    return enabled | {"ecn": "ecn_all"} | {f"{color}_{name}": text for name, text in values.items() for color in colors}


def _port_maps(port: str, ports: Ports, use: _Use) -> Row:
    dpc, tunnel = port in ports.dpc, port in use.tunnel
    lossless = {"pfc_enable": "2,3,4,6" if tunnel else "3,4", "pfcwd_sw_enable": "3,4"}
    row = {
        "dot1p_to_tc_map" if use.storage else "dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE",
        "pfc_to_queue_map": "AZURE", "tc_to_pg_map": "AZURE_DPC" if dpc else "AZURE",
        **({} if dpc else lossless),
    }  # fmt: skip
    fields = use.remap["uplink"] if use.remap and tunnel == use.uplinks else ()
    return row | {field: "AZURE_UPLINK" for field in fields if field in row}


def _plain_queues() -> dict[str, Row]:
    lossless: Row = {"scheduler": "scheduler.1", **_LOSSLESS}
    return {str(number): {"scheduler": "scheduler.0"} for number in (0, 1, 2, 5, 6)} | {"3": lossless, "4": lossless}


def _queues(port: str, ports: Ports, use: _Use) -> Mapping[str, Row]:
    """Return a port's queues: lossless ones have a scheduler of their own and are marked."""
    if use.kind == "compute":
        used = {"0": {}, "1": {}, "3": _LOSSLESS, "4": _LOSSLESS}
        return {queue: {"scheduler": f"scheduler.{place}", **row} for place, (queue, row) in enumerate(used.items())}
    dpc, queues = port in ports.dpc, _plain_queues()
    if port in use.tunnel:
        queues |= {"2": queues["3"], "6": queues["3"]}
    if dpc:
        queues = {queue: {"scheduler": "scheduler.0"} for queue in queues}
    if use.kind == "apollo":
        queues["4"] = {"scheduler": "scheduler.2", **_LOSSLESS}
    return queues | ({"7": {"scheduler": "scheduler.0"}} if use.remap else {})
