"""The Containerlab topology of a fabric: what stands in the files, whichever fabric it is."""

import json
import os
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from by_check import sampled
from json_schemas import validator_for
from reference_intents import REFERENCE_INTENTS

from railweave.api.lab import render, write_lab
from railweave.api.project import Project
from railweave.errors import RefusedError, UsageError
from railweave.intent.load import load_intent_text
from railweave.lab.growth import growth
from railweave.lab.topology import (
    clab_document,
    document_head,
    lab_diagnostics,
    lab_topology,
    management_subnet,
    node_files,
    ssh_ports,
)
from railweave.units import ipv6_text

ROOT = Path(__file__).resolve().parents[3]
GOLDEN = ROOT / "tests" / "golden" / "lab"
UPDATE = bool(os.environ.get("RAILWEAVE_UPDATE_GOLDEN"))


IMAGES: tuple[dict[str, str], ...] = (
    {},
    {"SONIC_IMAGE": "sonic:1"},
    {"SONIC_IMAGE": "sonic:1", "SONIC_KIND": "sonic-vm"},
)
"""The three kinds of switches: our node image, docker-sonic-vs, a virtual machine."""


def schemas() -> list[Path]:
    """Return Containerlab's own schemas: where Go built it, the module of that version has one."""
    modules = Path(os.environ.get("GOMODCACHE", Path.home() / "go" / "pkg" / "mod"))
    return sorted(modules.glob("github.com/srl-labs/containerlab@*/schemas/clab.schema.json"))


@cache
def validator_of(path: Path) -> Any:
    # Python's expressions have no Unicode properties; the schema uses them for the zone of an address.
    schema = json.loads(path.read_text().replace(r"[\\p{N}\\p{L}]", r"\\w"))
    return validator_for(schema)(schema)


needs_schemas = pytest.mark.skipif(
    not schemas(), reason="Containerlab's Go module, which has its JSON schema, is not on this machine"
)


@needs_schemas
@pytest.mark.parametrize(
    ("intent", "environ"),
    sampled(
        [
            *((path.name, IMAGES[0]) for path in REFERENCE_INTENTS),
            *((intent, environ) for environ in IMAGES[1:] for intent in ("lab-4.yml", "lab-pods.yml")),
        ],
        every=5,
    ),
)
def test_every_topology_is_one_by_containerlabs_own_schema(render_lab: Any, intent: str, environ: Any) -> None:
    """With another image the nodes of a tier differ, whichever intent it is."""
    document = clab_document(render_lab(intent, **environ).lab)
    for path in schemas():
        assert [error.message for error in validator_of(path).iter_errors(document)] == [], path


@needs_schemas
def test_containerlabs_own_schema_is_one_of_topologies(render_lab: Any) -> None:
    document = clab_document(render_lab("lab-4.yml").lab)
    wrong = {**document, "topology": {**document["topology"], "links": [{"type": "veth", "endpoints": ["a:eth1"]}]}}
    assert [path for path in schemas() if validator_of(path).is_valid(wrong)] == []


@needs_schemas
def test_what_is_added_to_a_lab_is_one_by_containerlabs_own_schema(render_lab: Any, tmp_path: Path) -> None:
    text = (ROOT / "intent" / "lab-4.yml").read_text(encoding="utf-8")
    grown = text.replace("spine: {model: sonic-vs, count: 2}", "spine: {model: sonic-vs, count: 3}")
    before, after = (lab_topology(render_lab("a.yml", tmp_path, one, **IMAGES[2]).lab) for one in (text, grown))
    document = growth("lab", before, after, document_head("lab"), ()).document
    for path in schemas():
        assert [error.message for error in validator_of(path).iter_errors(document)] == [], path


