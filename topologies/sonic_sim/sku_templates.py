"""What the QoS and buffer templates of an image make of a configuration, computed.

The rules are those of sonic-buildimage 202505 (files/build_templates/{buffers_config,qos_config}.j2); what the folder
of a SKU adds (device/*/*/*/{buffers,buffers_dynamic,qos}.json.j2, buffers_defaults_*.j2) is in ``sku_templates.json``.
"""

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sonic_sim.configdb import to_json
from sonic_sim.shell.programs import ProgramError

Tables = dict[str, Any]
Row = Mapping[str, str]

_NAMES = ("buffers.json.j2", "buffers_dynamic.json.j2", "qos.json.j2")
_VIRTUAL = "x86_64-kvm_x86_64-r0"
_METERS = {
    "internal": "5m", "torrouter_server": "5m", "leafrouter_torrouter": "40m", "spinerouter_leafrouter": "300m",
    "regionalhub_spinerouter": "80000m", "aznghub_spinerouter": "80000m",
}  # fmt: skip
"""Cable lengths by the roles of both ends."""
_BACKEND = ("BackEndToRRouter", "BackEndLeafRouter")
_WITH_PFC_GROUPS = ("mellanox", "barefoot")


class NotSimulatedError(Exception):
    """A SKU, or a part of its templates, that the simulator does not have."""


class MissingTemplateError(Exception):
    """A template includes one that the folder of the SKU does not have; the text is its name."""


@functools.cache
def _document() -> Mapping[str, Any]:
    return dict(json.loads(Path(__file__).with_suffix(".json").read_bytes()))


def _sku(platform: str, hwsku: str) -> Mapping[str, Any] | None:
    """Return what the folder of a SKU holds, if there is one. Raises NotSimulatedError."""
    platforms: Mapping[str, Mapping[str, Any]] = _document()["platforms"]
    # the package of the folders puts those of all SKUs into that of the virtual switch (src/sonic-device-data)
    folders = (platforms.get(platform, {}), *(platforms.values() if platform == _VIRTUAL else ()))
    found = next((skus[hwsku] for skus in folders if hwsku in skus), None)
    if found is None and hwsku in _document()["not_simulated"]:
        raise NotSimulatedError(f"the QoS and buffer templates of {hwsku} are not simulated")
    return found


@dataclass(frozen=True, slots=True)
class Template:
    """A template in the folder of a SKU."""

    name: str
    sku: Mapping[str, Any]

    def text(self, data: Mapping[str, Any]) -> str:
        """Return what it renders. Raises ProgramError as Jinja does, MissingTemplateError, NotSimulatedError."""
        remap = data.get("SYSTEM_DEFAULTS", {}).get("tunnel_qos_remap", {}).get("status") == "enabled"
        localhost = data.get("DEVICE_METADATA", {}).get("localhost", {})
        if (remap and "remap" in self.sku) or localhost.get("switch_type") == "voq":
            raise NotSimulatedError("templates with tunnel_qos_remap or of a VoQ switch are not simulated")
        if self.name == "qos.json.j2":
            return to_json(_qos(data, self.sku))
        dynamic = self.name == "buffers_dynamic.json.j2"
        ports, tables = _buffers(data, self.sku, dynamic=dynamic)
        # the comma before the rows of ports stays where there are none: no JSON
        return to_json(tables) if dynamic or ports.active or ports.inactive else f"{to_json(tables)[:-2]},\n}}"


def find_template(platform: str, hwsku: str, name: str) -> Template | None:
    """Return a template in the folder of a SKU, if there is one. Raises NotSimulatedError."""
    sku = _sku(platform, hwsku) if name in _NAMES else None
    return None if sku is None or ("dynamic" in name and "dynamic" not in sku) else Template(name, sku)


def _rows_of(tables: Mapping[str, int | None]) -> dict[str, Any]:
    """Return tables whose rows stand in the list of the data by number."""
    return {table: None if place is None else _document()["rows"][place] for table, place in tables.items()}


def _undefined(text: str) -> ProgramError:
    return ProgramError(f"jinja2.exceptions.UndefinedError: {text}")


