"""Whatever tenants were, become and exchange: no path joins two that do not reach each other."""

import os
import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest

from railweave.api.design.intent import design_text
from railweave.fabric.devices import Switch
from railweave.fabric.model import Fabric
from railweave.fabric.policy import Pool, Tenant
from railweave.fabric.tenants import Tenancy, link_prefixes
from railweave.sonic.isolation import Isolation, LeafFilters, Leak
from railweave.sonic.ownership import EDGE_TABLES
from railweave.sonic.render.configure import Configurator
from railweave.sonic.rows import Row, Table
from railweave.templates import find_templates

FABRIC = """\
fabric: pod
workload: {kind: inference}
nodes: [{name: gpu, count: 12, gpus: 2, nics: {count: 2, speed: 100G, model: connectx-6}}]
sonic: {acl_rules: 4096}
topology:
  rails: 2
  stripe: 4
  oversubscription: "8:1"
  leaf: {model: sonic-vs, uplink_speed: 100G, downlink_speed: 100G}
  spine: {model: sonic-vs, count: 4}
"""
KINDS = {
    "numbered": "",
    "guarded": "edge_guard: true\n",
    "both families": "edge_guard: true\naddressing: {underlay: unnumbered, hosts_ipv6: 'fd00:10::/44'}\n",
    "ipv6": "addressing: {underlay: unnumbered, hosts: none, hosts_ipv6: 'fd00:10::/44'}\n",
}
NODES = tuple(f"gpu{number}" for number in range(1, 13))
NAMES = ("a", "b", "c", "store")
# Of each of four kinds: `make properties` tries a thousand together.
HISTORIES = int(os.environ.get("RAILWEAVE_HISTORIES", "6"))
STEPS = 5

Owners = dict[str, str]


@cache
def design_of(kind: str) -> Fabric:
    return design_text(FABRIC + KINDS[kind], "pod.yml").fabric


def with_tenants(fabric: Fabric, owners: Owners, reaches: frozenset[tuple[str, str]]) -> Fabric:
    tenants = tuple(
        Tenant(
            name,
            tuple(node for node in NODES if owners.get(node) == name),
            (),
            tuple(other for one, other in sorted(reaches) if one == name),
        )
        for name in NAMES
    )
    return replace(fabric, policies=fabric.policies._replace(tenants=tenants))


def filters_of(fabric: Fabric) -> dict[str, dict[str, dict[str, Row]]]:
    configurator = Configurator(fabric, find_templates())
    rows: dict[str, dict[str, dict[str, Row]]] = {}
    for switch in fabric.switches:
        tables = rows[switch.name] = {}
        for row in configurator.node_filter(switch, configurator.shared(switch), configurator.own(switch)):
            tables.setdefault(row.table, {})[row.key] = row
    return rows


def tables_of(rows: dict[str, dict[str, Row]]) -> dict[str, Table]:
    return {table: {key: row.fields for key, row in of_table.items()} for table, of_table in rows.items()}


def leaks_in(fabric: Fabric, filters: dict[str, dict[str, dict[str, Row]]]) -> Iterator[Leak]:
    isolation = Isolation(fabric, Tenancy(fabric))
    for leaf in fabric.tier_switches[0]:
        yield from isolation.leaks(leaf, tables_of(filters[leaf.name]))


def addresses(fabric: Fabric) -> Iterator[tuple[str, Switch, str, Pool]]:
    """Yield each node's own addresses with its leaf and the port there."""
    for link in fabric.links:
        if link.is_access:
            leaf = fabric.switch_of[link.upper]
            for network in link_prefixes(fabric, link):
                own = type(network)(network.first + 1, network.bits)
                yield link.lower, leaf, leaf.panel.ports[link.upper_port].name, own


def check_packets(fabric: Fabric, owners: Owners) -> None:
    """Ordinary packets between all addresses pass exactly where tenants reach each other."""
    reach = Tenancy(fabric).reach
    filters = {name: LeafFilters(tables_of(rows)) for name, rows in filters_of(fabric).items()}
    ends = list(addresses(fabric))
    for node, leaf, port, source in ends:
        for other, _, _, destination in ends:
            if source.bits == destination.bits:
                allowed = owners.get(other) is not None and owners[other] in reach.get(owners.get(node, ""), ())
                assert filters[leaf.name].passes(port, source, destination) == allowed, (node, other)


