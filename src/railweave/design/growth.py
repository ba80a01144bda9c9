"""An intent of more nodes: the same fabric as it grows, with everything that follows from their number."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

from railweave.design.nodes import with_fewer_rails
from railweave.fabric.devices import NodeRole
from railweave.fabric.model import Fabric
from railweave.intent.model import Intent, Nodes, Shape


def with_first_stripes(intent: Intent, fabric: Fabric) -> Intent:
    """Return the intent with what ``first_stripe: auto`` stands for in its fabric stated, and the reserve with it; with
    entries that share leaves their stripes as well, and the rails where they follow from the number of leaves, and the
    size of pods, which can follow from the number of spines."""
    if with_fewer_rails(intent) is not None:
        intent = replace(intent, topology=intent.topology.with_values(rails=fabric.rails))
    if intent.topology.pod is None and fabric.pod_stripes:
        intent = replace(intent, topology=intent.topology.with_values(pod=fabric.pod_stripes))
    shares = any(entry.share_leaves for entry in intent.nodes)
    if all(entry.first_stripe is not None for entry in intent.nodes[1:]) and not shares:
        return intent
    # From the last node to the first, so that the first one's stripe is kept.
    stripes = {host.kind: host.stripe for host in reversed(fabric.hosts)}
    stated: dict[str, dict[str, int]] = {kind: {"first_stripe": stripe} for kind, stripe in stripes.items()}
    if shares:
        for kind, nodes in fabric.stripe_nodes.items():
            stated[kind]["stripe"] = nodes
    topology, reserve = intent.topology, intent.topology.reserve
    if reserve.leaves is not None:
        reserve = reserve.with_values(leaves=fabric.lowest.reserve)
    return replace(
        intent,
        nodes=tuple(entry.with_values(**stated[entry.name]) for entry in intent.nodes),
        topology=topology.with_values(reserve=reserve),
    )


def has_automatic_ports(intent: Intent) -> bool:
    """Tell whether the leaf ports of a node may follow from the number of nodes or leaves."""
    return any(entry.share_leaves for entry in intent.nodes) or has_automatic_rails(intent)


def has_automatic_rails(intent: Intent) -> bool:
    """Tell whether rails are those of the NICs of a node, or fewer where there are fewer leaves."""
    topology = intent.topology
    return topology.rails is None and topology.shape is Shape.RAIL_OPTIMIZED and topology.leaves_per_nic == 1


def of_nodes(intent: Intent, counts: Mapping[str, int], leaves: int) -> Intent | None:
    """Return the intent with so many nodes of each entry, None without any, and with the count of ``leaves`` of a plane
    where rails may follow from it."""
    nodes = tuple(entry.with_values(count=counts[entry.name]) for entry in intent.nodes if counts[entry.name])
    if not nodes:
        return None
    topology = intent.topology
    if has_automatic_rails(intent) and leaves < nodes[0].nics.count:
        topology = topology.with_values(leaf=topology.leaf.with_values(count=leaves))
    return replace(intent, nodes=nodes, topology=topology)


def growing(intent: Intent) -> Nodes:
    """Return the entry of nodes that grows: the last with GPUs and leaves of its own, behind which there is room."""
    owners = [entry for entry in intent.nodes if not entry.share_leaves]
    with_gpus = [entry for entry in owners if entry.role is NodeRole.GPU and entry.gpus]
    return max(with_gpus or owners, key=_first_stripe)


def _first_stripe(entry: Nodes) -> int:
    """Return the first stripe of an entry; of ``with_first_stripes`` all but the first state it."""
    return entry.first_stripe or 0


def gpus_of(intent: Intent) -> int:
    """Return the GPUs of all nodes."""
    return sum(entry.count * entry.gpus for entry in intent.nodes)


def most_growing(intent: Intent, fabric: Fabric) -> int:
    """Return how many nodes of the entry that grows fit into ``fabric`` without moving a cable.

    Where another entry begins behind it, its stripes end there, as they do where spines keep no more ports apart for
    its leaves; else it takes all room that the fabric has left.
    """
    entry = growing(intent)
    first = _first_stripe(entry)
    others = (other for other in intent.nodes if not other.share_leaves)
    ends = [_first_stripe(other) - first for other in others if _first_stripe(other) > first]
    if entry.leaf and entry.leaf.reserve:
        ends.append(_reserved_stripes(intent, fabric, entry.leaf.reserve))
    if not ends:
        return fabric.sizing.limits.nodes - _most_before(intent, fabric)
    stripes = min(ends)
    full = Counter(host.stripe for host in fabric.hosts if host.kind == entry.name)
    return stripes * (entry.stripe or intent.topology.stripe or max(full.values()))


def _most_before(intent: Intent, fabric: Fabric) -> int:
    """Return the nodes that the limit of a fabric counts of all entries but the last: full stripes up to the next
    entry's, also where today's nodes do not fill them; entries on the leaves of others as they are."""
    owners = sorted((entry for entry in intent.nodes if not entry.share_leaves), key=_first_stripe)
    nodes = sum(entry.count for entry in intent.nodes if entry.share_leaves)
    for entry, following in pairwise(owners):
        stripes = _first_stripe(following) - _first_stripe(entry)
        if entry.leaf and entry.leaf.reserve:
            stripes = min(stripes, _reserved_stripes(intent, fabric, entry.leaf.reserve))
        nodes += stripes * fabric.stripe_nodes[entry.name]
    return nodes


def _reserved_stripes(intent: Intent, fabric: Fabric, leaves: int) -> int:
    """Return the stripes that spines keep ports for, for so many leaves of an entry."""
    leaves_of_stripe = fabric.leaves_per_nic
    if intent.topology.shape.has_rails:
        leaves_of_stripe *= fabric.rails
    return -(-leaves // leaves_of_stripe)


def grown(intent: Intent, nodes: int) -> Intent:
    """Return the intent with so many nodes of the entry that grows; its leaves follow from them, its spines stay.

    What it states of the workload's GPUs and growth is left out.
    """
    entry = growing(intent)
    topology = intent.topology
    leaf = topology.leaf.with_values(count=None)
    return replace(
        intent,
        workload=intent.workload.with_values(gpus=None, growth=None),
        nodes=tuple(one.with_values(count=nodes) if one is entry else one for one in intent.nodes),
        topology=topology.with_values(leaf=leaf),
    )


def without_switches_of_pods(intent: Intent, before: Fabric) -> Intent | None:
    """Return the intent without the number of spines, where it states that of all pods of ``before`` together, to be
    designed as far as its pods; None where nothing depends on their number."""
    topology = intent.topology
    if not before.sizing.super_spines or topology.spine.count is None:
        return None
    return replace(intent, topology=topology.with_values(spine=topology.spine.with_values(count=None)))


def with_switches_of_pods(intent: Intent, before: Fabric, after: Fabric) -> Intent:
    """Return the intent with the spines for the pods of ``after``, each with as many as those of ``before`` have."""
    topology, stated = intent.topology, intent.topology.spine.count or 0
    pods, more = (len({one.pod for one in fabric.switches if one.pod is not None}) for fabric in (before, after))
    spine = topology.spine.with_values(count=stated // pods * more)
    return replace(intent, topology=topology.with_values(spine=spine))
