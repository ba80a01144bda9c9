"""The delta of FRR configurations: order and the traps of single lines."""

import pytest

from railweave.sonic.frr import FrrEntry, apply_delta, delta_text, frr_delta, frr_difference, parse_frr

ROUTER = """router bgp 65001
 no bgp default ipv4-unicast
 neighbor SPINES peer-group
 neighbor 10.0.0.1 remote-as 65100
 neighbor 10.0.0.1 peer-group SPINES
 !
 address-family ipv4 unicast
  neighbor SPINES activate
 exit-address-family
exit
"""


def delta(running: str, wanted: str) -> list[str]:
    return frr_delta(parse_frr(running), parse_frr(wanted)).splitlines()


def test_a_policy_comes_before_the_neighbor_that_uses_it_and_goes_after_it() -> None:
    policy = "ip prefix-list A seq 5 permit 10.0.0.0/8\nroute-map IN permit 10\n match ip address prefix-list A\nexit\n"
    using = ROUTER.replace(
        "  neighbor SPINES activate", "  neighbor SPINES activate\n  neighbor SPINES route-map IN in"
    )
    coming = delta(ROUTER, policy + using)
    assert coming.index("ip prefix-list A seq 5 permit 10.0.0.0/8") < coming.index("route-map IN permit 10")
    assert coming.index("route-map IN permit 10") < coming.index("  neighbor SPINES route-map IN in")
    going = delta(policy + using, ROUTER)
    assert going.index("  no neighbor SPINES route-map IN in") < going.index("no route-map IN permit 10")
    assert going.index("no route-map IN permit 10") < going.index("no ip prefix-list A seq 5 permit 10.0.0.0/8")


def test_a_neighbor_that_goes_is_removed_by_one_command() -> None:
    without = "\n".join(line for line in ROUTER.splitlines() if "10.0.0.1" not in line)
    assert delta(ROUTER, without) == ["router bgp 65001", " no neighbor 10.0.0.1", "exit"]


def test_a_new_as_number_removes_the_old_router_first() -> None:
    text = delta(ROUTER, ROUTER.replace("65001", "65002"))
    assert text[0] == "no router bgp 65001"
    assert "router bgp 65002" in text
    assert not [line for line in text if "no neighbor" in line]


def test_a_router_that_goes_goes_last_and_without_its_lines() -> None:
    assert delta(ROUTER + "ip route 10.0.0.0/24 blackhole\n", "") == [
        "no router bgp 65001",
        "no ip route 10.0.0.0/24 blackhole",
    ]


def test_a_value_that_changes_is_overwritten_and_never_taken_away() -> None:
    before = ROUTER.replace(" !", " neighbor SPINES timers 3 9\n !")
    after = before.replace("timers 3 9", "timers 1 3").replace("remote-as 65100", "remote-as 65101")
    text = delta(before, after)
    assert " neighbor SPINES timers 1 3" in text
    assert " neighbor 10.0.0.1 remote-as 65101" in text
    assert not [line for line in text if line.strip().startswith("no ")]


def test_a_neighbor_that_changes_its_group_goes_and_comes_whole() -> None:
    groups = ROUTER.replace(" neighbor SPINES peer-group\n", " neighbor SPINES peer-group\n neighbor EDGE peer-group\n")
    text = delta(groups, groups.replace("10.0.0.1 peer-group SPINES", "10.0.0.1 peer-group EDGE"))
    assert text == [
        "router bgp 65001",
        " no neighbor 10.0.0.1",
        " neighbor 10.0.0.1 remote-as 65100",
        " neighbor 10.0.0.1 peer-group EDGE",
        "exit",
    ]


def test_a_route_map_entry_that_changes_its_action_keeps_its_other_lines() -> None:
    before = "route-map M permit 10\n match community C\n set metric 5\nexit\n"
    after = "route-map M deny 10\n match community C\nexit\n"
    assert delta(before, after) == ["route-map M deny 10", " no set metric 5", "exit"]


def test_a_match_is_added_before_another_is_taken_away() -> None:
    before = "route-map M permit 10\n match community C\nexit\n"
    after = "route-map M permit 10\n match ip address prefix-list A\nexit\n"
    assert delta(before, after)[1:3] == [" match ip address prefix-list A", " no match community C"]


def test_a_feature_that_is_on_by_default_is_switched_on_by_its_plain_form() -> None:
    off = ROUTER.replace(
        " no bgp default ipv4-unicast\n", " no bgp default ipv4-unicast\n no bgp ebgp-requires-policy\n"
    )
    assert delta(off, ROUTER) == ["router bgp 65001", " bgp ebgp-requires-policy", "exit"]
    assert delta(ROUTER, off) == ["router bgp 65001", " no bgp ebgp-requires-policy", "exit"]


def test_a_password_goes_without_its_text_and_comes_with_it() -> None:
    with_password = ROUTER.replace(" !", " neighbor SPINES password s3cret\n !")
    assert " no neighbor SPINES password" in delta(with_password, ROUTER)
    assert " neighbor SPINES password s3cret" in delta(ROUTER, with_password)


def test_the_shown_form_of_a_secret_cannot_be_configured() -> None:
    with pytest.raises(ValueError, match="secret"):
        delta_text([], [FrrEntry("router bgp 1", "neighbor 10.0.0.1 password (hidden)")])


def test_only_what_differs_is_in_the_difference() -> None:
    removed, added = frr_difference(parse_frr(ROUTER), parse_frr(ROUTER + "ip nht resolve-via-default\n"))
    assert removed == ()
    assert added == (FrrEntry("", "ip nht resolve-via-default"),)


@pytest.mark.parametrize(
    ("command", "gone"),
    [
        ("no route-map M", {"route-map M permit 10", "route-map M deny 20", "match community C"}),
        ("no ip prefix-list A", {"ip prefix-list A seq 5 permit 10.0.0.0/8", "ip prefix-list A seq 10 deny any"}),
        (
            "router bgp 65001\n no neighbor SPINES peer-group",
            {"neighbor SPINES peer-group", "neighbor SPINES timers 3 9"},
        ),
        ("router bgp 65001\n no neighbor SPINES timers", {"neighbor SPINES timers 3 9"}),
        ("router bgp 65001\n no bgp graceful-restart", {"bgp graceful-restart"}),
    ],
)
def test_commands_that_people_type_are_understood(command: str, gone: set[str]) -> None:
    running = parse_frr(
        "ip prefix-list A seq 5 permit 10.0.0.0/8\nip prefix-list A seq 10 deny any\n"
        "ip prefix-list AB seq 5 permit any\n"
        "route-map M permit 10\n match community C\nexit\nroute-map M deny 20\nexit\nroute-map MM permit 10\nexit\n"
        "router bgp 65001\n bgp graceful-restart\n bgp graceful-restart restart-time 60\n neighbor SPINES peer-group\n"
        " neighbor SPINES timers 3 9\n neighbor LEAVES peer-group\n"
    )
    after = apply_delta(command, running)
    assert {entry.line for entry in running.entries} - {entry.line for entry in after.entries} == gone
