"""The oracle of the seeded rollouts catches a rollout that takes more switches than the policy allows."""

from typing import Any

import pytest
from rollout_oracle import Floors
from rollout_shapes import SHAPES

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.plan.policy import RolloutPolicy, Share


@pytest.fixture(scope="module")
def fabric() -> Fabric:
    found = design(load_intent_text(SHAPES[0].intent(SHAPES[0].base), "rails.yml"), load_catalog()).fabric
    assert found is not None
    return found


def floors(fabric: Fabric, spines: int = 1) -> Floors:
    names = frozenset(fabric.switch_of)
    return Floors(fabric, RolloutPolicy(Share(count=spines), Share(count=1)), in_service=names, disturbed=names)


class Record:
    """A record as the watched simulator makes it, of spines that change one after the other or at once."""

    def __init__(self, fabric: Fabric) -> None:
        self.events: list[dict[str, Any]] = []
        self.commits = dict.fromkeys(fabric.switch_of, "none")
        self.up = {
            name: [switch.panel.ports[port].name for port in _fabric_ports(fabric, name)]
            for name, switch in fabric.switch_of.items()
        }

    def begin(self, device: str, number: int) -> None:
        self.events.append({"device": device, "begins": "anything", "number": number})

    def end(self, device: str, number: int, status: str) -> None:
        self.commits[device] = status
        self.events.append({"device": device, "up": self.up, "flaps": [], "commits": dict(self.commits)})
        self.events.append({"device": device, "ends": "anything", "number": number, "changed": True, "status": 0})


def _fabric_ports(fabric: Fabric, name: str) -> list[int]:
    links = [one for one in fabric.links_of[name] if not one.is_access]
    return [one.upper_port if one.upper == name else one.lower_port for one in links]


def spines(fabric: Fabric) -> list[str]:
    return [one.name for one in fabric.switches if not one.tier.attaches_nodes]


def test_two_spines_at_once_are_caught_while_their_commands_run(fabric: Fabric) -> None:
    first, second, _ = spines(fabric)
    record, judge = Record(fabric), floors(fabric)
    record.begin(first, 1)
    record.begin(second, 2)
    record.end(first, 1, "none")
    record.end(second, 2, "none")
    judge.follow(record.events)
    assert "2 of 3 of" in judge.crossed[0]
    assert judge.most == 2
    assert judge.worked == {first, second}


def test_a_spine_whose_commit_waits_counts_while_the_next_one_begins(fabric: Fabric) -> None:
    first, second, _ = spines(fabric)
    record, judge = Record(fabric), floors(fabric)
    record.begin(first, 1)
    record.end(first, 1, "armed")
    record.begin(second, 2)
    record.end(second, 2, "armed")
    judge.follow(record.events)
    assert "2 of 3 of" in judge.crossed[0]


@pytest.mark.parametrize("allowed", [1, 2])
def test_spines_as_the_policy_allows_cross_nothing(fabric: Fabric, allowed: int) -> None:
    first, second, _ = spines(fabric)
    record, judge = Record(fabric), floors(fabric, allowed)
    record.begin(first, 1)
    record.end(first, 1, "armed")
    if allowed == 1:
        record.end(first, 3, "confirmed")
    record.begin(second, 2)
    record.end(second, 2, "armed")
    judge.follow(record.events)
    assert judge.crossed == []
    assert judge.most == allowed
