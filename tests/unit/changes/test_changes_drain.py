"""The FRR lines that drain: made, found, left out of every comparison and taken away without a trace."""

import dataclasses
from pathlib import Path

import pytest

from railweave.sonic.delta.diff import diff
from railweave.sonic.delta.digest import running_sha256
from railweave.sonic.document import RunningConfig
from railweave.sonic.frr import FrrDocument, FrrEntry, apply_delta, frr_delta, parse_frr, render_frr
from railweave.sonic.frr.drain import (
    drain_lines,
    drain_text,
    drained_peers,
    is_drain_line,
    redrained,
    undo_text,
    undrain_text,
)
from railweave.sonic.rows import DeviceConfig
from railweave.wording import natural_key

LEAF = """frr version 8.4.4
frr defaults traditional
hostname leaf1
!
router bgp 4210000000
 bgp router-id 10.255.0.1
 no bgp default ipv4-unicast
 neighbor SPINES peer-group
 neighbor 10.192.0.64 remote-as 4200001000
 neighbor 10.192.0.64 peer-group SPINES
 neighbor 10.192.0.66 remote-as 4200001000
 neighbor 10.192.0.66 peer-group SPINES
 neighbor 10.192.0.68 remote-as 4200001000
 neighbor Ethernet8 interface peer-group SPINES
 !
 address-family ipv4 unicast
  network 10.255.0.1/32
  neighbor SPINES activate
  neighbor SPINES route-map FROM-SPINES in
  neighbor SPINES route-map TO-SPINES out
  neighbor 10.192.0.68 activate
  neighbor 10.192.0.68 route-map ALONE out
 exit-address-family
exit
!
route-map ALONE permit 10
exit
!
route-map FROM-SPINES permit 10
 set community 64512:1 additive
exit
!
route-map TO-SPINES permit 10
exit
!
end
"""
MAPS = """route-map DRAINED-FROM-SPINES permit 100
 call FROM-SPINES
 on-match next
exit
route-map DRAINED-FROM-SPINES permit 110
 set community graceful-shutdown additive
 set local-preference 0
exit
route-map DRAINED-TO-SPINES permit 100
 call TO-SPINES
 on-match next
exit
route-map DRAINED-TO-SPINES permit 110
 set community graceful-shutdown additive
exit
"""


def to_drain(text: str, peers: list[str] | None) -> str:
    return drain_text(parse_frr(text), peers)


def to_undo(text: str, peers: list[str] | None) -> str:
    return undo_text(parse_frr(text), peers)


def to_undrain(text: str, kept: str = "") -> str:
    return undrain_text(parse_frr(text), parse_frr(kept).drain)


def drained(text: str, peers: list[str] | None) -> str:
    """Return the configuration as FRR holds it after the drain, with a member's own route-maps replaced."""
    lines: dict[str, list[str]] = {}
    router, family = "router bgp 4210000000", " address-family ipv4 unicast"
    blocks, where = "", ""
    for line in to_drain(text, peers).splitlines():
        if line.startswith("router"):
            where = router
        elif line == family:
            where = family
        elif where and line.strip().startswith("exit"):
            where = router if where == family and "family" in line else ""
        elif where:
            lines.setdefault(where, []).append(line)
        else:
            blocks += f"{line}\n"
    for place, added in lines.items():
        for line in added:
            words = line.split()
            kept = [one for one in text.splitlines() if not _replaced(one.split(), words)]
            text = "\n".join(kept) + "\n"
            text = text.replace(f"{place}\n", f"{place}\n{line}\n", 1)
    return text.replace("!\nend\n", f"!\n{blocks}!\nend\n")


def _replaced(one: list[str], words: list[str]) -> bool:
    """Tell whether FRR drops a line for a new one: one route-map a neighbor and direction."""
    return words[:1] == ["neighbor"] and len(one) == 5 and one[:3] == words[:3] and one[4] == words[4]


def test_a_whole_switch_is_drained_by_one_line() -> None:
    assert to_drain(LEAF, None) == "router bgp 4210000000\n bgp graceful-shutdown\nexit\n"
    assert to_drain(LEAF, ["*", "10.192.0.64"]) == to_drain(LEAF, None)
    assert to_undo(LEAF, None) == "router bgp 4210000000\n no bgp graceful-shutdown\nexit\n"
    assert drained_peers(parse_frr(drained(LEAF, None))) == ("*",)


