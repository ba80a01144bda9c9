"""Nodes whose NICs several leaves share: addresses, order of ports, and what is checked of a node."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from railweave.catalog.load import load_catalog
from railweave.checks.facts import fact_findings
from railweave.design.build import design
from railweave.diagnostics import Diagnostic
from railweave.fabric.model import Fabric
from railweave.hosts.render import HostRenderer, nccl_settings
from railweave.hosts.values import kernel_settings, node_of
from railweave.intent.load import load_intent, load_intent_text
from railweave.sonic.render.configure import Configurator
from railweave.templates import find_templates
from railweave.units import ipv4_text

DUAL_TOR = Path(__file__).resolve().parents[3] / "tests/golden/sonic_config/intents/dual-tor.yml"
RANGE = {"NCCL_IB_ADDR_RANGE": "10.32.0.0/11"}


@pytest.fixture
def tor() -> Fabric:
    fabric = design(load_intent(DUAL_TOR), load_catalog()).fabric
    assert fabric is not None
    return fabric


def found(fabric: Fabric, nics: Mapping[str, Any], nccl: Mapping[str, str]) -> list[Diagnostic]:
    text = json.dumps({"nics": nics, "nccl": {"NCCL_IB_TC": "106", **nccl}})
    every = fact_findings(fabric, {"gpu1": ("gpu1.json", text)}, Configurator(fabric, find_templates()))
    return [one for one in every if one.code in ("N-2", "N-5")]


def test_the_ports_of_a_nic_have_its_address_and_take_turns_at_being_first(tor: Fabric) -> None:
    order = {}
    for host in tor.hosts:
        for rail in node_of(tor, host).rails:
            assert rail.nic is not None
            order[host.name, rail.name] = (ipv4_text(rail.nic.address), rail.nic.rule_priority, rail.metric)
    assert order["gpu1", "rail0p0"] == ("10.64.0.0", 2000, 100)
    assert order["gpu1", "rail0p1"] == ("10.64.0.0", 2001, 101)
    assert order["gpu2", "rail0p0"] == ("10.64.0.1", 2001, 101)
    assert order["gpu2", "rail0p1"] == ("10.64.0.1", 2000, 100)
    assert order["gpu1", "rail1p1"] == ("10.64.0.32", 2002, 102)


def test_rdma_takes_the_addresses_of_ports_and_routes_of_dead_links_are_left(tor: Fabric) -> None:
    node = node_of(tor, tor.hosts[0])
    nccl = nccl_settings(tor, node)
    assert (nccl["NCCL_IB_ADDR_RANGE"], nccl["NCCL_IB_ADDR_FAMILY"]) == ("10.32.0.0/11", "AF_INET")
    assert kernel_settings(node.rails)["net.ipv4.conf.rail0p1.ignore_routes_with_linkdown"] == "1"


def test_networkmanager_has_both_addresses_both_rules_and_the_source_of_routes() -> None:
    text = DUAL_TOR.read_text(encoding="utf-8") + "hosts: {network: networkmanager}\n"
    fabric = design(load_intent_text(text, "nm.yml"), load_catalog()).fabric
    assert fabric is not None
    lines = HostRenderer(fabric, find_templates()).files(fabric.host_of["gpu2"])["railweave-rail0p0.nmconnection"]
    assert {
        "address1=10.32.0.3/31",
        "address2=10.64.0.1/32",
        "route3=10.64.0.0/11,10.32.0.2,101",
        "route3_options=src=10.64.0.1",
        "routing-rule1=priority 1000 from 10.32.0.3 table 100",
        "routing-rule2=priority 2001 from 10.64.0.1 table 100",
    } <= set(lines.decode().splitlines())


def test_a_node_of_a_rail_that_is_apart_leads_to_the_nics_of_its_rail_alone() -> None:
    text = DUAL_TOR.read_text(encoding="utf-8").replace("rail-optimized", "rail-only")
    text = text.replace("sonic-vs, count: 2", "sonic-vs, count: 4").replace("  stripe: 2", "  tiers: 2\n  stripe: 2")
    fabric = design(load_intent_text(text + "  reserve: {leaves: 12}\n", "apart.yml"), load_catalog()).fabric
    assert fabric is not None
    found = node_of(fabric, fabric.hosts[0]).rails
    rails = {rail.name: [str(one) for one in rail.ipv4.reached] for rail in found if rail.ipv4}
    assert rails["rail0p0"] == rails["rail0p1"]
    assert [one for one in rails["rail0p0"] if one.startswith("10.64.")] == [
        "10.64.0.0/27",
        "10.64.0.64/27",
        "10.64.0.128/27",
    ]
    assert next(one for one in rails["rail1p1"] if one.startswith("10.64.")) == "10.64.0.32/27"
    assert len([one for one in rails["rail0p0"] if one.startswith("10.32.")]) == 6


@pytest.mark.parametrize(
    ("addresses", "tables", "text"),
    [
        (["10.32.0.1/31", "10.64.0.0/32"], [100, 100, 101], ""),
        (
            ["10.32.0.1/31"],
            [100, 100, 101],
            "rail0p0 has 10.32.0.1/31 and tor-leaf1 expects 10.32.0.1/31, 10.64.0.0/32",
        ),
        (
            ["10.64.0.0/32", "10.32.0.1/31"],
            [100, 101, 100],
            "is routed by table 100, 101, 100, in this order they are 100, 100, 101: packets leave on another port",
        ),
    ],
)
def test_the_addresses_and_tables_of_a_port_are_those_of_its_nic_too(
    tor: Fabric, addresses: list[str], tables: list[int], text: str
) -> None:
    (message,) = [
        one.message for one in found(tor, {"rail0p0": {"addresses": addresses, "tables": tables}}, RANGE)
    ] or [""]
    assert text in message
    assert bool(text) == bool(message)


def test_nccl_without_a_range_may_take_the_address_of_the_nic(tor: Fabric) -> None:
    assert found(tor, {}, RANGE) == []
    (one,) = found(tor, {}, {})
    assert (one.code, one.fix) == ("N-5", "write NCCL_IB_ADDR_RANGE=10.32.0.0/11 into /etc/nccl.conf")
    (other,) = found(tor, {}, {"NCCL_IB_ADDR_RANGE": "10.64.0.0/11"})
    assert other.fix == "write NCCL_IB_ADDR_RANGE=10.32.0.0/11 into /etc/nccl.conf"
