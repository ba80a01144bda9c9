"""The FRR file, judged by a small evaluator of prefix lists, community lists and route-maps."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from frr_routes import Policy

from railweave.fabric.devices import Switch
from railweave.fabric.model import Fabric
from railweave.fabric.policy import ClassRole, TrafficClass
from railweave.fabric.releases import COMMON_PATHS, RELEASES
from railweave.routing.instance import bgp_speaker, maximum_prefixes
from railweave.sonic.reasons import frr_lines, frr_reason
from railweave.sonic.render.configure import configure
from railweave.templates import find_templates

Lab = Callable[..., Fabric]


def frr_of(fabric: Fabric, name: str) -> str:
    return configure(fabric, fabric.switch_of[name], find_templates()).frr


def of_role(fabric: Fabric, role: str) -> list[Switch]:
    return [switch for switch in fabric.switches if switch.tier.name == role]


def announced(text: str) -> list[str]:
    return re.findall(r"^  network (\S+)$", text, re.M)


def test_a_leaf_sends_its_own_prefixes_and_nothing_that_it_learned(lab_fabric: Lab) -> None:
    fabric = lab_fabric()
    texts = {leaf.name: frr_of(fabric, leaf.name) for leaf in of_role(fabric, "leaf")}
    for name, text in texts.items():
        policy = Policy(text)
        for prefix in announced(text):
            assert policy.passes("TO-SPINES-V4", prefix) is not None
        foreign = [prefix for other in texts if other != name for prefix in announced(texts[other])]
        assert foreign
        for prefix in (*foreign, "0.0.0.0/0", "10.192.0.0/31"):
            assert policy.passes("TO-SPINES-V4", prefix) is None


def test_a_leaf_does_not_return_even_its_own_prefix_once_a_spine_sent_it(lab_fabric: Lab) -> None:
    text = frr_of(lab_fabric(), "lab-leaf1")
    policy = Policy(text)
    for prefix in announced(text):
        learned = policy.passes("FROM-SPINES", prefix)
        assert learned
        assert policy.passes("TO-SPINES-V4", prefix, learned) is None


def test_only_loopbacks_and_host_blocks_travel_through_the_fabric(lab_fabric: Lab) -> None:
    fabric = lab_fabric()
    leaf, spine = frr_of(fabric, "lab-leaf1"), frr_of(fabric, "lab-spine1")
    far_leaf = announced(frr_of(fabric, "lab-leaf2"))
    for policy, route_map in (
        (Policy(leaf), "FROM-SPINES"),
        (Policy(spine), "FROM-LEAVES"),
        (Policy(spine), "TO-LEAVES-V4"),
    ):
        assert all(policy.passes(route_map, prefix) is not None for prefix in far_leaf)
        for prefix in ("0.0.0.0/0", "10.192.0.4/31", "10.32.0.0/31", "10.32.0.0/11", "10.255.0.0/16", "192.0.2.0/24"):
            assert policy.passes(route_map, prefix) is None, (route_map, prefix)


def test_every_session_has_an_explicit_as_number_and_policy_both_ways(lab_fabric: Lab) -> None:
    fabric = lab_fabric()
    text = frr_of(fabric, "lab-leaf1")
    assert re.findall(r"^ neighbor (\S+) remote-as (\d+)$", text, re.M) == [
        ("10.192.0.56", "4200001000"),
        ("10.192.0.58", "4200001000"),
    ]
    assert "  neighbor SPINES route-map FROM-SPINES in\n" in text
    assert "  neighbor SPINES route-map TO-SPINES-V4 out\n" in text
    assert "allowas-in" not in text
    assert "redistribute" not in text


def test_hosts_have_no_session(lab_fabric: Lab) -> None:
    fabric = lab_fabric()
    speaker = bgp_speaker(fabric, fabric.switch_of["lab-leaf1"])
    assert [session.description for session in speaker.sessions] == ["lab-spine1:Ethernet0", "lab-spine2:Ethernet0"]
    assert {session.group for session in speaker.sessions} == {"SPINES"}


def test_the_host_block_has_a_route_that_gives_way_to_every_other(lab_fabric: Lab) -> None:
    fabric = lab_fabric()
    assert "\nip route 10.32.0.0/26 blackhole 250\n" in frr_of(fabric, "lab-leaf1")
    assert "ip route" not in frr_of(fabric, "lab-spine1")


def test_the_prefix_limit_follows_the_reserve_and_not_the_leaves_of_today(lab_fabric: Lab) -> None:
    fabric = lab_fabric()
    assert maximum_prefixes(fabric, fabric.lowest, fabric.top) == 14
    assert maximum_prefixes(fabric, fabric.top, fabric.lowest) == 3
    grown = replace(fabric, tiers=(replace(fabric.lowest, reserve=64), fabric.top))
    assert maximum_prefixes(grown, grown.lowest, grown.top) == 194
    fullest = 2 * (fabric.lowest.reserve - 1) + 1
    assert fullest < maximum_prefixes(fabric, fabric.lowest, fabric.top)


def test_bgp_names_its_dscp_only_where_it_is_not_frrs_own(lab_fabric: Lab) -> None:
    fabric = lab_fabric()
    assert "session-dscp" not in frr_of(fabric, "lab-leaf1")
    routing = TrafficClass("routing", ClassRole.CONTROL, (46,), False, False, 7, True, 0)
    policies = fabric.policies._replace(classes=(*fabric.policies.classes, routing))
    assert "\nbgp session-dscp 46\n" in frr_of(replace(fabric, policies=policies), "lab-leaf1")


@pytest.mark.parametrize("underlay", ["numbered", "unnumbered"])
@pytest.mark.parametrize(("name", "group"), [("lab-leaf1", "SPINES"), ("lab-spine1", "LEAVES")])
def test_bfd_watches_every_session_of_a_tier_and_needs_a_row_that_starts_bfdd(
    lab_fabric: Lab, underlay: str, name: str, group: str
) -> None:
    kind = f"addressing: {{underlay: {underlay}}}\n"
    without, fabric = lab_fabric(kind), lab_fabric(f"{kind}bgp: {{bfd: true}}\n")
    line = f" neighbor {group} bfd"
    assert [one for one in frr_of(fabric, name).splitlines() if one != line] == frr_of(without, name).splitlines()
    assert line in frr_of(fabric, name).splitlines()
    assert frr_reason(line.strip()) == "BFD ends a session 0.9 s after the neighbor fell silent (bgp.bfd)."
    assert "numbered" not in frr_reason("address-family ipv4 unicast"), "true of either underlay"
    rows = configure(fabric, fabric.switch_of[name], find_templates()).config_db()
    assert rows.pop("SYSTEM_DEFAULTS") == {"software_bfd": {"status": "enabled"}}
    assert rows == configure(without, without.switch_of[name], find_templates()).config_db()


@pytest.mark.parametrize("release", RELEASES)
def test_a_line_of_one_release_s_own_start_up_is_in_the_file_of_that_release_alone(
    lab_fabric: Lab, release: str
) -> None:
    lines = frr_of(lab_fabric(f"sonic: {{release: {release}}}\n"), "lab-leaf1").splitlines()
    assert ("no zebra nexthop kernel enable" in lines) == (release < "202511")
    assert ("no fpm use-next-hop-groups" in lines) == ("fpm address 127.0.0.1" in lines) == (release != "202311")
    assert (" bgp suppress-fib-pending" in lines) == (release >= "202411")


def test_more_paths_fit_than_frr_would_leave_out_as_its_default() -> None:
    # FRR is built with --enable-multipath=256 up to 202405, with 514 from 202411 on (sonic-buildimage src/sonic-frr).
    for name, release in RELEASES.items():
        built_with = 256 if name < "202411" else 514
        assert COMMON_PATHS < release.equal_paths < built_with
        assert {COMMON_PATHS, release.equal_paths}.isdisjoint({1, 64, 256})


@pytest.mark.parametrize("name", ["lab-leaf1", "lab-spine1"])
def test_every_line_has_a_reason_of_its_own(lab_fabric: Lab, name: str) -> None:
    lines = list(frr_lines(frr_of(lab_fabric(), name)))
    assert len(lines) > 30
    assert not [one.line for one in lines if one.reason == frr_reason("nobody knows this line")]


def test_lines_know_their_context(lab_fabric: Lab) -> None:
    lines = {(one.context, one.line) for one in frr_lines(frr_of(lab_fabric(), "lab-leaf1"))}
    assert ("router bgp 4210000000 / address-family ipv4 unicast", "maximum-paths 128") in lines
    assert ("router bgp 4210000000", "bgp router-id 10.255.0.1") in lines
    assert ("route-map TO-SPINES-V4 deny 100", "match community LEARNED-FROM-SPINES") in lines
    assert ("", "ip nht resolve-via-default") in lines


def test_an_unnumbered_session_runs_over_its_interface_with_the_far_as_number(lab_fabric: Lab) -> None:
    fabric = lab_fabric()
    addressing = fabric.policies.addressing._replace(unnumbered=True)
    fabric = replace(fabric, policies=fabric.policies._replace(addressing=addressing))
    text = configure(fabric, fabric.switch_of["lab-leaf1"], find_templates()).frr
    lines = [line.strip() for line in text.splitlines() if " neighbor Ethernet" in line]
    assert lines == [
        "neighbor Ethernet112 interface peer-group SPINES",
        "neighbor Ethernet112 remote-as 4200001000",
        "neighbor Ethernet112 description lab-spine1:Ethernet0",
        "neighbor Ethernet116 interface peer-group SPINES",
        "neighbor Ethernet116 remote-as 4200001000",
        "neighbor Ethernet116 description lab-spine2:Ethernet0",
    ]
    assert "10.192." not in text.replace("10.192.0.0/11", "")
