"""Intents for a lab: grown to the reserve, or scaled down to the same shape, with a mapping to the original.

Scaling keeps the shape, rails, planes, traffic classes, MTU, BGP timers, address pools, AS numbers, overrides of
roles. It reduces nodes of a stripe, stripes, spines and parallel links; every switch becomes the virtual one, every
port 100G.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from railweave.catalog.load import Catalog
from railweave.design.build import design
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.fabric.policy import NO_POOL, Addressing, Policies, TrafficClass
from railweave.intent.model import Intent, Nodes


def whole_reserve(intent: Intent, today: Fabric, catalog: Catalog) -> Fabric:
    """Return the fabric with every leaf, spine and node of the reserve, or as much of it as moves no cable.

    If even the number of spines of the intent would move a cable, the fabric of today is returned.
    """
    # The numbers of spines to try: those of the reserve, those of all pods if each has as many as today's, today's.
    spine_counts = [intent.topology.spine.count]
    if len(today.tiers) > 1:
        spine_tier = today.tiers[1]
        groups_today = {(spine.pod, spine.rail) for spine in today.tier_switches[1]}
        spines_of_group = spine_tier.count // len(groups_today)
        spine_counts = [spine_tier.reserve, spines_of_group * spine_tier.groups, *spine_counts]
    cables_today = _cables(today)
    for spine_count in dict.fromkeys(spine_counts):
        grown = design(_grown(intent, today, spine_count), catalog).fabric
        if grown is not None and cables_today <= _cables(grown):
            return grown
    return today


def _grown(intent: Intent, today: Fabric, spines: int | None) -> Intent:
    """Return the intent with all leaves and nodes of the reserve; ``spines`` are those of a plane, None for auto."""
    topology = intent.topology
    leaves_of_stripe = topology.leaves_per_nic
    if topology.shape.has_rails:
        leaves_of_stripe *= today.rails
    stripes = today.lowest.reserve // leaves_of_stripe
    leaves: int | None = stripes * leaves_of_stripe
    if any(entry.leaf and entry.leaf.reserve for entry in intent.nodes):
        # Stripes behind the ports that spines reserve for the leaves of an entry can have no leaves.
        leaves = None
    return replace(
        intent,
        workload=intent.workload.with_values(gpus=None, growth=None),
        nodes=_full_stripes(intent.nodes, stripes, today, leaves_of_stripe),
        topology=topology.with_values(
            leaf=topology.leaf.with_values(count=leaves),
            spine=topology.spine.with_values(count=spines),
        ),
        # The reserve has no rack units yet.
        racks=None,
        as_built=(),
    )


def _full_stripes(nodes: tuple[Nodes, ...], stripes: int, today: Fabric, leaves_of_stripe: int) -> tuple[Nodes, ...]:
    """Return the entries with all their stripes filled: up to the next entry's first stripe or their own reserve.

    Entries on the leaves of others stay as they are.
    """
    owners = [entry for entry in nodes if not entry.share_leaves]
    # Where the stripes of each of them end: at the first stripe of the next one.
    ends = [entry.first_stripe or 0 for entry in owners[1:]]
    ends.append(stripes)
    full_entries = {entry.name: entry for entry in nodes}
    for entry, end in zip(owners, ends, strict=True):
        stripes_of_entry = end - (entry.first_stripe or 0)
        stripe_nodes = today.stripe_nodes[entry.name]
        full_entries[entry.name] = _with_stripes(entry, stripes_of_entry, stripe_nodes, leaves_of_stripe)
    return tuple(full_entries.values())


def _with_stripes(entry: Nodes, stripes: int, stripe_nodes: int, leaves_of_stripe: int) -> Nodes:
    """Return an entry with so many stripes filled, or those of its own reserve if these are fewer."""
    if entry.leaf and entry.leaf.reserve:
        stripes = min(stripes, entry.leaf.reserve // leaves_of_stripe)
    return entry.with_values(count=max(entry.count, stripes * stripe_nodes))


def nodes_of_stripe(fabric: Fabric) -> int:
    """Return how many nodes one stripe holds, by the ports that its leaves have downwards."""
    ports_of_plane = sum(1 for port in fabric.hosts[0].ports if port.plane == 0)
    ports_at_leaf = max(1, ports_of_plane // _leaves_of_stripe(fabric))
    return fabric.lowest.ports_down // ports_at_leaf


def _leaves_of_stripe(fabric: Fabric) -> int:
    """Return the number of leaves of one stripe in one plane."""
    if fabric.switches[0].rail is None:
        return fabric.leaves_per_nic
    return fabric.rails * fabric.leaves_per_nic


def _cables(fabric: Fabric) -> set[tuple[str, str, str, str, int]]:
    """Return the cables of a fabric: the node and port at both ends, and the address of the link."""
    return {_cable(fabric, link) for link in fabric.links}


def _cable(fabric: Fabric, link: Link) -> tuple[str, str, str, str, int]:
    lower = fabric.ports_of[link.lower][link.lower_port]
    upper = fabric.ports_of[link.upper][link.upper_port]
    return link.lower, lower.name, link.upper, upper.name, link.network


VIRTUAL_MODEL = "sonic-vs"
MOST_NODES = 40
"""Containers that two cores and some gigabytes of memory carry."""

_SPEED_GBPS = 100
_SPEED = f"{_SPEED_GBPS}G"
_NIC = "connectx-6"
_PCIE = "gen4x16"
_STRIPE_NODES = 2
_SPINES = 2
_RESERVE_SPINES = 3
_KEYS_OF_SPINES = ("links_per_pair", "oversubscription", "spine", "reserve")
_SIZED_POOLS = ("loopbacks", "links", "hosts", "nics")
_AS_WRITTEN = "traffic classes, MTU, timers, pools"
_ROLES = ("leaf", "spine", "super_spine")


@dataclass(frozen=True, slots=True)
class ScaledIntent:
    """The small intent as keys of an intent file, and the mapping to the original.

    A row of the mapping has a property, its value in the intent, and its value in the lab.
    """

    keys: dict[str, Any]
    mapping: tuple[tuple[str, str, str], ...]


def needs_scaling(fabric: Fabric, reserve: Fabric) -> bool:
    """Tell whether the fabric is too large for a lab, or has other switches than the virtual one."""
    return not _is_virtual(fabric) or _node_count(reserve) > MOST_NODES


def fitting_reserve(fabric: Fabric, reserve: Fabric) -> str:
    """Return the ``reserve`` key with which the intent would need no scaling.

    Empty if it needs none as it is, or if it always does.
    """
    always_needs_scaling = not _is_virtual(fabric) or _node_count(fabric) > MOST_NODES
    if always_needs_scaling or not needs_scaling(fabric, reserve):
        return ""
    # One tier has no reserve to state.
    if len(fabric.tiers) == 1:
        return ""
    return f"reserve: {{leaves: {fabric.lowest.count}, spines: {fabric.top.count}}}"


def _is_virtual(fabric: Fabric) -> bool:
    """Tell whether all switches are the virtual one."""
    return {switch.panel.model for switch in fabric.switches} == {VIRTUAL_MODEL}


def _node_count(fabric: Fabric) -> int:
    """Return how many containers a lab of the whole fabric has."""
    return len(fabric.switches) + len(fabric.hosts)


class _Counts(NamedTuple):
    """Switches and stripes of a small fabric; spines are those of one network."""

    stripes: int
    leaves_of_stripe: int
    # Without links between rails each rail is a network with spines of its own.
    networks: int
    spines: int
    reserve_stripes: int
    reserve_spines: int


def _counts(intent: Intent, fabric: Fabric) -> _Counts:
    """Return the counts of a small fabric, with one stripe and spine in reserve if a lab has room for them."""
    leaves_per_nic = intent.topology.leaves_per_nic
    if intent.topology.shape.has_rails:
        leaves_of_stripe = fabric.rails * leaves_per_nic
        stripes = fabric.sizing.stripes
    else:
        leaves_of_stripe = leaves_per_nic
        stripes = fabric.lowest.count // leaves_per_nic
    # Two stripes are enough for traffic to pass the spines.
    stripes = min(2, max(1, stripes))
    networks = fabric.rails if fabric.rail_only else 1
    spines = min(_SPINES, fabric.top.count // networks)
    reserve_spines = max(spines, min(_RESERVE_SPINES, fabric.top.reserve // networks))
    counts = _Counts(
        stripes=stripes,
        leaves_of_stripe=leaves_of_stripe,
        networks=networks,
        spines=spines,
        reserve_stripes=stripes + 1,
        reserve_spines=reserve_spines,
    )
    if _containers(counts, intent.topology.planes) > MOST_NODES:
        return counts._replace(reserve_stripes=stripes, reserve_spines=spines)
    return counts


def attempts(intent: Intent, fabric: Fabric, catalog: Catalog) -> Iterator[ScaledIntent]:
    """Yield the small intents of the same shape to try, best first.

    The first one has room to grow, the second one has none, and the third one has the default pools: pools that are
    just large enough for the intent may be too small for a lab with room to grow, or with other ports.
    """
    small = scaled(intent, fabric, catalog)
    yield small
    yield scaled(intent, fabric, catalog, grows=False)
    addressing = small.keys["addressing"]
    # Nodes without IPv4 have none in the lab either.
    kept_keys = [key for key, value in addressing.items() if key not in _SIZED_POOLS or value == NO_POOL]
    default_pools = {key: addressing[key] for key in kept_keys}
    mapping = []
    for subject, in_intent, in_lab in small.mapping:
        if subject == _AS_WRITTEN:
            mapping.append((subject, in_intent, "default pools"))
        else:
            mapping.append((subject, in_intent, in_lab))
    yield ScaledIntent({**small.keys, "addressing": default_pools}, tuple(mapping))


def scaled(intent: Intent, fabric: Fabric, catalog: Catalog, *, grows: bool = True) -> ScaledIntent:
    """Return the small intent of the same shape. Unless it ``grows``, its reserve has no further leaves or spines."""
    topology = intent.topology
    leaves_per_nic = topology.leaves_per_nic
    counts = _counts(intent, fabric)
    if not grows:
        counts = counts._replace(reserve_stripes=counts.stripes, reserve_spines=counts.spines)
    nics = _nics(fabric.rails, topology.planes * leaves_per_nic, catalog)
    entries = _entries(intent.nodes[: counts.stripes], counts.stripes, fabric.rails, nics)
    reserve = {
        "leaves": counts.reserve_stripes * counts.leaves_of_stripe,
        "spines": counts.reserve_spines * counts.networks,
    }
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
            "oversubscription": _ratio(counts.spines, fabric.rails, in_rails=topology.shape.has_rails),
            "leaf": _leaves(counts.stripes * counts.leaves_of_stripe, fabric),
            "spine": _tier(counts.spines * counts.networks),
            "reserve": reserve,
        },
        **_policies(intent.policies),
    }
    if leaves_per_nic > 1:
        keys["topology"] |= {"leaves_per_nic": leaves_per_nic}
        keys["addressing"] |= {"nics": str(intent.policies.addressing.nics)}
    if fabric.rail_only:
        keys["topology"] |= {"tiers": len(fabric.tiers)}
    # One tier has no spines.
    if len(fabric.tiers) == 1:
        for key in _KEYS_OF_SPINES:
            del keys["topology"][key]
    return ScaledIntent(keys, _mapping(intent, fabric, keys))


def _containers(counts: _Counts, planes: int) -> int:
    """Return the number of containers of a lab with the whole reserve."""
    leaves = counts.reserve_stripes * counts.leaves_of_stripe
    spines = counts.reserve_spines * counts.networks
    return (leaves + spines) * planes + counts.reserve_stripes * _STRIPE_NODES


def _ratio(spines: int, rails: int, *, in_rails: bool) -> str:
    """Return the oversubscription of a leaf with one uplink to each spine."""
    downlinks = _STRIPE_NODES
    # Without rails a leaf has all NICs of its nodes.
    if not in_rails:
        downlinks *= rails
    return f"{max(downlinks / spines, 1):g}:1"


def _nics(count: int, ports: int, catalog: Catalog) -> dict[str, Any]:
    """Return the NICs of a node: of the usual model, or of another one if that does not have so many ports."""
    nics = {"count": count, "speed": _SPEED, "ports": ports}
    if catalog.nic(_NIC).find(ports, _SPEED_GBPS) is not None:
        return nics | {"model": _NIC, "pcie": _PCIE}
    for model in catalog.nic_ids():
        if catalog.nic(model).find(ports, _SPEED_GBPS):
            return nics | {"model": model}
    return nics | {"model": _NIC}


def _entries(nodes: tuple[Nodes, ...], stripes: int, rails: int, nics: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the entries of the intent, one stripe each; the last takes the remaining stripes."""
    entries: list[dict[str, Any]] = []
    for stripe, entry in enumerate(nodes):
        keys = {"name": entry.name, "count": _STRIPE_NODES, "gpus": max(rails, 1), "nics": dict(nics)}
        if stripe > 0:
            keys["first_stripe"] = stripe
        entries.append(keys)
    stripes_of_last = stripes - len(nodes) + 1
    entries[-1]["count"] = _STRIPE_NODES * stripes_of_last
    return entries


