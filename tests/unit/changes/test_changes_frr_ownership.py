"""FRR lines are owned by line, as rows are by row: what is not ours stays, is counted, and is named where it cannot."""

from typing import Any

import pytest

from railweave.fabric.releases import COMMON_PATHS, RELEASES
from railweave.sonic.delta.change import Disruption, Op
from railweave.sonic.delta.diff import DeviceDiff, diff
from railweave.sonic.delta.digest import running_sha256
from railweave.sonic.document import RunningConfig, running_from
from railweave.sonic.frr import FrrEntry, parse_frr
from railweave.sonic.frr.ownership import GROUPS, FrrScope
from railweave.sonic.rows import DeviceConfig, Row

METADATA = {"hostname": "leaf1", "docker_routing_config_mode": "split-unified", "platform": "p"}
OURS = """\
ip route 10.32.0.0/26 blackhole 250
router bgp 65001
 bgp router-id 10.255.0.1
 no bgp default ipv4-unicast
 neighbor SPINES peer-group
 neighbor SPINES timers 3 9
 neighbor 10.192.0.0 remote-as 65100
 neighbor 10.192.0.0 peer-group SPINES
 address-family ipv4 unicast
  network 10.255.0.1/32
  network 10.32.0.0/26
  neighbor SPINES activate
  neighbor SPINES route-map TO-SPINES-V4 out
  maximum-paths 128
 exit-address-family
exit
ip prefix-list FABRIC-PREFIXES seq 5 permit 10.255.0.0/16 ge 32
ip prefix-list FABRIC-PREFIXES seq 10 permit 10.32.0.0/11 ge 26 le 26
bgp community-list standard LEARNED-FROM-SPINES seq 5 permit 64512:1
route-map TO-SPINES-V4 permit 100
 match ip address prefix-list FABRIC-PREFIXES
exit
ip nht resolve-via-default
ip protocol bgp route-map RM_SET_SRC
"""

OTHERS = {
    "a VRF with a route": "vrf Vrf-storage\n ip route 0.0.0.0/0 192.0.2.1\nexit-vrf\n",
    "the instance of a VRF": "router bgp 65001 vrf Vrf-storage\n neighbor 192.0.2.9 remote-as 65009\nexit\n",
    "a line of SONiC's template": "zebra nexthop-group keep 1\n",
    "a static route": "ip route 192.0.2.0/24 10.9.9.9\n",
    "a static route inside the pools": "ip route 10.32.0.5/32 10.9.9.9\n",
    "a static route over a port": "ip route 10.255.0.5/32 10.32.0.1 Ethernet0\n",
    "an IPv6 route": "ipv6 route 2001:db8::/32 Null0\n",
    "a prefix list": "ip prefix-list OPERATOR seq 5 permit 192.0.2.0/24\n",
    "an IPv6 prefix list": "ipv6 prefix-list OPERATOR seq 5 permit 2001:db8::/32\n",
    "a community list": "bgp community-list standard OPERATOR seq 5 permit 65000:1\n",
    "an AS path list": "bgp as-path access-list OPERATOR seq 5 permit ^65009$\n",
    "a route-map": "route-map OPERATOR permit 10\n match ip address prefix-list FABRIC-PREFIXES\nexit\n",
    "a neighbor": "router bgp 65001\n neighbor 192.0.2.9 remote-as 65009\n neighbor 192.0.2.9 description firewall\n",
    "a neighbor's policy": (
        "router bgp 65001\n neighbor 192.0.2.9 remote-as 65009\n address-family ipv4 unicast\n"
        "  neighbor 192.0.2.9 activate\n  neighbor 192.0.2.9 route-map OPERATOR in\n"
    ),
    "a listen range": (
        "router bgp 65001\n neighbor POD peer-group\n neighbor POD remote-as external\n"
        " bgp listen range 192.0.2.0/25 peer-group POD\n"
    ),
    "graceful restart as SONiC's template has it on leaves": (
        "router bgp 65001\n bgp graceful-restart restart-time 240\n bgp graceful-restart\n"
        " bgp graceful-restart preserve-fw-state\n bgp graceful-restart select-defer-time 45\n"
    ),
    "a setting of the instance": "router bgp 65001\n bgp cluster-id 1.1.1.1\n",
    "an announcement": "router bgp 65001\n address-family ipv4 unicast\n  network 192.0.2.0/24\n",
    "an IPv6 route inside the pool": "ipv6 route fd00:10:0:5::/64 fe80::9 Ethernet0\n",
    "an IPv6 announcement": "router bgp 65001\n address-family ipv6 unicast\n  network 2001:db8::/48\n",
    "another address family": "router bgp 65001\n address-family ipv6 unicast\n  maximum-paths ibgp 2\n",
    "another protocol": "router ospf\n ospf router-id 1.1.1.1\nexit\n",
    "another protocol's source": "ip protocol static route-map OPERATOR\nipv6 protocol bgp route-map RM_SET_SRC6\n",
    "an interface": "interface Ethernet0\n ip ospf area 0\nexit\n",
    "a route map of SONiC's": "route-map TO_BGP_PEER_V4 permit 100\nexit\n",
}


