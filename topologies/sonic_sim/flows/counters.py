"""The rows of COUNTERS_DB that flows fill: queues, priority groups and watermarks, and fields of ports.

Names and groups: sonic-swss orchagent/portsorch.cpp, port_stat_ids, queue_stat_ids, wred_queue_stat_ids and
ingressPriorityGroup*; the defaults of groups: sonic-buildimage init_cfg.json.j2.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from sonic_sim.configdb import Hash
from sonic_sim.device import Device
from sonic_sim.flows.charging import GROUP, PORT, QUEUE
from sonic_sim.flows.ledger import GROUPS, PORTS, QUEUES, RowKey
from sonic_sim.flows.model import FlowModel, model_of
from sonic_sim.flows.rows import polls
from sonic_sim.flows.storms import pause_fields

NUMBERS = range(8)
_FEC = ("CORRECTABLE_FRAMES", "NOT_CORRECTABLE_FRAMES", "SYMBOL_ERRORS", "CORRECTED_BITS",
        *(f"CODEWORD_ERRORS_S{count}" for count in range(16)))  # fmt: skip
_PORT_NAMES = (
    *(f"{PORT}IF_IN_FEC_{name}" for name in _FEC),
    *(f"{PORT}PFC_{number}_{way}_PKTS" for number in NUMBERS for way in ("RX", "TX")),
)
_QUEUE_NAMES = tuple(f"{QUEUE}{name}" for name in ("PACKETS", "BYTES", "DROPPED_PACKETS"))
_WRED_NAMES = tuple(f"{QUEUE}WRED_{name}" for name in ("ECN_MARKED_PACKETS", "DROPPED_PACKETS"))
_GROUP_NAMES = (f"{GROUP}DROPPED_PACKETS",)
_WATERMARKS = {
    QUEUES: (f"{QUEUE}SHARED_WATERMARK_BYTES",),
    GROUPS: (f"{GROUP}SHARED_WATERMARK_BYTES", f"{GROUP}XOFF_ROOM_WATERMARK_BYTES"),
}
_TABLES = ("COUNTERS", "USER_WATERMARKS", "PERSISTENT_WATERMARKS", "PERIODIC_WATERMARKS")
# SAI's numbers of queues and priority groups in object ids.
_QUEUE_TYPE = "0x15"
_GROUP_TYPE = "0x1a"


def object_id(kind: str, index: int, number: int) -> str:
    """Return the object id of a queue or group; ``index`` is that of its port among the ports of the switch."""
    return f"oid:{kind}{index:06x}{number:06x}"


def counted_until_now(device: Device) -> FlowModel:
    """Return the flows of the fabric, with the counters of a switch brought up to now."""
    model = model_of(device.network)
    has_restarted = model.ledger.begin(device.name, device.times.swss_up)
    if has_restarted and model.polls is not None:
        model.polls.forget(device.name)
    model.advance()
    model.ports.count_switch(device, device.clock.monotonic())
    return model


def add_port_fields(device: Device, model: FlowModel, port: str, row: Hash) -> None:
    """Add what flows count at a port to its row."""
    counts = model.ledger.row(RowKey(PORTS, device.name, port))
    for name in _PORT_NAMES:
        row[name] = str(int(counts.get(name, 0)))
    row |= pause_fields(device, port)
    for name, value in counts.items():
        # Counters that the row has for other packets as well.
        if name not in _PORT_NAMES:
            row[name] = str(int(row.get(name, "0")) + int(value))


def queue_keys(ports: Iterable[str]) -> Iterator[tuple[str, str, int]]:
    """Yield the object id of every queue with its port and number."""
    for index, port in enumerate(ports):
        for number in NUMBERS:
            yield object_id(_QUEUE_TYPE, index, number), port, number


def name_maps(ports: Mapping[str, str]) -> Iterator[tuple[str, Hash]]:
    """Yield the keys and hashes that name queues and priority groups; ``ports`` are the object ids of ports."""
    for kind, prefix in ((_QUEUE_TYPE, "QUEUE"), (_GROUP_TYPE, "PG")):
        names: Hash = {}
        of_port: Hash = {}
        indexes: Hash = {}
        for index, (port, port_id) in enumerate(ports.items()):
            for number in NUMBERS:
                key = object_id(kind, index, number)
                names[f"{port}:{number}"] = key
                of_port[key] = port_id
                indexes[key] = str(number)
        yield f"COUNTERS_{prefix}_NAME_MAP", names
        yield f"COUNTERS_{prefix}_PORT_MAP", of_port
        yield f"COUNTERS_{prefix}_INDEX_MAP", indexes
        if prefix == "QUEUE":
            yield "COUNTERS_QUEUE_TYPE_MAP", dict.fromkeys(indexes, "SAI_QUEUE_TYPE_UNICAST")


def queue_and_group_rows(
    device: Device, model: FlowModel, ports: Iterable[str], start: str
) -> Iterator[tuple[str, Hash]]:
    """Yield the rows of counters and watermarks of queues and groups, with their keys.

    Only keys that begin with ``start`` are needed, so ports that have none of them are left out.
    """
    queue_counters: tuple[str, ...] = _QUEUE_NAMES
    if polls(device, "WRED_ECN_QUEUE"):
        queue_counters += _WRED_NAMES
    yield from _counter_rows(device, model, ports, start, _Counted(QUEUES, _QUEUE_TYPE, queue_counters, "QUEUE"))
    yield from _counter_rows(device, model, ports, start, _Counted(GROUPS, _GROUP_TYPE, _GROUP_NAMES, "PG"))


class _Counted(NamedTuple):
    """Queues or groups: their rows in the ledger, the type in their object ids, and their counters."""

    table: str
    kind: str
    counters: tuple[str, ...]
    # The group that polls their watermarks has this name and `_WATERMARK` after it.
    prefix: str


def _counter_rows(
    device: Device, model: FlowModel, ports: Iterable[str], start: str, counted: _Counted
) -> Iterator[tuple[str, Hash]]:
    """Yield the rows of queues, or of groups, in each table, with their keys."""
    watermarks: tuple[str, ...] = ()
    if polls(device, f"{counted.prefix}_WATERMARK"):
        watermarks = _WATERMARKS[counted.table]
    for table in _TABLES:
        fields = watermarks
        if table == "COUNTERS":
            fields = (*counted.counters, *watermarks)
        if not fields:
            continue
        zero = dict.fromkeys(fields, "0")
        for index, port in enumerate(ports):
            # Whole ports are skipped early: a reader often asks for a single key.
            if not _may_begin(f"{table}:oid:{counted.kind}{index:06x}", start):
                continue
            for number in NUMBERS:
                counts = model.shown(RowKey(counted.table, device.name, port, number))
                row = dict(zero)
                for name in fields:
                    if name in counts:
                        row[name] = str(int(counts[name]))
                yield f"{table}:{object_id(counted.kind, index, number)}", row


def _may_begin(key: str, start: str) -> bool:
    """Tell whether one of two texts is the beginning of the other."""
    return key.startswith(start) or start.startswith(key)
