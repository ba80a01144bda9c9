"""Counters of queues are shown as of the last poll of their group, in seconds of tests."""

import pytest
from flow_fabrics import FlowRig

from sonic_sim.databases import COUNTERS, rows_of_database
from sonic_sim.flows.constants import Constants
from sonic_sim.flows.flow import FlowKind
from sonic_sim.flows.model import FlowModel, Transfer, use_model
from sonic_sim.flows.nics import Place

BYTES = "SAI_QUEUE_STAT_BYTES"
GROUP = "FLEX_COUNTER_TABLE|QUEUE"


class PolledRig:
    """A rail-only fabric in which one NIC sends to another of the same leaf, at 400 Gb/s."""

    def __init__(self) -> None:
        self.rig = FlowRig("rail-only")
        constants = Constants(seed=1, speedup=1, unfairness=0.0)
        self.model = FlowModel(self.rig.net, self.rig.clock, constants, is_polled=True)
        self.model.nics.read = lambda: self.rig.nics
        use_model(self.rig.net, self.model)
        self.receiver = Place("gpu2", self.rig.nics["gpu2"][0])
        self.end = self.rig.net.cables[self.receiver.end]
        self.leaf = self.rig.net.devices[self.end.node]

    def set_row(self, **row: str) -> None:
        self.leaf.db.put(GROUP, row)
        self.leaf.orchagent.follow(self.leaf.db)

    def send(self, seconds: float) -> None:
        sender = Place("gpu1", self.rig.nics["gpu1"][0])
        flows = self.model.flows(sender, self.receiver, FlowKind(tos=26 << 2), 4)
        transfer = Transfer(flows)
        self.model.begin([transfer])
        self.rig.clock.advance(seconds)
        self.model.stop(transfer)

    def wait_until(self, second: float) -> None:
        """Let time pass until a second of the model."""
        self.rig.clock.advance(second - self.model.time)

    def queued_bytes(self) -> int:
        rows = rows_of_database(self.leaf, COUNTERS)
        key = rows["COUNTERS_QUEUE_NAME_MAP"][f"{self.end.port}:3"]
        return int(rows[f"COUNTERS:{key}"].get(BYTES, 0))


@pytest.fixture
def polled() -> PolledRig:
    return PolledRig()


def test_a_queue_shows_what_it_sent_after_the_poll_that_follows(polled: PolledRig) -> None:
    polled.wait_until(2)
    polled.send(3)
    assert polled.queued_bytes() == 0
    polled.wait_until(9.9)
    assert polled.queued_bytes() == 0
    polled.wait_until(10.1)
    assert polled.queued_bytes() > 140e9


def test_a_poll_while_it_sends_shows_what_was_sent_until_then(polled: PolledRig) -> None:
    polled.wait_until(8)
    polled.send(6)
    shown = polled.queued_bytes()
    polled.wait_until(20.1)
    assert shown == pytest.approx(polled.queued_bytes() / 3, rel=0.01)
    assert shown > 90e9


def test_the_row_of_the_group_says_how_often(polled: PolledRig) -> None:
    polled.set_row(FLEX_COUNTER_STATUS="enable", POLL_INTERVAL="1000")
    polled.wait_until(2)
    polled.send(1.5)
    shown = polled.queued_bytes()
    polled.wait_until(4.1)
    assert shown == pytest.approx(polled.queued_bytes() * 2 / 3, rel=0.01)
    assert shown > 40e9


def test_a_group_that_is_off_is_not_polled(polled: PolledRig) -> None:
    polled.set_row(FLEX_COUNTER_STATUS="disable", POLL_INTERVAL="1000")
    polled.send(3)
    polled.wait_until(20)
    assert polled.queued_bytes() == 0


def test_a_switch_whose_swss_starts_again_shows_nothing_until_the_next_poll(polled: PolledRig) -> None:
    polled.send(3)
    polled.wait_until(10.1)
    assert polled.queued_bytes() > 140e9
    polled.leaf.times.swss_up = polled.rig.clock.now()
    assert polled.queued_bytes() == 0
    polled.wait_until(20.1)
    assert polled.queued_bytes() == 0