def running(frr: str, tables: dict[str, Any] | None = None, **metadata: str) -> RunningConfig:
    device = {"DEVICE_METADATA": {"localhost": METADATA | metadata}, "PORT": {"Ethernet0": {"lanes": "1"}}}
    return running_from({**device, **(tables or {}), "bgpraw": f"frr version 10.3\n{frr}"})


def wanted(frr: str = OURS, tables: dict[str, Any] | None = None) -> DeviceConfig:
    rows = {
        "DEVICE_METADATA": {"localhost": METADATA},
        "PORT": {"Ethernet0": {"lanes": "1"}},
        "INTERFACE": {"Ethernet0": {}},
        **(tables or {}),
    }
    found = tuple(Row(table, key, fields, "") for table, row in rows.items() for key, fields in row.items())
    return DeviceConfig("leaf1", found, frr)


def compared(frr: str, intent: DeviceConfig | None = None, **options: Any) -> DeviceDiff:
    device = running(frr, {"INTERFACE": {"Ethernet0": {}}})
    return diff("leaf1", device, intent or wanted(), **options)


def changed(found: DeviceDiff) -> list[str]:
    sign = {Op.ADD: "+", Op.REMOVE: "-", Op.UPDATE: "~"}
    return [f"{sign[one.op]} {one.field}" for one in found.delta]


@pytest.mark.parametrize("others", OTHERS.values(), ids=OTHERS)
def test_what_is_not_ours_is_no_difference_and_is_counted(others: str) -> None:
    found = compared(OURS + others)
    assert (changed(found), found.conflicts) == ([], ())
    assert found.unmanaged == {"frr": len(set(parse_frr(OURS + others).entries) - set(parse_frr(OURS).entries))}
    assert found.unmanaged["frr"] > 0


@pytest.mark.parametrize("others", OTHERS.values(), ids=OTHERS)
def test_what_is_not_ours_has_no_effect_on_the_digest_and_ours_has(others: str) -> None:
    assert running_sha256(running(OURS + others), wanted()) == running_sha256(running(OURS), wanted())
    drifted = OURS.replace("timers 3 9", "timers 1 3")
    assert running_sha256(running(drifted + others), wanted()) != running_sha256(running(OURS), wanted())


OURS_THAT_GO = {
    "a neighbor in a peer group of ours": (
        "router bgp 65001\n neighbor 10.192.0.2 remote-as 65100\n neighbor 10.192.0.2 peer-group SPINES\n",
        ["- neighbor 10.192.0.2 remote-as 65100", "- neighbor 10.192.0.2 peer-group SPINES"],
    ),
    "a line of a neighbor of ours": (
        "router bgp 65001\n neighbor 10.192.0.0 shutdown\n",
        ["- neighbor 10.192.0.0 shutdown"],
    ),
    "an announcement from the pools": (
        "router bgp 65001\n address-family ipv4 unicast\n  network 10.32.0.64/26\n",
        ["- network 10.32.0.64/26"],
    ),
    "the blackhole of an earlier block": (
        "ip route 10.32.0.64/26 blackhole 250\n",
        ["- ip route 10.32.0.64/26 blackhole 250"],
    ),
    "a route-map under its earlier name": (
        "route-map TO-SPINES permit 20\n match ip address prefix-list OWN-PREFIXES\nexit\n",
        ["- route-map TO-SPINES permit 20", "- match ip address prefix-list OWN-PREFIXES"],
    ),
    "an entry of a list of ours": (
        "ip prefix-list FABRIC-PREFIXES seq 15 permit 192.0.2.0/24\n",
        ["- ip prefix-list FABRIC-PREFIXES seq 15 permit 192.0.2.0/24"],
    ),
    "a setting that our file may say": (
        "bgp session-dscp 46\nrouter bgp 65001\n bgp suppress-fib-pending\n",
        ["- bgp session-dscp 46", "- bgp suppress-fib-pending"],
    ),
}


