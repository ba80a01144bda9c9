"""Which drains by hand are refused, and what they would leave."""

from collections.abc import Callable
from pathlib import Path

import pytest

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.errors import RefusedError, UsageError
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent
from railweave.plan.manual_drain import WHOLE, check_drain, choose, neighborhood, undrained, uplinks_left_percent

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def pod() -> Fabric:
    """Four leaves of 32 nodes and four spines, eight links a pair."""
    made = design(load_intent(ROOT / "intent" / "pod-32.yml"), load_catalog()).fabric
    assert made is not None
    return made


def codes(found: Callable[[], object]) -> list[str]:
    with pytest.raises(RefusedError) as refused:
        found()
    return [one.code for one in refused.value.diagnostics]


def test_a_spine_is_drained_as_a_whole_with_all_its_links(pod: Fabric) -> None:
    (target,) = choose(pod, ["pod1-spine2", "pod1-spine2"])
    assert (target.device, target.peers, target.whole) == ("pod1-spine2", WHOLE, True)
    assert len(target.links) == len(set(target.ports)) == 32
    assert uplinks_left_percent(pod, (target,), {}) == 75
    assert uplinks_left_percent(pod, (target,), {"pod1-spine1": WHOLE}) == 50


def test_links_are_named_by_peer_port_or_far_end(pod: Fabric) -> None:
    (by_device,) = choose(pod, ["pod1-leaf1"], ["pod1-spine1"])
    assert len(by_device.links) == 8
    assert {link.upper for link in by_device.links} == {"pod1-spine1"}
    first = by_device.peers[0], by_device.ports[0]
    for word in first:
        (one,) = choose(pod, ["pod1-leaf1"], [word])
        assert ((one.peers, one.ports), one.whole) == ((first[:1], first[1:]), False)
    assert uplinks_left_percent(pod, (by_device,), {}) == 75
    (spine,) = choose(pod, ["pod1-spine1"], ["pod1-leaf3"])
    assert {link.lower for link in spine.links} == {"pod1-leaf3"}


def test_a_leaf_with_nodes_is_never_drained_as_a_whole(pod: Fabric) -> None:
    assert codes(lambda: choose(pod, ["pod1-leaf1", "pod1-spine1"])) == ["RW520"]
    every = [f"pod1-spine{number}" for number in range(1, 5)]
    assert codes(lambda: choose(pod, ["pod1-leaf1"], every)) == ["RW520"]
    assert choose(pod, ["pod1-leaf1"], every[:3])
    with pytest.raises(RefusedError) as refused:
        choose(pod, ["pod1-leaf1"])
    (said,) = refused.value.diagnostics
    assert "only path of 32 GPU nodes on rail 0 (gpu1, gpu2, gpu3, gpu4, gpu5, gpu6 and 26 more)" in said.message
    assert "railweave drain pod1-leaf1 --links pod1-spine1" in said.fix


@pytest.mark.parametrize(
    ("devices", "words", "said"),
    [
        (["pod1-spin1"], [], r"no switch pod1-spin1: did you mean `pod1-spine1`\? it has pod1-leaf1…4, pod1-spine1…4"),
        (["gpu1"], [], "has no switch gpu1"),
        (["pod1-spine1"], ["Ethernet9999", "pod1-leaf1"], "no fabric link Ethernet9999"),
        (["pod1-leaf1"], ["Ethernet0"], "no fabric link Ethernet0"),
        (["pod1-spine1", "pod1-spine2"], ["pod1-leaf1"], "one switch"),
    ],
)
def test_names_that_are_not_there_are_told(pod: Fabric, devices: list[str], words: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        choose(pod, devices, words)


def refused(
    pod: Fabric, *devices: str, several: bool = False, silent: tuple[str, ...] = (), **drained: str
) -> list[str]:
    held = {f"pod1-{name}": WHOLE if peers == "*" else tuple(peers.split(",")) for name, peers in drained.items()}
    found = check_drain(pod, choose(pod, [f"pod1-{name}" for name in devices]), held, silent, several=several)
    return [one.code for one in found]


def test_a_plane_loses_one_switch_at_a_time_unless_somebody_insists(pod: Fabric) -> None:
    assert refused(pod, "spine2") == []
    assert refused(pod, "spine2", spine2="*") == [], "again the same one"
    assert refused(pod, "spine2", "spine3") == ["RW521"]
    assert refused(pod, "spine2", spine1="*") == ["RW521"]
    assert refused(pod, "spine2", silent=("pod1-spine4",)) == ["RW521"]
    assert refused(pod, "spine2", silent=("pod1-leaf4",)) == [], "a leaf that is gone takes no path from others"
    assert refused(pod, "spine2", leaf1="10.192.0.64") == ["RW521"], "links of another switch"
    assert refused(pod, "spine2", "spine3", several=True) == []
    assert refused(pod, "spine2", "spine3", several=True, silent=("pod1-spine1",)) == []


def test_planes_count_from_0_in_messages(pod: Fabric) -> None:
    (found,) = check_drain(pod, choose(pod, ["pod1-spine2", "pod1-spine3"]), {}, (), several=False)
    assert (
        found.message
        == "draining pod1-spine2, pod1-spine3 would take 2 switches of plane 0 out of service; the limit is 1"
    )


def test_the_last_way_is_never_drained(pod: Fabric) -> None:
    assert refused(pod, "spine1", "spine2", "spine3", "spine4", several=True) == ["RW522"]
    assert refused(pod, "spine2", several=True, silent=("pod1-spine1",), spine3="*", spine4="*") == ["RW522"]
    links = choose(pod, ["pod1-leaf1"], ["pod1-spine1"])
    rest = {f"pod1-spine{number}": WHOLE for number in (2, 3, 4)}
    (found,) = check_drain(pod, links, rest, (), several=True)
    assert found.code == "RW522"
    assert "drained already: pod1-spine2, pod1-spine3, pod1-spine4" in found.message
    held = {"pod1-leaf1": choose(pod, ["pod1-leaf1"], ["pod1-spine1"])[0].peers}
    whole = choose(pod, ["pod1-spine2", "pod1-spine3", "pod1-spine4"])
    assert [one.code for one in check_drain(pod, whole, held, (), several=True)] == ["RW522"]


def test_all_switches_of_the_plane_are_asked_what_is_drained(pod: Fabric) -> None:
    whole = tuple(switch.name for switch in pod.switches)
    assert neighborhood(pod, choose(pod, ["pod1-spine2"])) == whole
    assert neighborhood(pod, choose(pod, ["pod1-leaf1"], ["pod1-spine1"])) == whole


def test_what_is_left_undrained_is_told() -> None:
    assert undrained(("a", "b"), ("b",)) == ("a",)
    assert undrained(("a", "b"), WHOLE) == ()
    assert undrained(WHOLE, ()) == WHOLE
    assert undrained(WHOLE, WHOLE) == ()
