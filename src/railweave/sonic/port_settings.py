"""How a port is set: what a switch does with it by the tables of its CONFIG_DB.

Everything may be unknown (None), because facts of a live device need not tell everything.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from railweave.fabric.policy import Marking
from railweave.qos.mapping import DSCP_COUNT
from railweave.sonic.ownership import MADE_BY_SONIC, RENDERED_TABLES, is_left_by_sonic, numbers_of
from railweave.sonic.rows import ConfigDb, Fields

_READ_BESIDE = frozenset({"VLAN_MEMBER", "PORTCHANNEL_MEMBER", "SWITCH_HASH"})
"""Tables that railweave renders no rows of and that decide what a link does."""

_ASIC_DEFAULT = 0
"""The traffic class of a code point that no map lists."""

_MBPS_PER_GBPS = 1000


class WatchTimes(NamedTuple):
    """The times of a port's PFC watchdog in milliseconds; None is a time that is not set."""

    detection_ms: int | None
    restoration_ms: int | None
    poll_ms: int


class PortSettings(NamedTuple):
    """A port, of a switch or of a node. ``priorities`` is by DSCP; ``queues`` and ``groups`` by traffic class,
    ``paused_queues`` by PFC priority. ``pfc`` are the paused priorities, ``watched`` those under the watchdog,
    ``marked`` the queues with an ECN profile (``thresholds``), ``strict`` the strict ones, ``headroom`` the groups with
    headroom, ``xoff_bytes`` of those whose profile states it; ``cable_m`` is the length configured in SONiC.
    ``sonic_type`` is DEVICE_METADATA.type, which seeds a switch's hash. ``lanes`` are the port's as it is set,
    ``lanes_intended`` as it is designed. ``domains`` are the VLANs that the port is a member of, itself or by its port
    channel; ``drops_lossless`` tells that the watchdog's red switch is on, ``is_asymmetric`` that the port sends no
    pauses.
    """

    device: str
    port: str
    is_host: bool
    priorities: Mapping[int, int] | None = None
    queues: Mapping[int, int] | None = None
    groups: Mapping[int, int] | None = None
    paused_queues: Mapping[int, int] | None = None
    pfc: frozenset[int] | None = None
    watched: frozenset[int] | None = None
    marked: frozenset[int] | None = None
    strict: frozenset[int] | None = None
    headroom: frozenset[int] | None = None
    xoff_bytes: Mapping[int, int] | None = None
    cable_m: int | None = None
    thresholds: Mapping[int, Marking] | None = None
    mtu_bytes: int | None = None
    speed_gbps: int | None = None
    lanes: int | None = None
    lanes_intended: int | None = None
    fec: str | None = None
    autoneg: str | None = None
    sonic_type: str | None = None
    domains: frozenset[str] = frozenset()
    watch_times: WatchTimes | None = None
    drops_lossless: bool = False
    is_asymmetric: bool = False

    def __str__(self) -> str:
        """Return ``device:port``."""
        return f"{self.device}:{self.port}"


def decides_links(table: str) -> bool:
    """Tell whether a table decides how ports and links behave, or how packets are spread over them."""
    return table in RENDERED_TABLES or table in _READ_BESIDE or table.startswith("ARS_")


def switch_port(device: str, tables: ConfigDb, port: str, lanes_intended: int) -> PortSettings:
    """Return a switch port as the tables of its CONFIG_DB set it; QoS is unknown where the port has no PORT_QOS_MAP and
    the tables hold none at all."""
    row = tables.get("PORT", {}).get(port, {})
    basics = PortSettings(
        device=device,
        port=port,
        is_host=False,
        mtu_bytes=_number(row.get("mtu")),
        speed_gbps=_gbps(row.get("speed")),
        lanes=_lanes(row.get("lanes")),
        lanes_intended=lanes_intended,
        fec=_text(row.get("fec")) or "none" if row else None,
        autoneg=_text(row.get("autoneg")) or "off" if row else None,
        sonic_type=_text(tables.get("DEVICE_METADATA", {}).get("localhost", {}).get("type")),
        domains=frozenset(_domains(tables, port)),
        watch_times=_watch_times(tables, port),
        drops_lossless=tables.get("PFC_WD", {}).get("GLOBAL", {}).get("BIG_RED_SWITCH") == "enable",
        is_asymmetric=row.get("pfc_asym") == "on",
    )
    if "PORT_QOS_MAP" not in tables:
        return basics
    return _with_qos(basics, tables)