NIC = "ip route 10.64.0.0/32 10.32.0.1 Ethernet0"
SHARED_NICS = OURS + (
    f"{NIC}\nip prefix-list FABRIC-PREFIXES seq 15 permit 10.64.0.0/11 ge 32\n"
    "ip prefix-list OWN-PREFIXES seq 15 permit 10.64.0.0/27 ge 32\n"
)


def test_the_ways_to_nics_that_several_leaves_share_are_ours_and_other_static_routes_are_not() -> None:
    gone = "ip route 10.64.0.31/32 10.32.0.63 Ethernet124"
    others = "ip route 10.64.0.32/32 10.9.9.9 Ethernet0\nip route 10.64.0.0/27 10.32.0.1 Ethernet0\n"
    running, intended = parse_frr(f"{SHARED_NICS}{gone}\n{others}"), parse_frr(SHARED_NICS)
    scope = FrrScope(running, intended)
    assert [one.line for one in scope.unmanaged] == others.splitlines()
    assert {FrrEntry("", gone), FrrEntry("", NIC)} <= set(scope.owned)
    without = FrrScope(intended, parse_frr(OURS))
    assert without.unmanaged == ()


@pytest.mark.parametrize(("lines", "gone"), OURS_THAT_GO.values(), ids=OURS_THAT_GO)
def test_what_a_file_of_ours_may_have_said_goes(lines: str, gone: list[str]) -> None:
    found = compared(OURS + lines)
    assert changed(found) == gone
    assert found.unmanaged == {}


def test_another_value_of_a_setting_of_ours_is_a_difference() -> None:
    found = compared(OURS.replace("maximum-paths 128", "maximum-paths 64"))
    assert changed(found) == ["- maximum-paths 64", "+ maximum-paths 128"]
    assert changed(compared(OURS.replace("RM_SET_SRC", "OTHER"))) == [
        "- ip protocol bgp route-map OTHER",
        "+ ip protocol bgp route-map RM_SET_SRC",
    ]


def test_a_list_that_others_use_stays_with_all_that_it_uses() -> None:
    """As a profile that a foreign queue names."""
    old = (
        "route-map TO-SPINES permit 20\n match ip address prefix-list OWN-PREFIXES\nexit\n"
        "ip prefix-list OWN-PREFIXES seq 5 permit 10.255.0.1/32\n"
    )
    use = "router bgp 65001\n neighbor 192.0.2.9 remote-as 65009\n address-family ipv4 unicast\n"
    assert len(changed(compared(OURS + old))) == 3
    assert changed(compared(OURS + old + use + "  neighbor 192.0.2.9 route-map TO-SPINES out\n")) == []
    assert changed(compared(OURS + old + "route-map OPERATOR permit 10\n call TO-SPINES\n")) == []


def test_lines_inside_our_instance_follow_it_to_another_as_number() -> None:
    others = "router bgp 65001\n neighbor 192.0.2.9 remote-as 65009\n bgp cluster-id 1.1.1.1\n"
    found = compared(OURS + others, wanted(OURS.replace("bgp 65001", "bgp 65002")))
    there = [(one.key, one.field) for one in found.delta if one.op is Op.ADD]
    assert ("router bgp 65002", "neighbor 192.0.2.9 remote-as 65009") in there
    assert ("router bgp 65002", "bgp cluster-id 1.1.1.1") in there