def _localhost(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the metadata. Raises ProgramError where there is none."""
    if "DEVICE_METADATA" not in data:
        raise _undefined("'DEVICE_METADATA' is undefined")
    if "localhost" not in data["DEVICE_METADATA"]:
        raise _undefined("'dict object' has no attribute 'localhost'")
    return dict(data["DEVICE_METADATA"]["localhost"])


@dataclass(frozen=True, slots=True)
class _Ports:
    """The ports that the templates write rows for; ``dpc`` ports lead to DPUs."""

    every: tuple[str, ...]
    active: tuple[str, ...]
    inactive: tuple[str, ...]
    dpc: tuple[str, ...]


def _ports(data: Mapping[str, Any], without_table: Sequence[str]) -> _Ports:
    rows = data.get("PORT")
    if rows is None:
        every, dpc = list(without_table), []
    else:
        every = [name for name in rows if not name.startswith(("Ethernet-Rec", "Ethernet-IB"))]
        dpc = [name for name in every if rows[name].get("role") == "Dpc"]
    neighbors = data.get("DEVICE_NEIGHBOR")
    if neighbors is None:
        return _Ports(tuple(every), tuple(every), (), tuple(dpc))
    inactive = [name for name in every if name not in neighbors and name not in dpc]
    return _Ports(tuple(every), (*neighbors, *dpc), tuple(inactive), tuple(dpc))


def _topology(data: Mapping[str, Any], default: str) -> str:
    """Return the part of the fabric that buffers are made for, by the switch's type."""
    localhost = _localhost(data) if "DEVICE_METADATA" in data else {}
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


def _layout(data: Mapping[str, Any], sku: Mapping[str, Any], *, dynamic: bool = False) -> Mapping[str, Any]:
    """Return the buffers of the topology. Raises MissingTemplateError where the folder has no defaults for it."""
    topology = _topology(data, sku["default"])
    known: Mapping[str, int] = sku["dynamic" if dynamic else "traditional"]
    if topology not in known:
        raise MissingTemplateError(f"buffers_defaults_{topology}.j2")
    return dict(_document()["layouts"][known[topology]])


def _buffers(data: Mapping[str, Any], sku: Mapping[str, Any], *, dynamic: bool) -> tuple[_Ports, Tables]:
    layout = _layout(data, sku, dynamic=dynamic)
    ports = _ports(data, [f"Ethernet{number}" for number in range(*layout.get("ports", (0,)))])
    meters = {port: _cable(data, layout, port, ports) for port in ports.every}
    tables: Tables = {"CABLE_LENGTH": {"AZURE": meters}}
    for part in ("always", *(["with_inactive"] if ports.inactive else [])):
        for table, rows in _rows_of(layout.get(part, {})).items():
            tables[table] = tables.get(table, {}) | rows
    for names, part in ((ports.active, "active"), (ports.inactive, "inactive")):
        for table, pattern in _rows_of(layout[part]).items() if ports.active or ports.inactive else ():
            tables[table] = tables.get(table, {}) | dict(_port_rows(names, pattern))
    return ports, tables


def _port_rows(ports: Sequence[str], pattern: Mapping[str, Row]) -> Iterator[tuple[str, Row]]:
    """Yield the rows of ports; a key of the pattern is what follows the port's name."""
    for port in ports:
        for part, row in pattern.items():
            yield (f"{port}|{part}" if part else port), row


def _cable(data: Mapping[str, Any], layout: Mapping[str, Any], port: str, ports: _Ports) -> str:
    """Return the length of a port's cable by the roles of both ends."""
    meters: Mapping[str, str] = layout.get("meters", _METERS)
    role = str(data.get("DEVICE_METADATA", {}).get("localhost", {}).get("type", ""))
    neighbor = data.get("DEVICE_NEIGHBOR", {}).get(port, {}).get("name")
    other = data.get("DEVICE_NEIGHBOR_METADATA", {}).get(neighbor)
    found: str | None = None
    if other:
        if "type" not in other:
            raise _undefined("'dict object' has no attribute 'type'")
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


def _qos(data: Mapping[str, Any], sku: Mapping[str, Any]) -> Tables:
    own: Mapping[str, Any] = sku["qos"]
    alone = "alone" in own  # the SKU has a template of its own in place of the general one
    if not alone:
        _buffers(data, sku, dynamic=False)  # the general template imports that of the buffers
    ports = _ports(data, ())
    for port in (*(data.get("PORT", ()) if alone else ports.every), *ports.active):
        _number(port)
    localhost: Mapping[str, Any] = {} if alone else _localhost(data)
    backend = localhost.get("type") in _BACKEND
    storage = backend and localhost.get("storage_device") == "true"
    resources = localhost.get("resource_type")
    kind = "apollo" if resources == "DL-NPU-Apollo" else "compute" if backend and resources == "ComputeAI" else ""
    if own and (kind or storage):
        raise NotSimulatedError("a backend switch with maps of its SKU is not simulated")
    groups = not alone and data.get("asic_type") in _WITH_PFC_GROUPS
    tables = _maps(ports, storage=storage, groups=groups) | {
        "SCHEDULER": {f"scheduler.{place}": {"type": "DWRR", "weight": str(weight)}
                      for place, weight in enumerate((1, 1, 100) if kind == "apollo" else (14, 15))},
        "WRED_PROFILE": {"AZURE_LOSSLESS": _marking()},
        "PORT_QOS_MAP": {} if storage else {"global": {"dscp_to_tc_map": "AZURE"}},
        "QUEUE": {},
    }  # fmt: skip
    tables = {name: dict(rows) for name, rows in (tables | _rows_of(own.get("tables", {}))).items() if rows is not None}
    for port in ports.active:
        dpc = port in ports.dpc
        patterns = {"PORT_QOS_MAP": {"": _port_maps(dpc=dpc, storage=storage)}, "QUEUE": _queues(kind, dpc)}
        for table, pattern in (patterns | _rows_of(own.get("active", {}))).items():
            tables.setdefault(table, {}).update(_port_rows([port], pattern))
        if groups and port in tables["PORT_QOS_MAP"]:
            tables["PORT_QOS_MAP"][port] |= {"pfc_to_pg_map": "AZURE"}
    for table, pattern in _rows_of(own.get("joined", {})).items():
        tables[table] = dict(_port_rows([",".join(sorted(ports.active, key=_number))], pattern))
    return tables


def _number(port: str) -> int:
    """Return what ports are sorted by. Raises ProgramError as SONiC's filter does where a name has no number."""
    digits = port[11:] if "BP" in port else port[8:]
    if not digits.isdigit():
        raise ProgramError(f"ValueError: invalid literal for int() with base 10: {digits!r}")
    return int(digits) + (1024 if "BP" in port else 0)


def _maps(ports: _Ports, *, storage: bool, groups: bool) -> Tables:
    same = {str(number): str(number) for number in range(8)}
    no_groups = {str(number): "0" for number in range(7)} | {"7": "7"}
    classes = {str(number): "1" for number in range(64)}
    classes |= {"3": "3", "4": "4", "5": "2", "8": "0", "46": "5", "48": "6"}
    lossless = {"3": "3", "4": "4"}
    return {
        "TC_TO_PRIORITY_GROUP_MAP": {"AZURE": no_groups | lossless} | ({"AZURE_DPC": no_groups} if ports.dpc else {}),
        "MAP_PFC_PRIORITY_TO_QUEUE": {"AZURE": same},
        "TC_TO_QUEUE_MAP": {"AZURE": same},
        ("DOT1P_TO_TC_MAP" if storage else "DSCP_TO_TC_MAP"): {
            "AZURE": same | {"0": "1", "1": "0"} if storage else classes
        },
        **({"PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": {"AZURE": lossless}} if groups else {}),
    }


def _marking() -> Row:
    colors = ("green", "yellow", "red")
    values = {"max_threshold": "2097152", "min_threshold": "1048576", "drop_probability": "5"}
    enabled = {f"wred_{color}_enable": "true" for color in colors}
    return enabled | {"ecn": "ecn_all"} | {f"{color}_{name}": text for name, text in values.items() for color in colors}


def _port_maps(*, dpc: bool, storage: bool) -> Row:
    return {
        "dot1p_to_tc_map" if storage else "dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE",
        "pfc_to_queue_map": "AZURE", "tc_to_pg_map": "AZURE_DPC" if dpc else "AZURE",
        **({} if dpc else {"pfc_enable": "3,4", "pfcwd_sw_enable": "3,4"}),
    }  # fmt: skip


def _queues(kind: str, dpc: bool) -> Mapping[str, Row]:
    """Return a port's queues: lossless ones have a scheduler of their own and are marked."""
    lossless = {"wred_profile": "AZURE_LOSSLESS"}
    if kind == "compute":
        used = {"0": {}, "1": {}, "3": lossless, "4": lossless}
        return {queue: {"scheduler": f"scheduler.{place}", **row} for place, (queue, row) in enumerate(used.items())}
    plain = {"scheduler": "scheduler.0"}
    queues: dict[str, Row] = {str(number): plain for number in (0, 1, 2, 5, 6)}
    queues["3"] = plain if dpc else {"scheduler": "scheduler.1", **lossless}
    queues["4"] = {"scheduler": "scheduler.2", **lossless} if kind == "apollo" else queues["3"]
    return queues
