"""Pools and AS numbers that a further fabric of a file does not state: by hand, and stable when fabrics are added."""

import pytest

from railweave.api.design.intent import design_text
from railweave.checks.intent import check_intent
from railweave.intent.load import load_intent_text
from railweave.intent.model import Intent

HEAD = """\
fabric: pod1
workload: {kind: inference}
nodes:
  - name: gpu
    count: 4
    gpus: 8
    nics:
"""
NICS = "      - {{fabric: {}, count: 2, speed: 100G, model: connectx-6}}\n"
TOPOLOGY = "topology: {leaf: {model: sonic-vs}, spine: {model: sonic-vs}}"
SHARED_TIER = "topology: {tiers: 3, pod: 1, leaf: {model: sonic-vs}, spine: {model: sonic-vs}}"
SINGLE = ("10.255.0.0/16", "10.192.0.0/11", "10.32.0.0/11", 4210000000, 4200001000)
SECOND = ("10.254.0.0/16", "10.128.0.0/11", "10.96.0.0/11", 4220000000, 4200101000)
THIRD = ("10.30.0.0/16", "10.20.0.0/14", "10.16.0.0/14", 4230000000, 4200201000)


def written(**fabrics: str) -> str:
    """Return a file of these fabrics, each with its addressing, empty for none."""
    nics = "".join(NICS.format(name) for name in fabrics)
    sections = "".join(
        f"  {name}:\n    {TOPOLOGY}\n" + (f"    addressing: {addressing}\n" if addressing else "")
        for name, addressing in fabrics.items()
    )
    return f"{HEAD}{nics}fabrics:\n{sections}"


def read(text: str, name: str) -> Intent:
    return load_intent_text(text, f"f.yml#{name}")


def values(text: str, name: str) -> tuple[object, ...]:
    own = read(text, name).policies.addressing
    return (str(own.loopbacks), str(own.links), str(own.hosts), own.leaf_asn, own.spine_asn)


def overlaps(text: str, name: str) -> list[str]:
    return [f"{one.message} / {one.fix}" for one in check_intent(read(text, name)) if one.code == "RW127"]


def test_three_fabrics_that_state_nothing_are_apart() -> None:
    text = written(backend="", storage="", frontend="")
    assert [values(text, name) for name in ("backend", "storage", "frontend")] == [SINGLE, SECOND, THIRD]
    for name in ("backend", "storage", "frontend"):
        assert design_text(text, f"f.yml#{name}").fabric is not None


def test_a_fabric_at_the_end_moves_nothing() -> None:
    before = written(backend="", storage="")
    stated = written(backend="", storage="", oob="{hosts: 10.16.0.0/14, loopbacks: 10.30.0.0/16}")
    for after in (written(backend="", storage="", oob=""), stated):
        for name in ("backend", "storage"):
            assert values(after, name) == values(before, name)


def test_a_stated_pool_wins_and_the_next_fabric_goes_around_it() -> None:
    text = written(backend="", storage="{hosts: 10.128.0.0/11}", frontend="")
    # Its own links would be there.
    assert values(text, "storage") == ("10.254.0.0/16", "10.20.0.0/14", "10.128.0.0/11", 4220000000, 4200101000)
    assert values(text, "frontend")[1:3] == ("172.20.0.0/14", "10.96.0.0/11")


def test_a_fabric_keeps_the_defaults_beside_one_that_states_its_own() -> None:
    # Such a file was read before there was any carving: nothing of it may move.
    numbers = "asn: {leaf: 4220000000, spine: 4200101000}"
    own = f"{{loopbacks: 10.254.0.0/16, links: 10.128.0.0/11, hosts: 10.96.0.0/11, {numbers}}}"
    assert values(written(backend=own, storage=""), "storage") == SINGLE


def test_what_is_stated_twice_is_refused_with_one_set_of_values_that_fit() -> None:
    own = "{loopbacks: 10.255.0.0/16, hosts: 10.32.0.0/12, asn: {leaf: 4210000001}}"
    text = written(backend="", storage=own)
    fixes = {line.split(" / ")[1] for name in ("backend", "storage") for line in overlaps(text, name)}
    assert fixes == {
        "state `addressing.loopbacks: 10.254.0.0/16` for pod1-storage",
        "state `addressing.hosts: 10.96.0.0/11` for pod1-storage",
        "state `addressing.asn.leaf: 4220000000` for pod1-storage",
    }
    apart = own.replace("10.255.0.0/16", "10.254.0.0/16").replace("10.32.0.0/12", "10.96.0.0/11")
    apart = apart.replace("4210000001", "4220000000")
    assert overlaps(written(backend="", storage=apart), "storage") == []


def test_a_third_tier_that_follows_from_the_size_has_a_pool_of_its_own_or_is_refused() -> None:
    text = written(backend="", storage="").replace(TOPOLOGY, SHARED_TIER)
    pools = [str(read(text, name).pools["core"]) for name in ("backend", "storage")]
    assert pools == ["10.224.0.0/12", "10.240.0.0/13"]
    numbers = [read(text, name).policies.addressing.super_spine_asn for name in ("backend", "storage")]
    assert numbers == [4200000000, 4200100000]


def test_more_fabrics_than_there_are_pools_for_are_refused() -> None:
    names = ["a", "b", "c", "d", "e", "g"]
    text = written(**dict.fromkeys(names, ""))
    assert all(not overlaps(written(**dict.fromkeys(names[:5], "")), name) for name in names[:5])
    assert overlaps(text, "g")[0].startswith(
        "the pool of loopbacks (10.255.0.0/16) of pod1-g overlaps that of loopbacks"
    )


@pytest.mark.parametrize("order", [("backend", "storage"), ("storage", "backend")])
def test_the_order_of_the_file_decides(order: tuple[str, str]) -> None:
    text = written(**dict.fromkeys(order, ""))
    assert [values(text, name) for name in order] == [SINGLE, SECOND]