CONFLICTS = {
    "router bgp 65100": ("router bgp 65100\n neighbor 192.0.2.9 remote-as 65009\nexit\n", 2),
    "router bgp 65001 / bgp shutdown": ("router bgp 65001\n bgp shutdown\n", 1),
    "router bgp 65001 / bgp confederation identifier 9": ("router bgp 65001\n bgp confederation identifier 9\n", 1),
    "ip route 10.32.0.0/26 10.9.9.9": ("ip route 10.32.0.0/26 10.9.9.9\n", 1),
    "interface Ethernet0 / shutdown": ("interface Ethernet0\n shutdown\nexit\n", 1),
}


@pytest.mark.parametrize(("key", "lines", "count"), [(key, *value) for key, value in CONFLICTS.items()], ids=CONFLICTS)
def test_a_line_that_contradicts_ours_is_a_conflict_and_can_be_removed(key: str, lines: str, count: int) -> None:
    beside = "ip route 192.0.2.0/24 10.9.9.9\n"
    (conflict,) = compared(OURS + lines + beside).conflicts
    assert (conflict.table, conflict.key) == ("frr", key)
    assert conflict.port == ("Ethernet0" if "Ethernet0" in key else "")
    taken = compared(OURS + lines + beside, remove_conflicting=True)
    assert taken.conflicts == ()
    assert len(changed(taken)) == count
    assert {one.op for one in taken.delta} == {Op.REMOVE}
    assert taken.unmanaged == {"frr": 1}


FACTORY = """\
zebra nexthop-group keep 1
ip route 192.0.2.0/24 10.9.9.9
router bgp 65100
 bgp router-id 10.1.0.32
 bgp suppress-fib-pending
 no bgp ebgp-requires-policy
 no bgp default ipv4-unicast
 neighbor PEER_V4 peer-group
 neighbor 10.0.0.1 remote-as 65200
 neighbor 10.0.0.1 peer-group PEER_V4
 neighbor BGPSLBPassive peer-group
 bgp listen range 10.255.0.0/25 peer-group BGPSLBPassive
 neighbor 192.0.2.9 remote-as 65009
 address-family ipv4 unicast
  network 10.1.0.32/32
  neighbor PEER_V4 route-map TO_BGP_PEER_V4 out
  maximum-paths 514
 exit-address-family
exit
ip prefix-list PL_LoopbackV4 seq 5 permit 10.1.0.32/32
ip prefix-list OPERATOR seq 5 permit 192.0.2.0/24
bgp community-list standard allow_list_default_community seq 5 permit no-export
route-map TO_BGP_PEER_V4 permit 100
exit
vrf Vrf-storage
 ip route 0.0.0.0/0 192.0.2.1
exit-vrf
"""
"""A factory switch: SONiC's sample configuration, and what somebody added by hand."""


@pytest.mark.parametrize("mode", ["", "separated", "unified"])
def test_a_factory_switch_loses_what_sonic_wrote_from_config_db_and_nothing_else(mode: str) -> None:
    tables = {
        "BGP_NEIGHBOR": {"10.0.0.1": {"asn": "65200"}},
        "BGP_PEER_RANGE": {"BGPSLBPassive": {"ip_range": ["10.255.0.0/25"]}},
    }
    device = running(FACTORY, tables, docker_routing_config_mode=mode, hostname="sonic")
    found = diff("leaf1", device, wanted())
    assert found.unprovisioned
    assert found.conflicts == ()
    gone = {one.field for one in found.delta if one.table == "frr" and one.op is Op.REMOVE}
    assert {"router bgp 65100", "route-map TO_BGP_PEER_V4 permit 100", "neighbor PEER_V4 peer-group"} <= gone
    kept = {
        "zebra nexthop-group keep 1",
        "ip route 192.0.2.0/24 10.9.9.9",
        "ip prefix-list OPERATOR seq 5 permit 192.0.2.0/24",
        "ip route 0.0.0.0/0 192.0.2.1",
    }
    assert not gone & kept
    # The neighbor that somebody added stands in the instance that comes.
    moved = FrrEntry("router bgp 65001", "neighbor 192.0.2.9 remote-as 65009")
    assert moved.line in gone
    assert (moved.context, moved.line) in {(one.key, one.field) for one in found.delta if one.op is Op.ADD}
    assert found.unmanaged["frr"] == len(kept) + 1