def _with_qos(end: PortSettings, tables: ConfigDb) -> PortSettings:
    maps = tables["PORT_QOS_MAP"].get(end.port, {})
    queues = {key: row for key, row in tables.get("QUEUE", {}).items() if _is_of(key, end.port)}
    profiles = {queue: _text(row.get("wred_profile")) for key, row in queues.items() for queue in numbers_of(key)}
    schedulers = {queue: _text(row.get("scheduler")) for key, row in queues.items() for queue in numbers_of(key)}
    types = {name: row.get("type") for name, row in tables.get("SCHEDULER", {}).items()}
    priorities = _map(tables, "DSCP_TO_TC_MAP", maps.get("dscp_to_tc_map"))
    return end._replace(
        priorities={dscp: priorities.get(dscp, _ASIC_DEFAULT) for dscp in range(DSCP_COUNT)},
        queues=_map(tables, "TC_TO_QUEUE_MAP", maps.get("tc_to_queue_map")),
        groups=_map(tables, "TC_TO_PRIORITY_GROUP_MAP", maps.get("tc_to_pg_map")),
        paused_queues=_map(tables, "MAP_PFC_PRIORITY_TO_QUEUE", maps.get("pfc_to_queue_map")),
        pfc=_numbers(maps.get("pfc_enable")),
        watched=_numbers(maps.get("pfcwd_sw_enable")) if end.port in tables.get("PFC_WD", {}) else frozenset(),
        marked=frozenset(queue for queue, profile in profiles.items() if profile),
        strict=frozenset(queue for queue, name in schedulers.items() if types.get(name or "") == "STRICT"),
        headroom=_headroom(tables, end.port),
        xoff_bytes=_xoff(tables, end.port),
        cable_m=_metres(tables.get("CABLE_LENGTH", {}).get("AZURE", {}).get(end.port)),
        thresholds=_thresholds(tables, profiles),
    )


def _lanes(value: object) -> int | None:
    return value.count(",") + 1 if isinstance(value, str) and value else None


def _domains(tables: ConfigDb, port: str) -> Iterable[str]:
    """Yield the VLANs that flood to a port; a sub-interface is routed and floods nothing."""
    for key in tables.get("VLAN_MEMBER", {}):
        domain, _, member = key.partition("|")
        if member == port:
            yield domain
    for key in tables.get("PORTCHANNEL_MEMBER", {}):
        channel, _, member = key.partition("|")
        if member == port:
            yield from (one.partition("|")[0] for one in tables.get("VLAN_MEMBER", {}) if one.endswith(f"|{channel}"))


def _watch_times(tables: ConfigDb, port: str) -> WatchTimes | None:
    rows = tables.get("PFC_WD", {})
    poll_ms = _number(rows.get("GLOBAL", {}).get("POLL_INTERVAL"))
    if port not in rows or poll_ms is None:
        return None
    return WatchTimes(_number(rows[port].get("detection_time")), _number(rows[port].get("restoration_time")), poll_ms)


def _is_of(key: str, port: str) -> bool:
    return key.partition("|")[0] == port


def _headroom(tables: ConfigDb, port: str) -> frozenset[int] | None:
    """Return the groups with headroom; unknown where the tables hold no priority groups at all. Groups that only a row
    that SONiC left behind names have it until the next class change, and no traffic: they are not counted."""
    if "BUFFER_PG" not in tables:
        return None
    profiles = tables.get("BUFFER_PROFILE", {})
    found: set[int] = set()
    rows = {key: row for key, row in tables["BUFFER_PG"].items() if _is_of(key, port)}
    for key, row in rows.items():
        name = _text(row.get("profile")) or ""
        with_headroom = name == "NULL" or name.startswith(MADE_BY_SONIC) or "xoff" in profiles.get(name, {})
        if with_headroom and not is_left_by_sonic("BUFFER_PG", key, rows):
            found.update(numbers_of(key))
    return frozenset(found)


def _xoff(tables: ConfigDb, port: str) -> dict[int, int]:
    """Return the headroom of each group whose profile states it; a switch that computes it keeps it to itself."""
    found = {}
    for key, row in tables.get("BUFFER_PG", {}).items():
        xoff = _number(tables.get("BUFFER_PROFILE", {}).get(_text(row.get("profile")) or "", {}).get("xoff"))
        if _is_of(key, port) and xoff is not None:
            found.update(dict.fromkeys(numbers_of(key), xoff))
    return found


def _metres(value: object) -> int | None:
    return _number(value.removesuffix("m")) if isinstance(value, str) else None


def _thresholds(tables: ConfigDb, profiles: Mapping[int, str | None]) -> dict[int, Marking]:
    found = {}
    for queue, name in profiles.items():
        row = tables.get("WRED_PROFILE", {}).get(name or "", {})
        low, high = _number(row.get("green_min_threshold")), _number(row.get("green_max_threshold"))
        if low is not None and high is not None:
            found[queue] = Marking(low, high, _number(row.get("green_drop_probability")))
    return found


def _map(tables: ConfigDb, table: str, name: object) -> dict[int, int]:
    row: Fields = tables.get(table, {}).get(str(name), {})
    return {int(key): int(str(value)) for key, value in row.items() if key.isdigit() and str(value).isdigit()}


def _numbers(value: object) -> frozenset[int]:
    return frozenset(int(one) for one in str(value or "").split(",") if one.strip().isdigit())


def _number(value: object) -> int | None:
    return int(value) if isinstance(value, str) and value.isdigit() else None


def _gbps(value: object) -> int | None:
    number = _number(value)
    return None if number is None else number // _MBPS_PER_GBPS


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