def _leaves(count: int, fabric: Fabric) -> dict[str, Any]:
    """Return the keys of the leaf tier."""
    leaves = _tier(count) | {"downlink_speed": _SPEED, "uplink_speed": _SPEED}
    has_rails = fabric.switches[0].rail is not None
    if count == 1 and not has_rails and len(fabric.tiers) > 1:
        # A stated count of one leaf is one switch without spines; the nodes of a stripe need one anyway.
        del leaves["count"]
    return leaves


def _tier(count: int) -> dict[str, Any]:
    return {"model": VIRTUAL_MODEL, "count": count}


def _policies(policies: Policies) -> dict[str, Any]:
    """Return the keys for addressing, BGP, traffic classes, MTU and overrides of roles, which stay as they are."""
    bgp: dict[str, Any] = {"keepalive": policies.bgp.keepalive_s, "hold": policies.bgp.hold_s}
    if policies.bgp.bfd:
        bgp["bfd"] = True
    keys: dict[str, Any] = {
        "addressing": _addressing(policies.addressing),
        "bgp": bgp,
        "traffic_classes": [_traffic_class(traffic) for traffic in policies.classes],
        "mtu": {"fabric": policies.mtu.fabric_bytes, "hosts": policies.mtu.hosts_bytes},
    }
    # Overrides of single switches name switches that the small fabric does not have.
    overrides = {scope: rows for scope, rows in policies.overrides.rows.items() if scope in _ROLES}
    if overrides:
        keys["overrides"] = _plain(overrides)
    return keys


