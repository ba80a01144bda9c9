"""A NIC that pauses its switch without end: what the port counts, and what the PFC watchdog does, by its rows.

The moments are counted in polls, as sonic-swss' scripts do: `swss_poll` repeats pfc_detect_broadcom.lua and
pfc_restore.lua for one queue.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest
from flow_fabrics import FlowRig

from sonic_sim.databases import COUNTERS, rows_of_database
from sonic_sim.faults import Faults
from sonic_sim.flows.constants import Constants
from sonic_sim.flows.flow import Flow, FlowKind
from sonic_sim.flows.model import Transfer
from sonic_sim.flows.nics import Place

NODE, SENDER = "gpu2", "gpu1"
WATCHDOG = "PFC_WD_QUEUE_STATS_"
# A PFC frame stops 400 Gb/s for 84 us at most: senders repeat it twice as often.
FRAMES_PER_S = 2 * 400e9 / (65_535 * 512)


class StormRig:
    """A rail-only fabric in which the first NIC of NODE storms on request."""

    def __init__(self, *, poll_ms: int = 400, detection_ms: int = 400, restoration_ms: int = 400, **row: str) -> None:
        self.rig = FlowRig("rail-only", Constants(seed=3, speedup=1))
        self.place = Place(NODE, self.rig.nics[NODE][0])
        self.end = self.rig.net.cables[self.place.end]
        self.leaf = self.rig.net.devices[self.end.node]
        times = {"detection_time": str(detection_ms), "restoration_time": str(restoration_ms), "action": "drop"}
        self.set_row("PFC_WD|GLOBAL", {"POLL_INTERVAL": str(poll_ms)})
        self.set_row(f"PFC_WD|{self.end.port}", None)
        self.set_row(f"PFC_WD|{self.end.port}", times | row)
        self.faults = self.rig.net.host_faults.setdefault(NODE, Faults())
        # Polls are whole multiples of the interval: the test begins at one.
        self.rig.clock.advance(-self.rig.clock.now() % (poll_ms / 1000))
        self.rig.model.advance()

    def set_row(self, key: str, row: dict[str, str] | None) -> None:
        if row is None:
            self.leaf.db.delete(key)
        else:
            self.leaf.db.put(key, row)
        self.leaf.orchagent.follow(self.leaf.db)

    def begin(self) -> None:
        self.faults.add("pfc-storm", nic=0, priority=3, since=self.rig.clock.now())
        self.rig.model.advance()

    def end_storm(self) -> None:
        self.rig.model.advance()
        self.faults.clear()
        self.rig.model.advance()

    def after(self, seconds: float) -> dict[str, str]:
        """Let time pass; return the row of the queue."""
        self.rig.clock.advance(seconds)
        return self.queue()

    def queue(self, number: int = 3) -> dict[str, str]:
        rows = rows_of_database(self.leaf, COUNTERS)
        return rows[f"COUNTERS:{rows['COUNTERS_QUEUE_NAME_MAP'][f'{self.end.port}:{number}']}"]

    def port(self) -> dict[str, str]:
        rows = rows_of_database(self.leaf, COUNTERS)
        return rows[f"COUNTERS:{rows['COUNTERS_PORT_NAME_MAP'][self.end.port]}"]

    def send(self) -> list[Flow]:
        sender = Place(SENDER, self.rig.nics[SENDER][0])
        dscp = next(iter(sender.nic.priority_of))
        flows = self.rig.model.flows(sender, self.place, FlowKind(tos=dscp << 2 | 2), 4)
        self.rig.model.begin([Transfer(flows)])
        return flows


def storms(row: dict[str, str]) -> tuple[str, int, int]:
    return row["PFC_WD_STATUS"], int(row[f"{WATCHDOG}DEADLOCK_DETECTED"]), int(row[f"{WATCHDOG}DEADLOCK_RESTORED"])


def swss_poll(polls: int, paused: range, detection_ms: int, restoration_ms: int, poll_ms: int) -> list[tuple[int, int]]:
    """Return detected and restored storms after each poll, as the scripts of sonic-swss count them.

    ``paused`` are the intervals before polls in which PFC frames came and the queue was paused at both polls.
    """
    detected = restored = 0
    stormed = False
    detection_left, restoration_left = detection_ms, restoration_ms
    counts = []
    for poll in range(polls):
        if not stormed and poll in paused:
            if detection_left <= poll_ms:
                stormed = True
                detected += 1
                detection_left = detection_ms
            else:
                detection_left -= poll_ms
        elif not stormed:
            detection_left = detection_ms
        elif poll in paused:
            restoration_left = restoration_ms
        elif restoration_left <= poll_ms:
            stormed = False
            restored += 1
            restoration_left = restoration_ms
        else:
            restoration_left -= poll_ms
        counts.append((detected, restored))
    return counts


@pytest.mark.parametrize(
    ("poll_ms", "detection_ms", "restoration_ms"),
    [(400, 400, 400), (200, 200, 200), (100, 400, 800), (100, 250, 350), (300, 400, 1000), (1000, 1000, 60_000)],
)
def test_storms_are_counted_as_the_scripts_of_swss_do(poll_ms: int, detection_ms: int, restoration_ms: int) -> None:
    rig = StormRig(poll_ms=poll_ms, detection_ms=detection_ms, restoration_ms=restoration_ms)
    lasts = -(-detection_ms // poll_ms) + 3
    polls = lasts + -(-restoration_ms // poll_ms) + 3
    expected = swss_poll(polls, range(1, lasts), detection_ms, restoration_ms, poll_ms)
    # The storm begins just before the first poll and ends just before the last that it reaches.
    rig.rig.clock.advance(0.9 * poll_ms / 1000)
    rig.begin()
    counted = []
    for poll in range(polls):
        status, detected, restored = storms(rig.after(poll_ms / 1000 * (0.2 if poll == 0 else 1.0)))
        assert (status == "stormed") == (detected > restored)
        counted.append((detected, restored))
        if poll == lasts - 1:
            rig.end_storm()
            # The interval in which the last frames came does not count.
            expected = [*expected[:lasts], expected[lasts - 1], *expected[lasts:-1]]
    assert counted == expected


def test_the_port_counts_frames_and_the_nic_sends_as_many() -> None:
    rig = StormRig()
    rig.begin()
    rig.after(10)
    assert int(rig.port()["SAI_PORT_STAT_PFC_3_RX_PKTS"]) == pytest.approx(10 * FRAMES_PER_S, rel=0.05)
    rig.rig.model.publish(NODE)
    assert rig.place.nic.counters["tx_prio3_pause"] == pytest.approx(10 * FRAMES_PER_S, rel=0.05)
    # Broadcom counts no microseconds.
    assert not any("PAUSE_DURATION" in name for name in rig.port())


def test_a_virtual_switch_counts_the_time_of_pauses_where_the_watchdog_is() -> None:
    rig = StormRig()
    rig.leaf.spec = replace(rig.leaf.spec, asic="sonic")
    assert rig.port()["SAI_PORT_STAT_PFC_3_RX_PAUSE_DURATION_US"] == "0"
    rig.begin()
    rig.after(10)
    assert int(rig.port()["SAI_PORT_STAT_PFC_3_RX_PAUSE_DURATION_US"]) == pytest.approx(10e6, rel=0.01)
    rig.set_row(f"PFC_WD|{rig.end.port}", None)
    assert not any(name.startswith("PFC_WD") for name in rig.queue())


def test_a_storm_stops_its_queue_and_then_the_watchdog_drops() -> None:
    rig = StormRig()
    flows = rig.send()
    before = rig.after(1)
    rig.begin()
    held = rig.after(0.3)
    assert held["SAI_QUEUE_STAT_PACKETS"] == pytest.approx(before["SAI_QUEUE_STAT_PACKETS"])
    assert held["SAI_QUEUE_STAT_DROPPED_PACKETS"] == "0"
    assert storms(held) == ("operational", 0, 0)
    # What waits is as much as the sender's own queue takes: it is paused in its turn.
    assert int(rig.queue()["SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES"]) > 1_000_000
    assert storms(rig.after(1)) == ("stormed", 1, 0)
    stormed = rig.after(10)
    dropped = int(stormed["SAI_QUEUE_STAT_DROPPED_PACKETS"])
    assert dropped > 1000
    assert stormed[f"{WATCHDOG}TX_DROPPED_PACKETS"] == stormed[f"{WATCHDOG}TX_DROPPED_PACKETS_LAST"] == str(dropped)
    assert rig.port()["SAI_PORT_STAT_IF_OUT_DISCARDS"] == str(dropped)
    assert sum(flow.goodput for flow in flows) == 0
    assert rig.rig.model.flows(flows[0].sender, rig.place, flows[0].kind, 1)[0].is_stuck
    rig.end_storm()
    assert storms(rig.after(2)) == ("operational", 1, 1)
    assert sum(flow.goodput for flow in flows) > 300


def test_forwarding_goes_on_in_a_storm_and_an_alert_changes_nothing() -> None:
    forwards = StormRig(action="forward")
    flows = forwards.send()
    forwards.begin()
    assert storms(forwards.after(2))[0] == "stormed"
    assert sum(flow.goodput for flow in flows) > 300
    alerts = StormRig(action="alert")
    flows = alerts.send()
    alerts.begin()
    alerts.after(1)
    row = alerts.after(5)
    assert (storms(row), row[f"{WATCHDOG}TX_DROPPED_PACKETS"]) == (("stormed", 1, 0), "0")
    assert (sum(flow.goodput for flow in flows), row["SAI_QUEUE_STAT_DROPPED_PACKETS"]) == (0, "0")
    alerts.end_storm()
    assert storms(alerts.after(1)) == ("operational", 1, 1)


def test_nothing_is_detected_of_another_priority_or_without_polls() -> None:
    rig = StormRig()
    rig.faults.add("pfc-storm", nic=0, priority=5, since=rig.rig.clock.now())
    assert storms(rig.after(5)) == ("operational", 0, 0)
    assert int(rig.port()["SAI_PORT_STAT_PFC_5_RX_PKTS"]) > 0
    rig = StormRig()
    rig.set_row("FLEX_COUNTER_TABLE|PFCWD", {"FLEX_COUNTER_STATUS": "disable"})
    rig.begin()
    assert storms(rig.after(5)) == ("operational", 0, 0)


@pytest.mark.parametrize(("sends", "status"), [(False, "operational"), (True, "stormed")])
def test_nvidia_detects_a_storm_only_while_packets_wait(sends: bool, status: str) -> None:
    rig = StormRig()
    rig.leaf.spec = replace(rig.leaf.spec, asic="nvidia")
    if sends:
        rig.send()
    rig.begin()
    assert storms(rig.after(2))[0] == status


@pytest.mark.parametrize(("words", "line"), [
    ("pfcwd show stats", "Ethernet8:3  stormed  1/0  0/0  0/0  0/0  0/0"),
    ("pfcwd show stats Ethernet8:3", "Ethernet8:3  stormed  1/0  0/0  0/0  0/0  0/0"),
    ("pfcwd show stats -e Ethernet8:4", "Ethernet8:4  N/A  0/0  0/0  0/0  0/0  0/0"),
])  # fmt: skip
def test_commands_of_the_switch_show_it(words: str, line: str, run: Callable[..., tuple[int, str, str]]) -> None:
    rig = StormRig()
    rig.begin()
    rig.after(2)
    assert rig.end.port == "Ethernet8"
    shown = run(rig.leaf, words)[1].splitlines()
    assert [part.split() for part in shown[2:]] == [line.split()]
    frames = run(rig.leaf, "show pfc counters")[1].splitlines()
    row = next(part for part in frames if part.split()[:1] == ["Ethernet8"])
    assert int(row.split()[4].replace(",", "")) > FRAMES_PER_S


def test_a_restart_of_swss_counts_anew() -> None:
    rig = StormRig()
    rig.begin()
    rig.after(2)
    rig.leaf.times.swss_up = rig.rig.clock.now()
    assert storms(rig.queue()) == ("operational", 0, 0)
    assert storms(rig.after(2)) == ("stormed", 1, 0)


def test_a_priority_is_one_of_eight() -> None:
    with pytest.raises(ValueError, match="priority 8 is not between 0 and 7"):
        Faults().add("pfc-storm", priority=8)


def test_a_queue_of_a_broken_asic_drops_at_a_rate_and_no_other_does() -> None:
    rig = StormRig()
    # Counters begin at the first reading.
    rig.queue()
    rig.leaf.faults.add("queue-drops", port=rig.end.port, rate=50.0, priority=4, since=rig.rig.clock.now())
    rig.after(10)
    assert int(rig.queue(4)["SAI_QUEUE_STAT_DROPPED_PACKETS"]) == pytest.approx(500, abs=5)
    assert rig.queue(3)["SAI_QUEUE_STAT_DROPPED_PACKETS"] == "0"
    assert int(rig.port()["SAI_PORT_STAT_IF_OUT_DISCARDS"]) == pytest.approx(500, abs=5)
    rig.leaf.faults.clear()
    dropped = rig.queue(4)["SAI_QUEUE_STAT_DROPPED_PACKETS"]
    assert rig.after(10)["SAI_QUEUE_STAT_DROPPED_PACKETS"] == "0"
    assert rig.queue(4)["SAI_QUEUE_STAT_DROPPED_PACKETS"] == dropped
