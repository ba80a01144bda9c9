"""Nodes with IPv6 addresses beside those of IPv4: a fabric on the simulator, and nodes that are network namespaces."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from namespace_nodes import RAILS, Node, write_target

pytestmark = pytest.mark.e2e

IPV6 = "  hosts_ipv6: fd00:10::/44   # a /64 for each leaf, a /127 for each port towards a node\n"
CANNOT = os.geteuid() != 0 or shutil.which("ip") is None
FAMILY = "address-family ipv6 unicast"


def checks(project: Any, kind: str, status: int | None = 0) -> list[Any]:
    return [one for one in project.verify(status=status)["checks"] if one["kind"] == kind]


def hops(project: Any, device: str, prefix: str) -> list[str]:
    """Return the interfaces of the equal next hops by which a switch forwards to a prefix."""
    found = json.loads(project.on(device, "sudo vtysh -c 'show ipv6 route json'"))
    routes = found.get(prefix, [])
    return sorted(hop["interfaceName"] for one in routes if one["protocol"] == "bgp" for hop in one["nexthops"])


def test_a_fabric_with_both_families_is_deployed_and_verified_and_grows(new_project: Any) -> None:
    project = new_project("lab-dual.yml")
    project.up()
    assert project.deploy()["result"] == "done"
    assert project.plan()["changes"] == []
    carried = checks(project, "ipv6")
    assert len(carried) == 8
    assert {one["actual"] for one in carried} == {"agreed on by both ends"}
    addresses = {one["subject"]: one["expected"] for one in checks(project, "address") if one["device"] == "dual-leaf2"}
    assert addresses["Ethernet4"] == "10.32.0.66/31, fd00:10:0:1::4/127"
    assert hops(project, "dual-leaf1", "fd00:10:0:1::/64") == ["Ethernet112", "Ethernet116"]
    assert hops(project, "dual-spine1", "fd00:10::/64") == ["Ethernet0"]

    project.edit(("count: 4\n", "count: 8\n"), ("sonic-vs, count: 2, downlink", "sonic-vs, count: 4, downlink"))
    project.up()
    devices = project.plan()["devices"]
    assert {devices[f"dual-leaf{number}"]["state"] for number in (1, 2)} == {"unchanged"}
    assert project.deploy()["result"] == "done"
    assert hops(project, "dual-leaf1", "fd00:10:0:2::/64") == ["Ethernet112", "Ethernet116"]


def test_a_live_fabric_gets_ipv6_session_by_session_and_loses_it_again(new_project: Any) -> None:
    project = new_project("lab-dual.yml")
    both = project.intent.read_text()
    project.edit((IPV6, ""))
    project.up()
    assert project.deploy()["result"] == "done"
    assert checks(project, "ipv6") == []
    for text, op in ((both, "add"), (both.replace(IPV6, ""), "remove")):
        project.intent.write_text(text)
        plan = project.plan()
        activated = [one for one in plan["changes"] if FAMILY in one["key"] and one["field"].endswith(" activate")]
        assert {(one["op"], one["disruption"], one["method"]) for one in activated} == {(op, "session", "frr")}
        assert {one["device"] for one in activated} == {
            f"dual-{name}" for name in ("leaf1", "leaf2", "spine1", "spine2")
        }
        assert {one["disruption"] for one in plan["changes"] if one["table"] == "INTERFACE"} <= {"none", "session"}
        assert project.deploy()["result"] == "done"
        assert project.plan()["changes"] == []
        assert project.verify()["ok"]
    assert project.on("dual-leaf1", "sudo vtysh -c 'show running-config'").count("-V6") == 0


def test_a_session_that_lost_ipv6_is_found_and_repaired(new_project: Any) -> None:
    project = new_project("lab-dual.yml")
    project.up()
    assert project.deploy()["result"] == "done"
    words = f"-c 'router bgp 4200001000' -c '{FAMILY}' -c 'no neighbor LEAVES activate'"
    project.on("dual-spine1", f"sudo vtysh -c 'configure terminal' {words}")
    failed = {
        (one["device"], one["kind"], one["actual"]) for one in project.verify(status=1)["checks"] if not one["ok"]
    }
    assert failed == {(device, "ipv6", "not agreed on") for device in ("dual-leaf1", "dual-leaf2", "dual-spine1")}
    assert hops(project, "dual-leaf1", "fd00:10:0:1::/64") == ["Ethernet116"]
    assert project.deploy()["result"] == "done"
    assert project.verify()["ok"]


def test_a_switch_in_maintenance_or_drained_is_so_for_both_families(new_project: Any) -> None:
    project = new_project("lab-dual.yml")
    project.up()
    assert project.deploy()["result"] == "done"
    project.run("drain", "dual-spine1", "--target", "sim", "--yes")
    assert hops(project, "dual-leaf1", "fd00:10:0:1::/64") == ["Ethernet116"]
    project.run("undrain", "dual-spine1", "--target", "sim", "--yes")
    assert hops(project, "dual-leaf1", "fd00:10:0:1::/64") == ["Ethernet112", "Ethernet116"]
    project.on("dual-spine1", "sudo TSA")
    assert hops(project, "dual-leaf1", "fd00:10:0:1::/64") == ["Ethernet116"]
    project.on("dual-spine1", "sudo TSB")
    assert hops(project, "dual-leaf1", "fd00:10:0:1::/64") == ["Ethernet112", "Ethernet116"]


@pytest.mark.skipif(CANNOT, reason="network namespaces need root and ip")
def test_a_node_gets_both_families_and_loses_ipv6_again(new_project: Any, tmp_path: Path) -> None:
    project = new_project("lab-dual.yml")
    with project.intent.open("a") as intent:
        intent.write("hosts: {manage: true, frontend: eno1, rdma_family: ipv6}\n")
    node = Node(tmp_path, "gpu2", "mlx5_")
    try:
        write_target(project.folder / "inventory/bench.yml", [node])
        words = ("--target", "bench", "--limit", "gpu2", "--json")
        applied = json.loads(project.run("hosts", "apply", *words, "--yes").stdout)
        assert applied["result"] == "done"
        for number, rail in enumerate(RAILS):
            own, via, table = f"fd00:10:0:{number}::5", f"fd00:10:0:{number}::4", str(100 + number)
            own, via = own.replace(":0:0:", ":"), via.replace(":0:0:", ":")
            assert f"inet6 {own}/127 " in node.ip("-6", "address", "show", "dev", rail)
            assert f"default via {via} dev {rail} metric 1024" in node.ip("-6", "route", "show", "table", table)
            assert f"fd00:10::/44 via {via} dev {rail} metric {table}" in node.ip("-6", "route")
            assert f"{1000 + number}:\tfrom {own} lookup {table}" in node.ip("-6", "rule")
            # A packet leaves on the rail whose address it carries, wherever it goes.
            assert f"dev {rail}" in node.ip("-6", "route", "get", "2001:db8::1", "from", own)
            assert node.sysctl(f"net.ipv6.conf.{rail}.accept_ra") == "0"
        assert "NCCL_IB_ADDR_FAMILY=AF_INET6\n" in node.file("/etc/nccl.conf").read_text()
        again = json.loads(project.run("hosts", "apply", *words, "--yes").stdout)
        assert again["result"] == "unchanged"
        facts = project.folder / "facts"
        project.json("facts", "collect", "--target", "bench", "--limit", "gpu2", "--out", str(facts))
        found = project.json("check", "--facts", str(facts), status=None)["diagnostics"]
        assert not [one for one in found if one["code"] in ("N-2", "N-3", "N-5")]
        node.ip("-6", "rule", "del", "priority", "1001")
        project.json("facts", "collect", "--target", "bench", "--limit", "gpu2", "--out", str(facts))
        found = project.json("check", "--facts", str(facts), status=1)["diagnostics"]
        assert [one["fix"] for one in found if one["code"] == "N-2"] == [
            "ip -6 rule add priority 1001 from fd00:10:0:1::5 table 101"
        ]
        node.ip("-6", "route", "add", "fd00:77::/64", "dev", "rail0", "metric", "77")
        project.edit((IPV6, ""), (", rdma_family: ipv6", ""))
        planned = json.loads(project.run("hosts", "plan", *words).stdout)["hosts"]["gpu2"]["changes"]
        assert ("rail1", "IPv6 address", "fd00:10:0:1::5/127", None) in {
            (one["subject"], one["what"], one["before"], one["after"]) for one in planned
        }
        assert json.loads(project.run("hosts", "apply", *words, "--yes").stdout)["result"] == "done"
        assert "fd00:10" not in node.ip("-6", "address") + node.ip("-6", "route") + node.ip("-6", "rule")
        assert "default" not in node.ip("-6", "route", "show", "table", "all")
        assert "fd00:77::/64 dev rail0 metric 77" in node.ip("-6", "route"), "of somebody else"
        assert json.loads(project.run("hosts", "apply", *words, "--yes").stdout)["result"] == "unchanged"
        project.run("hosts", "rollback", *words, "--yes")
        assert "inet6 fd00:10:0:1::5/127 " in node.ip("-6", "address", "show", "dev", "rail1")
        assert "default via fd00:10:0:1::4 dev rail1 metric 1024" in node.ip("-6", "route", "show", "table", "101")
    finally:
        node.remove()


@pytest.mark.nightly
@pytest.mark.skipif(CANNOT, reason="network namespaces need root and ip")
def test_a_node_that_got_both_families_goes_back_to_none(new_project: Any, tmp_path: Path) -> None:
    project = new_project("lab-dual.yml")
    with project.intent.open("a") as intent:
        intent.write("hosts: {manage: true}\n")
    node = Node(tmp_path, "gpu2", "mlx5_")
    try:
        write_target(project.folder / "inventory/bench.yml", [node])
        words = ("--target", "bench", "--limit", "gpu2", "--json")
        assert json.loads(project.run("hosts", "apply", *words, "--yes").stdout)["result"] == "done"
        assert "fd00:10" in node.ip("-6", "address")
        project.run("hosts", "rollback", *words, "--yes")
        assert "fd00:10" not in node.ip("-6", "address") + node.ip("-6", "route") + node.ip("-6", "rule")
    finally:
        node.remove()


ONLY = "  hosts: none                # no IPv4 on the links to nodes\n"


def test_a_fabric_with_ipv6_alone_is_deployed_and_verified_and_grows(new_project: Any) -> None:
    project = new_project("lab-ipv6.yml")
    project.up()
    assert project.deploy()["result"] == "done"
    assert project.plan()["changes"] == []
    addresses = {one["subject"]: one["expected"] for one in checks(project, "address") if one["device"] == "six-leaf2"}
    assert addresses["Ethernet4"] == "fd00:10:0:1::4/127"
    assert addresses["Loopback0"] == "10.255.0.2/32"
    assert hops(project, "six-leaf1", "fd00:10:0:1::/64") == ["Ethernet112", "Ethernet116"]
    ipv4 = json.loads(project.on("six-leaf1", "sudo vtysh -c 'show ip route json'"))
    assert {prefix for prefix in ipv4 if prefix.startswith("10.32.")} == set()
    assert "10.255.0.2/32" in ipv4

    project.edit(("count: 4\n", "count: 8\n"), ("sonic-vs, count: 2, downlink", "sonic-vs, count: 4, downlink"))
    project.up()
    devices = project.plan()["devices"]
    assert {devices[f"six-leaf{number}"]["state"] for number in (1, 2)} == {"unchanged"}
    assert project.deploy()["result"] == "done"
    assert hops(project, "six-leaf1", "fd00:10:0:2::/64") == ["Ethernet112", "Ethernet116"]


def test_an_address_of_ipv4_that_nobody_stated_is_drift(new_project: Any) -> None:
    project = new_project("lab-ipv6.yml")
    project.up()
    assert project.deploy()["result"] == "done"
    assert project.run("drift", "--target", "sim", "--exit-code").returncode == 0
    project.on("six-leaf1", "sudo config interface ip add Ethernet0 10.32.0.0/31")
    found = project.json("drift", "--target", "sim", status=None)
    assert "10.32.0.0/31" in json.dumps(found)
    assert project.deploy()["result"] == "done"
    assert project.run("drift", "--target", "sim", "--exit-code").returncode == 0


def test_a_live_fabric_gives_up_ipv4_for_its_nodes_and_gets_it_again(new_project: Any) -> None:
    project = new_project("lab-ipv6.yml")
    alone = project.intent.read_text()
    project.edit((ONLY, ""))
    project.up()
    assert project.deploy()["result"] == "done"
    for text, op in ((alone, "remove"), (alone.replace(ONLY, ""), "add")):
        project.intent.write_text(text)
        plan = project.plan()
        changes = [one for one in plan["changes"] if one["key"].startswith("Ethernet") and "|10.32." in one["key"]]
        assert {(one["op"], one["table"]) for one in changes} == {(op, "INTERFACE")}
        activated = [one for one in plan["changes"] if str(one["field"]).endswith(" activate")]
        assert activated == [], "sessions carry both families all the time"
        assert project.deploy()["result"] == "done"
        assert project.plan()["changes"] == []
        assert project.verify()["ok"]


@pytest.mark.nightly
@pytest.mark.skipif(CANNOT, reason="network namespaces need root and ip")
def test_a_node_changes_from_both_families_to_ipv6_alone_and_back(new_project: Any, tmp_path: Path) -> None:
    project = new_project("lab-ipv6.yml")
    alone = project.intent.read_text() + "hosts: {manage: true}\n"
    project.intent.write_text(alone.replace(ONLY, ""))
    node = Node(tmp_path, "gpu2", "mlx5_")
    try:
        write_target(project.folder / "inventory/bench.yml", [node])
        words = ("--target", "bench", "--limit", "gpu2", "--json")
        assert json.loads(project.run("hosts", "apply", *words, "--yes").stdout)["result"] == "done"
        assert "inet 10.32.0.67/31 " in node.ip("address", "show", "dev", "rail1")
        node.ip("address", "add", "10.99.0.1/24", "dev", "rail0")
        project.intent.write_text(alone)
        planned = json.loads(project.run("hosts", "plan", *words).stdout)["hosts"]["gpu2"]["changes"]
        assert ("rail1", "address", "10.32.0.67/31", None) in {
            (one["subject"], one["what"], one["before"], one["after"]) for one in planned
        }
        assert json.loads(project.run("hosts", "apply", *words, "--yes").stdout)["result"] == "done"
        assert "10.32." not in node.ip("address") + node.ip("route", "show", "table", "all") + node.ip("rule")
        assert "inet 10.99.0.1/24 " in node.ip("address", "show", "dev", "rail0"), "of somebody else"
        assert "inet6 fd00:10:0:1::5/127 " in node.ip("-6", "address", "show", "dev", "rail1")
        assert "1001:\tfrom fd00:10:0:1::5 lookup 101" in node.ip("-6", "rule")
        assert "NCCL_IB_ADDR_FAMILY=AF_INET6\n" in node.file("/etc/nccl.conf").read_text()
        assert json.loads(project.run("hosts", "apply", *words, "--yes").stdout)["result"] == "unchanged"
        facts = project.folder / "facts"
        project.json("facts", "collect", "--target", "bench", "--limit", "gpu2", "--out", str(facts))
        found = project.json("check", "--facts", str(facts), status=None)["diagnostics"]
        assert not [one for one in found if one["code"] in ("N-2", "N-3", "N-5")]
        project.run("hosts", "rollback", *words, "--yes")
        assert "inet 10.32.0.67/31 " in node.ip("address", "show", "dev", "rail1")
        assert "default via 10.32.0.66 dev rail1" in node.ip("route", "show", "table", "101")
        assert "1001:\tfrom 10.32.0.67 lookup 101" in node.ip("rule")
    finally:
        node.remove()