def check_step(before: Fabric, after: Fabric, moved: str, concerned: set[str]) -> None:
    """A move changes only rules between the two tenants and those that they reach, and no binding."""
    rows_before, rows_after = filters_of(before), filters_of(after)
    for name, tables in rows_after.items():
        old, new = rows_before[name], tables
        assert [old.get("ACL_TABLE"), old.get("ACL_TABLE_TYPE")] == [new.get("ACL_TABLE"), new.get("ACL_TABLE_TYPE")]
        for key, row in {**old.get("ACL_RULE", {}), **new.get("ACL_RULE", {})}.items():
            if key in old["ACL_RULE"] and key in new["ACL_RULE"]:
                assert old["ACL_RULE"][key].fields == new["ACL_RULE"][key].fields, "a rule is replaced, never changed"
            else:
                _, tenant, other, *_ = key.partition("|")[2].split(".")
                assert concerned & {tenant, other}, (moved, key, row)


@pytest.mark.parametrize("kind", list(KINDS))
def test_no_history_of_tenants_joins_two_that_do_not_reach_each_other(kind: str) -> None:
    fabric = design_of(kind)
    identities = [(switch.name, switch.asn, switch.loopback) for switch in fabric.switches]
    for seed in range(HISTORIES):
        chance = random.Random(f"{kind} {seed}")
        owners: Owners = {node: chance.choice((*NAMES, "")) for node in NODES}
        reaches = frozenset(("store", name) for name in NAMES[:3] if chance.random() < 0.5)
        present = with_tenants(fabric, owners, reaches)
        for _ in range(STEPS):
            node = chance.choice(NODES)
            old, new = owners[node], chance.choice((*NAMES, ""))
            owners = {**owners, node: new}
            moved = with_tenants(fabric, owners, reaches)
            check_step(present, moved, node, {old, new})
            present = moved
        assert not list(leaks_in(present, filters_of(present)))
        assert [(switch.name, switch.asn, switch.loopback) for switch in present.switches] == identities
        if seed % 8 == 0:
            check_packets(present, owners)


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_planted_leak_is_found_by_name(kind: str) -> None:
    owners = {node: NAMES[number % 3] for number, node in enumerate(NODES)}
    fabric = with_tenants(design_of(kind), owners, frozenset())
    isolation = Isolation(fabric, Tenancy(fabric))
    leaf = fabric.switches[0]
    rows = filters_of(fabric)[leaf.name]
    tables = tables_of(rows)
    (name,) = tables["ACL_TABLE"]
    assert not isolation.leaks(leaf, tables)
    rules = tables["ACL_RULE"]
    whole = dict(rules)
    # Without its last rule a filter lets everything pass.
    del whole[f"{name}|deny"]
    assert {leak.owner for leak in isolation.leaks(leaf, {**tables, "ACL_RULE": whole}) if leak.tenant == "a"} >= {
        "b",
        "c",
    }
    # A port that is not bound is not filtered.
    port = leaf.panel.ports[0].name
    loose = {
        name: {**tables["ACL_TABLE"][name], "ports": tuple(p for p in tables["ACL_TABLE"][name]["ports"] if p != port)}
    }
    found = isolation.leaks(leaf, {**tables, "ACL_TABLE": loose})
    assert {leak.port for leak in found} == {port}
    assert found[0].cause == f"no rule drops it at {port}"
    # A rule of a for the ports of b lets these send as a.
    key = next(key for key in rules if key.startswith(f"{name}|allow.a.a."))
    other = leaf.panel.ports[1].name
    spoofed = {**rules, key: {**rules[key], "IN_PORTS": f"{rules[key]['IN_PORTS']},{other}"}}
    found = isolation.leaks(leaf, {**tables, "ACL_RULE": spoofed})
    assert {(leak.path, leak.port) for leak in found} == {
        ("nodes of b reach nodes of a", other),
        ("nodes of b send as nodes of a", other),
    }


def test_tables_of_the_filter_are_the_edge_tables() -> None:
    rows = filters_of(with_tenants(design_of("guarded"), {"gpu1": "a"}, frozenset()))
    assert rows["pod-leaf1"].keys() == EDGE_TABLES
