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


IN_ROUTER = "router bgp 65001\n neighbor 10.0.0.1 remote-as 65002\n {}\n"
IN_FAMILY = "router bgp 65001\n address-family ipv4 unicast\n  {}\n exit-address-family\n"
IN_ROUTE_MAP = "route-map R permit 10\n {}\n"


@pytest.mark.parametrize(
    ("block", "before", "after"),
    [
        (IN_ROUTER, "bgp bestpath as-path multipath-relax as-set", "bgp bestpath as-path multipath-relax"),
        (IN_ROUTER, "bgp bestpath bandwidth ignore", "bgp bestpath bandwidth skip-missing"),
        (IN_ROUTER, "bgp minimum-holdtime 3", "bgp minimum-holdtime 6"),
        (IN_ROUTER, "bgp graceful-restart", "bgp graceful-restart-disable"),
        (IN_ROUTER, "bgp shutdown message planned", "bgp shutdown"),
        (IN_ROUTER, "neighbor 10.0.0.1 graceful-restart-helper", "neighbor 10.0.0.1 graceful-restart"),
        (IN_ROUTER, "neighbor 10.0.0.1 local-role customer", "neighbor 10.0.0.1 local-role provider strict-mode"),
        (IN_ROUTER, "neighbor 10.0.0.1 tcp-mss 1000", "neighbor 10.0.0.1 tcp-mss 1200"),
        (IN_ROUTER, "read-quanta 5", "read-quanta 6"),
        (IN_FAMILY, "table-map A", "table-map B"),
        (IN_FAMILY, "neighbor 10.0.0.1 addpath-tx-all-paths", "neighbor 10.0.0.1 addpath-tx-bestpath-per-AS"),
        (IN_ROUTE_MAP, "set originator-id 10.0.0.1", "set originator-id 10.0.0.2"),
        (IN_ROUTE_MAP, "set comm-list A delete", "set comm-list B delete"),
        (IN_ROUTE_MAP, "match origin igp", "match origin egp"),
        (IN_ROUTE_MAP, "match local-preference 5", "match local-preference 6"),
        ("{}\n", "ip router-id 10.0.0.1", "ip router-id 10.0.0.2"),
        ("{}\n", "zebra nexthop-group keep 2", "zebra nexthop-group keep 1"),
        ("{}\n", "ip route 10.1.0.0/16 10.0.0.1", "ip route 10.1.0.0/16 10.0.0.1 bfd profile fast"),
    ],
)
def test_the_new_value_of_a_setting_is_not_removed_with_the_old_one(block: str, before: str, after: str) -> None:
    """FRR 8.4.4 and 10.3 overwrite the value, and remove whatever is set with the `no` form of another one (run)."""
    commands = [line.strip() for line in delta(block.format(before), block.format(after))]
    assert after in commands
    assert not [command for command in commands if command.startswith("no ")]


@pytest.mark.parametrize(
    ("block", "before", "after"),
    [
        (IN_ROUTER, "neighbor 10.0.0.1 ebgp-multihop 2", "neighbor 10.0.0.1 ttl-security hops 2"),
        (IN_ROUTER, "neighbor 10.0.0.1 ttl-security hops 2", "neighbor 10.0.0.1 ebgp-multihop 2"),
        (IN_ROUTER, "bgp confederation peers 65002 65003", "bgp confederation peers 65002"),
        (IN_ROUTER, "neighbor 10.0.0.1 something-new 1", "neighbor 10.0.0.1 something-new 2"),
        (IN_FAMILY, "neighbor 10.0.0.1 advertise-map A exist-map B", "neighbor 10.0.0.1 advertise-map C exist-map B"),
        (IN_FAMILY, "rd vpn export 1:1", "rd vpn export 1:2"),
        (IN_ROUTE_MAP, "match ipv6 next-hop A", "match ipv6 next-hop prefix-list A"),
        ("{}\n", "ip prefix-list A description b", "ip prefix-list A description a"),
        ("{}\n", "ip mroute 10.1.0.0/16 10.0.0.1 6", "ip mroute 10.1.0.0/16 10.0.0.1 5"),
        ("{}\n", "ip route 10.1.0.0/16 blackhole", "ip route 10.1.0.0/16 reject"),
        ("{}\n", "ip route 10.1.0.0/16 blackhole", "ip route 10.1.0.0/16 10.0.0.1"),
        ("{}\n", "bgp community alias 1:1 b", "bgp community alias 1:1 a"),
    ],
)
def test_a_line_that_frr_loses_with_another_comes_after_its_removal(block: str, before: str, after: str) -> None:
    commands = [line.strip() for line in delta(block.format(before), block.format(after))]
    assert commands.index(f"no {before}") < commands.index(after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("set ip next-hop 10.0.0.1", "set ip next-hop peer-address"),
        ("set ip next-hop unchanged", "set ip next-hop 10.0.0.1"),
    ],
)
def test_two_actions_of_one_command_are_two_lines(before: str, after: str) -> None:
    assert f" no {before}" in delta(IN_ROUTE_MAP.format(before), IN_ROUTE_MAP.format(after))


@pytest.mark.parametrize("option", ["onlink", "nexthop-vrf RED", "table 5"])
def test_a_route_with_another_next_hop_replaces_the_old_one_by_its_removal(option: str) -> None:
    """Both run beside each other (run on FRR 8.4.4 and 10.3)."""
    route = "ip route 10.1.0.0/16 10.0.0.1"
    assert delta(route, f"{route} {option}") == [f"{route} {option}", f"no {route}"]
    assert delta(f"{route} 5 {option}", f"{route} 6 {option}") == [f"{route} 6 {option}"]