def test_a_file_that_somebody_wrote_is_kept_at_first_provisioning_and_its_instance_is_a_conflict() -> None:
    device = running(FACTORY, hostname="sonic")
    found = diff("leaf1", device, wanted())
    assert found.unprovisioned
    assert [one.key for one in found.conflicts] == ["router bgp 65100"]
    # SONiC's TSA needs the list of this name as our file says it.
    gone = [one.field for one in found.delta if one.table == "frr" and one.op is Op.REMOVE]
    assert gone == ["ip prefix-list PL_LoopbackV4 seq 5 permit 10.1.0.32/32"]


def test_a_project_s_own_template_owns_what_it_names() -> None:
    intent = OURS + "route-map MINE permit 10\nexit\nrouter ospf\n ospf router-id 1.1.1.1\nexit\n"
    device = intent + "route-map MINE permit 20\nexit\nrouter ospf\n passive-interface default\nexit\n"
    assert changed(compared(device, wanted(intent))) == ["- route-map MINE permit 20", "- passive-interface default"]


def test_one_scope_says_the_same_of_an_equal_document() -> None:
    scope = FrrScope(parse_frr(OURS), parse_frr(OURS))
    assert scope.unmanaged == ()
    assert scope.owned == parse_frr(OURS).entries
    assert {"SPINES"} < GROUPS


OF_IPV6 = """\
ipv6 route fd00:10::/64 blackhole 250
router bgp 65001
 address-family ipv6 unicast
  network fd00:10::/64
  neighbor SPINES activate
  neighbor SPINES route-map FROM-SPINES-V6 in
  neighbor SPINES route-map TO-SPINES-V6 out
  maximum-paths 128
 exit-address-family
exit
ipv6 prefix-list FABRIC-PREFIXES-V6 seq 5 permit fd00:10::/44 ge 64 le 64
ipv6 prefix-list OWN-PREFIXES-V6 seq 5 permit fd00:10::/64
route-map FROM-SPINES-V6 permit 10
 match ipv6 address prefix-list FABRIC-PREFIXES-V6
exit
route-map TO-SPINES-V6 permit 110
 match ipv6 address prefix-list OWN-PREFIXES-V6
exit
"""
"""What our file says where nodes have IPv6."""


@pytest.mark.parametrize("paths", sorted({COMMON_PATHS, *(release.equal_paths for release in RELEASES.values())}))
def test_the_family_of_ipv6_goes_whole_where_the_intent_has_it_no_more(paths: int) -> None:
    line = f"maximum-paths {paths}"
    of_ipv6 = OF_IPV6.replace("maximum-paths 128", line)
    found = compared(OURS + of_ipv6)
    gone = {one.field for one in found.delta}
    assert gone == {one.line for one in parse_frr(of_ipv6).entries} - {one.line for one in parse_frr(OURS).entries} | {
        "neighbor SPINES activate",
        line,
    }
    assert {one.op for one in found.delta} == {Op.REMOVE}
    assert {one.key for one in found.delta if one.field == line} == {"router bgp 65001 / address-family ipv6 unicast"}
    assert found.unmanaged == {}


def test_what_somebody_says_in_the_family_of_ipv6_stays_beside_ours() -> None:
    others = "router bgp 65001\n address-family ipv6 unicast\n  network 2001:db8::/48\n  maximum-paths ibgp 2\n"
    found = compared(OURS + OF_IPV6 + others, wanted(OURS + OF_IPV6))
    assert changed(found) == []
    assert found.unmanaged == {"frr": 2}


def test_the_family_of_ipv6_ends_a_running_session_and_says_why() -> None:
    found = compared(OURS, wanted(OURS + OF_IPV6))
    (activates,) = [one for one in found.delta if one.field == "neighbor SPINES activate"]
    assert (activates.op, activates.disruption) == (Op.ADD, Disruption.SESSION)
    assert "a running session starts again" in activates.reason
    (back,) = [one for one in compared(OURS + OF_IPV6).delta if one.field == "neighbor SPINES activate"]
    assert (back.op, back.disruption) == (Op.REMOVE, Disruption.SESSION)