def _addressing(addressing: Addressing) -> dict[str, Any]:
    """Return the value of the ``addressing`` key."""
    keys: dict[str, Any] = {
        "underlay": "unnumbered" if addressing.unnumbered else "numbered",
        "loopbacks": str(addressing.loopbacks),
        "links": str(addressing.links),
        "hosts": str(addressing.hosts) if addressing.hosts else NO_POOL,
    }
    if addressing.hosts_ipv6 is not None:
        keys["hosts_ipv6"] = str(addressing.hosts_ipv6)
    keys["asn"] = {
        "leaf": addressing.leaf_asn,
        "spine": addressing.spine_asn,
        "super_spine": addressing.super_spine_asn,
    }
    return keys


def _traffic_class(traffic: TrafficClass) -> dict[str, Any]:
    """Return an entry of the ``traffic_classes`` key."""
    keys: dict[str, Any] = {
        "name": traffic.name,
        "role": traffic.role.value,
        "dscp": "default" if traffic.is_default else list(traffic.dscp),
        "lossless": traffic.lossless,
        "priority": traffic.priority,
    }
    if traffic.strict:
        keys["strict"] = True
    else:
        keys["share"] = traffic.share_percent
    return keys


def _plain(value: Any) -> Any:
    """Return mappings and tuples as dicts and lists, which a YAML file can hold."""
    if hasattr(value, "items"):
        return {key: _plain(member) for key, member in value.items()}
    if isinstance(value, tuple):
        return list(value)
    return value


