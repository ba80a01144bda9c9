"""What the answer to a change says of what runs, and a confirmation that is for exactly that."""

from collections import Counter
from typing import Any

import pytest
from switch_cases import is_changed, new_world, transaction
from virtual_switch import VirtualHost, World

from railweave_switch.host import Done
from railweave_switch.rows import digest, tables_of


@pytest.fixture
def applied() -> tuple[World, dict[str, Any], dict[str, Any]]:
    """A switch with a change under its timer, how it was read before, and the answer."""
    world = new_world()
    before = world.call("read")
    return world, before, world.send("apply", transaction())


def test_the_answer_to_a_change_has_the_rows_that_are_other_now_and_no_more(applied: Any) -> None:
    world, before, answer = applied
    told = answer["config"]
    assert (told["since"], told["digest"]) == (before["config"]["digest"], digest(world.rows))
    assert told["changed"] == {
        "PORT": {
            "Ethernet0": {"mtu": "9000", "adv_speeds": ["100", "200"], "description": "spine1"},
            "Ethernet4": {"mtu": "9000"},
        },
        "DSCP_TO_TC_MAP": {"AZURE": {"24": "3", "48": "6"}},
        "QUEUE": {"Ethernet0|3": None, "Ethernet4|3": {"scheduler": "two"}},
        "PFC_WD": {"Ethernet0": {"action": "forward", "detection_time": "400"}},
    }
    tables = before["config"]["tables"]
    for table, rows in told["changed"].items():
        tables[table] = {key: row for key, row in {**tables.get(table, {}), **rows}.items() if row is not None}
    assert tables == tables_of(world.rows)


def test_the_answer_to_a_change_has_the_lines_of_frr_that_came_and_went(applied: Any) -> None:
    told = applied[2]["frr"]
    assert ["router bgp 65001", "timers bgp 1 3"] in [list(line) for line in told["added"]]
    assert ["router bgp 65001", "timers bgp 3 9"] in [list(line) for line in told["removed"]]


def confirm(world: World, answer: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = world.call(
        "confirm", "--config", answer["config"]["digest"], "--frr", answer["frr"]["digest"]
    )
    return found


def test_what_was_read_back_is_kept_while_it_runs(applied: Any) -> None:
    world, _, answer = applied
    assert confirm(world, answer)["outcome"] == "confirmed"
    world.advance(1000.0)
    assert is_changed(world, transaction())


@pytest.mark.parametrize("what", ["CONFIG_DB", "FRR"])
def test_what_changed_since_it_was_read_back_is_not_kept(applied: Any, what: str) -> None:
    world, _, answer = applied
    if what == "FRR":
        world.lines.append(("ip prefix-list Y seq 5 permit any",))
    else:
        world.rows["VLAN|Vlan7"] = {"vlanid": "7"}
    refused = confirm(world, answer)
    assert (refused["outcome"], refused["code"]) == ("refused", "moved")
    assert refused["error"].startswith(f"{what} changed since")
    assert world.call("status")["status"]["status"] == "armed"
    assert world.call("confirm")["outcome"] == "confirmed"


def test_a_reading_that_also_observes_asks_for_what_daemons_took_once(monkeypatch: pytest.MonkeyPatch) -> None:
    world = new_world()
    world.refuse = lambda words: Done(0, "[]", "") if words[0] == "ip" else None
    asked: Counter[tuple[str, ...]] = Counter()
    rows = VirtualHost.rows

    def counted(host: VirtualHost, *what: str) -> Any:
        asked[what] += 1
        return rows(host, *what)

    monkeypatch.setattr(VirtualHost, "rows", counted)
    answer = world.call("read", "--observe")
    assert answer["observed"]["unapplied"] == answer["unapplied"]
    once = [("CONFIG_DB", "*"), ("APPL_DB", "BUFFER_*"), ("COUNTERS_DB", "COUNTERS_QUEUE_NAME_MAP")]
    assert [asked[what] for what in once] == [1, 1, 1]