def test_a_link_is_drained_by_route_maps_that_call_those_of_its_group() -> None:
    bindings = """router bgp 4210000000
 address-family ipv4 unicast
  neighbor 10.192.0.64 route-map DRAINED-FROM-SPINES in
  neighbor 10.192.0.64 route-map DRAINED-TO-SPINES out
 exit-address-family
exit
"""
    assert to_drain(LEAF, ["10.192.0.64"]) == MAPS + bindings
    assert to_undo(LEAF, ["10.192.0.64"]) == (
        bindings.replace("neighbor", "no neighbor")
        + "no route-map DRAINED-FROM-SPINES\nno route-map DRAINED-TO-SPINES\n"
    )
    unnumbered = to_drain(LEAF, ["Ethernet8"])
    assert unnumbered == MAPS + bindings.replace("10.192.0.64", "Ethernet8")


def test_a_neighbor_without_a_group_gets_its_own_route_map_back() -> None:
    text = to_drain(LEAF, ["10.192.0.68"])
    assert "neighbor 10.192.0.68 route-map DRAINED-IN in" in text
    assert "neighbor 10.192.0.68 route-map DRAINED-OWN-ALONE out" in text
    assert "route-map DRAINED-OWN-ALONE permit 100\n call ALONE\n" in text
    assert "call IN" not in text
    undo = to_undrain(drained(LEAF, ["10.192.0.68"]))
    assert "\n  neighbor 10.192.0.68 route-map ALONE out\n" in undo
    assert "\n  no neighbor 10.192.0.68 route-map DRAINED-IN in\n" in undo


PEERS = [["10.192.0.64"], ["10.192.0.68", "Ethernet8"], ["10.192.0.66", "10.192.0.64"], None]


@pytest.mark.parametrize("peers", PEERS)
def test_a_drained_configuration_compares_as_the_undrained_one(peers: list[str] | None) -> None:
    plain, found = parse_frr(LEAF), parse_frr(drained(LEAF, peers))
    assert set(found.entries) == set(plain.entries)
    assert frr_delta(found, plain) == frr_delta(plain, found) == ""
    assert found.drain
    assert plain.drain == ()
    assert drained_peers(found) == (tuple(sorted(peers, key=natural_key)) if peers else ("*",))


@pytest.mark.parametrize("peers", PEERS)
def test_draining_twice_adds_nothing(peers: list[str] | None) -> None:
    assert to_drain(drained(LEAF, peers), peers) == ""
    assert to_undrain(LEAF) == ""


@pytest.mark.parametrize("peers", PEERS)
def test_a_written_file_drains_as_what_it_was_written_from(peers: list[str] | None) -> None:
    text = drained(LEAF, peers)
    again = parse_frr(render_frr(parse_frr(text)))
    assert set(again.entries) == set(parse_frr(text).entries)
    assert set(again.drain) == set(parse_frr(text).drain)
    assert set(parse_frr(drain_lines(parse_frr(text))).drain) == set(again.drain)


def test_what_was_drained_before_stays_drained() -> None:
    before = drained(LEAF, ["10.192.0.64"])
    after = drained(before, ["10.192.0.64", "10.192.0.66"])
    assert drained_peers(parse_frr(after)) == ("10.192.0.64", "10.192.0.66")
    undo = to_undrain(after, before)
    wanted = to_undo(before, ["10.192.0.64", "10.192.0.66"])
    assert sorted(undo.splitlines()) == sorted(wanted.splitlines())
    assert "10.192.0.64" not in undo
    assert "no route-map" not in undo
    whole = drained(before, None)
    assert to_undrain(whole, before) == to_undo(LEAF, None)
    assert "no bgp graceful-shutdown" in to_undrain(whole)
    assert "no route-map DRAINED-TO-SPINES" in to_undrain(whole)


def test_a_change_passes_a_drained_switch_without_touching_its_drain() -> None:
    found = parse_frr(drained(LEAF, ["10.192.0.64"]))
    wanted = parse_frr(LEAF.replace("seq 5", "seq 10").replace("64512:1", "64512:2"))
    delta = frr_delta(found, wanted)
    assert "DRAINED" not in delta
    after = apply_delta(delta, found)
    assert (set(after.entries), after.drain) == (set(wanted.entries), found.drain)
    assert apply_delta(to_drain(LEAF, None), parse_frr(LEAF)) == parse_frr(LEAF)


def test_a_neighbor_that_goes_takes_its_drain_along() -> None:
    found = parse_frr(drained(LEAF, ["10.192.0.64"]))
    gone = [entry for entry in found.entries if "10.192.0.64" not in entry.line]
    assert "10.192.0.64" not in render_frr(dataclasses.replace(found, entries=tuple(gone)))
    whole = parse_frr(drained(LEAF, None))
    assert "graceful-shutdown" not in render_frr(FrrDocument((), drain=whole.drain))


