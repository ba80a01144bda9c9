"""Rows of APPL_DB, STATE_DB and COUNTERS_DB, as orchagent, lldpd and the counters of a switch write them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from lab_node.kernel import Interface, Rows

Table = dict[str, dict[str, str]]

_FIRST_OID = 0x2
_SUBTYPES = {"mac": "4", "ifname": "5", "local": "7"}
_CHASSIS_MAC = "4"
_COUNTERS = {
    "IN_OCTETS": ("rx", "bytes"), "IN_UCAST_PKTS": ("rx", "packets"), "IN_DISCARDS": ("rx", "dropped"),
    "IN_ERRORS": ("rx", "errors"), "IN_MULTICAST_PKTS": ("rx", "multicast"), "OUT_OCTETS": ("tx", "bytes"),
    "OUT_UCAST_PKTS": ("tx", "packets"), "OUT_DISCARDS": ("tx", "dropped"), "OUT_ERRORS": ("tx", "errors"),
}  # fmt: skip
# The columns of ``/proc/net/dev``: eight of what was received, then eight of what was sent, of which four are read.
_SENT = ("bytes", "packets", "errors", "dropped")
_RECEIVED = (*_SENT, "fifo", "frame", "compressed", "multicast")

_UNCOUNTED = (
    "IN_BROADCAST_PKTS",
    "IN_NON_UCAST_PKTS",
    "OUT_BROADCAST_PKTS",
    "OUT_MULTICAST_PKTS",
    "OUT_NON_UCAST_PKTS",
)


def ports_by_name(config: Rows) -> dict[str, Mapping[str, str]]:
    """Return the rows of CONFIG_DB's PORT table by port."""
    return {key.removeprefix("PORT|"): row for key, row in config.items() if key.startswith("PORT|")}


def port_rows(config: Rows, present: Sequence[Interface]) -> Table:
    """Return APPL_DB's PORT_TABLE: the configured fields with the kernel's state."""
    by_name = {interface["ifname"]: interface for interface in present}
    rows: Table = {}
    for name, row in ports_by_name(config).items():
        state = {"mtu": row.get("mtu", ""), "admin_status": "down", "oper_status": "down"}
        if name in by_name:
            interface = by_name[name]
            state["mtu"] = str(interface["mtu"])
            if "UP" in interface["flags"]:
                state["admin_status"] = "up"
            if interface["operstate"] == "UP":
                state["oper_status"] = "up"
        rows[f"PORT_TABLE:{name}"] = {**row, **state}
    rows["PORT_TABLE:PortConfigDone"] = {"count": str(len(rows))}
    rows["PORT_TABLE:PortInitDone"] = {"lanes": "0"}
    return rows


def link_rows(config: Rows) -> Table:
    """Return STATE_DB's PORT_TABLE: the speed and FEC of ports, in a lab always the configured ones."""
    return {
        f"PORT_TABLE|{name}": {"speed": row.get("speed", "N/A"), "fec": row.get("fec", "N/A")}
        for name, row in ports_by_name(config).items()
    }


def lldp_rows(answer: Mapping[str, Any]) -> Table:
    """Return APPL_DB's LLDP_ENTRY_TABLE from the output of ``lldpcli -f json0 show neighbors``."""
    rows: Table = {}
    # A port whose cable was moved has two neighbors until the old one expires. The later one in this order, which is
    # the younger, overwrites the other.
    oldest_first = sorted(_lldp_interfaces(answer), key=lambda interface: age_s(interface.get("age", "")), reverse=True)
    for interface in oldest_first:
        chassis = interface.get("chassis", [{}])[0]
        port = interface.get("port", [{}])[0]
        chassis_id = chassis.get("id", [{}])[0]
        port_id = port.get("id", [{}])[0]
        rows[f"LLDP_ENTRY_TABLE:{interface['name']}"] = {
            "lldp_rem_index": str(interface.get("rid", "1")),
            "lldp_rem_time_mark": "0",
            "lldp_rem_chassis_id": chassis_id.get("value", ""),
            "lldp_rem_chassis_id_subtype": _SUBTYPES.get(chassis_id.get("type", ""), _CHASSIS_MAC),
            "lldp_rem_port_id": port_id.get("value", ""),
            "lldp_rem_port_id_subtype": _SUBTYPES.get(port_id.get("type", ""), "7"),
            "lldp_rem_port_desc": _value(port, "descr"),
            "lldp_rem_sys_name": _value(chassis, "name"),
            "lldp_rem_sys_desc": _value(chassis, "descr"),
            "lldp_rem_man_addr": _value(chassis, "mgmt-ip"),
            "lldp_rem_sys_cap_supported": "28 00",
            "lldp_rem_sys_cap_enabled": "28 00",
        }
    return rows


def lldp_port_ids(answer: Mapping[str, Any]) -> dict[str, str]:
    """Return the announced ID of each port from the output of ``lldpcli -f json0 show interfaces``."""
    ids = {}
    for interface in _lldp_interfaces(answer):
        ids[interface["name"]] = _value(interface.get("port", [{}])[0], "id")
    return ids


def _lldp_interfaces(answer: Mapping[str, Any]) -> list[Any]:
    """Return the entries of the interfaces in an answer of lldpcli."""
    # The format json0 has a list in each place, also for a single value.
    interfaces: list[Any] = []
    for lldp in answer.get("lldp", ()):
        interfaces += lldp.get("interface", ())
    return interfaces


def age_s(text: str) -> int:
    """Return the seconds of an age as lldpd prints it, ``2 days, 01:02:03``; 0 for another text."""
    parts = re.fullmatch(r"(\d+) days?, (\d+):(\d+):(\d+)", text)
    if parts is None:
        return 0
    days, hours, minutes, seconds = map(int, parts.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def counters(text: str) -> list[Interface]:
    """Return the counters of ``/proc/net/dev`` in the form of ``ip -j -s link show``, without starting a process."""
    interfaces: list[Interface] = []
    # Two lines are the heading.
    for line in text.splitlines()[2:]:
        name, _, numbers = line.partition(":")
        interfaces.append({"ifname": name.strip(), "stats64": _stats(numbers.split())})
    return interfaces


def _stats(numbers: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the counters of one line of ``/proc/net/dev`` by direction and name."""
    received = numbers[:8]
    sent = numbers[8:12]
    return {"rx": dict(zip(_RECEIVED, received, strict=True)), "tx": dict(zip(_SENT, sent, strict=True))}


def counter_rows(config: Rows, present: Sequence[Interface]) -> Table:
    """Return COUNTERS_DB's rows from the counters of interfaces."""
    oids = {name: f"oid:0x1{index + _FIRST_OID:012x}" for index, name in enumerate(ports_by_name(config))}
    rows: Table = {"COUNTERS_PORT_NAME_MAP": dict(oids)}
    for interface in present:
        name = interface["ifname"]
        if name not in oids or "stats64" not in interface:
            continue
        counts = interface["stats64"]
        row = {f"SAI_PORT_STAT_IF_{counter}": "0" for counter in _UNCOUNTED}
        for counter, (direction, field) in _COUNTERS.items():
            row[f"SAI_PORT_STAT_IF_{counter}"] = str(counts[direction].get(field, 0))
        rows[f"COUNTERS:{oids[name]}"] = row
    return rows


def _value(part: Mapping[str, Any], name: str) -> str:
    """Return the first value of a member in an answer of lldpcli, empty if it has none."""
    values = part.get(name) or [{}]
    return str(values[0].get("value", ""))
