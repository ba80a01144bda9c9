"""Changes in phases: which there are, what each expects, and what stands in the way."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from railweave.catalog.load import load_catalog
from railweave.checks.phases import check_phases
from railweave.design.build import design
from railweave.diagnostics import Severity, Where
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.plan.consent import DeployOptions, check_consent, removed_markings
from railweave.plan.document import plan_json
from railweave.plan.expectation import VerificationScope, expect, lower_ends
from railweave.plan.headline import headline
from railweave.plan.moves import moved_cables
from railweave.plan.offline import plan_offline
from railweave.plan.phases.planning import PhaseKind, phases
from railweave.plan.phases.progress import PhaseProgress, check_phase
from railweave.report.phases import node_words, phases_json, rewired_view, work_order
from railweave.sonic.delta.change import Disruption
from railweave.templates import find_templates

WEAVE = """
fabric: weave
workload: {kind: inference}
nodes:
  - {name: gpu, count: 4, gpus: 2, nics: {count: 2, speed: 100G, ports: 1, model: connectx-6, pcie: gen4x16}}
topology:
  shape: rail-optimized
  oversubscription: "3:1"
  leaf:  {model: sonic-vs, count: 2}
  spine: {model: sonic-vs, count: 2}
"""
FOUR = ("sonic-vs, count: 2}\n", "sonic-vs, count: 4}\n")
CLASSES = """
traffic_classes:
  - {name: roce, role: rdma, dscp: [%d], lossless: true, priority: %d, share: 90}
  - {name: cnp, role: cnp, dscp: [48], priority: 6, strict: true}
  - {name: best-effort, role: bulk, dscp: default, priority: 0, share: 10}
"""


@cache
def designed(text: str) -> Fabric:
    outcome = design(load_intent_text(text, "intent/weave.yml"), load_catalog())
    assert outcome.fabric is not None, outcome.diagnostics
    return outcome.fabric


def weave(spines: int = 2, more: str = "", **changes: str) -> Fabric:
    text = WEAVE.replace("spine: {model: sonic-vs, count: 2}", f"spine: {{model: sonic-vs, count: {spines}}}")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return designed(text + more)


def unplaced(path: str) -> Where:
    return Where(path=path)


def kinds(base: Fabric, head: Fabric) -> list[str]:
    return [phase.kind.value for phase in phases(base, head)]


def test_one_phase_suffices_where_nothing_has_to_wait(lab: Fabric, redesign: Callable[..., Fabric]) -> None:
    grown = redesign(("count: 4\n", "count: 8\n"), ("count: 2, downlink", "count: 4, downlink"))
    for head in (lab, grown, redesign(("spine: {model: sonic-vs, count: 2", "spine: {model: sonic-vs, count: 4"))):
        (only,) = phases(lab, head)
        assert (only.fabric, only.nodes, only.cables, only.number) == (head, head, (), 1)


def test_spines_where_uplinks_are_full_come_first_then_the_cables_then_the_rest() -> None:
    found = phases(weave(2), weave(4))
    assert [phase.kind.value for phase in found] == ["provision", "cables", "cables", "cleanup"]
    assert found[0].fabric.links == weave(2).links
    assert {switch.name for switch in found[0].fabric.switches} == {switch.name for switch in weave(4).switches}
    assert [len(phase.cables) for phase in found] == [0, 4, 4, 0]
    first = found[1].cables[0]
    assert (str(first.stays), str(first.before), str(first.after)) == (
        "weave-leaf1:Ethernet104",
        "weave-spine1:Ethernet32",
        "weave-spine3:Ethernet0",
    )


def test_the_simulators_cables_of_a_phase_are_printed_with_what_comes_next() -> None:
    cables = phases(weave(), weave(4))[1]
    console = Console(file=StringIO(), width=200, color_system=None, highlight=False)
    console.print(rewired_view(cables, "main", moved=3, added=2))
    file = console.file
    assert isinstance(file, StringIO)
    header, _, *rows, _, verdict, following = (line.rstrip() for line in file.getvalue().splitlines())
    assert header.split() == ["cable", "of", "from", "to", "speed", "length", "medium"]
    assert len(rows) == len(cables.cables) == 4
    assert (
        verdict
        == "✓ phase 2: 3 cables moved in the simulator, 1 in place already; 2 new cables plugged into free ports"
    )
    assert following == "next: railweave verify --from main --phase 2, then railweave deploy --from main"


def test_fewer_spines_lead_back_the_same_way() -> None:
    found = phases(weave(4), weave(2))
    assert {phase.kind.value for phase in found} == {"cables", "cleanup"}
    assert sum(len(phase.cables) for phase in found) == 8
    assert found[-1].fabric is weave(2)


TWO_PLANES = """
fabric: pod1
workload: {kind: inference}
nodes:
  - {name: gpu, count: 2, gpus: 8, nics: {count: 4, speed: 200G, ports: 2, model: connectx-7, pcie: gen5x16}}