def agrees(name: str, text: str) -> None:
    file = GOLDEN / name
    if UPDATE:
        file.write_text(text, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == text


def test_the_small_fabric_is_rendered_as_it_was(render_lab: Any) -> None:
    made = render_lab("lab-4.yml")
    agrees("lab-4.clab.yml", yaml.safe_dump(clab_document(made.lab), sort_keys=False))
    files = node_files(made.lab)
    agrees("lab-4.gpu5.network.sh", files["nodes/gpu5/network.sh"])
    agrees("lab-4.leaf1.node.json", files["nodes/lab-leaf1/node.json"])


def test_the_worked_example_is_scaled_as_it_was(render_lab: Any) -> None:
    made = render_lab("pod-32.yml")
    agrees("pod-32.intent.yml", made.scaled)
    agrees("pod-32.mapping.json", json.dumps(made.mapping, indent=1) + "\n")


def test_the_whole_reserve_is_cabled_and_only_today_is_claimed(render_lab: Any) -> None:
    made = render_lab("lab-4.yml")
    assert (made.claimed, len(made.lab.switches)) == (4, 8)
    assert [one.switch.name for one in made.lab.switches if one.claimed] == [
        "lab-leaf1", "lab-leaf2", "lab-spine1", "lab-spine2",
    ]  # fmt: skip
    assert len(made.lab.fabric.hosts) == 8
    assert len(made.lab.fabric.links) == 4 * 4 + 8 * 2


def test_the_pods_of_the_reserve_are_cabled(render_lab: Any) -> None:
    made = render_lab("lab-pods.yml")
    assert (made.claimed, len(made.lab.switches)) == (10, 18)
    assert [(tier.name, tier.count) for tier in made.lab.fabric.tiers] == [
        ("leaf", 8), ("spine", 8), ("super-spine", 2),
    ]  # fmt: skip


def test_an_end_is_cabled_once_and_every_end_is_a_node(render_lab: Any) -> None:
    document = clab_document(render_lab("pod-32.yml").lab)["topology"]
    ends = [(end["node"], end["interface"]) for link in document["links"] for end in link["endpoints"]]
    assert len(ends) == len(set(ends))
    assert {node for node, _ in ends} == set(document["nodes"])
    assert all(len(interface) <= 15 for _, interface in ends), "Linux refuses longer names"
    assert {link["mtu"] for link in document["links"]} == {9500}


def test_ports_shut_until_they_are_claimed(render_lab: Any) -> None:
    for one in render_lab("lab-4.yml").lab.switches:
        assert {row["admin_status"] for row in one.boot["PORT"].values()} == {"down"}
        assert one.boot["DEVICE_METADATA"]["localhost"]["hostname"] == "sonic"


def test_ssh_is_published_on_loopback_only_and_on_a_port_of_its_own(render_lab: Any) -> None:
    nodes = clab_document(render_lab("lab-4.yml").lab)["topology"]["nodes"]
    published = [port for node in nodes.values() for port in node.get("ports", ())]
    assert len(published) == len(set(published)) == 8
    assert all(re.fullmatch(r"127\.0\.0\.1:\d+:22", port) for port in published)


def test_labs_of_other_names_share_neither_network_nor_ports(render_lab: Any) -> None:
    one, other = render_lab("lab-4.yml").lab.fabric, render_lab("pod-32.yml").lab.fabric
    assert management_subnet(one.name) != management_subnet(other.name)
    assert not set(ssh_ports(one).values()) & set(ssh_ports(other).values())


def test_the_claimed_cables_are_those_of_the_fabric_that_is_deployed(render_lab: Any) -> None:
    from railweave.api.design.intent import load_designed

    today = load_designed(ROOT / "intent" / "lab-4.yml").fabric
    whole = render_lab("lab-4.yml").lab.fabric
    assert set(today.links) <= set(whole.links)
    for switch in today.switches:
        assert whole.switch_of[switch.name] == switch


def test_a_host_reaches_every_leaf_of_its_rails_by_the_rails_own_port(render_lab: Any) -> None:
    made = render_lab("lab-4.yml").lab
    script = node_files(made)["nodes/gpu1/network.sh"]
    for leaf, (network, length) in made.fabric.host_blocks.items():
        from railweave.units import ipv4_text

        line = next(
            one for one in script.splitlines() if one.startswith(f"ip route add {ipv4_text(network)}/{length} ")
        )
        rail = made.fabric.switch_of[leaf].rail
        assert f"src 10.32.0.{64 * rail + 1}" in line, leaf
    assert script.count("ip rule add") == 2


def test_a_host_with_ipv6_alone_has_no_address_or_route_of_ipv4(render_lab: Any) -> None:
    made = render_lab("lab-ipv6.yml").lab
    script = node_files(made)["nodes/gpu2/network.sh"].splitlines()
    assert "ip address add fd00:10:0:1::5/127 dev rail1 nodad" in script
    assert not [line for line in script if " 10." in line]
    assert sum("ip -6 rule add" in line for line in script) == 2


def test_a_host_with_both_families_reaches_every_leaf_of_its_rails_by_ipv6_too(render_lab: Any) -> None:
    made = render_lab("lab-dual.yml").lab
    script = node_files(made)["nodes/gpu2/network.sh"].splitlines()
    assert [line for line in script if "fd00" in line and "rail1" in line] == [
        "ip address add fd00:10:0:1::5/127 dev rail1 nodad"
    ]
    assert "ip -6 route add fd00:10::/44 via fd00:10:0:1::4 table 101" in script
    assert "ip -6 rule add from fd00:10:0:1::5 table 101" in script
    for leaf, block in made.fabric.ipv6_blocks.items():
        rail = made.fabric.switch_of[leaf].rail
        near = "fd00:10" if rail == 0 else "fd00:10:0:1"
        assert f"ip -6 route add {ipv6_text(block)}/64 via {near}::4 src {near}::5" in script
    # Every leaf of the reserve is there, and only one route leads to each.
    assert sum("/64 via" in line for line in script) == len(made.fabric.ipv6_blocks) == 4
    assert not [line for line in node_files(render_lab("lab-4.yml").lab)["nodes/gpu2/network.sh"] if "-6" in line]


def test_a_scaled_intent_keeps_the_ipv6_of_its_nodes(render_lab: Any, tmp_path: Path) -> None:
    text = (ROOT / "intent/pod-32.yml").read_text(encoding="utf-8")
    text += "addressing: {underlay: unnumbered, hosts_ipv6: fd00:10::/44}\n"
    made = render_lab("wide.yml", tmp_path, text)
    assert set(made.lab.fabric.ipv6_blocks) == {one.name for one in made.lab.fabric.tier_switches[0]}


def test_a_scaled_intent_keeps_rails_planes_classes_and_policies(render_lab: Any) -> None:
    from railweave.intent.load import load_intent

    original = load_intent(ROOT / "intent" / "pod-32.yml")
    small = load_intent_text(render_lab("pod-32.yml").scaled, "small.yml")
    assert small.policies == original.policies
    assert small.topology.shape is original.topology.shape
    assert small.topology.planes == original.topology.planes
    assert small.topology.rails == original.nodes[0].nics.count
    assert small.workload.kind is original.workload.kind


TWO_PLANES = """\
fabric: twin
workload: {kind: inference}
nodes:
  - {name: gpu, count: 64, gpus: 4, nics: {count: 4, speed: 100G, ports: 2, model: connectx-6, pcie: gen4x16}}
topology:
  shape: rail-optimized
  planes: 2
  leaf:  {ports: 64, speed: 400G}
  spine: {ports: 64, speed: 400G}
"""


def test_planes_stay_apart_in_a_lab(render_lab: Any, tmp_path: Path) -> None:
    text = TWO_PLANES.replace("{ports: 64, speed: 400G}", "{model: sonic-vs}")
    made = render_lab("twin.yml", folder=tmp_path, text=text)
    assert made.scaled is not None
    fabric = made.lab.fabric
    assert fabric.planes == 2
    for link in fabric.links:
        if link.lower in fabric.switch_of:
            assert fabric.switch_of[link.lower].plane == fabric.switch_of[link.upper].plane
    assert len(made.lab.switches) + len(fabric.hosts) <= 40


SMALL = """
fabric: small
workload: {kind: inference}
nodes:
  - {name: gpu, count: 4, gpus: 2, nics: {count: 2, speed: 100G, model: connectx-6}}
topology:
  stripe: 4
  links_per_pair: 1
  leaf: {model: sonic-vs, count: 2}
  spine: {model: sonic-vs, count: 2}
"""


def test_an_intent_that_is_no_lab_for_its_reserve_alone_is_told_the_reserve_that_fits(
    render_lab: Any, tmp_path: Path
) -> None:
    made = render_lab("small.yml", folder=tmp_path, text=SMALL)
    assert made.scaled is not None
    assert made.fitting_reserve == "reserve: {leaves: 2, spines: 2}"
    fixed = render_lab("small.yml", folder=tmp_path, text=f"{SMALL}  {made.fitting_reserve}\n")
    assert (fixed.scaled, fixed.fitting_reserve, fixed.deploy_intent) == (None, "", tmp_path / "small.yml")


def test_a_real_image_takes_the_place_of_the_node_image(render_lab: Any) -> None:
    made = render_lab("lab-4.yml", SONIC_IMAGE="docker-sonic-vs:202505")
    nodes = clab_document(made.lab)["topology"]["nodes"]
    assert nodes["lab-leaf1"]["image"] == "docker-sonic-vs:202505"
    assert nodes["lab-leaf1"]["kind"] == "sonic-vs"
    assert nodes["lab-leaf1"]["binds"] == ["nodes/lab-leaf1:/lab:ro"]
    assert "ports" not in nodes["lab-leaf1"], "it has no SSH server"
    assert "railweave-boot /lab/config_db.json" in node_files(made.lab)["nodes/lab-leaf1/prepare.sh"]
    assert made.runner.containers == tuple(
        f"lab-{role}{number}" for role in ("leaf", "spine") for number in range(1, 5)
    )
    assert nodes["gpu1"]["image"] != "docker-sonic-vs:202505", "hosts are ours"
    machine = render_lab("lab-4.yml", SONIC_IMAGE="vrnetlab/sonic", SONIC_KIND="sonic-vm")
    node = clab_document(machine.lab)["topology"]["nodes"]["lab-leaf1"]
    assert node["startup-config"] == "nodes/lab-leaf1/config_db.json"
    assert node["ports"][0].endswith(":22")


def test_the_node_image_is_reached_over_docker_exec_where_that_is_asked(render_lab: Any) -> None:
    made = render_lab("lab-4.yml", SONIC_TRANSPORT="docker").runner
    assert "lab-leaf1" in made.containers
    assert "lab-leaf1" in made.ssh_ports, "its sshd says when it has booted"
    assert render_lab("lab-4.yml").runner.containers == ()


def test_only_the_virtual_machines_that_the_intent_has_are_started_and_keep_their_login(render_lab: Any) -> None:
    made = render_lab("lab-4.yml", SONIC_IMAGE="sonic-vm:1", SONIC_KIND="sonic-vm")
    assert [one.switch.name for one in made.lab.switches] == ["lab-leaf1", "lab-leaf2", "lab-spine1", "lab-spine2"]
    document = clab_document(made.lab)["topology"]
    ends = [end for link in document["links"] for end in link.get("endpoints", [link.get("endpoint")])]
    assert {end["node"] for end in ends} == set(document["nodes"])
    boot = json.loads(node_files(made.lab)["nodes/lab-leaf1/config_db.json"])
    assert boot == {"DEVICE_METADATA": {"localhost": {"hostname": "lab-leaf1"}}}


def test_a_machine_has_the_mac_address_that_the_running_containerlab_gives_it(
    stub: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub({"version": (0, "    version: 0.79.0\n", "")})
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    environ = {"SONIC_IMAGE": "sonic-vm:1", "SONIC_KIND": "sonic-vm"}
    render(Project(ROOT / "intent" / "lab-4.yml"), tmp_path / "lab", environ=environ)
    boot = json.loads((tmp_path / "lab" / "nodes" / "lab-leaf1" / "config_db.json").read_text())
    assert boot["DEVICE_METADATA"]["localhost"] == {"hostname": "lab-leaf1", "mac": "{{ .MacAddress }}"}


def test_our_image_prints_as_the_release_that_is_asked_for(render_lab: Any) -> None:
    facts = {
        release: json.loads(node_files(render_lab("lab-4.yml", SONIC_FRR=release).lab)["nodes/lab-leaf1/node.json"])
        for release in ("", "202411")
    }
    assert (facts[""].get("frr"), facts["202411"]["frr"]) == (None, "10.0.1")


@pytest.mark.parametrize(
    "environ",
    [
        {"SONIC_KIND": "sonic"},
        {"SONIC_KIND": "sonic-vm"},
        {"SONIC_TRANSPORT": "telnet"},
        {"SONIC_FRR": "202412"},
        {"SONIC_FRR": "202505", "SONIC_IMAGE": "sonic:1"},
        {"SONIC_IMAGE": "sonic-vm:1", "SONIC_KIND": "sonic-vm", "SONIC_TRANSPORT": "docker"},
    ],
)
def test_a_kind_transport_or_release_that_cannot_be_is_refused(render_lab: Any, environ: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="SONIC_"):
        render_lab("lab-4.yml", **environ)


def test_ports_that_a_virtual_switch_does_not_have_are_refused(render_lab: Any) -> None:
    from railweave.api.design.intent import load_designed

    (fault,) = lab_diagnostics(load_designed(ROOT / "intent" / "pod-32.yml").fabric)
    assert fault.code == "RW701"
    with pytest.raises(RefusedError):
        raise RefusedError([fault])
    assert lab_diagnostics(render_lab("lab-4.yml").lab.fabric) == ()


def test_only_what_a_switch_is_can_be_read_by_others(render_lab: Any, tmp_path: Path) -> None:
    write_lab(replace(render_lab("lab-4.yml"), folder=tmp_path))
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.rglob("*") if path.is_file()}
    assert modes.pop("node.json") == 0o644, "the node's login user runs commands that read it"
    assert modes["config_db.json"] == 0o600
    assert set(modes.values()) == {0o600}