def _mapping(intent: Intent, fabric: Fabric, keys: dict[str, Any]) -> tuple[tuple[str, str, str], ...]:
    """Return the rows of ``ScaledIntent.mapping`` for the small intent with these keys."""
    topology = keys["topology"]
    planes = intent.topology.planes
    models = " and ".join(sorted({switch.panel.model for switch in fabric.switches}))
    nodes = sum(entry["count"] for entry in keys["nodes"])
    rows = [
        ("rails", str(fabric.rails), str(topology["rails"])),
        ("planes", str(planes), str(planes)),
    ]
    if fabric.nic_blocks:
        rows.append(("leaves of a NIC", str(fabric.leaves_per_nic), str(fabric.leaves_per_nic)))
    rows += [
        (_AS_WRITTEN, "as written", "the same"),
        ("switch models", models, VIRTUAL_MODEL),
        ("GPU nodes", str(len(fabric.hosts)), str(nodes)),
        ("nodes of a stripe", str(nodes_of_stripe(fabric)), str(_STRIPE_NODES)),
        ("leaves", str(fabric.lowest.count * planes), str(topology["leaf"].get("count", 1) * planes)),
    ]
    if len(fabric.tiers) > 1:
        rows += [
            ("spines", str(fabric.top.count * planes), str(topology["spine"]["count"] * planes)),
            ("links of a leaf-spine pair", str(fabric.lowest.links_per_pair), "1"),
            ("oversubscription", f"{fabric.sizing.oversubscription.leaf:g}:1", topology["oversubscription"]),
        ]
    return (*rows, ("port speed", f"{fabric.links[0].speed_gbps}G", _SPEED))
