"""Draining by hand over several switches: one after the other, and the way back is tried on all."""

from typing import TYPE_CHECKING, Any

import pytest
from napalm import get_network_driver
from napalm.base.exceptions import CommitError

from nornir_railweave.tasks import draining
from railweave.plan.manual_drain import WHOLE, DrainLimits, choose
from railweave.switch_driver import Capability

if TYPE_CHECKING:
    from tests.unit.nornir.conftest import Bench


@pytest.fixture
def spines(deployed: "Bench") -> Any:
    """A deployed fabric with two spines."""
    return deployed


def test_switches_are_drained_one_after_the_other(spines: "Bench") -> None:
    targets = choose(spines.world.fabric, ["lab-spine1", "lab-spine2"])
    done = draining.drain(spines.nornir(), targets, wait_s=0, packets_per_s=100)
    assert [(one.device, one.before, one.after, one.changed, one.ok) for one in done] == [
        ("lab-spine1", (), WHOLE, True, True),
        ("lab-spine2", (), WHOLE, True, True),
    ]
    told = draining.read(spines.nornir(), ["lab-spine1", "lab-leaf1"])
    assert {name: one.after for name, one in told.items()} == {"lab-spine1": WHOLE, "lab-leaf1": ()}


def test_the_first_switch_that_refuses_ends_it(spines: "Bench") -> None:
    spines.world.switches["lab-spine1"].faults["drain"] = CommitError("lab-spine1: locked by somebody")
    targets = choose(spines.world.fabric, ["lab-spine1", "lab-spine2"])
    (done,) = draining.drain(spines.nornir(), targets, wait_s=0, packets_per_s=100)
    assert (done.device, done.error, done.ok) == ("lab-spine1", "lab-spine1: locked by somebody", False)
    assert spines.world.switches["lab-spine2"].drained == ()


def test_every_switch_is_undrained_whatever_comes_of_the_others(spines: "Bench") -> None:
    for name in ("lab-spine1", "lab-spine2"):
        spines.world.switches[name].drained = WHOLE
    spines.world.switches["lab-spine1"].faults["undrain"] = CommitError("no")
    first, second = draining.undrain(spines.nornir(), ["lab-spine1", "lab-spine2"])
    assert (first.error, second.error) == ("no", "")
    assert (second.before, second.after, second.changed) == (WHOLE, (), True)


def test_a_driver_that_cannot_drain_says_so(spines: "Bench", monkeypatch: pytest.MonkeyPatch) -> None:
    fake = type(get_network_driver("railweavefake")("lab-spine1", "", "").switch_driver)
    monkeypatch.setattr(fake, "capabilities", fake.capabilities - {Capability.DRAIN})
    (done,) = draining.undrain(spines.nornir(), ["lab-spine1"])
    assert done.error == "the driver RailweavefakeDriver cannot drain"


def drain(bench: "Bench", name: str) -> Any:
    fabric = bench.world.fabric
    limits = DrainLimits(fabric)
    (done,) = draining.drain(bench.nornir(), choose(fabric, [name]), wait_s=0, packets_per_s=100, limits=limits)
    return done


def test_a_drain_that_came_after_the_question_is_seen_before_the_act(spines: "Bench") -> None:
    spines.world.switches["lab-spine2"].drained = WHOLE
    done = drain(spines, "lab-spine1")
    assert "out of service; the limit is 1 (drained already: lab-spine2)" in done.error
    assert "drain" not in spines.world.switches["lab-spine1"].calls


@pytest.mark.parametrize("step", ["drain", "drain-set", "drained"])
def test_two_drains_at_once_never_leave_both_drained(spines: "Bench", step: str) -> None:
    """Another operator drains the other spine at any step of ours, and then looks as we do."""
    first, second = (spines.world.switches[name] for name in ("lab-spine1", "lab-spine2"))
    others: list[Any] = []

    def meanwhile() -> None:
        first.faults.pop(step)
        others.append(drain(spines, "lab-spine2"))

    first.faults[step] = meanwhile
    done = drain(spines, "lab-spine1")
    assert not (done.ok and others[0].ok)
    assert not (first.drained and second.drained)
    assert {one.ok: one.after for one in (done, *others)}.get(True, WHOLE) == WHOLE


def test_what_was_drained_before_stays_so_where_the_rest_must_not_be(spines: "Bench") -> None:
    one, other = (spines.world.switches[name] for name in ("lab-spine1", "lab-spine2"))
    one.drained = ("10.0.0.1",)
    one.faults["drain-set"] = lambda: setattr(other, "drained", WHOLE)
    done = drain(spines, "lab-spine1")
    assert not done.ok
    assert one.drained == ("10.0.0.1",)


def test_a_drain_that_cannot_be_undone_is_told(spines: "Bench") -> None:
    one, other = (spines.world.switches[name] for name in ("lab-spine1", "lab-spine2"))
    one.faults |= {"drain-set": lambda: setattr(other, "drained", WHOLE), "undrain": CommitError("no")}
    done = drain(spines, "lab-spine1")
    assert done.error.endswith("; and it stays drained: no")
    assert done.after == WHOLE
