"""Rows of the QoS template of an image, computed.

The rules are those of sonic-buildimage 202505 (files/build_templates/qos_config.j2); what the folder of a SKU adds
(device/*/*/*/qos.json.j2) is in ``data.json``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sonic_sim.shell.programs import ProgramError
from sonic_sim.sku.buffers import buffer_tables
from sonic_sim.sku.data import Row, Tables, rows_of
from sonic_sim.sku.ports import Ports, localhost_of, port_rows, ports_of

_BACKEND = ("BackEndToRRouter", "BackEndLeafRouter")
_WITH_PFC_GROUPS = ("mellanox", "barefoot")
_LOSSLESS = {"wred_profile": "AZURE_LOSSLESS"}


@dataclass(frozen=True, slots=True)
class _Use:
    """The use of a switch, as far as its QoS depends on it."""

    kind: str = ""
    """``apollo`` and ``compute``: resources of another name; else empty."""
    groups: bool = False
    """PFC's priorities are mapped to groups by a map of their own."""


def qos_tables(data: Mapping[str, Any], sku: Mapping[str, Any]) -> Tables:
    """Return all tables of QoS. Raises ProgramError as Jinja does, MissingTemplateError."""
    rows_of_sku: Mapping[str, Any] = sku["qos"]
    # Some SKUs have a template of their own in place of the general one.
    has_own_template = "alone" in rows_of_sku
    if not has_own_template:
        # The general template imports that of the buffers, and fails with it.
        buffer_tables(data, sku, dynamic=False)
    ports = ports_of(data, dpus=not has_own_template)
    sorted_ports = data.get("PORT", ()) if has_own_template else ports.every
    for port in (*sorted_ports, *ports.active):
        # The template sorts these ports, and fails at a name without a number.
        _number(port)
    use = _Use() if has_own_template else _use(data)
    tables = _general(ports, use) | _of_sku(rows_of_sku, use)
    tables = {name: dict(rows) for name, rows in tables.items() if rows is not None}
    for port in ports.active:
        patterns: dict[str, Any] = {
            "PORT_QOS_MAP": {"": _port_maps(port, ports)},
            "QUEUE": _queues(port, ports, use),
            **rows_of(rows_of_sku.get("active", {})),
        }
        for table, pattern in patterns.items():
            tables.setdefault(table, {}).update(port_rows([port], pattern))
        if use.groups and port in tables["PORT_QOS_MAP"]:
            tables["PORT_QOS_MAP"][port] |= {"pfc_to_pg_map": "AZURE"}
    # One row for all ports, whose names are joined in its key.
    for table, pattern in rows_of(rows_of_sku.get("joined", {})).items():
        all_names = ",".join(sorted(ports.active, key=_number))
        tables[table] = dict(port_rows([all_names], pattern))
    return tables


def _use(data: Mapping[str, Any]) -> _Use:
    localhost = localhost_of(data)
    resources = localhost.get("resource_type")
    kind = ""
    if resources == "DL-NPU-Apollo":
        kind = "apollo"
    elif resources == "ComputeAI" and localhost.get("type") in _BACKEND:
        kind = "compute"
    return _Use(kind, groups=data.get("asic_type") in _WITH_PFC_GROUPS)


def _general(ports: Ports, use: _Use) -> Tables:
    """Return the tables that the general template has for every SKU."""
    weights = (1, 1, 100) if use.kind == "apollo" else (14, 15)
    schedulers = {f"scheduler.{place}": {"type": "DWRR", "weight": str(weight)} for place, weight in enumerate(weights)}
    return _maps(ports, use) | {
        "SCHEDULER": schedulers,
        "WRED_PROFILE": {"AZURE_LOSSLESS": _marking()},
        "PORT_QOS_MAP": {"global": {"dscp_to_tc_map": "AZURE"}},
        "QUEUE": {},
    }


def _of_sku(own: Mapping[str, Any], use: _Use) -> Tables:
    """Return the tables of the SKU, without those that its use has others in place of."""
    tables = rows_of(own.get("tables", {}))
    if use.kind == "apollo":
        tables.pop("SCHEDULER", None)
    return tables


def _number(port: str) -> int:
    """Return the number that ports are sorted by. Raises ProgramError as SONiC's filter does for a name without one."""
    is_of_backplane = "BP" in port
    digits = port[len("Ethernet-BP") :] if is_of_backplane else port[len("Ethernet") :]
    if not digits.isdigit():
        raise ProgramError(f"ValueError: invalid literal for int() with base 10: {digits!r}")
    if is_of_backplane:
        # Behind all others.
        return int(digits) + 1024
    return int(digits)


def _maps(ports: Ports, use: _Use) -> Tables:
    """Return the QoS maps."""
    same_number = {str(number): str(number) for number in range(8)}
    lossy_groups = {str(traffic_class): "0" for traffic_class in range(7)} | {"7": "7"}
    class_of_dscp = {str(dscp): "1" for dscp in range(64)}
    class_of_dscp |= {"3": "3", "4": "4", "5": "2", "8": "0", "46": "5", "48": "6"}
    lossless = {"3": "3", "4": "4"}
    tables: Tables = {
        "TC_TO_PRIORITY_GROUP_MAP": {"AZURE": lossy_groups | lossless},
        "MAP_PFC_PRIORITY_TO_QUEUE": {"AZURE": same_number},
        "TC_TO_QUEUE_MAP": {"AZURE": same_number},
        "DSCP_TO_TC_MAP": {"AZURE": class_of_dscp},
    }
    if ports.dpc:
        tables["TC_TO_PRIORITY_GROUP_MAP"]["AZURE_DPC"] = lossy_groups
    if use.groups:
        tables["PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"] = {"AZURE": lossless}
    return tables


def _marking() -> Row:
    """Return the WRED profile of the lossless queues; thresholds in bytes, the probability in percent."""
    values = {"max_threshold": "2097152", "min_threshold": "1048576", "drop_probability": "5"}
    row = {"ecn": "ecn_all"}
    for color in ("green", "yellow", "red"):
        row[f"wred_{color}_enable"] = "true"
        row |= {f"{color}_{name}": text for name, text in values.items()}
    return row


def _port_maps(port: str, ports: Ports) -> Row:
    row = {"dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE", "pfc_to_queue_map": "AZURE"}
    if port in ports.dpc:
        return row | {"tc_to_pg_map": "AZURE_DPC"}
    return row | {"tc_to_pg_map": "AZURE", "pfc_enable": "3,4", "pfcwd_sw_enable": "3,4"}


def _queues(port: str, ports: Ports, use: _Use) -> Mapping[str, Row]:
    """Return a port's queues: lossless ones have a scheduler of their own and are marked."""
    if use.kind == "compute":
        return {
            "0": {"scheduler": "scheduler.0"},
            "1": {"scheduler": "scheduler.1"},
            "3": {"scheduler": "scheduler.2", **_LOSSLESS},
            "4": {"scheduler": "scheduler.3", **_LOSSLESS},
        }
    lossy: Row = {"scheduler": "scheduler.0"}
    lossless: Row = {"scheduler": "scheduler.1", **_LOSSLESS}
    queues = dict.fromkeys(("0", "1", "2", "5", "6"), lossy) | dict.fromkeys(("3", "4"), lossless)
    if port in ports.dpc:
        queues = dict.fromkeys(queues, lossy)
    if use.kind == "apollo":
        queues["4"] = {"scheduler": "scheduler.2", **_LOSSLESS}
    return queues
