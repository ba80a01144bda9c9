"""Draining by hand over several switches: one after the other, and the way back is tried on all."""

from typing import TYPE_CHECKING, Any

import pytest
from napalm import get_network_driver
from napalm.base.exceptions import CommitError

from nornir_railweave.tasks import draining
from railweave.plan.manual_drain import WHOLE, choose

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
    monkeypatch.delattr(get_network_driver("railweavefake").__mro__[1], "traffic")
    (done,) = draining.undrain(spines.nornir(), ["lab-spine1"])
    assert done.error == "the driver RailweavefakeDriver cannot drain"
