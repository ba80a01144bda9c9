"""The merge document: its shape, what it does, and its inverse."""

import pytest

from railweave.sonic.delta.change import Change, Delta, Disruption, Method, Op
from railweave.sonic.delta.delta import applied, inverse
from railweave.sonic.delta.merge import apply, delta_of, edits, merge_document, parse_merge
from railweave.sonic.document import DocumentError, RunningConfig
from railweave.sonic.frr import parse_frr
from railweave.sonic.rows import FRR_TABLE

FRR = "router bgp 65001\n neighbor 10.0.0.1 remote-as 65100\n neighbor 10.0.0.1 description x\nexit\n"
RUNNING = RunningConfig({"PORT": {"Ethernet0": {"mtu": "9100"}}, "INTERFACE": {"Ethernet0": {}}}, FRR)


def change(op: Op, table: str, key: str, field: str | None, after: object) -> Change:
    return Change(op, table, key, field, None, after, Disruption.NONE, Method.WRITE, "why")  # type: ignore[arg-type]


def test_changes_become_a_merge_with_null_for_what_goes() -> None:
    changes = [
        change(Op.UPDATE, "PORT", "Ethernet0", "mtu", "9216"),
        change(Op.REMOVE, "PORT", "Ethernet0", "description", None),
        change(Op.ADD, "ACL_TABLE", "A", None, {"ports": ("Ethernet0",)}),
        change(Op.REMOVE, "INTERFACE", "Ethernet0", None, None),
        change(Op.ADD, FRR_TABLE, "router bgp 65001", "neighbor 10.0.0.3 remote-as 65100", None),
    ]
    assert merge_document(Delta(tuple(changes))) == {
        "ACL_TABLE": {"A": {"ports": ["Ethernet0"]}},
        "INTERFACE": {"Ethernet0": None},
        "PORT": {"Ethernet0": {"description": None, "mtu": "9216"}},
        "bgpraw": "router bgp 65001\n neighbor 10.0.0.3 remote-as 65100\nexit\n",
    }


def test_a_row_cannot_go_and_be_changed() -> None:
    changes = [change(Op.REMOVE, "PORT", "Ethernet0", None, None), change(Op.UPDATE, "PORT", "Ethernet0", "mtu", "1")]
    with pytest.raises(DocumentError, match=r"PORT\|Ethernet0"):
        merge_document(Delta(tuple(changes)))


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ({"PORT": None}, "PORT"),
        ({"PORT": {"Ethernet0": "x"}}, "PORT|Ethernet0"),
        ({"PORT": {"Ethernet0": {"mtu": {"a": 1}}}}, "PORT|Ethernet0|mtu"),
        ({"bgpraw": ["x"]}, "bgpraw"),
    ],
)
def test_a_wrong_merge_is_refused_with_its_place(document: dict[str, object], place: str) -> None:
    with pytest.raises(DocumentError) as refused:
        parse_merge(document)
    assert place in str(refused.value)


def test_a_merge_leaves_what_it_does_not_name() -> None:
    after = apply({"PORT": {"Ethernet0": {"description": "x"}, "Ethernet4": {"mtu": "9100"}}}, RUNNING)
    assert after.config_db["PORT"] == {"Ethernet0": {"mtu": "9100", "description": "x"}, "Ethernet4": {"mtu": "9100"}}
    assert after.frr == FRR


def test_a_table_without_rows_is_no_table() -> None:
    assert "INTERFACE" not in apply({"INTERFACE": {"Ethernet0": None}}, RUNNING).config_db


def test_an_empty_row_on_an_existing_one_changes_nothing() -> None:
    assert edits({"PORT": {"Ethernet0": {}}}, RUNNING) == ()
    assert apply({"PORT": {"Ethernet0": {}}}, RUNNING).config_db == RUNNING.config_db


def test_removing_a_field_of_a_row_that_is_not_there_makes_no_row() -> None:
    assert apply({"PORT": {"Ethernet8": {"mtu": None}}}, RUNNING).config_db == RUNNING.config_db


def test_frr_lines_are_merged_and_taken_back() -> None:
    merge = {"bgpraw": "router bgp 65001\n no neighbor 10.0.0.1\n neighbor 10.0.0.3 remote-as 65100\n"}
    after = apply(merge, RUNNING)
    assert after.frr is not None
    assert {entry.line for entry in parse_frr(after.frr).entries} == {
        "router bgp 65001",
        "neighbor 10.0.0.3 remote-as 65100",
    }
    back = applied(inverse(delta_of(merge, RUNNING)), after)
    assert back.frr is not None
    assert set(parse_frr(back.frr).entries) == set(parse_frr(FRR).entries)


def test_a_change_of_an_unknown_frr_configuration_is_refused() -> None:
    unknown = RunningConfig({}, None)
    merge = {"bgpraw": "router bgp 1\n"}
    for function in (apply, delta_of, edits):
        with pytest.raises(DocumentError, match="unknown"):
            function(merge, unknown)
    assert apply({}, unknown) == unknown
