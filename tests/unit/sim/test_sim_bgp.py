"""Links, LLDP, sessions and routes follow both ends' configuration and the cabling."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from sonic_sim.device import Device, Fabric
from sonic_sim.frr.show import Build
from sonic_sim.spec import SimCable

Run = Callable[..., tuple[int, str, str]]


def neighbors(run: Run, fabric: Fabric, name: str) -> dict[str, Any]:
    status, out, _ = run(fabric.devices[name], "vtysh -c 'show bgp vrf all neighbors json'")
    assert status == 0
    return dict(json.loads(out)["default"])


def states(run: Run, fabric: Fabric, name: str) -> dict[str, str]:
    peers = neighbors(run, fabric, name)
    return {peer: one["bgpState"] for peer, one in peers.items() if isinstance(one, dict)}


def test_sessions_come_up_where_both_ends_agree(run: Run, fabric: Fabric) -> None:
    assert states(run, fabric, "leaf1") == {"10.0.0.0": "Established"}
    assert states(run, fabric, "spine1") == {"10.0.0.1": "Established", "10.0.0.3": "Established"}


def test_a_leaf_receives_the_other_leaf_and_the_spine_and_sends_only_itself(run: Run, fabric: Fabric) -> None:
    peer = neighbors(run, fabric, "leaf1")["10.0.0.0"]
    assert peer["addressFamilyInfo"]["ipv4Unicast"] == {"sentPrefixCounter": 1, "acceptedPrefixCounter": 2}
    assert peer["remoteRouterId"] == "10.255.1.1"
    assert peer["hostname"] == "spine1"


def test_a_learned_route_is_in_the_routing_table_with_its_next_hop(run: Run, fabric: Fabric) -> None:
    routes = json.loads(run(fabric.devices["leaf1"], "vtysh -c 'show ip route json'")[1])
    assert routes["10.255.0.2/32"][0]["protocol"] == "bgp"
    assert routes["10.255.0.2/32"][0]["nexthops"][0]["interfaceName"] == "Ethernet0"
    assert routes["10.255.0.1/32"][0]["protocol"] == "connected"


@pytest.mark.parametrize(
    ("change", "state"),
    [
        ("vtysh -c 'conf t' -c 'router bgp 65001' -c 'neighbor 10.0.0.0 remote-as 65999'", "Active"),
        ("vtysh -c 'conf t' -c 'router bgp 65001' -c 'neighbor 10.0.0.0 shutdown'", "Idle"),
        ("config interface ip remove Ethernet0 10.0.0.1/31", "Active"),
        ("config interface shutdown Ethernet0", "Idle"),
        ("sonic-db-cli CONFIG_DB HSET 'PORT|Ethernet0' speed 40000", "Idle"),
        ("sonic-db-cli CONFIG_DB HSET 'PORT|Ethernet0' autoneg on", "Idle"),
        ("sonic-db-cli CONFIG_DB HSET 'PORT|Ethernet0' fec fc", "Idle"),
    ],
)
def test_a_wrong_configuration_keeps_the_session_down_at_both_ends(
    run: Run, fabric: Fabric, change: str, state: str
) -> None:
    assert run(fabric.devices["leaf1"], change)[0] == 0
    assert states(run, fabric, "leaf1") == {"10.0.0.0": state}
    assert states(run, fabric, "spine1")["10.0.0.1"] != "Established"
    assert states(run, fabric, "spine1")["10.0.0.3"] == "Established"


def test_swapped_cables_break_both_sessions_and_show_in_lldp(run: Run, fabric: Fabric) -> None:
    fabric.plug(SimCable("leaf1:Ethernet0", "spine1:Ethernet4"))
    fabric.plug(SimCable("leaf2:Ethernet0", "spine1:Ethernet0"))
    assert set(states(run, fabric, "spine1").values()) == {"Active"}
    assert "Ethernet4" in run(fabric.devices["leaf1"], "show lldp table")[1]


def test_a_smaller_mtu_leaves_the_session_up_and_shows_in_the_kernel(run: Run, fabric: Fabric) -> None:
    leaf = fabric.devices["leaf1"]
    run(leaf, "config interface mtu Ethernet0 1500")
    shown = json.loads(run(leaf, "ip -j addr show Ethernet0")[1])
    assert shown[0]["mtu"] == 1500
    assert shown[0]["addr_info"][0] == {"family": "inet", "local": "10.0.0.1", "prefixlen": 31, "scope": "global"}
    assert states(run, fabric, "leaf1") == {"10.0.0.0": "Established"}


def test_without_policies_an_external_session_carries_nothing(run: Run, fabric: Fabric) -> None:
    words = ("conf t", "router bgp 65001", "address-family ipv4 unicast", "no neighbor SPINES route-map IN in")
    command = "vtysh " + " ".join(f"-c '{one}'" for one in words)
    assert run(fabric.devices["leaf1"], command)[0] == 0
    peer = neighbors(run, fabric, "leaf1")["10.0.0.0"]
    assert peer["bgpState"] == "Established"
    assert peer["addressFamilyInfo"]["ipv4Unicast"]["acceptedPrefixCounter"] == 0


def test_a_route_with_the_own_as_number_is_not_taken(run: Run, fabric: Fabric) -> None:
    leaf2 = fabric.devices["leaf2"]
    prepend = "vtysh -c 'conf t' -c 'route-map OWN permit 10' -c 'set as-path prepend 65001'"
    assert run(leaf2, prepend)[0] == 0
    peer = neighbors(run, fabric, "leaf1")["10.0.0.0"]
    assert peer["addressFamilyInfo"]["ipv4Unicast"]["acceptedPrefixCounter"] == 1


def test_a_community_list_keeps_routes_of_one_side_from_the_other(run: Run, fabric: Fabric) -> None:
    commands = (
        "bgp community-list standard LEARNED seq 5 permit 64512:1", "route-map ANY deny 5", "match community LEARNED",
        "exit", "route-map MARK permit 10", "set community 64512:1 additive", "exit", "router bgp 65100",
        "address-family ipv4 unicast", "neighbor LEAVES route-map MARK in",
    )  # fmt: skip
    line = "vtysh -c 'conf t' " + " ".join(f"-c '{one}'" for one in commands)
    assert run(fabric.devices["spine1"], line)[0] == 0
    peer = neighbors(run, fabric, "leaf1")["10.0.0.0"]
    assert peer["addressFamilyInfo"]["ipv4Unicast"]["acceptedPrefixCounter"] == 1


def test_lldp_hears_a_switch_by_alias_and_a_host_by_interface(run: Run, fabric: Fabric) -> None:
    rows = json.loads(run(fabric.devices["leaf1"], "sonic-db-dump -n APPL_DB -y -k 'LLDP_ENTRY_TABLE:*'")[1])
    spine = rows["LLDP_ENTRY_TABLE:Ethernet0"]["value"]
    host = rows["LLDP_ENTRY_TABLE:Ethernet4"]["value"]
    assert (spine["lldp_rem_sys_name"], spine["lldp_rem_port_id"], spine["lldp_rem_port_desc"]) == (
        "spine1",
        "etp1",
        "Ethernet0",
    )
    assert (host["lldp_rem_sys_name"], host["lldp_rem_port_id"], host["lldp_rem_port_id_subtype"]) == (
        "gpu1",
        "eth0",
        "5",
    )


def test_lldp_hears_nothing_on_a_port_that_is_down(run: Run, fabric: Fabric) -> None:
    run(fabric.devices["spine1"], "config interface shutdown Ethernet0")
    rows = json.loads(run(fabric.devices["leaf1"], "sonic-db-dump -n APPL_DB -y -k 'LLDP_ENTRY_TABLE:*'")[1])
    assert list(rows) == ["LLDP_ENTRY_TABLE:Ethernet4"]


def test_unnumbered_neighbors_meet_over_the_cable(run: Run, fabric: Fabric) -> None:
    for name, number in (("leaf1", 65001), ("spine1", 65100)):
        session = (
            f"vtysh -c 'conf t' -c 'router bgp {number}' -c 'no bgp ebgp-requires-policy' "
            "-c 'neighbor Ethernet0 interface remote-as external' "
            "-c 'address-family ipv4 unicast' -c 'neighbor Ethernet0 activate'"
        )
        assert run(fabric.devices[name], session)[0] == 0
    run(fabric.devices["leaf1"], "vtysh -c 'conf t' -c 'router bgp 65001' -c 'neighbor 10.0.0.0 shutdown'")
    assert states(run, fabric, "leaf1")["Ethernet0"] == "Established"
    routes = json.loads(run(fabric.devices["leaf1"], "vtysh -c 'show ip route json'")[1])
    (hop,) = routes["10.255.0.2/32"][0]["nexthops"]
    assert (hop["interfaceName"], hop["afi"]) == ("Ethernet0", "ipv6")
    assert hop["ip"].startswith("fe80::"), "the link-local address of the far end"


def test_a_static_route_over_a_port_is_there_and_announced_while_its_link_is_up(run: Run, fabric: Fabric) -> None:
    leaf, prefix = fabric.devices["leaf1"], "192.0.2.1/32"
    lines = f"-c 'ip route {prefix} 10.0.0.0 Ethernet0' -c 'ip route 192.0.2.2/32 10.0.9.0 Ethernet8'"
    networks = f"-c 'network {prefix}' -c 'network 192.0.2.2/32'"
    within = f"-c 'router bgp 65001' -c 'address-family ipv4 unicast' {networks}"
    assert run(leaf, f"vtysh -c 'conf t' {lines} {within}")[0] == 0
    routes = json.loads(run(leaf, "vtysh -c 'show ip route json'")[1])
    assert "192.0.2.2/32" not in routes
    (hop,) = routes[prefix][0]["nexthops"]
    assert (routes[prefix][0]["protocol"], hop["ip"], hop["interfaceName"]) == ("static", "10.0.0.0", "Ethernet0")
    assert prefix in json.loads(run(leaf, "vtysh -c 'show bgp ipv4 unicast json'")[1])["routes"]
    run(leaf, "config interface shutdown Ethernet0")
    assert prefix not in json.loads(run(leaf, "vtysh -c 'show ip route json'")[1])
    assert prefix not in json.loads(run(leaf, "vtysh -c 'show bgp ipv4 unicast json'")[1])["routes"]


def test_the_summary_counts_prefixes_both_ways(run: Run, fabric: Fabric) -> None:
    document = json.loads(run(fabric.devices["spine1"], "vtysh -c 'show bgp summary json'")[1])["ipv4Unicast"]
    one_family = json.loads(run(fabric.devices["spine1"], "vtysh -c 'show bgp ipv4 unicast summary json'")[1])
    assert one_family.keys() == document.keys(), "asked for one family, FRR leaves out the level of families"
    assert document["as"] == 65100
    assert {peer: (one["pfxRcd"], one["pfxSnt"]) for peer, one in document["peers"].items()} == {
        "10.0.0.1": (1, 3),
        "10.0.0.3": (1, 3),
    }, "peers of one update group get their own routes back"
    assert "10.0.0.1" in run(fabric.devices["spine1"], "vtysh -c 'show bgp summary'")[1]


_ROUTER = {"leaf1": 65001, "leaf2": 65002, "spine1": 65100}


def _give_ipv6(run: Run, fabric: Fabric, *without: str) -> None:
    """Give the leaves a prefix of IPv6 each, and every switch but ``without`` the family with filters of its own."""
    for name, group in (("leaf1", "SPINES"), ("leaf2", "SPINES"), ("spine1", "LEAVES")):
        lines = ["ipv6 prefix-list FABRIC6 seq 5 permit fd00::/40 ge 64 le 64"]
        lines += ["route-map ANY6 permit 10", "match ipv6 address prefix-list FABRIC6", "exit"]
        if name != "spine1":
            lines += [f"ipv6 route fd00:0:0:{name[-1]}::/64 blackhole 250", "ipv6 route fd99::/64 blackhole 250"]
        lines += [f"router bgp {_ROUTER[name]}", "address-family ipv6 unicast"]
        lines += [f"neighbor {group} route-map ANY6 in", f"neighbor {group} route-map ANY6 out"]
        lines += [] if name in without else [f"neighbor {group} activate"]
        if name != "spine1":
            lines += [f"network fd00:0:0:{name[-1]}::/64", "network fd99::/64"]
        command = "vtysh -c 'conf t' " + " ".join(f"-c '{line}'" for line in lines)
        assert run(fabric.devices[name], command) == (0, "", "")


def _shown(run: Run, fabric: Fabric, name: str, command: str) -> dict[str, Any]:
    return dict(json.loads(run(fabric.devices[name], f"vtysh -c '{command} json'")[1]))


def test_routes_of_ipv6_travel_beside_those_of_ipv4_through_filters_of_their_own(run: Run, fabric: Fabric) -> None:
    before = _shown(run, fabric, "leaf1", "show ip route").keys()
    _give_ipv6(run, fabric)
    info = neighbors(run, fabric, "spine1")["10.0.0.1"]["addressFamilyInfo"]
    assert info == {
        "ipv4Unicast": {"sentPrefixCounter": 3, "acceptedPrefixCounter": 1},
        "ipv6Unicast": {"sentPrefixCounter": 2, "acceptedPrefixCounter": 1},
    }, "the prefix outside of the list does not travel"
    assert _shown(run, fabric, "leaf1", "show ip route").keys() == before
    routes = _shown(run, fabric, "leaf1", "show ipv6 route")
    assert [*routes] == ["fd00:0:0:1::/64", "fd00:0:0:2::/64", "fd99::/64"]
    (hop,) = routes["fd00:0:0:2::/64"][0]["nexthops"]
    assert (hop["interfaceName"], hop["afi"], hop["ip"][:6]) == ("Ethernet0", "ipv6", "fe80::")
    assert [*_shown(run, fabric, "leaf1", "show bgp ipv6 unicast")["routes"]] == [
        "fd00:0:0:1::/64",
        "fd99::/64",
        "fd00:0:0:2::/64",
    ]
    assert not any(":" in prefix for prefix in _shown(run, fabric, "leaf1", "show bgp ipv4 unicast")["routes"])
    (path,) = _shown(run, fabric, "leaf1", "show bgp ipv6 unicast fd00:0:0:2::/64")["paths"]
    assert path["path"] == "65100 65002"
    shown = run(fabric.devices["leaf1"], "show ipv6 route")[1]
    assert "fd00:0:0:2::/64" in shown
    assert "10.255" not in shown


def test_summaries_count_each_family_apart(run: Run, fabric: Fabric) -> None:
    assert [*_shown(run, fabric, "spine1", "show bgp summary")] == ["ipv4Unicast"]
    _give_ipv6(run, fabric)
    families = _shown(run, fabric, "spine1", "show bgp summary")
    counts = {name: [(one["pfxRcd"], one["pfxSnt"]) for one in of["peers"].values()] for name, of in families.items()}
    assert counts == {"ipv4Unicast": [(1, 3), (1, 3)], "ipv6Unicast": [(1, 2), (1, 2)]}
    assert _shown(run, fabric, "spine1", "show bgp ipv6 unicast summary")["peers"].keys() == {"10.0.0.1", "10.0.0.3"}
    text = run(fabric.devices["spine1"], "vtysh -c 'show bgp summary'")[1]
    assert [line for line in text.splitlines() if line.endswith("Summary:")] == [
        "IPv4 Unicast Summary:",
        "IPv6 Unicast Summary:",
    ]


def test_a_family_that_one_end_lacks_carries_nothing(run: Run, fabric: Fabric) -> None:
    _give_ipv6(run, fabric, "leaf1")
    info = neighbors(run, fabric, "spine1")["10.0.0.1"]["addressFamilyInfo"]["ipv6Unicast"]
    assert info == {"acceptedPrefixCounter": 0}, "FRR counts nothing sent where the other end has not agreed"
    assert "ipv6Unicast" not in neighbors(run, fabric, "leaf1")["10.0.0.0"]["addressFamilyInfo"]
    assert "fd00:0:0:2::/64" not in _shown(run, fabric, "leaf1", "show ipv6 route")
    assert "NoNeg" in run(fabric.devices["spine1"], "vtysh -c 'show bgp summary'")[1]


def established_at(run: Run, fabric: Fabric, device: str) -> dict[str, int]:
    """Return since when each session of a switch is established, in seconds since 1970."""
    return {
        peer: state["bgpTimerUpEstablishedEpoch"]
        for peer, state in neighbors(run, fabric, device).items()
        if isinstance(state, dict)
    }


def test_a_session_opens_again_where_a_family_is_activated(run: Run, fabric: Fabric) -> None:
    clock = fabric.devices["leaf1"].clock
    before = established_at(run, fabric, "spine1")
    clock.advance(100.0)
    assert established_at(run, fabric, "spine1") == before
    _give_ipv6(run, fabric, "spine1", "leaf2")
    after = established_at(run, fabric, "spine1")
    assert after["10.0.0.1"] >= before["10.0.0.1"] + 100
    assert after["10.0.0.3"] == before["10.0.0.3"]


def test_a_filter_of_ipv6_leaves_ipv4_as_it_is(run: Run, fabric: Fabric) -> None:
    _give_ipv6(run, fabric)
    words = ("conf t", "router bgp 65001", "address-family ipv6 unicast", "neighbor SPINES route-map NONE in")
    assert run(fabric.devices["leaf1"], "vtysh " + " ".join(f"-c '{one}'" for one in words))[0] == 0
    info = neighbors(run, fabric, "leaf1")["10.0.0.0"]["addressFamilyInfo"]
    assert (info["ipv4Unicast"]["acceptedPrefixCounter"], info["ipv6Unicast"]["acceptedPrefixCounter"]) == (2, 0)


def test_two_ends_with_one_router_id_do_not_meet(run: Run, fabric: Fabric) -> None:
    run(fabric.devices["leaf1"], "vtysh -c 'conf t' -c 'router bgp 65001' -c 'bgp router-id 10.255.1.1'")
    assert states(run, fabric, "leaf1") == {"10.0.0.0": "Active"}


def test_counters_move_only_on_links_that_are_up(run: Run, fabric: Fabric) -> None:
    shown = json.loads(run(fabric.devices["leaf1"], "show interfaces counters -j")[1])
    assert shown["Ethernet0"]["STATE"] == "U"
    assert shown["Ethernet8"]["STATE"] == "D"
    assert shown["Ethernet8"]["RX_OK"] == "0" != shown["Ethernet0"]["RX_OK"]


VETH = """ip link add Ethernet120 type veth peer name x120; ip link set x120 up; ip link set Ethernet120 up
ip addr add 10.9.0.0/31 dev Ethernet120; ip link add Loopback9 type veth peer name x9; ip link set Loopback9 up
ip addr add 10.9.1.1/32 dev Loopback9""".replace("\n", "; ")


@pytest.mark.parametrize(
    ("build", "kinds"),
    [
        (Build("8.5.4"), {"10.9.0.0/31": ["connected"]}),
        (Build(), {"10.9.0.0/31": ["connected", "kernel"]}),
        (Build(patched=False), {"10.9.0.0/31": ["connected", "kernel"], "10.9.0.0/32": ["local"]}),
    ],
)
def test_routes_and_sessions_follow_the_kernels_interfaces(
    switch: Device, run: Run, build: Build, kinds: dict[str, list[str]]
) -> None:
    """The kernel's own route comes with an address that is given while zebra runs; SONiC's FRR makes no local ones."""
    switch.frr.build = build
    assert run(switch, VETH)[0] == 0
    switch.frr.apply("router bgp 65100\n neighbor 10.9.0.1 remote-as 65200\n neighbor 10.9.1.2 remote-as 65200")
    shown = json.loads(run(switch, "vtysh -c 'show ip route json'")[1])
    assert {prefix: [one["protocol"] for one in same] for prefix, same in shown.items() if "10.9." in prefix} == kinds
    status, out, err = run(switch, "show ip route")
    if build.patched:
        assert "\nC>*10.9.0.0/31 is directly connected, Ethernet120, " in out
    else:
        assert (status, err) == (1, "Traceback (most recent call last):\n  ...\nKeyError: 'local'\n")
    told = json.loads(run(switch, "vtysh -c 'show bgp neighbors json'")[1])
    assert [told[peer]["bgpState"] for peer in ("10.9.0.1", "10.9.1.2")] == ["Connect", "Active"]
    assert run(switch, "ip link set x120 down; vtysh -c 'show ip route summary'")[1].count("kernel") == 0
    assert run(switch, "ip addr del 10.9.0.9/31 dev Ethernet120")[0] == 2


def timers_of(run: Run, fabric: Fabric, name: str, peer: str) -> tuple[int, int, int, int]:
    shown = neighbors(run, fabric, name)[peer]
    names = ("ConfiguredKeepAliveInterval", "ConfiguredHoldTime", "KeepAliveInterval", "HoldTime")
    first, second, third, fourth = (shown[f"bgpTimer{one}Msecs"] // 1000 for one in names)
    return first, second, third, fourth


def set_timers(run: Run, fabric: Fabric, name: str, line: str) -> None:
    number = "65001" if name == "leaf1" else "65100"
    assert run(fabric.devices[name], f"vtysh -c 'conf t' -c 'router bgp {number}' -c '{line}'")[0] == 0


def test_other_timers_are_in_force_once_the_session_opens_again(run: Run, fabric: Fabric) -> None:
    set_timers(run, fabric, "leaf1", "neighbor SPINES timers 1 3")
    assert timers_of(run, fabric, "leaf1", "10.0.0.0") == (1, 3, 3, 9), "run on FRR 8.4"
    assert run(fabric.devices["leaf1"], "vtysh -c 'clear bgp 10.0.0.0 soft in'") == (0, "", "")
    assert timers_of(run, fabric, "leaf1", "10.0.0.0") == (1, 3, 3, 9)
    before = neighbors(run, fabric, "leaf1")["10.0.0.0"]["connectionsEstablished"]
    assert run(fabric.devices["leaf1"], "vtysh -c 'clear bgp vrf default 10.0.0.0'") == (0, "", "")
    assert timers_of(run, fabric, "leaf1", "10.0.0.0") == (1, 3, 1, 3)
    assert neighbors(run, fabric, "leaf1")["10.0.0.0"]["connectionsEstablished"] == before + 1
    configured = timers_of(run, fabric, "spine1", "10.0.0.1")[:2]
    assert timers_of(run, fabric, "spine1", "10.0.0.1") == (*configured, 1, 3), "the smaller hold time of both ends"


def test_a_line_that_resets_the_session_opens_it_with_the_timers_of_that_moment(run: Run, fabric: Fabric) -> None:
    set_timers(run, fabric, "leaf1", "neighbor SPINES timers 1 3")
    assert timers_of(run, fabric, "leaf1", "10.0.0.0")[2:] == (3, 9)
    set_timers(run, fabric, "leaf1", "neighbor 10.0.0.0 capability extended-nexthop")
    assert timers_of(run, fabric, "leaf1", "10.0.0.0")[2:] == (1, 3)


def test_clear_says_what_frr_says_of_neighbors_that_it_does_not_know(run: Run, fabric: Fabric) -> None:
    leaf = fabric.devices["leaf1"]
    assert run(leaf, "vtysh -c 'clear bgp 10.9.9.9'")[1] == '% BGP: Unknown neighbor - "10.9.9.9"\n'
    assert run(leaf, "vtysh -c 'clear bgp Ethernet7'")[1] == "Malformed address or name: Ethernet7\n"
    assert run(leaf, "vtysh -c 'clear bgp vrf red 10.0.0.0'")[1] == "Can't find BGP instance red\n"
