"""Intents for a lab: grown to the reserve, or scaled down to the same shape, with the mapping written down.

Kept: the shape, rails, planes, traffic classes, MTU, BGP timers, address pools, AS numbers, overrides of roles. Made
small: nodes of a stripe, stripes, spines, parallel links; every switch becomes the virtual one, every port 100G.
"""

from dataclasses import dataclass, replace
from typing import Any

from railweave.catalog.load import Catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric, Link
from railweave.fabric.policy import NO_POOL, Policies
from railweave.intent.model import Intent, Nodes


def whole_reserve(intent: Intent, today: Fabric, catalog: Catalog) -> Fabric:
    """Return the fabric with every leaf, spine and node of the reserve, or as much of it as moves no cable: every pod
    with as many spines as today where it may not have more."""
    counts = [intent.topology.spine.count]
    if len(today.tiers) > 1:
        above = today.tiers[1]
        groups = {(one.pod, one.rail) for one in today.tier_switches[1]}
        counts = [above.reserve, above.count // len(groups) * above.groups, *counts]
    for spines in dict.fromkeys(counts):
        grown = design(_grown(intent, today, spines), catalog).fabric
        if grown is not None and _cables(today) <= _cables(grown):
            return grown
    return today


def _grown(intent: Intent, today: Fabric, spines: int | None) -> Intent:
    topology = intent.topology
    leaves_of_stripe = (today.rails if topology.shape.has_rails else 1) * topology.leaves_per_nic
    stripes = today.lowest.reserve // leaves_of_stripe
    apart = any(entry.leaf and entry.leaf.reserve for entry in intent.nodes)
    return replace(
        intent,
        workload=intent.workload.with_values(gpus=None, growth=None),
        nodes=_full_stripes(intent.nodes, stripes, nodes_of_stripe(today), leaves_of_stripe),
        topology=topology.with_values(
            # Stripes behind the ports that spines keep apart for an entry's leaves can have none.
            leaf=topology.leaf.with_values(count=None if apart else stripes * leaves_of_stripe),
            spine=topology.spine.with_values(count=spines),
        ),
        racks=None,  # the reserve has no places yet
        as_built=(),
    )


def _full_stripes(nodes: tuple[Nodes, ...], stripes: int, size: int, leaves_of_stripe: int) -> tuple[Nodes, ...]:
    """Return the entries, each filling its stripes up to the next entry's first, the last up to the reserve, and those
    with a reserve of their own up to it."""
    ends = [*(entry.first_stripe for entry in nodes[1:]), stripes]
    for place, entry in enumerate(nodes):
        if entry.leaf and entry.leaf.reserve:
            ends[place] = min(ends[place], entry.first_stripe + entry.leaf.reserve // leaves_of_stripe)
    return tuple(
        entry.with_values(count=max(entry.count, (end - entry.first_stripe) * size))
        for entry, end in zip(nodes, ends, strict=True)
    )


def nodes_of_stripe(fabric: Fabric) -> int:
    """Return how many nodes one stripe holds: its places by the ports that its leaves have downwards."""
    first = fabric.hosts[0]
    ports_of_one_leaf = max(1, sum(1 for port in first.ports if port.plane == 0) // _leaves_of_stripe(fabric))
    return fabric.lowest.ports_down // ports_of_one_leaf


def _leaves_of_stripe(fabric: Fabric) -> int:
    """Return the leaves of one stripe in one plane: one a rail, one in all where leaves have no rail, or several where
    they share NICs."""
    return (1 if fabric.switches[0].rail is None else fabric.rails) * fabric.leaves_per_nic


def _cables(fabric: Fabric) -> set[tuple[str, str, str, str, int]]:
    return {_cable(fabric, link) for link in fabric.links}


def _cable(fabric: Fabric, link: Link) -> tuple[str, str, str, str, int]:
    lower, upper = fabric.ports_of[link.lower][link.lower_port], fabric.ports_of[link.upper][link.upper_port]
    return link.lower, lower.name, link.upper, upper.name, link.network


VIRTUAL_MODEL = "sonic-vs"
MOST_NODES = 40
"""Containers that two cores and some gigabytes carry."""

_SPEED = "100G"
_NIC, _PCIE = "connectx-6", "gen4x16"
_STRIPE_NODES = 2
_SPINES, _RESERVE_SPINES = 2, 3
_OF_SPINES = ("links_per_pair", "oversubscription", "spine", "reserve")
_ROLES = ("leaf", "spine", "super_spine")


@dataclass(frozen=True, slots=True)
class ScaledIntent:
    """The small intent as keys of an intent file, and the mapping: (what, in the intent, in the lab)."""

    keys: dict[str, Any]
    mapping: tuple[tuple[str, str, str], ...]


def needs_scaling(fabric: Fabric, reserve: Fabric) -> bool:
    """Tell whether the fabric is no lab as it is: other switches than the virtual one, or too many nodes."""
    models = {switch.panel.model for switch in fabric.switches}
    return models != {VIRTUAL_MODEL} or len(reserve.switches) + len(reserve.hosts) > MOST_NODES


def fitting_reserve(fabric: Fabric, reserve: Fabric) -> str:
    """Return the ``reserve`` with which the intent itself is a lab, empty where it is one, or cannot be."""
    nodes = len(fabric.switches) + len(fabric.hosts)
    if {switch.panel.model for switch in fabric.switches} != {VIRTUAL_MODEL} or nodes > MOST_NODES:
        return ""
    if len(reserve.switches) + len(reserve.hosts) <= MOST_NODES or len(fabric.tiers) == 1:
        return ""
    return f"reserve: {{leaves: {fabric.lowest.count}, spines: {fabric.top.count}}}"


def scaled(intent: Intent, fabric: Fabric) -> ScaledIntent:
    """Return the small intent of the same shape."""
    topology = intent.topology
    in_rails = topology.shape.has_rails
    per_nic = topology.leaves_per_nic
    leaves_of_stripe = (fabric.rails if in_rails else 1) * per_nic
    stripes = min(2, max(1, fabric.sizing.stripes if in_rails else fabric.lowest.count // per_nic))
    networks = fabric.rails if fabric.rail_only else 1
    spines = min(_SPINES, fabric.top.count // networks)
    reserve_stripes, reserve_spines = stripes + 1, max(spines, min(_RESERVE_SPINES, fabric.top.reserve // networks))
    if _containers(reserve_stripes, leaves_of_stripe, reserve_spines * networks, topology.planes) > MOST_NODES:
        reserve_stripes, reserve_spines = stripes, spines
    entries = _entries(intent.nodes[:stripes], stripes, fabric.rails, topology.planes * per_nic)
    keys: dict[str, Any] = {
        "fabric": intent.fabric,
        "workload": {"kind": intent.workload.kind.value},
        "nodes": entries,
        "topology": {
            "shape": topology.shape.value,
            "rails": fabric.rails,
            "planes": topology.planes,
            "stripe": _STRIPE_NODES,
            "links_per_pair": 1,
            "oversubscription": _ratio(spines, fabric.rails, in_rails=in_rails),
            "leaf": _tier(stripes * leaves_of_stripe) | {"downlink_speed": _SPEED, "uplink_speed": _SPEED},
            "spine": _tier(spines * networks),
            "reserve": {"leaves": reserve_stripes * leaves_of_stripe, "spines": reserve_spines * networks},
        },
        **_policies(intent.policies),
    }
    if per_nic > 1:
        keys["topology"] |= {"leaves_per_nic": per_nic}
        keys["addressing"] |= {"nics": str(intent.policies.addressing.nics)}
    if fabric.rail_only:
        keys["topology"] |= {"tiers": len(fabric.tiers)}
    if len(fabric.tiers) == 1:
        keys["topology"] = {key: value for key, value in keys["topology"].items() if key not in _OF_SPINES}
    return ScaledIntent(keys, _mapping(intent, fabric, keys))


def _containers(stripes: int, leaves_of_stripe: int, spines: int, planes: int) -> int:
    return (stripes * leaves_of_stripe + spines) * planes + stripes * _STRIPE_NODES


def _ratio(spines: int, rails: int, *, in_rails: bool) -> str:
    down = _STRIPE_NODES * (1 if in_rails else rails)
    return f"{max(down / spines, 1):g}:1"


def _entries(nodes: tuple[Nodes, ...], stripes: int, rails: int, ports: int) -> list[dict[str, Any]]:
    """Return the entries: the kinds there are, each with a stripe of its own; the last takes the stripes left."""
    nics = {"count": rails, "speed": _SPEED, "ports": ports, "model": _NIC, "pcie": _PCIE}
    entries: list[dict[str, Any]] = []
    for place, entry in enumerate(nodes):
        last = place == len(nodes) - 1
        count = _STRIPE_NODES * (stripes - place if last else 1)
        first = {"first_stripe": place} if place else {}
        entries.append({"name": entry.name, "count": count, "gpus": max(rails, 1), "nics": dict(nics), **first})
    return entries


def _tier(count: int) -> dict[str, Any]:
    return {"model": VIRTUAL_MODEL, "count": count}


def _policies(policies: Policies) -> dict[str, Any]:
    addressing = policies.addressing
    overrides = {scope: rows for scope, rows in policies.overrides.rows.items() if scope in _ROLES}
    return {
        "addressing": {
            "underlay": "unnumbered" if addressing.unnumbered else "numbered",
            "loopbacks": str(addressing.loopbacks),
            "links": str(addressing.links),
            "hosts": NO_POOL if addressing.hosts is None else str(addressing.hosts),
            **({} if addressing.hosts_ipv6 is None else {"hosts_ipv6": str(addressing.hosts_ipv6)}),
            "asn": {
                "leaf": addressing.leaf_asn,
                "spine": addressing.spine_asn,
                "super_spine": addressing.super_spine_asn,
            },
        },
        "bgp": {
            "keepalive": policies.bgp.keepalive_s,
            "hold": policies.bgp.hold_s,
            **({"bfd": True} if policies.bgp.bfd else {}),
        },
        "traffic_classes": [
            {
                "name": one.name,
                "role": one.role.value,
                "dscp": "default" if one.is_default else list(one.dscp),
                "lossless": one.lossless,
                "priority": one.priority,
                **({"strict": True} if one.strict else {"share": one.share_percent}),
            }
            for one in policies.classes
        ],
        "mtu": {"fabric": policies.mtu.fabric_bytes, "hosts": policies.mtu.hosts_bytes},
        **({"overrides": _plain(overrides)} if overrides else {}),
    }


def _plain(value: Any) -> Any:
    """Return mappings and tuples as the plain kinds that a YAML file holds."""
    if hasattr(value, "items"):
        return {key: _plain(one) for key, one in value.items()}
    return list(value) if isinstance(value, tuple) else value


def _mapping(intent: Intent, fabric: Fabric, keys: dict[str, Any]) -> tuple[tuple[str, str, str], ...]:
    topology = keys["topology"]
    planes = intent.topology.planes
    models = " and ".join(sorted({switch.panel.model for switch in fabric.switches}))
    nodes = sum(entry["count"] for entry in keys["nodes"])
    above: tuple[tuple[str, str, str], ...] = ()
    if len(fabric.tiers) > 1:
        above = (
            ("spines", str(fabric.top.count * planes), str(topology["spine"]["count"] * planes)),
            ("links of a leaf-spine pair", str(fabric.lowest.links_per_pair), "1"),
            ("oversubscription", f"{fabric.sizing.oversubscription.leaf:g}:1", topology["oversubscription"]),
        )
    return (
        ("rails", str(fabric.rails), str(topology["rails"])),
        ("planes", str(planes), str(planes)),
        *((("leaves of a NIC", str(fabric.leaves_per_nic), str(fabric.leaves_per_nic)),) if fabric.nic_blocks else ()),
        ("traffic classes, MTU, timers, pools", "as written", "the same"),
        ("switch models", models, VIRTUAL_MODEL),
        ("GPU nodes", str(len(fabric.hosts)), str(nodes)),
        ("nodes of a stripe", str(nodes_of_stripe(fabric)), str(_STRIPE_NODES)),
        ("leaves", str(fabric.lowest.count * planes), str(topology["leaf"]["count"] * planes)),
        *above,
        ("port speed", f"{fabric.links[0].speed_gbps}G", _SPEED),
    )
