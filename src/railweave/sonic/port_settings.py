"""How a port is set: what a switch does with it by the tables of its CONFIG_DB.

What was not read is unknown (None); a table that was read and lacks a row says that nothing is set.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from railweave.fabric.buffers import BufferPool
from railweave.fabric.policy import BufferModel
from railweave.sonic.ownership import RENDERED_TABLES
from railweave.sonic.resolved import BufferUse, ResolvedTables, Scheduler, Wred, text
from railweave.sonic.rows import ConfigDb, Value, number

COUNTER_GROUPS = "FLEX_COUNTER_TABLE"
_READ_BESIDE = frozenset(
    {"ACL_RULE", "ACL_TABLE", COUNTER_GROUPS, "VLAN_MEMBER", "PORTCHANNEL_MEMBER", "TC_TO_DSCP_MAP"}
)
"""Tables that railweave renders no rows of and that decide what a link does."""

PROFILE_LISTS = ("BUFFER_PORT_INGRESS_PROFILE_LIST", "BUFFER_PORT_EGRESS_PROFILE_LIST")

_DEFAULT_MTU = "9100"
"""What portmgrd sets where a port states none (sonic-swss cfgmgr/portmgr.h)."""

_DEFAULT_POLL_MS, _DEFAULT_ACTION = "100", "drop"
"""What orchagent does where PFC_WD states neither (sonic-swss orchagent/orchdaemon.cpp, pfcwdorch.cpp)."""

_MBPS_PER_GBPS = 1000


class WatchTimes(NamedTuple):
    """The PFC watchdog of a port: times in milliseconds and what it does in a storm; None is what is not set."""

    detection_ms: int | None
    restoration_ms: int | None
    poll_ms: int | None
    action: str | None


class PortSettings(NamedTuple):
    """A port, of a switch or of a node. ``priorities`` is by DSCP; ``queues`` and ``groups`` by traffic class,
    ``paused_queues`` and ``paused_groups`` by PFC priority, ``rewrites`` is the DSCP that leaves, by class. ``pfc``
    are the paused priorities, ``watched`` those under the watchdog. ``schedulers``, ``wreds`` and ``queue_buffers``
    are by queue, ``group_buffers`` by priority group, ``port_buffers`` by the table that lists them; a reference to
    nothing is None. ``port_scheduler`` is that of the whole port. ``cable_m`` is the length configured in SONiC.
    ``pools`` and ``buffer_model`` are the switch's. ``sonic_type`` is DEVICE_METADATA.type, which seeds a switch's
    hash, empty where it has none. ``advertised_gbps`` are the speeds that it offers where it negotiates, None for all
    that it can. ``lanes`` are the port's as it is set, ``lanes_intended`` as it is designed. ``domains`` are the
    VLANs that the port is a member of, itself or by its port channel; ``is_watchdog_blind`` tells that the watchdog
    reads no counters, ``drops_lossless`` tells that the watchdog's red switch is on, ``is_asymmetric`` that the port
    sends no pauses, ``is_missing`` that the switch has no such port.
    """

    device: str
    port: str
    is_host: bool
    priorities: Mapping[int, int] | None = None
    queues: Mapping[int, int] | None = None
    groups: Mapping[int, int] | None = None
    paused_queues: Mapping[int, int] | None = None
    paused_groups: Mapping[int, int] | None = None
    rewrites: Mapping[int, int] | None = None
    pfc: frozenset[int] | None = None
    watched: frozenset[int] | None = None
    schedulers: Mapping[int, Scheduler | None] | None = None
    port_scheduler: Scheduler | None = None
    wreds: Mapping[int, Wred | None] | None = None
    group_buffers: Mapping[int, BufferUse | None] | None = None
    queue_buffers: Mapping[int, BufferUse | None] | None = None
    port_buffers: Mapping[str, tuple[BufferUse | None, ...] | None] = {}
    pools: Mapping[str, BufferPool] | None = None
    buffer_model: BufferModel | None = None
    cable_m: int | None = None
    mtu_bytes: int | None = None
    speed_gbps: int | None = None
    lanes: int | None = None
    lanes_intended: int | None = None
    fec: str | None = None
    autoneg: str | None = None
    advertised_gbps: frozenset[int] | None = None
    sonic_type: str | None = None
    domains: frozenset[str] = frozenset()
    watch_times: WatchTimes | None = None
    is_watchdog_blind: bool = False
    drops_lossless: bool = False
    is_asymmetric: bool = False
    is_missing: bool = False

    def __str__(self) -> str:
        """Return ``device:port``."""
        return f"{self.device}:{self.port}"

    @property
    def marked(self) -> frozenset[int] | None:
        """Return the queues in which ECN marks, and the others that a WRED profile drops in."""
        return None if self.wreds is None else frozenset(queue for queue, one in self.wreds.items() if one)

    @property
    def headroom(self) -> frozenset[int] | None:
        """Return the groups with headroom."""
        if self.group_buffers is None:
            return None
        return frozenset(
            group for group, one in self.group_buffers.items() if one and (one.is_computed or one.xoff_bytes)
        )


def decides_links(table: str) -> bool:
    """Tell whether a table decides how ports and links behave, or how packets are spread over them."""
    return table in RENDERED_TABLES or table in _READ_BESIDE or table.startswith("ARS_")


def switch_port(device: str, read: ResolvedTables, port: str, lanes_intended: int) -> PortSettings:
    """Return a switch port as the tables of its CONFIG_DB set it."""
    row = read.row("PORT", port)
    basics = PortSettings(
        device=device,
        port=port,
        is_host=False,
        mtu_bytes=number(row.get("mtu", _DEFAULT_MTU)) if row else None,
        speed_gbps=_gbps(row.get("speed")),
        lanes=_lanes(row.get("lanes")),
        lanes_intended=lanes_intended,
        fec=text(row.get("fec")) or "none" if row else None,
        autoneg=text(row.get("autoneg")) or "off" if row else None,
        advertised_gbps=_advertised(row.get("adv_speeds")),
        sonic_type=_sonic_type(read),
        domains=frozenset(_domains(read.tables, port)),
        watch_times=_watch_times(read, port),
        is_watchdog_blind=_is_off(read.row(COUNTER_GROUPS, "PFCWD").get("FLEX_COUNTER_STATUS")),
        drops_lossless=read.row("PFC_WD", "GLOBAL").get("BIG_RED_SWITCH") == "enable",
        is_asymmetric=row.get("pfc_asym") == "on",
        is_missing=not row and read.is_whole,
    )
    return _with_qos(basics, read) if read.knows("PORT_QOS_MAP") else basics


def _with_qos(end: PortSettings, read: ResolvedTables) -> PortSettings:
    port, row = end.port, read.row("PORT_QOS_MAP", end.port)
    return end._replace(
        priorities=read.priorities(port),
        queues=read.map_of("TC_TO_QUEUE_MAP", port, "tc_to_queue_map"),
        groups=read.map_of("TC_TO_PRIORITY_GROUP_MAP", port, "tc_to_pg_map"),
        paused_queues=read.map_of("MAP_PFC_PRIORITY_TO_QUEUE", port, "pfc_to_queue_map"),
        paused_groups=read.map_of("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", port, "pfc_to_pg_map"),
        rewrites=read.map_of("TC_TO_DSCP_MAP", port, "tc_to_dscp_map"),
        pfc=_numbers(row.get("pfc_enable")),
        watched=_watched(read, port),
        schedulers=read.schedulers(port),
        port_scheduler=read.scheduler(row.get("scheduler")),
        wreds=read.wreds(port),
        group_buffers=read.group_buffers(port),
        queue_buffers=read.queue_buffers(port),
        port_buffers={table: read.port_buffers(table, port) for table in PROFILE_LISTS},
        pools=read.pools if read.knows("BUFFER_POOL") else None,
        buffer_model=read.model,
        cable_m=_metres(read.row("CABLE_LENGTH", "AZURE").get(port)),
    )


def _sonic_type(read: ResolvedTables) -> str | None:
    row = read.row("DEVICE_METADATA", "localhost")
    return text(row.get("type")) or "" if row else None


def _is_off(value: object) -> bool:
    """Tell whether a counter group is disabled. One without a row is not: SONiC enables it some minutes after the boot
    (BI:dockers/docker-orchagent/enable_counters.py)."""
    return value == "disable"


def _advertised(value: Value | None) -> frozenset[int] | None:
    """Return the speeds of ``adv_speeds`` in Gb/s; ``all``, as no field, stands for every speed (sonic-port.yang)."""
    speeds_mbps = _numbers(value)
    return frozenset(speed // _MBPS_PER_GBPS for speed in speeds_mbps) or None


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


def _watch_times(read: ResolvedTables, port: str) -> WatchTimes | None:
    row = read.row("PFC_WD", port)
    if not row:
        return None
    poll_ms = number(read.row("PFC_WD", "GLOBAL").get("POLL_INTERVAL", _DEFAULT_POLL_MS))
    times = (number(row.get("detection_time")), number(row.get("restoration_time")))
    return WatchTimes(*times, poll_ms, text(row.get("action")) or _DEFAULT_ACTION)


def _watched(read: ResolvedTables, port: str) -> frozenset[int] | None:
    if not read.knows("PFC_WD"):
        return None
    row = read.row("PORT_QOS_MAP", port)
    return _numbers(row.get("pfcwd_sw_enable")) if port in read.table("PFC_WD") else frozenset()


def _metres(value: Value | None) -> int | None:
    return number(value.removesuffix("m")) if isinstance(value, str) else None


def _numbers(value: Value | None) -> frozenset[int]:
    members = value.split(",") if isinstance(value, str) else value or ()
    return frozenset(found for one in members if (found := number(one.strip())) is not None)


def _gbps(value: Value | None) -> int | None:
    found = number(value)
    return None if found is None else found // _MBPS_PER_GBPS