topology:
  shape: rail-optimized
  planes: 2
  oversubscription: "3:2"
  leaf: {model: nokia-ixr7220-h4-64d}
  spine: {model: nokia-ixr7220-h4-64d, count: SPINES}
"""


def test_a_cable_of_two_ports_is_exchanged_where_they_part() -> None:
    base = designed(TWO_PLANES.replace("SPINES", "2"))
    head = designed(TWO_PLANES.replace("SPINES", "4"))
    found = phases(base, head)
    exchanged = [cable for phase in found for cable in phase.cables if cable.is_exchanged]
    assert {(cable.media_before, cable.media) for cable in exchanged} == {("aoc", "sr")}
    step = next(phase for phase in found if any(cable.is_exchanged for cable in phase.cables))
    assert "exchange" in step.title
    assert step.why.endswith("at a time; the ports of a cable that is exchanged count as one")
    order = work_order(found, "main")
    first = exchanged[0]
    assert f"cable of {first.stays.device}" in order
    assert "exchange it, to pod1-spine1" in order
    assert "sr in place of aoc" in order
    # The steps end with all media as intended, so the last phase changes no cable.
    last = [phase for phase in found if phase.kind is PhaseKind.CABLES][-1]
    intended = {(link.lower, link.lower_port): link for link in head.fabric_links}
    assert all(intended[link.lower, link.lower_port] == link for link in last.fabric.fabric_links)


def test_new_stripes_wait_until_the_cables_are_moved() -> None:
    head = weave(
        4,
        **{
            "count: 4, gpus": "count: 40, gpus",
            "{model: sonic-vs, count: 2}\n  spine": "{model: sonic-vs, count: 4}\n  spine",
        },
    )
    found = phases(weave(2), head)
    assert all("weave-leaf3" not in phase.fabric.switch_of for phase in found[:-1])
    assert found[-1].fabric is head


def test_cables_and_classes_change_one_after_the_other() -> None:
    head = weave(4, CLASSES % (24, 4))
    found = phases(weave(2), head)
    assert [phase.kind.value for phase in found] == [
        "provision",
        "cables",
        "cables",
        "switches",
        "hosts",
        "hosts",
        "hosts",
        "cleanup",
    ]
    assert {phase.fabric.policies.classes for phase in found[:3]} == {weave(2).policies.classes}
    assert [phase.nodes is head for phase in found] == [False] * 6 + [True, True]


def test_ports_and_cables_are_not_changed_together() -> None:
    head = weave(4)
    leaf = head.switch_of["weave-leaf1"]
    ports = tuple(replace(port, speed_gbps=40) for port in leaf.panel.ports)
    other = leaf._replace(panel=leaf.panel._replace(ports=ports))
    with pytest.raises(RefusedError, match="the ports of weave-leaf1 change") as refused:
        phases(weave(2), replace(head, switches=(other, *head.switches[1:])))
    assert refused.value.diagnostics[0].code == "RW519"


def test_renumbering_has_no_gentle_way() -> None:
    assert kinds(weave(2), weave(2, "addressing: {asn: {leaf: 4230000000}}\n")) == ["switches"]


def test_renumbering_and_moving_cables_at_once_is_refused() -> None:
    with pytest.raises(RefusedError, match="renumbers devices and moves 8 cables: weave-leaf1:Ethernet104 – ") as found:
        phases(weave(2), weave(4, "addressing: {asn: {leaf: 4230000000}}\n"))
    (refused,) = found.value.diagnostics
    assert refused.code == "RW519"
    assert refused.fix.startswith("make two changes of it; or ")


PODS = (Path(__file__).resolve().parents[3] / "intent/lab-pods.yml").read_text(encoding="utf-8")


def test_a_larger_reserve_moves_every_uplink_to_another_port_of_its_leaf() -> None:
    base, head = designed(PODS), designed(PODS.replace("spines: 16", "spines: 32"))
    plan = plan_offline(base, head, find_templates())
    assert len(moved_cables(plan)) == 8
    first = plan_json(plan)["cables_to_move"][0]
    assert first == {
        "device": "labpods-leaf1",
        "port": "Ethernet112",
        "before": "labpods-spine1:fortyGigE0/0",
        "after": "labpods-spine1:fortyGigE0/0",
        "end_after": "labpods-leaf1:Ethernet96",
    }
    assert headline(plan).endswith("(ports flap on 4); moves 8 cables; no renumbering; no QoS change.")
    assert "RW515" in {one.code for one in check_consent(plan, DeployOptions())}
    found = phases(base, head)
    assert [len(phase.cables) for phase in found] == [4, 4, 0]
    (cable, *_) = found[0].cables
    assert [str(end) for end in (cable.stays, cable.before, *cable.ends_after)] == [
        "labpods-spine1:Ethernet0",
        "labpods-leaf1:Ethernet112",
        "labpods-spine1:Ethernet0",
        "labpods-leaf1:Ethernet96",
    ]


def test_more_links_of_a_pair_move_cables_at_both_ends() -> None:
    base, head = designed(PODS), designed(PODS.replace("links_per_pair: 1 ", "links_per_pair: 2 "))
    plan = plan_offline(base, head, find_templates())
    moved = {f"{one.device}:{one.port}": one for one in moved_cables(plan)}
    assert len(moved) == 8
    assert str(moved["labpods-leaf2:Ethernet112"]) == (
        "labpods-leaf2:Ethernet112 – labpods-spine1:fortyGigE0/4"
        " to labpods-leaf2:Ethernet96 – labpods-spine1:fortyGigE0/8"
    )
    assert "adds 8 links; touches" in headline(plan), "a cable that moves is neither added nor removed"
    found = phases(base, head)
    assert [len(phase.cables) for phase in found] == [4, 4, 0]
    order = work_order(found, "main")
    assert "port 28 (fortyGigE0/112, Ethernet112), now labpods-leaf2 port 24 (fortyGigE0/96, Ethernet96): from" in order
    assert [cable.get("stays_after") is not None for cable in phases_json(found)["phases"][0]["cables"]].count(
        True
    ) == 2


def test_cables_of_nodes_that_move_have_no_phases() -> None:
    base = weave(2)
    (one, *_) = base.hosts
    first = next(link for link in base.links if link.lower == one.name)
    other = first._replace(upper_port=next(port for port in range(32) if (first.upper, port) not in ports_in_use(base)))
    head = replace(base, links=tuple(other if link == first else link for link in base.links))
    with pytest.raises(RefusedError, match="1 cable of GPU nodes move: gpu1:rail0") as found:
        phases(base, head)
    assert found.value.diagnostics[0].code == "RW519"


def ports_in_use(fabric: Fabric) -> set[tuple[str, int]]:
    return {(link.upper, link.upper_port) for link in fabric.links} | {
        (link.lower, link.lower_port) for link in fabric.links
    }


def test_nothing_is_expected_of_links_whose_cables_are_in_somebodys_hands() -> None:
    phase = phases(weave(2), weave(4))[1]
    fabric = phase.fabric
    for name, lost in (("weave-leaf1", 2), ("weave-spine3", 2), ("weave-spine1", 0)):
        switch = fabric.switch_of[name]
        whole = expect(fabric, switch)
        less = expect(fabric, switch, VerificationScope(pending=lower_ends(phase.pending)))
        assert len(whole.sessions) - len(less.sessions) == lost
        assert len(whole.neighbors) - len(less.neighbors) == lost
        assert (len(less.ports), less.addresses) == (len(whole.ports), whole.addresses)
        required = sum(port.required for port in whole.ports) - sum(port.required for port in less.ports)
        assert required == lost


def test_the_proof_of_moved_cables_asks_for_them_alone() -> None:
    phase = phases(weave(2), weave(4))[1]
    fabric = phase.fabric
    moved = VerificationScope(only=lower_ends(phase.pending))
    leaf = expect(fabric, fabric.switch_of["weave-leaf1"], moved)
    assert [one.device for one in leaf.neighbors] == ["weave-spine3", "weave-spine4"]
    assert [len(leaf.sessions), len(leaf.ports), leaf.addresses] == [2, 2, ()]
    spine = expect(fabric, fabric.switch_of["weave-spine1"], moved)
    assert (spine.neighbors, spine.sessions, spine.ports) == ((), (), ())


def test_a_cable_phase_changes_no_identity_and_takes_no_session_but_those_that_move() -> None:
    base = weave(2)
    for phase in phases(base, weave(4))[:-1]:
        plan = plan_offline(base, phase.fabric, find_templates())
        gone = {
            change.field for _, change in plan.changes() if change.table == "frr" and "remote-as" in str(change.field)
        }
        moved = {link.network + 1 for link in base.links if not link.is_access} - {
            link.network + 1 for link in base.links if link in phase.fabric.links
        }
        lost = [
            line
            for line in gone
            if any(change.field == line and change.op.value == "remove" for _, change in plan.changes())
        ]
        assert len(lost) == len(moved)
        base = phase.fabric


# The classes.


def test_a_code_point_alone_is_served_by_the_same_class() -> None:
    found = phases(weave(), weave(2, CLASSES % (24, 3)))
    assert [phase.kind.value for phase in found] == ["switches", "hosts", "hosts", "hosts", "cleanup"]
    between = next(one for one in found[0].fabric.policies.classes if one.lossless)
    assert (between.name, sorted(between.dscp), between.priority) == ("roce", [24, 26], 3)
    plan = plan_offline(weave(), found[0].fabric, find_templates())
    assert {(change.table, change.field) for _, change in plan.changes()} == {("DSCP_TO_TC_MAP", "24")}


def test_another_priority_is_served_by_a_class_of_its_own_beside_the_old_one() -> None:
    found = phases(weave(), weave(2, CLASSES % (24, 4)))
    classes = {one.name: (one.dscp, one.priority) for one in found[0].fabric.policies.classes if one.lossless}
    assert classes == {"roce": ((26,), 3), "roce-4": ((24,), 4)}
    plan = plan_offline(weave(), found[0].fabric, find_templates())
    touched = {(change.table, change.key, change.field) for _, change in plan.changes()}
    assert not [key for table, key, _ in touched if table == "QUEUE" and key.endswith("|3")], "the old queue stays"


def test_a_code_point_on_another_priority_has_no_way_without_loss_and_the_way_out_names_a_free_one() -> None:
    with pytest.raises(RefusedError) as refused:
        phases(weave(), weave(2, CLASSES % (26, 4)))
    (found,) = refused.value.diagnostics
    assert found.code == "RW516"
    assert "such as 24" in found.fix


NO_NOTIFICATIONS = "\n".join(line for line in (CLASSES % (26, 3)).splitlines() if "role: cnp" not in line)


def test_a_removed_class_of_notifications_stays_until_no_node_sends_any() -> None:
    found = phases(weave(), weave(2, NO_NOTIFICATIONS))
    assert [one.kind for one in found] == ["hosts", "hosts", "cleanup"]
    between, _, after = found
    assert node_words(between) == "accept DSCP 26 on priority 3; send DSCP 26; notifications with no DSCP of their own"
    assert [one.priority for one in between.fabric.policies.classes if one.role == "cnp"] == [6]
    assert not [one for one in after.fabric.policies.classes if one.role == "cnp"]
    assert after.drops
    assert kinds(weave(2, NO_NOTIFICATIONS), weave()) == ["switches", "hosts", "hosts"]


def test_a_class_that_takes_the_priority_of_notifications_waits_for_them() -> None:
    moved = NO_NOTIFICATIONS.replace("priority: 3", "priority: 6")
    with pytest.raises(RefusedError) as refused:
        phases(weave(), weave(2, moved.replace("[26]", "[24]")))
    (found,) = refused.value.diagnostics
    assert (found.code, found.message, found.fix) == (
        "RW516",
        "class `roce`, which is lossless, is to take priority 6 while `cnp` carries notifications on it until the nodes"
        " have changed",
        "leave `roce` where it is, and change its priority afterwards",
    )


def test_one_more_lossless_class_needs_no_phases() -> None:
    disk = "  - {name: disk, role: storage, dscp: [34], lossless: true, priority: 4, share: 5}\n"
    assert kinds(weave(), weave(2, CLASSES % (26, 3) + disk)) == ["switches"]
    assert kinds(weave(2, CLASSES % (26, 3) + disk), weave()) == ["hosts", "hosts", "cleanup"]


def test_a_chip_without_room_for_both_is_refused_with_the_numbers() -> None:
    # Its own HWSKU carries two lossless classes: two before and one beside them are three.
    nokia = (
        WEAVE.replace("sonic-vs", "nokia-ixr7220-h4-64d").replace("100G", "400G").replace("connectx-6", "connectx-7")
    )
    nokia = nokia.replace("gen4x16", "gen5x16")
    two = CLASSES % (26, 3) + "  - {name: disk, role: storage, dscp: [34], lossless: true, priority: 4}\n"
    base = designed(nokia + two.replace("share: 90", "share: 60").replace("priority: 4}", "priority: 4, share: 20}"))
    moved = two.replace("[26], lossless: true, priority: 3, share: 90", "[24], lossless: true, priority: 5, share: 60")
    head = designed(nokia + moved.replace("priority: 4}", "priority: 4, share: 20}"))
    found, *_ = check_phases(base, phases(base, head), unplaced)
    assert (found.code, found.severity) == ("H-budget", Severity.ERROR)
    assert "3 classes are lossless" in found.message
    assert "--single-step" in found.fix
    assert check_phases(head, phases(head, head), unplaced) == ()


@pytest.mark.parametrize(("priority", "codes"), [(3, []), (4, ["RW516"]), (5, [])])
def test_a_neighboring_priority_takes_a_group_s_buffer_under_traffic_and_that_is_said(
    priority: int, codes: list[str]
) -> None:
    found = check_phases(weave(), phases(weave(), weave(2, CLASSES % (24, priority))), unplaced)
    assert [one.code for one in found] == codes
    assert all(
        one.message
        == "BUFFER_PG 3-4, which SONiC's buffer manager makes of neighboring lossless priorities, goes from one port"
        " after the other: for a moment lossless packets on priority 4 have no headroom there"
        for one in found
    )


def test_a_class_beside_another_goes_with_the_row_that_sonic_made_of_both_and_spines_are_drained() -> None:
    disk = "  - {name: disk, role: storage, dscp: [34], lossless: true, priority: 4, share: 5}\n"
    two, one = weave(2, CLASSES % (26, 3) + disk), weave(2, CLASSES % (26, 3))
    coming = plan_offline(one, two, find_templates())
    assert {change.disruption for delta in coming.deltas.values() for change in delta} == {Disruption.NONE}
    assert not coming.disruptive
    going = plan_offline(two, one, find_templates())
    for delta in going.deltas.values():
        claims = [change for change in delta if change.disruption is Disruption.FLAP]
        assert {(change.table, change.key.partition("|")[2]) for change in claims} == {("BUFFER_PG", "3-4")}
        assert len(claims) == len({change.subject.port for change in claims})
    assert going.disruptive == going.deltas.keys()
    drains = {name: device.drain for name, device in going.devices.items() if device.drain}
    assert drains == {"weave-spine1": ("*",), "weave-spine2": ("*",)}
    assert all(len(wave) == 1 for wave in going.waves)


def test_a_plan_names_the_lossless_code_points_that_it_takes_away_and_needs_a_word_for_it() -> None:
    plan = plan_offline(weave(), weave(2, CLASSES % (24, 3)), find_templates())
    assert removed_markings(plan) == ((26, ("weave-leaf1", "weave-leaf2", "weave-spine1", "weave-spine2")),)
    (refused,) = check_consent(plan, DeployOptions())
    assert refused.code == "RW517"
    assert "--from" in refused.fix
    assert "--single-step" in refused.fix
    assert check_consent(plan, DeployOptions(single_step=True)) == ()
    assert check_consent(plan, DeployOptions(nodes_follow=True)) == ()


def test_no_phase_before_the_nodes_takes_a_lossless_code_point_away() -> None:
    base = weave()
    for phase in phases(base, weave(2, CLASSES % (24, 4))):
        plan = plan_offline(base, phase.fabric, find_templates())
        assert bool(removed_markings(plan)) == (phase.kind is PhaseKind.CLEANUP)
        base = phase.fabric


# How far the switches are.


def standing(**latest: int | None) -> PhaseProgress:
    return PhaseProgress(latest, {})


@pytest.mark.parametrize(
    ("latest", "done"),
    [({"a": 0, "b": 0}, 0), ({"a": 2, "b": 1}, 1), ({"a": 4, "b": 4}, 4), ({"a": 3, "b": None}, 3)],
)
def test_the_fabric_has_done_what_every_switch_has(latest: dict[str, int | None], done: int) -> None:
    assert standing(**latest).done == done


@pytest.mark.parametrize(
    ("latest", "asked", "words"),
    [
        ({"a": 0, "b": 0}, None, ""),
        ({"a": 1, "b": 1}, 1, ""),
        ({"a": 1, "b": 1}, 2, ""),
        ({"a": 1, "b": 0}, 2, "b has not done phase 1"),
        ({"a": 3, "b": 3}, 2, "phase 3 is done already"),
        ({"a": 3, "b": None}, None, "neither main nor a phase"),
        ({"a": 3, "b": None}, 3, ""),
        ({"a": None, "b": None}, 1, "neither main nor a phase"),
    ],
)
def test_a_phase_begins_only_after_the_one_before_it(
    latest: dict[str, int | None], asked: int | None, words: str
) -> None:
    found = check_phase(standing(**latest), "main", asked, phases(weave(2), weave(4)))
    assert [one.code for one in found] == (["RW518"] if words else [])
    assert all(words in one.message and one.fix for one in found)


def test_a_switch_that_cannot_be_read_leaves_the_standing_open() -> None:
    (found,) = check_phase(PhaseProgress({"a": 1}, {"b": "no route"}), "main", 2, phases(weave(2), weave(4)))
    assert found.devices == ("b",)
    assert "b: no route" in found.message


def test_a_ring_of_cables_goes_in_one_step() -> None:
    from railweave.plan.phases.restriping import restriping_steps

    base = weave(2)
    links = [link for link in base.links if not link.is_access]
    one = next(link for link in links if link.lower == "weave-leaf1")
    two = next(link for link in links if link.lower == "weave-leaf2")
    swapped = {
        (one.lower, one.lower_port): one._replace(upper_port=two.upper_port),
        (two.lower, two.lower_port): two._replace(upper_port=one.upper_port),
    }
    head = replace(base, links=tuple(swapped.get((link.lower, link.lower_port), link) for link in base.links))
    (step,) = restriping_steps(base, head)
    assert {move.lower_end for move in step} == set(swapped)


def test_a_ring_within_one_bundle_is_refused_with_a_way_out() -> None:
    from railweave.plan.phases.restriping import restriping_steps

    base = weave(2)
    one, two = [link for link in base.links if (link.lower, link.upper) == ("weave-leaf1", "weave-spine1")][:2]
    swapped = {one: one._replace(upper_port=two.upper_port), two: two._replace(upper_port=one.upper_port)}
    head = replace(base, links=tuple(swapped.get(link, link) for link in base.links))
    with pytest.raises(RefusedError, match="rings") as refused:
        restriping_steps(base, head)
    assert refused.value.diagnostics[0].code == "RW519"


def test_cables_of_running_leaves_do_not_move_all_at_once_unasked() -> None:
    plan = plan_offline(weave(), weave(4), find_templates())
    (refused,) = (one for one in check_consent(plan, DeployOptions(provision=True)) if one.code == "RW515")
    assert refused.message == (
        "8 cables of leaves that run have to move, 4 of them at weave-leaf1, and their links would be down until all"
        " are in place"
    )
    assert refused.fix == (
        "move them in steps that keep every leaf's other links with `railweave deploy --from REV`, where REV is the git"
        " revision that is deployed; or, where they are moved already or nothing uses the fabric, deploy with"
        " --single-step"
    )
    assert "RW515" not in {one.code for one in check_consent(plan, DeployOptions(provision=True, single_step=True))}
    # A simulator's nodes follow at once, its cables do not.
    follow = DeployOptions(provision=True, nodes_follow=True)
    assert "RW515" in {one.code for one in check_consent(plan, follow)}
