"""PFC storms: NICs that pause their switch without end on one priority, and what the PFC watchdog does about them.

The watchdog of a queue polls. It detects a storm once the neighbor paused the queue in all polls of the detection time,
and restores the queue once no PFC frame came in those of the restoration time. Meanwhile its action drops what the
queue gets, sends it in spite of the pauses, or changes nothing (``alert``). Sources: sonic-swss e6b0c5b5, orchagent/
pfc_detect_{vs,mellanox,broadcom}.lua, pfc_restore.lua, pfcwdsworch.cpp and pfcactionhandler.cpp.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

from sonic_sim.configdb import Hash
from sonic_sim.device import Device, Fabric
from sonic_sim.faults import FaultKind
from sonic_sim.flows.ledger import PORTS, QUEUES, Ledger, RowKey, nic_row
from sonic_sim.flows.rows import polls, rows_of
from sonic_sim.network import End

_PORT = "SAI_PORT_STAT_"
_QUEUE = "SAI_QUEUE_STAT_"
_WATCHDOG = "PFC_WD_QUEUE_STATS_"
# A PFC frame pauses for at most 65,535 quanta of 512 bit (IEEE 802.1Qbb); senders repeat it after half of that.
_PAUSE_BITS = 65_535 * 512 / 2
# PFC_WD_POLL_MSECS of pfcwdsworch.cpp, without a row that states it.
_POLL_MS = 100
# pfc_detect_mellanox.lua counts a pause only while packets wait in the queue.
_NEEDS_PACKETS = frozenset({"nvidia"})
# ASICs that count pauses in microseconds (orchdaemon.cpp: c_portStatIds).
_COUNTS_DURATION = frozenset({"nvidia", "sonic"})


class StormedQueue(NamedTuple):
    """A queue of a switch that a NIC pauses without end."""

    nic: End
    port: End
    queue: int
    # When the NIC began, in seconds since 1970.
    since: float


class EgressQueue(NamedTuple):
    """A queue of a port of a switch."""

    port: End
    number: int


class Watch(NamedTuple):
    """What the watchdog of a queue does, with its times in seconds."""

    action: str
    detection_s: float
    # None if it never restores the queue.
    restoration_s: float | None
    poll_s: float


class QueuePackets(NamedTuple):
    """Packets that a queue sent and dropped."""

    sent: int = 0
    dropped: int = 0

    def plus(self, other: "QueuePackets") -> "QueuePackets":
        """Return the sum."""
        return QueuePackets(self.sent + other.sent, self.dropped + other.dropped)

    def since(self, earlier: "QueuePackets") -> "QueuePackets":
        """Return the growth of counters."""
        return QueuePackets(self.sent - earlier.sent, self.dropped - earlier.dropped)


_NO_PACKETS = QueuePackets()


@dataclass(slots=True)
class _State:
    """A queue that was paused without end at some time since swss started."""

    swss_up: float
    # Since when it is paused, and since when no PFC frame came.
    paused_at: float | None = None
    quiet_at: float | None = None
    # When it was brought up to date last.
    looked_at: float = 0.0
    stormed: bool = False
    action: str = ""
    detected: int = 0
    restored: int = 0
    # What the queue sent and dropped during all storms, and during the last one.
    packets: QueuePackets = _NO_PACKETS
    packets_last: QueuePackets = _NO_PACKETS
    # Its counters as they were read last during a storm.
    counted: QueuePackets = _NO_PACKETS

    @property
    def is_paused(self) -> bool:
        """Tell whether its neighbor pauses it."""
        return self.paused_at is not None


def storms_of(net: Fabric) -> Iterator[StormedQueue]:
    """Yield the queues that NICs of nodes pause without end now."""
    for node, faults in net.host_faults.items():
        if not faults.has(FaultKind.PFC_STORM):
            continue
        for nic, port in net.cables.items():
            device = net.devices.get(port.node)
            if nic.node != node or device is None:
                continue
            if not net.link_up(device, port.port):
                continue
            digits = re.search(r"\d+", nic.port)
            nic_number = int(digits[0]) if digits else 0
            fault = faults.of_nic(FaultKind.PFC_STORM, nic_number)
            if fault is not None:
                yield StormedQueue(nic, port, fault.priority, fault.since)


class Storms:
    """The storms of a fabric and its watchdogs; ``look`` brings them up to now."""

    def __init__(self, net: Fabric, ledger: Ledger) -> None:
        self._net = net
        self._ledger = ledger
        self._states: dict[EgressQueue, _State] = {}
        # A number that changes whenever a queue is paused, detected or restored: flows depend on it.
        self.version = 0

    def count(self, seconds: float, speedup: float) -> None:
        """Count the PFC frames of the last ``seconds`` at both ends of storms, and for how long they paused.

        These seconds pass ``speedup`` times as fast as those of the switches' clocks.
        """
        for storm in storms_of(self._net):
            device = self._net.devices[storm.port.node]
            storm_s = min(seconds, max(0.0, device.clock.now() - storm.since) * speedup)
            frames = storm_s * self._net.ports(device)[storm.port.port].speed_mbps * 1e6 / _PAUSE_BITS
            self._ledger.add(nic_row(storm.nic), f"tx_prio{storm.queue}_pause", frames)
            port = RowKey(PORTS, storm.port.node, storm.port.port)
            self._ledger.add(port, f"{_PORT}PFC_{storm.queue}_RX_PKTS", frames)
            if pause_name(storm.queue) in pause_fields(device, storm.port.port):
                self._ledger.add(port, pause_name(storm.queue), storm_s * 1e6)

    def look(self, waiting: frozenset[tuple[End, int]] = frozenset()) -> None:
        """Bring all watchdogs up to now; ``waiting`` are the queues with packets, by port and number."""
        storms = {EgressQueue(storm.port, storm.queue): storm for storm in storms_of(self._net)}
        for queue in storms.keys() - self._states.keys():
            self._states[queue] = _State(self._net.devices[queue.port.node].times.swss_up)
        for queue, state in self._states.items():
            device = self._net.devices.get(queue.port.node)
            if device is None:
                continue
            was_paused = state.is_paused
            was_stormed = state.stormed
            self._follow(device, queue, state, storms.get(queue), queue in waiting)
            # Another state than before, if swss was started again.
            followed = self._states[queue]
            if was_paused != followed.is_paused or was_stormed != followed.stormed:
                self.version += 1

    def _follow(
        self, device: Device, queue: EgressQueue, state: _State, storm: StormedQueue | None, is_waiting: bool
    ) -> None:
        """Bring the state of a queue up to now; it begins again if swss was started again.

        ``storm`` is the storm that pauses the queue now, None for none; ``is_waiting`` says that it has packets.
        """
        now = device.clock.now()
        if state.swss_up != device.times.swss_up:
            state = _State(device.times.swss_up)
            self._states[queue] = state
        if storm is not None and state.paused_at is None:
            state.paused_at = max(storm.since, state.swss_up, state.looked_at)
            state.quiet_at = None
        elif storm is None and state.paused_at is not None:
            state.paused_at = None
            state.quiet_at = now
        state.looked_at = now
        self._watch(device, queue, state, is_waiting)

    def _watch(self, device: Device, queue: EgressQueue, state: _State, is_waiting: bool) -> None:
        """Let the watchdog of a queue detect a storm, or restore the queue, if the time for that has come."""
        watch = watch_of(device, queue.port.port, queue.number)
        if watch is None:
            state.stormed = False
            return
        if state.stormed:
            self._count_packets(queue, state)
        may_detect = is_waiting or device.spec.asic not in _NEEDS_PACKETS
        if not state.stormed and may_detect and _is_detected(state, watch):
            state.stormed = True
            state.action = watch.action
            state.detected += 1
            state.packets_last = _NO_PACKETS
            state.counted = self._packets_of(queue)
        if state.stormed and _is_restored(state, watch):
            state.stormed = False
            state.restored += 1

    def _packets_of(self, queue: EgressQueue) -> QueuePackets:
        """Return what a queue has sent and dropped until now, by the ledger."""
        row = self._ledger.counts(RowKey(QUEUES, queue.port.node, queue.port.port, queue.number))
        return QueuePackets(int(row.get(f"{_QUEUE}PACKETS", 0)), int(row.get(f"{_QUEUE}DROPPED_PACKETS", 0)))

    def _count_packets(self, queue: EgressQueue, state: _State) -> None:
        """Count what a queue sent and dropped in the present storm."""
        if state.action == "alert":
            # Its handler reads no counters of the hardware.
            return
        counted = self._packets_of(queue)
        growth = counted.since(state.counted)
        state.packets = state.packets.plus(growth)
        state.packets_last = state.packets_last.plus(growth)
        state.counted = counted

    def holds(self, end: End, queue: int) -> bool:
        """Tell whether a queue of a switch sends nothing because its neighbor pauses it without end."""
        state = self._states.get(EgressQueue(end, queue))
        if state is None or not state.is_paused:
            return False
        if not self._honors(end, queue):
            return False
        # In a storm the watchdog drops or forwards the packets of the queue, unless it only alerts.
        return not state.stormed or state.action == "alert"

    def drops(self, end: End, queue: int) -> bool:
        """Tell whether the watchdog drops what a queue gets."""
        state = self._states.get(EgressQueue(end, queue))
        return state is not None and state.stormed and state.action == "drop"

    def is_lossy(self, end: End, queue: int) -> bool:
        """Tell whether the watchdog has turned PFC of a priority off at a port, for the time of a storm."""
        state = self._states.get(EgressQueue(end, queue))
        return state is not None and state.stormed and state.action != "alert"

    def _honors(self, end: End, queue: int) -> bool:
        """Tell whether a port of a switch stops a queue for PFC frames."""
        device = self._net.devices.get(end.node)
        return device is not None and queue in rows_of(device)[end.port].pfc

    def fields(self, port: End, queue: int) -> Hash:
        """Return what the watchdog writes about a queue that it watches."""
        state = self._states.get(EgressQueue(port, queue), _State(0.0))
        status = "operational"
        if state.stormed:
            status = "stormed"
        row = {
            "PFC_WD_STATUS": status,
            f"{_WATCHDOG}DEADLOCK_DETECTED": str(state.detected),
            f"{_WATCHDOG}DEADLOCK_RESTORED": str(state.restored),
        }
        if not state.detected:
            return row
        for suffix, packets in (("", state.packets), ("_LAST", state.packets_last)):
            row[f"{_WATCHDOG}TX_PACKETS{suffix}"] = str(packets.sent)
            row[f"{_WATCHDOG}TX_DROPPED_PACKETS{suffix}"] = str(packets.dropped)
            # The packets of the priority group are not counted here.
            row[f"{_WATCHDOG}RX_PACKETS{suffix}"] = "0"
            row[f"{_WATCHDOG}RX_DROPPED_PACKETS{suffix}"] = "0"
        return row


def _is_detected(state: _State, watch: Watch) -> bool:
    """Tell whether a queue has been paused for the detection time."""
    if state.paused_at is None:
        return False
    return poll_after(state.paused_at, watch.detection_s, watch.poll_s) <= state.looked_at


def _is_restored(state: _State, watch: Watch) -> bool:
    """Tell whether a queue has not been paused for the restoration time, by which its storm ends."""
    restoration_s = watch.restoration_s
    if watch.action == "alert":
        # The script that detects storms ends this one at the first poll without a pause.
        restoration_s = watch.poll_s
    if state.quiet_at is None or restoration_s is None:
        return False
    return poll_after(state.quiet_at, restoration_s, watch.poll_s) <= state.looked_at


def poll_after(begin: float, seconds: float, poll_s: float) -> float:
    """Return the poll at which a condition that began at ``begin`` has lasted ``seconds``.

    The interval in which it began does not count, and ``seconds`` are rounded up to whole intervals.
    """
    return (ceil(begin / poll_s) + ceil(round(seconds / poll_s, 6))) * poll_s


def watch_of(device: Device, port: str, queue: int) -> Watch | None:
    """Return how the watchdog watches a queue; None if it does not, or if nothing is polled."""
    action = device.orchagent.watch_of(port).get(str(queue))
    if action is None or not polls(device, "PFCWD"):
        return None
    row = dict(device.orchagent.seen.get(f"PFC_WD|{port}", ()))
    everywhere = dict(device.orchagent.seen.get("PFC_WD|GLOBAL", ()))
    restoration_s = None
    if "restoration_time" in row:
        restoration_s = _seconds(row, "restoration_time", 0)
    detection_s = _seconds(row, "detection_time", 0)
    return Watch(action, detection_s, restoration_s, _seconds(everywhere, "POLL_INTERVAL", _POLL_MS))


def _seconds(row: Mapping[str, str], name: str, default_ms: int) -> float:
    """Return a field in milliseconds as seconds; ``default_ms`` if it is missing, 0 or not a number."""
    text = row.get(name, "")
    if not text.isdecimal() or int(text) == 0:
        return default_ms / 1000
    return int(text) / 1000


def pause_name(queue: int) -> str:
    """Return the counter of the microseconds for which a neighbor paused a priority."""
    return f"{_PORT}PFC_{queue}_RX_PAUSE_DURATION_US"


def pause_fields(device: Device, port: str) -> Hash:
    """Return the counters of pauses that the watchdog polls of a port, as they are at first."""
    if device.spec.asic not in _COUNTS_DURATION or not polls(device, "PFCWD"):
        return {}
    queues = device.orchagent.watch_of(port)
    return {pause_name(int(queue)): "0" for queue in queues if queue.isdecimal()}
