"""Floors of the intent against what `railweave failures` counts."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railweave.api.design.intent import Gathered, gather_text
from railweave.diagnostics import Diagnostic, Severity
from railweave.failures.analysis import Failures, failures

INTENTS = Path(__file__).resolve().parents[3] / "intent"
POD = (INTENTS / "pod-32.yml").read_text(encoding="utf-8")
LAB = (INTENTS / "lab-4.yml").read_text(encoding="utf-8")


def gathered(text: str, floors: str) -> Gathered:
    return gather_text(f"{text}failures: {floors}\n", "floors.yml")


def found(text: str, floors: str) -> list[Diagnostic]:
    return [one for one in gathered(text, floors).diagnostics if one.code == "T-13"]


@pytest.fixture(scope="module")
def lab() -> Failures:
    fabric = gather_text(LAB, "lab.yml").fabric
    assert fabric is not None
    return failures(fabric)


def test_every_floor_that_is_not_kept_is_an_error_with_its_place_and_the_number_to_change() -> None:
    other, one = found(POD, "{single: {uplinks: 80, rail: 50, ports: 75}}")
    assert (one.message, one.fix, one.devices) == (
        "without pod1-leaf1 0 % of the worst rail is left, failures.single.rail asks for 50 %; 3 failures more leave"
        " too little",
        "spread each rail over more leaves (a smaller topology.stripe), or set failures.single.rail to 0 at most",
        ("pod1-leaf1",),
    )
    assert (other.message, other.fix) == (
        "without pod1-spine1 75 % of the uplinks of the worst switch is left, failures.single.uplinks asks for 80 %;"
        " 3 failures more leave too little",
        "use more spines (topology.spine.count), or set failures.single.uplinks to 75 at most",
    )
    assert {one.severity, other.severity} == {Severity.ERROR}
    assert (one.where.line, one.where.column) == (16, 40)
    assert one.where.path == "failures.single.rail"


def test_floors_of_pairs_are_those_of_two_failures() -> None:
    (only,) = found(POD, "{single: {two_leaves: 75}, pair: {two_leaves: 60}}")
    assert only.message == (
        "without pod1-spine1 and pod1-spine2 50 % of the bandwidth between the worst two leaves is left,"
        " failures.pair.two_leaves asks for 60 %; 5 failures more leave too little"
    )


def test_nodes_that_are_cut_off_are_counted() -> None:
    text = (
        LAB.replace("nics: {count: 2,", "nics: {count: 1,")
        .replace("rails: 2", "rails: 1")
        .replace("count: 2, down", "count: 1, down")
    )
    (only,) = found(text, "{single: {nodes_out: 0}}")
    assert only.message == (
        "without lab-leaf1 4 nodes have no link left, failures.single.nodes_out allows 0; 4 failures more leave"
        " too little"
    )
    assert only.fix == "give the nodes NICs on several rails or planes, or set failures.single.nodes_out to 4"


@given(key=st.sampled_from(["rail", "uplinks", "ports", "two_leaves", "two_nodes"]), least=st.integers(0, 100))
def test_a_floor_is_broken_exactly_where_failures_says_that_less_is_left(key: str, least: int, lab: Failures) -> None:
    costs = [one.cost for one in lab.of_order(1)]
    left = {
        "rail": min(one.rail_percent for one in costs),
        "uplinks": min(one.uplink_percent for one in costs),
        "ports": min(one.injection_percent for one in costs),
        "two_leaves": min(100.0 if one.spread_percent is None else one.spread_percent for one in costs),
        "two_nodes": min(100.0 if one.node_pair_percent is None else one.node_pair_percent for one in costs),
    }[key]
    broken = found(LAB, f"{{single: {{{key}: {least}}}}}")
    assert bool(broken) == (left < least)
    if broken:
        assert f"to {int(left)} at most" in broken[0].fix
        assert found(LAB, f"{{single: {{{key}: {int(left)}}}}}") == []


def test_an_intent_without_floors_pays_nothing_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(_: object) -> None:
        raise AssertionError("failures were counted")

    monkeypatch.setattr("railweave.failures.analysis.single_failures", never)
    assert found(POD, "{}") == []
    with pytest.raises(AssertionError, match="failures were counted"):
        found(POD, "{single: {rail: 1}}")


@pytest.mark.parametrize(
    ("floors", "code", "message"),
    [
        ("{single: {rail: 101}}", "RW013", "failures.single.rail: `101` is out of range"),
        ("{single: {rails: 50}}", "RW010", "unknown key `rails` in `failures.single`"),
    ],
)
def test_floors_are_read_strictly(floors: str, code: str, message: str) -> None:
    from railweave.errors import RefusedError

    with pytest.raises(RefusedError) as refused:
        gathered(POD, floors)
    assert [(one.code, one.message) for one in refused.value.diagnostics] == [(code, message)]
