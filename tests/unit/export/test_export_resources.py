"""Custom resources pass the definitions of their operators, unknown keys refused, and the definitions' CEL rules."""

from typing import Any

import pytest
from custom_resources import broken_rules, faults, schemas
from exported import cluster, documents, source_of

from railweave.export.model import RELEASES, ExportOptions

RESOURCES = ("kueue", "volcano", "cidr-pools", "nic-configuration", "nic-names")
TWO_PORTS = """
fabric: planes
workload: {kind: inference}
nodes:
  - name: gpu
    count: 4
    gpus: 2
    nics: {count: 2, speed: 100G, ports: 2, model: connectx-6-dx, pci_addresses: ["0000:1a:00.0", "0000:3d:00.0"]}
topology:
  planes: 2
  rails: 2
  oversubscription: "8:1"
  leaf: {model: sonic-vs, downlink_speed: 100G, uplink_speed: 100G}
  spine: {model: sonic-vs}
addressing: {hosts_ipv6: "fd00:10::/44"}
"""


@pytest.mark.parametrize("name", RESOURCES)
def test_resources_have_only_keys_and_values_of_their_definitions(name: str) -> None:
    for source in (cluster(), source_of(TWO_PORTS)):
        resources = documents(source, name)
        assert resources
        assert [fault for resource in resources for fault in faults(resource)] == []


@pytest.mark.parametrize("release", RELEASES)
def test_a_template_has_only_keys_of_the_release_it_is_made_for(release: str) -> None:
    resources = documents(cluster(options=ExportOptions(release=release)), "nic-configuration")
    assert [fault for resource in resources for fault in faults(resource, release)] == []
    older = documents(cluster(), "nic-configuration")
    assert (faults(older[0], release) == []) is (release in ("26.7", "26.10"))


@pytest.mark.slow
def test_resources_hold_the_rules_of_their_definitions() -> None:
    count = 0
    for name in RESOURCES:
        for resource in documents(cluster(), name):
            evaluated, broken = broken_rules(resource)
            assert broken == []
            count += evaluated
    assert count > 40


def spoiled(name: str, *path: str | int, value: Any) -> dict[str, Any]:
    resource: dict[str, Any] = documents(cluster(), name)[0]
    inner: Any = resource
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return resource


def test_the_definitions_notice_an_unknown_key_and_a_wrong_value() -> None:
    assert faults(spoiled("kueue", "spec", "depth", value=2))
    assert faults(spoiled("volcano", "spec", "tier", value=-1))
    assert faults(spoiled("nic-configuration", "spec", "template", "roceOptimized", "qos", "pfc", value="0,1"))


@pytest.mark.slow
def test_the_rules_notice_what_no_schema_does() -> None:
    assert broken_rules(spoiled("kueue", "spec", "levels", value=[{"nodeLabel": "a"}, {"nodeLabel": "a"}]))[1]
    assert broken_rules(spoiled("volcano", "spec", "members", 0, "selector", value={}))[1]
    assert broken_rules(spoiled("nic-configuration", "spec", "template", "networkBay", value={"conf": "a"}))[1]


def test_every_definition_is_used() -> None:
    used = {(one["apiVersion"], one["kind"]) for name in RESOURCES for one in documents(cluster(), name)}
    # An older version of the same resource is in its definition, too.
    assert schemas().keys() - used == {("kueue.x-k8s.io/v1beta1", "Topology")}


def test_the_leaf_is_the_gateway_and_nothing_excludes_the_nodes_address() -> None:
    for pool in documents(cluster(), "cidr-pools"):
        spec = pool["spec"]
        assert spec["gatewayIndex"] == 0
        assert spec.keys().isdisjoint({"exclusions", "perNodeExclusions"})
        for allocation in spec["staticAllocations"]:
            assert allocation["prefix"].partition("/")[0] == allocation["gateway"]


def test_interfaces_of_several_functions_get_the_names_of_the_intent() -> None:
    (template,) = documents(source_of(TWO_PORTS), "nic-names")
    assert template["spec"] == {
        "pfsPerNic": 2,
        "netDevicePrefix": "rail%nic_id%p%plane_id%",
        "railPciAddresses": [["0000:1a:00.0"], ["0000:3d:00.0"]],
    }
