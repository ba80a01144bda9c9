"""What is added to a running lab, by comparing its nodes and cables with those that the intent asks for."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from railweave.api.lab import RenderedLab
from railweave.cli.lab_commands import _view as view
from railweave.lab.cables import LabCable, LabTopology, read_record, record, waiting_end
from railweave.lab.growth import LabGrowth, growth
from railweave.lab.topology import clab_document, document_head, lab_topology, node_files, with_kept_ports

ROOT = Path(__file__).resolve().parents[3]
MACHINES = {"SONIC_IMAGE": "sonic-vm:1", "SONIC_KIND": "sonic-vm"}
MORE_SPINES = ("spine: {model: sonic-vs, count: 2}", "spine: {model: sonic-vs, count: 3}")
MORE_LEAVES = (("count: 4\n", "count: 5\n"), ("sonic-vs, count: 2, down", "sonic-vs, count: 4, down"))
NO_RESERVE = ("{leaves: 4, spines: 4}", "{leaves: 2, spines: 2}")
WIDER = ("{leaves: 4, spines: 4}", "{leaves: 4, spines: 2}")


@pytest.fixture
def lab(render_lab: Any, tmp_path: Path) -> Any:
    """Return what renders lab-4.yml with changes of its text."""

    def render(*changes: tuple[str, str], **environ: str) -> RenderedLab:
        text = (ROOT / "intent" / "lab-4.yml").read_text(encoding="utf-8")
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        made: RenderedLab = render_lab("changed.yml", tmp_path, text, **environ)
        return made

    return render


def added(running: RenderedLab, wanted: RenderedLab) -> LabGrowth:
    return growth(
        "lab",
        lab_topology(running.lab),
        lab_topology(wanted.lab),
        document_head("lab"),
        wanted.lab.image.takes_ports,
    )


def test_a_machine_has_its_ports_of_the_reserve_from_the_start(lab: Any) -> None:
    made = lab(**MACHINES)
    cables = lab_topology(made.lab).cables
    ends = {cable.near for cable in cables if cable.far is None}
    assert ends == {
        *((leaf, f"eth{port}") for leaf in ("lab-leaf1", "lab-leaf2") for port in (31, 32)),
        *((spine, f"eth{port}") for spine in ("lab-spine1", "lab-spine2") for port in (3, 4)),
    }
    links = clab_document(made.lab)["topology"]["links"]
    waiting = [link for link in links if link["type"] == "host"]
    assert [link["endpoint"]["node"] for link in waiting].count("lab-leaf1") == 2
    assert len({link["host-interface"] for link in waiting}) == len(ends) == 8
    assert all(len(link["host-interface"]) <= 15 for link in waiting), "Linux refuses longer names"
    assert (len(made.lab.switches), len(made.lab.fabric.links)) == (4, 12), "only what the intent has is started"


def test_containers_are_all_started_and_none_of_their_cables_is_open(lab: Any) -> None:
    assert all(cable.far for cable in lab_topology(lab().lab).cables)


def test_a_lab_that_has_everything_gets_nothing(lab: Any) -> None:
    for environ in ({}, MACHINES):
        made = lab(**environ)
        found = added(made, made)
        assert (found.added, found.surplus, found.document, found.joints, found.obstacles) == ((), (), None, (), ())
        assert found.topology == lab_topology(made.lab)


def test_a_new_machine_is_joined_with_the_open_cables_of_those_that_run(lab: Any) -> None:
    found = added(lab(**MACHINES), lab(MORE_SPINES, **MACHINES))
    assert (found.added, found.obstacles) == (("lab-spine3",), ())
    assert found.document is not None
    nodes, links = found.document["topology"]["nodes"], found.document["topology"]["links"]
    assert list(nodes) == ["clab-lab-lab-spine3"], "no node that runs takes part"
    assert (found.document["prefix"], found.document["mgmt"]["network"]) == ("", "railweave-lab")
    assert {(link["type"], link["endpoint"]["interface"]) for link in links} == {
        ("host", "eth1"), ("host", "eth2"), ("host", "eth3"), ("host", "eth4"),
    }  # fmt: skip
    assert set(found.joints) == {
        (waiting_end("lab", (leaf, "eth31")), waiting_end("lab", ("lab-spine3", f"eth{port}")))
        for leaf, port in (("lab-leaf1", 1), ("lab-leaf2", 2))
    }


def test_growth_in_steps_ends_as_a_lab_that_is_started_so(lab: Any) -> None:
    steps = [lab(**MACHINES), lab(MORE_SPINES, **MACHINES), lab(MORE_SPINES, *MORE_LEAVES, **MACHINES)]
    running = lab_topology(steps[0].lab)
    for step in steps[1:]:
        wanted = lab_topology(step.lab)
        found = growth("lab", running, wanted, document_head("lab"), step.lab.image.takes_ports)
        assert found.obstacles == ()
        running = found.topology
        assert running.far_ends == wanted.far_ends
        assert set(running.nodes) == set(wanted.nodes)
    assert read_record(record(running)) == running


def test_new_nodes_are_cabled_among_themselves_and_called_by_their_names(lab: Any) -> None:
    found = added(lab(**MACHINES), lab(*MORE_LEAVES, **MACHINES))
    assert found.added == ("lab-leaf3", "lab-leaf4", "gpu5")
    assert found.document is not None
    gpu = found.document["topology"]["nodes"]["clab-lab-gpu5"]
    assert gpu["exec"] == ["hostname gpu5", "sh /usr/local/lib/railweave/host.sh"]
    assert gpu["binds"] == ["nodes/gpu5:/lab:ro"]
    ends = [
        [(end["node"], end["interface"]) for end in link["endpoints"]]
        for link in found.document["topology"]["links"]
        if link["type"] == "veth"
    ]
    assert ends == [
        [("clab-lab-gpu5", "rail0"), ("clab-lab-lab-leaf3", "eth1")],
        [("clab-lab-gpu5", "rail1"), ("clab-lab-lab-leaf4", "eth1")],
    ]


def test_a_node_that_runs_knows_the_routes_to_machines_of_the_reserve(lab: Any) -> None:
    script = node_files(lab(**MACHINES).lab)["nodes/gpu1/network.sh"]
    assert script == node_files(lab(*MORE_LEAVES, **MACHINES).lab)["nodes/gpu1/network.sh"]
    assert "ip route add 10.32.0.128/26" in script, "leaf 3, which does not run"


def test_our_image_takes_cables_that_nothing_was_laid_out_for(lab: Any) -> None:
    found = added(lab(NO_RESERVE), lab(WIDER, *MORE_LEAVES))
    assert (found.added, found.obstacles, found.joints) == (
        ("lab-leaf3", "lab-leaf4", "gpu5", "gpu6", "gpu7", "gpu8"), (), (),
    )  # fmt: skip
    assert found.document is not None
    nodes = found.document["topology"]["nodes"]
    assert {name for name, node in nodes.items() if node == {"kind": "ext-container"}} == {
        "clab-lab-lab-spine1", "clab-lab-lab-spine2",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("environ", "kind"),
    [({"SONIC_IMAGE": "sonic:1"}, "sonic-vs"), (MACHINES, "sonic-vm")],
    ids=["sonic-vs", "sonic-vm"],
)
def test_other_switches_have_no_port_for_what_they_were_not_started_for(lab: Any, environ: Any, kind: str) -> None:
    found = added(lab(NO_RESERVE, **environ), lab(WIDER, *MORE_LEAVES, **environ))
    assert found.obstacles[0] == (
        "lab-spine1 has no port eth3 for lab-leaf3:eth31: "
        f"a {kind} gets its ports when it starts, those of its intent's reserve"
    )
    assert len(found.obstacles) == 4


def test_a_cable_of_running_switches_that_would_move_is_an_obstacle(lab: Any) -> None:
    found = added(lab(NO_RESERVE), lab(("{leaves: 4, spines: 4}", "{leaves: 2, spines: 3}")))
    assert "the cable of lab-leaf1:eth31 leads to lab-spine1:eth1, not to lab-spine2:eth1" in found.obstacles


def test_a_switch_of_another_image_or_kind_is_an_obstacle(lab: Any) -> None:
    found = added(lab(SONIC_IMAGE="sonic:1"), lab(SONIC_IMAGE="sonic:2"))
    assert found.obstacles[0] == "lab-leaf1 runs image sonic:1, not sonic:2"
    found = added(lab(SONIC_IMAGE="sonic:1", SONIC_KIND="sonic-vm"), lab(SONIC_IMAGE="sonic:1"))
    assert found.obstacles[0] == "lab-leaf1 runs kind sonic-vm, not sonic-vs"


def test_what_the_intent_has_no_longer_runs_on_and_can_come_back(lab: Any) -> None:
    small, large = lab(**MACHINES), lab(MORE_SPINES, **MACHINES)
    grown = added(small, large).topology
    shrunk = growth("lab", grown, lab_topology(small.lab), document_head("lab"), small.lab.image.takes_ports)
    assert (shrunk.surplus, shrunk.document, shrunk.obstacles) == (("lab-spine3",), None, ())
    assert shrunk.topology.far_ends == grown.far_ends
    back = growth("lab", shrunk.topology, lab_topology(large.lab), document_head("lab"), large.lab.image.takes_ports)
    assert (back.added, back.surplus, back.document, back.obstacles) == ((), (), None, ())


def test_a_node_of_another_lab_is_joined_by_its_container(lab: Any) -> None:
    before, after = lab(**MACHINES), lab(("count: 4\n", "count: 4 \n"), **MACHINES)
    joined = replace(after, lab=replace(after.lab, joined={"gpu4": "clab-other-gpu4"}))
    fewer = lab(("count: 4\n", "count: 3\n"), **MACHINES)
    found = added(fewer, joined)
    assert (before.name, found.added) == ("lab", ("clab-other-gpu4",))
    assert found.document is not None
    node = found.document["topology"]["nodes"]["clab-other-gpu4"]
    assert node["kind"] == "ext-container"
    assert "10.32.0.7/31 dev rail0" in node["exec"][0]
    assert len(found.joints) == 2, "its cables reach the open ones of the leaves"


def test_a_running_switch_keeps_its_ssh_port_when_the_lab_is_laid_out_anew(lab: Any) -> None:
    small, large = lab(NO_RESERVE), lab(WIDER, *MORE_LEAVES)
    kept = with_kept_ports(large.lab, lab_topology(small.lab))
    ports = {one.switch.name: one.ssh_port for one in kept.switches}
    for one in small.lab.switches:
        assert ports[one.switch.name] == one.ssh_port
    assert {one.switch.name: one.ssh_port for one in large.lab.switches} != ports, "a leaf more moves the spines' ports"
    assert len(set(ports.values())) == len(ports) == 6


def test_an_end_of_a_cable_has_a_name_of_its_own_on_the_host() -> None:
    names = {
        waiting_end(lab, (node, port)) for lab in ("a", "b") for node in ("a-1", "b-1") for port in ("eth1", "eth11")
    }
    assert len(names) == 8


def test_the_ends_of_an_open_cable_are_one() -> None:
    topology = LabTopology({}, (LabCable(("a", "eth1"), ("b", "eth2")), LabCable(("a", "eth2"), None)))
    assert topology.far_ends == {
        ("a", "eth1"): ("b", "eth2"), ("b", "eth2"): ("a", "eth1"), ("a", "eth2"): None,
    }  # fmt: skip


def test_what_became_of_a_running_lab_is_told(lab: Any) -> None:
    small, large = lab(**MACHINES), lab(MORE_SPINES, **MACHINES)

    def said(made: RenderedLab, found: LabGrowth) -> str:
        return view(replace(made, growth=found), running=True).splitlines()[1]

    assert said(large, added(small, large)) == "added to the running lab: lab-spine3"
    assert said(large, added(large, large)) == "it is running with everything that the intent has: nothing was started"
    assert view(replace(small, growth=added(large, small)), running=True).splitlines()[2] == (
        "running, but no longer in the intent: lab-spine3 (`railweave lab down` and `railweave lab up` start anew)"
    )
