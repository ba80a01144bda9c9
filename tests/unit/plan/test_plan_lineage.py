"""Which state of the intent a deployment continues, and which it would discard."""

from collections.abc import Collection
from typing import Any

import pytest
from planned_devices import planned

from railweave.plan.lineage import Ancestry, History, discarded, generation_document, generation_of
from railweave.plan.model import DeviceState, Generation, Plan

HERE = Generation(revision="c" * 40, digest="3" * 64)
PLAIN = Generation(digest="3" * 64)


def committed(revision: str = "a" * 40) -> Generation:
    return Generation(number=4, revision=revision, digest="1" * 64, by="jo@laptop (process 7)")


def history(own: Generation = HERE, ancestry: Ancestry = Ancestry.CONTAINED, deployed: Collection[str] = ()) -> History:
    return History(own, dict.fromkeys(("a" * 40, "b" * 40, "f" * 40), ancestry), deployed)


def plan(**generations: Generation) -> Plan:
    devices = {name: planned(DeviceState.UNCHANGED, generation=one) for name, one in generations.items()}
    return Plan("pod1", "sim", "", devices, ())


@pytest.mark.parametrize(
    ("ancestry", "why"),
    [
        (Ancestry.CONTAINED, ""),
        (Ancestry.NEWER, "a newer commit"),
        (Ancestry.DIVERGED, "a commit of another line of history"),
        (Ancestry.UNKNOWN, "a commit that this clone does not have"),
        (Ancestry.BEYOND_SHALLOW, "a commit that this shallow clone does not reach"),
    ],
)
def test_a_commit_is_continued_by_itself_and_by_what_came_after_it(ancestry: Ancestry, why: str) -> None:
    assert history(ancestry=ancestry).discards(committed()) == why


def test_a_commit_is_discarded_by_a_project_without_git() -> None:
    assert history(PLAIN).discards(committed()) == "a commit, and the intent here is in no git history"


@pytest.mark.parametrize(
    "found", [Generation(), Generation(number=3), Generation(digest=HERE.digest, revision="f" * 40)]
)
def test_nothing_known_and_the_same_content_are_never_discarded(found: Generation) -> None:
    assert history(ancestry=Ancestry.UNKNOWN).discards(found) == ""


@pytest.mark.parametrize("own", [HERE, PLAIN])
def test_what_was_never_committed_is_continued_only_where_it_was_deployed(own: Generation) -> None:
    dirty = Generation(revision="a" * 40, digest="2" * 64, dirty=True)
    assert history(own, deployed=["2" * 64]).discards(dirty) == ""
    assert history(own).discards(dirty).startswith("a state that was never committed, based on commit aaaaaaaaaaaa,")
    assert history(own).discards(Generation(digest="2" * 64)).startswith("a state that was never committed and")


def test_a_refusal_names_the_revisions_the_switches_and_what_to_do() -> None:
    found = plan(leaf1=committed(), leaf2=committed(), leaf3=committed("b" * 40), leaf4=HERE)
    first, second = discarded(found, history(ancestry=Ancestry.NEWER))
    assert first.code == "RW526"
    assert first.devices == ("leaf1", "leaf2")
    assert first.message == (
        "leaf1, leaf2 run commit aaaaaaaaaaaa (deployed by jo@laptop (process 7)): a newer commit. This is commit "
        "cccccccccccc; deploying it would undo the changes of the other"
    )
    assert first.fix == (
        "pull, and rebase or merge onto what runs; or, where what runs there may be lost, deploy with --discard-newer"
    )
    assert second.devices == ("leaf3",)
    assert "fetch the whole history" in (next(discarded(found, history(ancestry=Ancestry.BEYOND_SHALLOW))).fix or "")


@pytest.mark.parametrize("told", [{}, {"number": "x", "revision": 7, "digest": None, "dirty": "yes", "by": []}])
def test_an_odd_generation_of_a_switch_is_none(told: Any) -> None:
    assert generation_of(told) == Generation()


def test_what_a_switch_tells_is_what_it_was_told() -> None:
    assert generation_of({**generation_document(HERE), "number": 0}) == HERE