@pytest.mark.parametrize(
    ("context", "line", "drains"),
    [
        ("router bgp 65001", "bgp graceful-shutdown", True),
        ("router bgp 65001", "no bgp graceful-shutdown", True),
        ("", "bgp graceful-shutdown", True),
        ("", "route-map DRAINED-FROM-SPINES permit 100", True),
        ("", "no route-map DRAINED-FROM-SPINES", True),
        ("route-map DRAINED-FROM-SPINES permit 100", "call FROM-SPINES", True),
        ("router bgp 1 / address-family ipv4 unicast", "neighbor 10.0.0.1 route-map DRAINED-IN in", True),
        ("router bgp 1 / address-family ipv4 unicast", "neighbor 10.0.0.1 route-map FROM-SPINES in", False),
        ("router bgp 65001", "bgp graceful-restart", False),
        ("router bgp 65001", "neighbor 10.0.0.1 description DRAINED-", False),
        ("", "route-map NOT-DRAINED-X permit 10", False),
    ],
)
def test_lines_that_drain_are_told_from_all_others(context: str, line: str, drains: bool) -> None:
    assert is_drain_line(context, line) is drains


def test_a_drained_switch_has_not_moved_and_says_that_it_is_drained() -> None:
    tables = {"DEVICE_METADATA": {"localhost": {"hostname": "leaf1", "docker_routing_config_mode": "split-unified"}}}
    wanted = DeviceConfig("leaf1", (), LEAF)
    plain, found = RunningConfig(tables, LEAF), RunningConfig(tables, drained(LEAF, ["10.192.0.66"]))
    told = diff("leaf1", found, wanted)
    assert told.drained == ("10.192.0.66",)
    assert not told.delta
    assert diff("leaf1", plain, wanted).drained == ()
    assert [change for change in told.delta.changes if change.table == "FRR"] == []
    assert running_sha256(found, wanted) == running_sha256(plain, wanted)


def test_the_files_hold_no_line_that_drains() -> None:
    template = Path(__file__).parents[3] / "templates" / "frr" / "frr.conf.j2"
    assert "DRAINED" not in template.read_text(encoding="utf-8")


def test_lines_that_a_switch_tells_of_give_its_drained_configuration_without_its_text() -> None:
    before, after = parse_frr(LEAF), parse_frr(drained(LEAF, ["10.192.0.64"]))
    assert redrained(before, (), after.drain) == dataclasses.replace(before, drain=after.drain)
    assert redrained(after, after.drain, ()) == before


def test_lines_of_others_or_of_a_neighbor_itself_need_the_whole_text() -> None:
    before, after = parse_frr(LEAF), parse_frr(drained(LEAF, ["10.192.0.68"]))
    assert redrained(before, (), after.drain) is None
    assert redrained(before, (), [FrrEntry("", "ip prefix-list NEW seq 5 permit any")]) is None


def test_a_link_that_carries_both_families_is_drained_in_both() -> None:
    of_ipv6 = (
        " address-family ipv6 unicast\n  neighbor SPINES activate\n  neighbor SPINES route-map FROM-SPINES-V6 in\n"
        "  neighbor SPINES route-map TO-SPINES-V6 out\n exit-address-family\nexit\n"
    )
    document = parse_frr(LEAF.replace(" exit-address-family\nexit\n", f" exit-address-family\n{of_ipv6}", 1))
    drained = parse_frr(render_frr(document) + drain_text(document, ["Ethernet8"]))
    bound = {(one.path[-1], one.line) for one in drained.drain if one.line.startswith("neighbor ")}
    assert bound == {
        ("address-family ipv4 unicast", "neighbor Ethernet8 route-map DRAINED-FROM-SPINES in"),
        ("address-family ipv4 unicast", "neighbor Ethernet8 route-map DRAINED-TO-SPINES out"),
        ("address-family ipv6 unicast", "neighbor Ethernet8 route-map DRAINED-FROM-SPINES-v6 in"),
        ("address-family ipv6 unicast", "neighbor Ethernet8 route-map DRAINED-TO-SPINES-v6 out"),
    }
    assert FrrEntry("route-map DRAINED-TO-SPINES-v6 permit 100", "call TO-SPINES-V6") in drained.drain
    assert drained_peers(drained) == ("Ethernet8",)
    assert set(drained.entries) == set(document.entries)
