"""Nodes with IPv6 addresses beside those of IPv4: values, NCCL's choice, and the node's own program."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from node_stand_in import load

from railweave.fabric.model import Fabric
from railweave.fabric.policy import Ipv6Pool
from railweave.hosts.facts import node_facts
from railweave.hosts.render import HostRenderer, nccl_settings
from railweave.hosts.values import kernel_settings, node_of
from railweave.templates import find_templates
from railweave_hosts.rdma_test import ends_of_test

Pod = Callable[..., Fabric]
PROGRAMS = Path(__file__).resolve().parents[3] / "templates" / "hosts"
BOTH = "addressing: {underlay: unnumbered, hosts_ipv6: fd00:10::/44}\n"


def test_every_rail_has_the_odd_end_of_its_127_and_leads_to_the_whole_pool(pod: Pod) -> None:
    fabric = pod(rest=BOTH)
    seen = set()
    for host in fabric.hosts:
        for rail, link in zip(node_of(fabric, host).rails, fabric.links_of[host.name], strict=True):
            assert rail.ipv6 is not None
            assert (rail.ipv6.gateway, rail.ipv6.address) == (fabric.ipv6_network(link), rail.ipv6.gateway + 1)
            assert rail.ipv6.address % 2 == 1
            assert rail.ipv6.reached == (Ipv6Pool(0xFD00_0010 << 96, 44),)
            seen |= {rail.ipv6.gateway, rail.ipv6.address}
    assert len(seen) == 2 * 4 * len(fabric.hosts)


def test_ipv6_changes_nothing_of_what_a_node_has_of_ipv4(pod: Pod) -> None:
    without, both = pod(), pod(rest=BOTH)
    for host in without.hosts:
        rails = [rail._replace(ipv6=None) for rail in node_of(both, both.host_of[host.name]).rails]
        assert rails == list(node_of(without, host).rails)


def test_growth_changes_no_file_of_a_node_that_runs(pod: Pod) -> None:
    small, large = pod(nodes=8, rest=BOTH), pod(nodes=16, rest=BOTH)
    for host in small.hosts:
        before = HostRenderer(small, find_templates()).files(host)
        assert HostRenderer(large, find_templates()).files(large.host_of[host.name]) == before


def test_a_rail_takes_no_router_advertisements(pod: Pod) -> None:
    fabric = pod(rest=BOTH)
    settings = kernel_settings(node_of(fabric, fabric.hosts[0]).rails)
    assert {key: value for key, value in settings.items() if "ipv6" in key} == {
        f"net.ipv6.conf.rail{number}.accept_ra": "0" for number in range(4)
    }
    assert not [key for key in kernel_settings(node_of(pod(), pod().hosts[0]).rails) if "ipv6" in key]


@pytest.mark.parametrize(
    ("family", "chosen"),
    [("ipv4", ("AF_INET", "10.32.0.0/11")), ("ipv6", ("AF_INET6", "fd00:10::/44"))],
)
def test_nccl_chooses_gids_by_family_pool_and_version_and_never_by_their_number(
    pod: Pod, family: str, chosen: tuple[str, str]
) -> None:
    fabric = pod(rest=f"{BOTH}hosts: {{rdma_family: {family}}}\n")
    nccl = nccl_settings(fabric, node_of(fabric, fabric.hosts[0]))
    assert (nccl["NCCL_IB_ADDR_FAMILY"], nccl["NCCL_IB_ADDR_RANGE"], nccl["NCCL_IB_ROCE_VERSION_NUM"]) == (*chosen, "2")
    assert "NCCL_IB_GID_INDEX" not in nccl
    alone = pod()
    assert not [key for key in nccl_settings(alone, node_of(alone, alone.hosts[0])) if "ADDR" in key or "ROCE" in key]


@pytest.mark.parametrize(
    ("family", "gid"),
    [
        ("ipv4", "0000:0000:0000:0000:0000:ffff:0a20:0001"),
        ("ipv6", "fd00:0010:0000:0000:0000:0000:0000:0003"),
    ],
)
def test_the_rdma_test_takes_the_gid_of_the_family_and_meets_by_ipv4(pod: Pod, family: str, gid: str) -> None:
    fabric = pod(rest=f"{BOTH}hosts: {{rdma_family: {family}}}\n")
    rail = ends_of_test(fabric, *fabric.hosts[:2])["gpu1"]["rails"][0]
    assert (rail["gid"], rail["peer"]) == (gid, "10.32.0.3")


def test_nodes_with_ipv6_alone_meet_by_it_and_ask_nothing_of_arp(pod: Pod) -> None:
    fabric = pod(rest="addressing: {underlay: unnumbered, hosts: none, hosts_ipv6: fd00:10::/44}\n")
    rail = ends_of_test(fabric, *fabric.hosts[:2])["gpu1"]["rails"][0]
    assert (rail["gid"], rail["peer"]) == ("fd00:0010:0000:0000:0000:0000:0000:0003", "fd00:10::5")
    node = node_of(fabric, fabric.hosts[0])
    assert all(key.startswith("net.ipv6.") for key in kernel_settings(node.rails))
    nccl = nccl_settings(fabric, node)
    assert (nccl["NCCL_IB_ADDR_FAMILY"], nccl["NCCL_IB_ADDR_RANGE"]) == ("AF_INET6", "fd00:10::/44")


def test_facts_tell_the_families_apart_and_leave_out_what_was_not_read() -> None:
    port = {"mtu": 9000, "addresses": ["10.0.0.1/31"], "rules": [{"table": "100"}]}
    both = {**port, "ipv6_addresses": ["fd00::3/127"], "ipv6_rules": [{"table": "101"}]}
    (found,) = node_facts({"interfaces": {"rail0": both}}, None)["nics"].values()
    assert (found["addresses"], found["tables"]) == (["10.0.0.1/31"], [100])
    assert (found["ipv6_addresses"], found["ipv6_tables"]) == (["fd00::3/127"], [101])
    (alone,) = node_facts({"interfaces": {"rail0": port}}, None)["nics"].values()
    assert not [key for key in alone if key.startswith("ipv6")]


LINK: dict[str, Any] = {
    "ifname": "rail0",
    "mtu": 9000,
    "flags": ["UP"],
    "addr_info": [
        {"family": "inet", "local": "10.0.0.1", "prefixlen": 31},
        {"family": "inet6", "local": "fd00:10::3", "prefixlen": 127},
        {"family": "inet6", "local": "fe80::1", "prefixlen": 64},
    ],
}
ROUTES6 = [
    {"dst": "default", "gateway": "fd00:10::2", "dev": "rail0", "table": "100", "metric": 1024},
    {"dst": "fd00:10::/44", "gateway": "fd00:10::2", "dev": "rail0", "metric": 100},
    {"dst": "fe80::/64", "dev": "rail0", "metric": 256},
]
PORT = {
    "name": "rail0",
    "rdma": "",
    "address": "10.0.0.1/31",
    "mtu": 9000,
    "table": 100,
    "rule_priority": 1000,
    "routes": [],
    "ipv6": {
        "address": "fd00:10::3/127",
        "routes": [
            {"to": "default", "via": "fd00:10::2", "table": 100, "metric": 1024},
            {"to": "fd00:10::/44", "via": "fd00:10::2", "table": 254, "metric": 100},
        ],
    },
}
DOCUMENT = {"interfaces": [PORT], "sysctl": {}, "nic": {"steps": []}}


def checked(program: ModuleType, **answers: Any) -> list[str]:
    """Return the commands by which a node would be brought in line; nothing differs but what ``answers`` say."""
    said = {
        ("address", "show"): answers.get("links", [LINK]),
        ("-4", "route", "show", "table", "all"): answers.get("routes", []),
        ("-6", "route", "show", "table", "all"): answers.get("routes6", ROUTES6),
        ("-4", "rule", "show"): [{"priority": 1000, "src": "10.0.0.1", "table": "100"}],
        ("-6", "rule", "show"): answers.get("rules6", [{"priority": 1000, "src": "fd00:10::3", "table": "100"}]),
    }
    made = program.Machine()
    made.run = lambda command: json.dumps(said[tuple(command[3:])])
    found, problems = program.check(made, DOCUMENT)
    assert not problems
    assert len({(one.subject, one.what) for one in found}) == len(found)
    return [" ".join(action.command) for one in found for action in one.actions]


def test_a_node_in_line_with_both_families_differs_in_nothing(program: ModuleType) -> None:
    assert checked(program) == []


def test_a_node_without_ipv6_gets_all_of_it_by_its_own_commands(program: ModuleType) -> None:
    link = {**LINK, "addr_info": LINK["addr_info"][:1]}
    assert checked(program, links=[link], routes6=[], rules6=[]) == [
        "ip address add fd00:10::3/127 dev rail0",
        "ip -6 route replace default via fd00:10::2 dev rail0 table 100 metric 1024",
        "ip -6 route replace fd00:10::/44 via fd00:10::2 dev rail0 table 254 metric 100",
        "ip -6 rule add priority 1000 from fd00:10::3 table 100",
    ]


def test_what_does_not_belong_goes_and_the_kernels_own_stays(program: ModuleType) -> None:
    link = {**LINK, "addr_info": [*LINK["addr_info"], {"family": "inet6", "local": "2001:db8::9", "prefixlen": 64}]}
    foreign = {"dst": "2001:db8::/32", "gateway": "fd00:10::2", "dev": "rail0", "table": "100", "metric": 1024}
    rules = [{"priority": 1000, "src": "fd00:10::3", "table": "101"}]
    assert checked(program, links=[link], routes6=[*ROUTES6, foreign], rules6=rules) == [
        "ip address del 2001:db8::9/64 dev rail0",
        "ip -6 route del 2001:db8::/32 table 100 metric 1024",
        "ip -6 rule del priority 1000 from fd00:10::3 table 101",
        "ip -6 rule add priority 1000 from fd00:10::3 table 100",
    ]


def test_a_default_route_of_ipv4_is_no_route_of_ipv6(program: ModuleType) -> None:
    held = {"dst": "default", "gateway": "10.0.0.0", "dev": "rail0", "table": "100"}
    assert checked(program, routes=[held]) == ["ip route del default table 100"]


@pytest.fixture
def change() -> ModuleType:
    load(PROGRAMS / "railweave_host.py", "railweave_host")
    found: ModuleType = load(PROGRAMS / "railweave_change.py", "railweave_change")
    return found


def leaving(change: ModuleType, folder: Path, held: str | None, snapshot: Any = None) -> Any:
    """Return the IPv6 of the port of a document without it, on a node whose own document is ``held``."""
    for path, text in (("etc/railweave/rails.json", held), ("var/lib/railweave/snapshot.json", snapshot)):
        if text is not None:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
    machine = change.node.Machine(str(folder))
    foreign = {"family": "inet6", "local": "2001:db8::9", "prefixlen": 64}
    machine.run = lambda command: json.dumps([{**LINK, "addr_info": [*LINK["addr_info"], foreign]}])
    alone = {**DOCUMENT, "interfaces": [{key: value for key, value in PORT.items() if key != "ipv6"}]}
    bundle = {"document": alone, "places": {"document": "/etc/railweave/rails.json"}}
    made = change.with_leaving(machine, change.Files(str(folder)), change.Snapshots(str(folder)), bundle)
    return made["interfaces"][0].get("ipv6")


def test_ipv6_that_the_intent_has_no_more_goes_and_what_others_added_stays(change: ModuleType, tmp_path: Path) -> None:
    assert leaving(change, tmp_path, json.dumps(DOCUMENT)) == {
        "address": "fd00:10::3/127",
        "addresses": ["2001:db8::9/64"],
        "rules": [],
        "routes": [],
        "gone": [("default", "100", 1024), ("fd00:10::/44", "254", 100)],
    }


def test_ipv4_that_the_intent_has_no_more_goes_and_ipv6_is_as_it_was(change: ModuleType, tmp_path: Path) -> None:
    held = tmp_path / "etc/railweave/rails.json"
    held.parent.mkdir(parents=True)
    held.write_text(json.dumps(DOCUMENT))
    machine = change.node.Machine(str(tmp_path))
    foreign = {"family": "inet", "local": "10.99.0.1", "prefixlen": 24}
    machine.run = lambda command: json.dumps([{**LINK, "addr_info": [*LINK["addr_info"], foreign]}])
    alone = {key: value for key, value in PORT.items() if key not in ("address", "routes")}
    bundle = {
        "document": {**DOCUMENT, "interfaces": [alone]},
        "places": {"document": "/etc/railweave/rails.json"},
    }
    made = change.with_leaving(machine, change.Files(str(tmp_path)), change.Snapshots(str(tmp_path)), bundle)
    ipv4, ipv6 = change.node.families(made["interfaces"][0])
    assert ipv4["addresses"] == ["10.99.0.1/24"]
    assert (ipv4["routes"], ipv4["rules"]) == ([], [])
    held_routes: Any = PORT["routes"]
    assert {tuple(one) for one in ipv4["gone"]} == {change.node.route_key(one) for one in held_routes}
    assert ipv6 == {**change.node.families(alone)[0]}


@pytest.mark.parametrize("held", [None, "", "[]", "{}", '{"interfaces": []}', '{"interfaces": 7}', "\x00"])
def test_a_node_without_a_document_of_ours_keeps_its_ipv6(change: ModuleType, tmp_path: Path, held: str | None) -> None:
    assert leaving(change, tmp_path, held) is None


@pytest.mark.parametrize(("state", "goes"), [("open", True), ("complete", False)])
def test_a_change_that_did_not_end_is_taken_away_by_the_next_one(
    change: ModuleType, tmp_path: Path, state: str, goes: bool
) -> None:
    files = [{"path": "/etc/railweave/rails.json", "mode": 420, "content": json.dumps(DOCUMENT)}]
    snapshot = json.dumps({"version": 1, "state": state, "layers": [{"files": files}]})
    assert (leaving(change, tmp_path, "{}", snapshot) is not None) is goes
