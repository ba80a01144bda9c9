"""A node while its marking or MTU changes: it accepts the old and the new, and sends one of them."""

import json
from dataclasses import replace
from typing import Any

import pytest

from railweave.checks.phases import check_phases
from railweave.diagnostics import Severity, Where
from railweave.fabric.model import Fabric
from railweave.hosts.changed_values import changed_values
from railweave.hosts.outcome import ChangeKind, HostChange, HostResult, HostsRun, HostState
from railweave.hosts.render import HostRenderer
from railweave.plan.phases.planning import Phase, phases
from railweave.templates import find_templates

MARKING = """
traffic_classes:
  - {name: roce, role: rdma, dscp: [24], lossless: true, priority: %d, share: 90}
  - {name: cnp, role: cnp, dscp: [46], priority: 6, strict: true}
  - {name: best-effort, role: bulk, dscp: default, priority: 0, share: 10}
"""


def files(phase: Phase) -> tuple[dict[str, bytes], Any]:
    accepts, sends = phase.node_values
    found = HostRenderer(accepts, find_templates(), sends).files(accepts.hosts[0])
    return dict(found), json.loads(found["rails.json"])


def wanted(document: Any) -> dict[str, Any]:
    return {read["what"]: read["want"] for step in document["nic"]["steps"] for read in step["reads"]}


def of_nodes(base: Fabric, head: Fabric) -> list[Phase]:
    return [phase for phase in phases(base, head) if phase.is_of_nodes]


def test_a_nic_serves_both_markings_and_sends_one(pod: Any) -> None:
    accept, send, drop = of_nodes(pod(), pod(rest=MARKING % 4))
    for phase, dscp, priorities, cnp in (
        (accept, 26, "0 0 0 1 1 0 0 0", 48),
        (send, 24, "0 0 0 1 1 0 0 0", 46),
        (drop, 24, "0 0 0 0 1 0 0 0", 46),
    ):
        texts, document = files(phase)
        values = wanted(document)
        assert values["pfc"] == priorities
        assert (values["traffic class"], values["rdma_cm tos"]) == (str(dscp * 4 + 2),) * 2
        assert values["cnp dscp"] == str(cnp)
        assert f"NCCL_IB_TC={dscp * 4 + 2}\n".encode() in texts["nccl.conf"]
        both = phase is not drop
        assert values["dscp to priority"].get("24") == "4"
        assert (values["dscp to priority"].get("26") == "3") == both
        for point in ("notification", "reaction"):
            assert values[f"dcqcn {point} point 4"] == "1"
            assert (f"dcqcn {point} point 3" in values) == both


def test_a_node_takes_the_larger_packets_and_sends_the_smaller(pod: Any) -> None:
    small, large = pod(rest="mtu: {fabric: 4300, hosts: 4200}\n"), pod()
    accept, send = of_nodes(small, large)
    texts, document = files(accept)
    assert {port["mtu"] for port in document["interfaces"]} == {9000}
    assert {route["mtu"] for port in document["interfaces"] for route in port["routes"]} == {4200}
    assert texts["networkd/10-railweave-rail0.network"].count(b"\nMTUBytes=4200\n") == 2
    assert texts["netplan.yaml"].count(b", mtu: 4200}") == 8
    texts, document = files(send)
    assert not [route for port in document["interfaces"] for route in port["routes"] if "mtu" in route]
    assert dict(texts) == dict(HostRenderer(large, find_templates()).files(large.hosts[0]))
    lower, drop = of_nodes(large, small)
    assert [files(one)[1]["interfaces"][0]["mtu"] for one in (lower, drop)] == [9000, 4200]
    assert files(lower)[1]["interfaces"][0]["routes"][0]["mtu"] == 4200


@pytest.mark.parametrize(("priority", "codes"), [(4, ["RW516"]), (3, [])])
def test_a_nic_with_one_lossless_priority_cannot_serve_two(pod: Any, priority: int, codes: list[str]) -> None:
    base, head = pod(nic="broadcom-thor2"), pod(nic="broadcom-thor2", rest=MARKING % priority)
    found = check_phases(base, phases(base, head), lambda path: Where(path=path))
    errors = [one for one in found if one.severity is Severity.ERROR]
    assert [one.code for one in errors] == codes
    assert all("`broadcom` set up 1" in one.message and "--single-step" in one.fix for one in errors)


def change(subject: str, what: str, before: str, kind: ChangeKind) -> HostChange:
    return HostChange(kind, subject, what, before, "as intended")


def test_a_shared_value_changes_only_where_the_node_was_set_up_for_another() -> None:
    document = change("/etc/railweave/rails.json", "content", "differs", ChangeKind.FILE)
    pfc = change("rail0", "pfc", "0 0 0 1 0 0 0 0", ChangeKind.SETTING)
    route = change("rail0", "route default table 100", "", ChangeKind.SETTING)
    run = HostsRun(
        "pod",
        "test",
        False,
        (
            HostResult("moved", HostState.CHANGED, (document, pfc, replace(pfc, subject="rail1"))),
            HostResult("changed", HostState.CHANGED, (pfc,)),
            HostResult("fresh", HostState.CHANGED, (replace(document, before="absent"), pfc)),
            HostResult("rerouted", HostState.CHANGED, (document, route)),
        ),
    )
    assert changed_values(run) == {"moved": ("pfc",)}
