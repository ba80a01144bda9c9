"""What a switch runs for its queues, as orchagent gave it to the ASIC: marks, buffers, PFC and schedulers by port.

Thresholds of a dynamic pool are 2^dynamic_th times what is free of it (SAI saibuffer.h, SHARED_DYNAMIC_TH).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sonic_sim.configdb import Hash
from sonic_sim.device import Device
from sonic_sim.faults import FaultKind

QUEUES = range(8)
# Of a port without buffer rows: the ASIC shares a few MB evenly.
_POOL_BYTES = 16e6
_LOSSY_ALPHA = 1.0
# Headroom of a lossless group whose profile the buffer manager computes: two cables of 40 m at the speed of the port.
_HEADROOM_BYTES_PER_GBPS = 825.0
_XON_BYTES = 18432.0
# Counters that are polled only where somebody turns them on (sonic-buildimage init_cfg.json.j2).
_OFF_BY_DEFAULT = frozenset({"WRED_ECN_QUEUE", "WRED_ECN_PORT"})


@dataclass(frozen=True, slots=True)
class Pool:
    """Memory that ports share; ``name`` is unique on its switch."""

    name: str = ""
    size: float = _POOL_BYTES


@dataclass(frozen=True, slots=True)
class Limit:
    """How much of a pool one group or queue may hold: a share of what is free, or so many bytes."""

    pool: Pool = Pool()
    alpha: float = _LOSSY_ALPHA
    static: float | None = None

    def bytes_of(self, used: float) -> float:
        """Return the threshold while so much of the pool is in use."""
        if self.static is not None:
            return self.static
        return self.alpha * max(0.0, self.pool.size - used)


@dataclass(frozen=True, slots=True)
class GroupRows:
    """A priority group; ``headroom`` is 0 for one that drops above its limit."""

    limit: Limit = Limit()
    headroom: float = 0.0
    xon_offset: float = 0.0


@dataclass(frozen=True, slots=True)
class QueueRows:
    """An egress queue. Between the thresholds packets are marked with a probability that rises to ``probability``."""

    limit: Limit = Limit()
    is_lossless: bool = False
    marks: bool = False
    # WRED drops packets that cannot be marked.
    drops_early: bool = False
    kmin: float = 0.0
    kmax: float = 0.0
    probability: float = 0.0
    is_strict: bool = False
    weight: float = 1.0

    def mark_probability(self, queued: float) -> float:
        """Return the share of packets that the queue marks while ``queued`` bytes wait in it."""
        if queued <= self.kmin:
            return 0.0
        if queued >= self.kmax:
            return 1.0
        return self.probability * (queued - self.kmin) / (self.kmax - self.kmin)


@dataclass(frozen=True, slots=True)
class PortRows:
    """All that flows meet at a port."""

    gbps: float
    mtu: int
    pfc: frozenset[int]
    # The FEC that runs, and the lanes between ASIC and module.
    fec: str = "rs"
    lanes: int = 1
    class_of_dscp: Mapping[int, int] = field(default_factory=dict)
    queue_of_class: Mapping[int, int] = field(default_factory=dict)
    group_of_class: Mapping[int, int] = field(default_factory=dict)
    queues: Mapping[int, QueueRows] = field(default_factory=dict)
    groups: Mapping[int, GroupRows] = field(default_factory=dict)

    def traffic_class(self, dscp: int) -> int:
        """Return the class of packets that arrive here."""
        return self.class_of_dscp.get(dscp, 0)


class PortTable(dict[str, PortRows]):
    """The rows of the ports of a switch by name, made when a port is asked for first."""

    def __init__(self, device: Device) -> None:
        super().__init__()
        self._device = device
        self._bindings = device.orchagent.bindings()

    def __missing__(self, port: str) -> PortRows:
        if port not in self._device.network.ports(self._device):
            raise KeyError(port)
        rows = self[port] = _port_rows(self._device, port, self._bindings)
        return rows


def polls(device: Device, group: str) -> bool:
    """Tell whether a switch polls a group of counters."""
    default = "enable"
    if group in _OFF_BY_DEFAULT:
        default = "disable"
    return device.db.get(f"FLEX_COUNTER_TABLE|{group}").get("FLEX_COUNTER_STATUS", default) == "enable"


def rows_of(device: Device) -> PortTable:
    """Return the rows of the ports of a switch, made again when they change."""
    version = (device.db.version, device.faults.version)
    return device.network.kept(device, "flow-rows", version, lambda: PortTable(device))


def _port_rows(device: Device, port: str, bindings: Mapping[str, Mapping[str, str]]) -> PortRows:
    """Return all that flows meet at a port, with its faults; ``bindings`` are those of orchagent."""
    configured = device.network.ports(device)[port]
    mbps = configured.speed_mbps
    fec = configured.fec
    in_force = device.faults.in_force(port)
    if in_force is not None:
        mbps = in_force.speed or mbps
        fec = in_force.fec or fec
    qos = dict(device.orchagent.seen.get(f"PORT_QOS_MAP|{port}", ()))
    pfc = frozenset(int(number) for number in qos.get("pfc_enable", "").split(",") if number.isdecimal())
    if device.faults.of_port(FaultKind.NO_PFC, port) is not None:
        pfc = frozenset()
    gbps = mbps / 1000
    return PortRows(
        gbps=gbps,
        mtu=configured.mtu,
        pfc=pfc,
        fec=fec,
        lanes=configured.lanes,
        class_of_dscp=_map(device, "DSCP_TO_TC_MAP", qos.get("dscp_to_tc_map", "")),
        queue_of_class=_map(device, "TC_TO_QUEUE_MAP", qos.get("tc_to_queue_map", "")),
        group_of_class=_map(device, "TC_TO_PRIORITY_GROUP_MAP", qos.get("tc_to_pg_map", "")),
        queues={queue: _queue(device, port, queue, bindings) for queue in QUEUES},
        groups={group: _group(device, port, group, gbps, bindings) for group in QUEUES},
    )


def _map(device: Device, table: str, name: str) -> dict[int, int]:
    """Return the QoS map of this name as numbers; empty without a name."""
    if not name:
        return {}
    row = device.orchagent.object_of(f"{table}|{name}")
    return {int(key): int(value) for key, value in row.items() if key.isdecimal() and value.isdecimal()}


def _bound(device: Device, bindings: Mapping[str, Mapping[str, str]], key: str, entry: str, table: str) -> Hash:
    """Return the object of ``table`` that is bound to a queue or group of a port; empty if none is.

    ``key`` names the queues or groups of a port, such as ``QUEUE|Ethernet0``; ``entry`` is one of them with the field
    of its row, such as ``3 scheduler``.
    """
    name = bindings.get(key, {}).get(entry, "")
    if not name:
        return {}
    return device.orchagent.object_of(f"{table}|{name}")


def _limit(device: Device, profile: Hash) -> Limit:
    """Return the limit of a buffer profile."""
    static = None
    if "static_th" in profile:
        static = _number(profile, "static_th", 0.0)
    alpha = 2.0 ** _number(profile, "dynamic_th", 0.0)
    return Limit(_pool(device, profile.get("pool", "")), alpha, static)


def _pool(device: Device, name: str) -> Pool:
    """Return the shared part of a buffer pool."""
    pool = device.orchagent.object_of(f"BUFFER_POOL|{name}")
    size = _number(pool, "size", 0.0)
    if not size:
        # In the dynamic model the buffer manager sizes the pools; the largest size that any row states is that of the
        # memory of the chip.
        sizes = [_number(row, "size", 0.0) for row in map(device.db.get, _pool_keys(device))]
        size = max(sizes, default=0.0) or _POOL_BYTES
    # The headroom of all ports is a part of the pool that no group shares.
    return Pool(name, max(0.0, size - _number(pool, "xoff", 0.0)))


def _pool_keys(device: Device) -> list[str]:
    return [f"BUFFER_POOL|{name}" for name in device.db.table("BUFFER_POOL")]


def _queue(device: Device, port: str, queue: int, bindings: Mapping[str, Mapping[str, str]]) -> QueueRows:
    """Return the rows of a queue of a port, by the profiles that are bound to it."""
    buffer = _bound(device, bindings, f"BUFFER_QUEUE|{port}", f"{queue} profile", "BUFFER_PROFILE")
    group_buffer = _bound(device, bindings, f"BUFFER_PG|{port}", f"{queue} profile", "BUFFER_PROFILE")
    wred = _bound(device, bindings, f"QUEUE|{port}", f"{queue} wred_profile", "WRED_PROFILE")
    scheduler = _bound(device, bindings, f"QUEUE|{port}", f"{queue} scheduler", "SCHEDULER")
    kmin = _number(wred, "green_min_threshold", 0.0)
    return QueueRows(
        limit=_limit(device, buffer) if buffer else Limit(),
        # A group with headroom is lossless, and so is the queue of the same number.
        is_lossless=bool(group_buffer.get("xoff")),
        marks=wred.get("ecn", "ecn_none") in ("ecn_all", "ecn_green", "ecn_green_yellow", "ecn_green_red"),
        drops_early=wred.get("wred_green_enable") == "true",
        kmin=kmin,
        kmax=max(kmin, _number(wred, "green_max_threshold", kmin)),
        probability=_number(wred, "green_drop_probability", 100.0) / 100,
        is_strict=scheduler.get("type") == "STRICT",
        weight=max(1.0, _number(scheduler, "weight", 1.0)),
    )


def _group(device: Device, port: str, group: int, gbps: float, bindings: Mapping[str, Mapping[str, str]]) -> GroupRows:
    """Return the rows of a priority group of a port, by the profile that is bound to it."""
    name = bindings.get(f"BUFFER_PG|{port}", {}).get(f"{group} profile", "")
    if not name:
        return GroupRows()
    if name == "NULL":
        # The buffer manager computes this profile (dynamic model).
        parameters = device.db.get("DEFAULT_LOSSLESS_BUFFER_PARAMETER|AZURE")
        alpha = 2.0 ** _number(parameters, "default_dynamic_th", 0.0)
        limit = Limit(_pool(device, "ingress_lossless_pool"), alpha)
        return _with_fault(device, GroupRows(limit, gbps * _HEADROOM_BYTES_PER_GBPS, _XON_BYTES))
    profile = device.orchagent.object_of(f"BUFFER_PROFILE|{name}")
    headroom = _number(profile, "xoff", 0.0)
    xon_offset = _number(profile, "xon_offset", _XON_BYTES)
    return _with_fault(device, GroupRows(_limit(device, profile), headroom, xon_offset))


def _with_fault(device: Device, group: GroupRows) -> GroupRows:
    """Return a group as the fault small-buffer makes it, if that is armed: a lossless group pauses at few bytes."""
    fault = device.faults.of_port(FaultKind.SMALL_BUFFER, "")
    if fault is None or not group.headroom:
        return group
    limit = Limit(group.limit.pool, group.limit.alpha, float(fault.bytes))
    return GroupRows(limit, group.headroom, min(group.xon_offset, fault.bytes / 2))


def _number(row: Hash, name: str, default: float) -> float:
    """Return a field as a number; ``default`` if it is missing or is not a number."""
    try:
        return float(row.get(name, default))
    except ValueError:
        return default
