"""The settings of a port by the tables of the switch's CONFIG_DB.

Settings of tables that were not read are unknown (None); a table that was read and lacks a row sets nothing.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from railweave.fabric.buffers import BufferPool
from railweave.fabric.policy import BufferModel
from railweave.sonic.ownership import FLEX_COUNTERS, RENDERED_TABLES
from railweave.sonic.resolved import BufferUse, ResolvedTables, Scheduler, Wred, text
from railweave.sonic.rows import ConfigDb, Fields, Value, number

_READ_BESIDE = frozenset({"ACL_RULE", "ACL_TABLE", "VLAN_MEMBER", "PORTCHANNEL_MEMBER", "TC_TO_DSCP_MAP"})
"""Tables that railweave renders no rows of and that decide what a link does."""

PROFILE_LISTS = ("BUFFER_PORT_INGRESS_PROFILE_LIST", "BUFFER_PORT_EGRESS_PROFILE_LIST")

_DEFAULT_MTU = "9100"
"""The MTU that portmgrd sets for a port that states none (sonic-swss cfgmgr/portmgr.h)."""

# orchagent's values where PFC_WD states none (sonic-swss orchagent/orchdaemon.cpp, pfcwdorch.cpp).
_DEFAULT_POLL_MS = "100"
_DEFAULT_ACTION = "drop"

_MBPS_PER_GBPS = 1000


# Unlike the policy of an intent, a switch may have an action that is none of SONiC's.
class WatchTimes(NamedTuple):
    """The PFC watchdog of a port: its times and its action in a storm; None where a time is not set."""

    detection_ms: int | None
    restoration_ms: int | None
    poll_ms: int | None
    action: str | None


class PortSettings(NamedTuple):
    """A port of a switch or of a node; in mappings to rows a reference to a row that does not exist is None."""

    device: str
    port: str
    # GPU nodes have no CONFIG_DB: their settings are read from the NIC (railweave_hosts).
    is_host: bool
    # Traffic class by DSCP.
    priorities: Mapping[int, int] | None = None
    # Queue and priority group by traffic class.
    queues: Mapping[int, int] | None = None
    groups: Mapping[int, int] | None = None
    # Queue and priority group by PFC priority.
    paused_queues: Mapping[int, int] | None = None
    paused_groups: Mapping[int, int] | None = None
    # DSCP at egress by traffic class.
    rewrites: Mapping[int, int] | None = None
    # Priorities with PFC.
    pfc: frozenset[int] | None = None
    # Priorities under the PFC watchdog.
    watched: frozenset[int] | None = None
    # By queue.
    schedulers: Mapping[int, Scheduler | None] | None = None
    # The scheduler of the port as a whole.
    port_scheduler: Scheduler | None = None
    # By queue.
    wreds: Mapping[int, Wred | None] | None = None
    # By priority group.
    group_buffers: Mapping[int, BufferUse | None] | None = None
    # By queue.
    queue_buffers: Mapping[int, BufferUse | None] | None = None
    # By the table of profile lists.
    port_buffers: Mapping[str, tuple[BufferUse | None, ...] | None] = {}
    # Buffer pools of the switch by name.
    pools: Mapping[str, BufferPool] | None = None
    # The buffer model of the switch.
    buffer_model: BufferModel | None = None
    # Metres, as CABLE_LENGTH states.
    cable_m: int | None = None
    # Bytes of an IP packet.
    mtu_bytes: int | None = None
    speed_gbps: int | None = None
    # SerDes lanes as configured, and as designed.
    lanes: int | None = None
    lanes_intended: int | None = None
    # SONiC's words; SONiC's defaults where the row has no field.
    fec: str | None = None
    autoneg: str | None = None
    # Speeds that autonegotiation offers; None for all that the port can.
    advertised_gbps: frozenset[int] | None = None
    # DEVICE_METADATA.type, which seeds the ECMP hash; empty where the switch has none.
    sonic_type: str | None = None
    # VLANs whose floods reach the port, itself or by its port channel.
    domains: frozenset[str] = frozenset()
    watch_times: WatchTimes | None = None
    # The watchdog's counters are off, so it sees no storm.
    is_watchdog_blind: bool = False
    # The watchdog's BIG_RED_SWITCH is on, which drops all lossless traffic.
    drops_lossless: bool = False
    # The port receives pauses and sends none.
    is_asymmetric: bool = False
    # The switch has no such port.
    is_missing: bool = False
    # The port is down by configuration.
    is_shut: bool = False
    # All tables of the switch were read, so a field that its row lacks is not set.
    is_read_whole: bool = False

    def __str__(self) -> str:
        """Return ``device:port``."""
        return f"{self.device}:{self.port}"

    @property
    def marked(self) -> frozenset[int] | None:
        """Return the queues with a WRED profile, whether it marks or drops."""
        if self.wreds is None:
            return None
        return frozenset(queue for queue, wred in self.wreds.items() if wred)

    @property
    def headroom(self) -> frozenset[int] | None:
        """Return the groups with headroom."""
        if self.group_buffers is None:
            return None
        return frozenset(group for group, use in self.group_buffers.items() if _has_headroom(use))


def _has_headroom(use: BufferUse | None) -> bool:
    return use is not None and (use.is_computed or bool(use.xoff_bytes))


def decides_links(table: str) -> bool:
    """Tell whether a table decides how ports and links behave, or how packets are spread over them."""
    return table in RENDERED_TABLES or table in _READ_BESIDE or table.startswith("ARS_")


def switch_port(device: str, read: ResolvedTables, port: str, lanes_intended: int) -> PortSettings:
    """Return the settings of a switch port by the tables of its CONFIG_DB.

    ``lanes_intended`` are the lanes by the design. QoS and buffers stay unknown if PORT_QOS_MAP was not read.
    """
    row = read.row("PORT", port)
    settings = PortSettings(
        device=device,
        port=port,
        is_host=False,
        speed_gbps=_gbps(row.get("speed")),
        lanes=_lanes(row.get("lanes")),
        lanes_intended=lanes_intended,
        advertised_gbps=_advertised(row.get("adv_speeds")),
        sonic_type=_sonic_type(read),
        domains=frozenset(_domains(read.tables, port)),
        watch_times=_watch_times(read, port),
        is_watchdog_blind=_is_off(read.row(FLEX_COUNTERS, "PFCWD").get("FLEX_COUNTER_STATUS")),
        drops_lossless=read.row("PFC_WD", "GLOBAL").get("BIG_RED_SWITCH") == "enable",
        is_asymmetric=row.get("pfc_asym") == "on",
        is_missing=not row and read.is_whole,
    )
    # Fields that a port does not state have SONiC's defaults.
    if row:
        settings = settings._replace(
            mtu_bytes=number(row.get("mtu", _DEFAULT_MTU)),
            fec=text(row.get("fec")) or "none",
            autoneg=text(row.get("autoneg")) or "off",
            is_read_whole=read.is_whole,
            is_shut=_is_shut(row, is_whole=read.is_whole),
        )
    if not read.knows("PORT_QOS_MAP"):
        return settings
    return _with_qos(settings, read)


def _with_qos(settings: PortSettings, read: ResolvedTables) -> PortSettings:
    """Return ``settings`` with the maps, classes and buffers of the port."""
    port = settings.port
    row = read.row("PORT_QOS_MAP", port)
    return settings._replace(
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


def _is_shut(row: Fields, *, is_whole: bool) -> bool:
    """Tell whether a port is down by its row."""
    status = row.get("admin_status")
    if status is None:
        # A port without the field is down (sonic-port.yang); a part of the tables may have left the field out.
        return is_whole
    return status != "up"


def _sonic_type(read: ResolvedTables) -> str | None:
    """Return the type of a switch, empty if it has none; None if that was not read."""
    row = read.row("DEVICE_METADATA", "localhost")
    if not row:
        return None
    return text(row.get("type")) or ""


def _is_off(value: object) -> bool:
    # A counter group without a row is on: SONiC enables it some minutes after the boot (sonic-buildimage
    # dockers/docker-orchagent/enable_counters.py).
    return value == "disable"


def _advertised(value: Value | None) -> frozenset[int] | None:
    """Return the speeds of ``adv_speeds`` in Gb/s; None for every speed: ``all``, or no field (sonic-port.yang)."""
    speeds_mbps = _numbers(value)
    return frozenset(speed // _MBPS_PER_GBPS for speed in speeds_mbps) or None


def _lanes(value: object) -> int | None:
    """Return the number of lanes in a list such as ``1,2,3,4``; None if there is none."""
    if not isinstance(value, str) or not value:
        return None
    return value.count(",") + 1


def _domains(tables: ConfigDb, port: str) -> Iterable[str]:
    """Yield the VLANs that flood to a port, itself or by its port channel.

    Sub-interfaces are left out: they are routed and flood nothing.
    """
    members = {port}
    for key in tables.get("PORTCHANNEL_MEMBER", {}):
        channel, _, member_port = key.partition("|")
        if member_port == port:
            members.add(channel)
    for key in tables.get("VLAN_MEMBER", {}):
        vlan, _, member = key.partition("|")
        if member in members:
            yield vlan


def _watch_times(read: ResolvedTables, port: str) -> WatchTimes | None:
    """Return the PFC watchdog of a port; None if the port has no row of it."""
    row = read.row("PFC_WD", port)
    if not row:
        return None
    poll_ms = number(read.row("PFC_WD", "GLOBAL").get("POLL_INTERVAL", _DEFAULT_POLL_MS))
    return WatchTimes(
        detection_ms=number(row.get("detection_time")),
        restoration_ms=number(row.get("restoration_time")),
        poll_ms=poll_ms,
        action=text(row.get("action")) or _DEFAULT_ACTION,
    )


def _watched(read: ResolvedTables, port: str) -> frozenset[int] | None:
    """Return the priorities of a port that the PFC watchdog watches; None if that was not read."""
    if not read.knows("PFC_WD"):
        return None
    # orchagent watches nothing on a port without a PFC_WD row.
    if port not in read.table("PFC_WD"):
        return frozenset()
    return _numbers(read.row("PORT_QOS_MAP", port).get("pfcwd_sw_enable"))


def _metres(value: Value | None) -> int | None:
    if not isinstance(value, str):
        return None
    return number(value.removesuffix("m"))


def _numbers(value: Value | None) -> frozenset[int]:
    """Return the numbers of a list, or of a text with commas; other members are left out."""
    members = value.split(",") if isinstance(value, str) else value or ()
    numbers = [number(member.strip()) for member in members]
    return frozenset(member for member in numbers if member is not None)


def _gbps(value: Value | None) -> int | None:
    mbps = number(value)
    if mbps is None:
        return None
    return mbps // _MBPS_PER_GBPS
