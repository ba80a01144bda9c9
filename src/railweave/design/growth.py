"""An intent of more nodes: the same fabric as it grows, with everything that follows from their number."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

from railweave.design.nodes import with_fewer_rails
from railweave.fabric.devices import NodeRole
from railweave.fabric.model import Fabric
from railweave.intent.model import Intent, Nodes, Shape, SplitRule

_BEHIND = "-behind"
"""The end of the name of the entry for nodes behind the stripes of others."""


def with_first_stripes(intent: Intent, fabric: Fabric) -> Intent:
    """Return the intent with what ``first_stripe: auto`` stands for in its fabric stated, and the reserve with it; with
    entries that share leaves their stripes as well, and the rails where they follow from the number of leaves, and the
    size of pods, which can follow from the number of spines."""
    intent = _with_rails_and_pods(intent, fabric)
    shares = any(entry.share_leaves for entry in intent.nodes)
    are_stated = all(entry.first_stripe is not None for entry in intent.nodes[1:])
    if are_stated and not shares:
        return intent
    topology = intent.topology
    if shares and not intent.stripe_caps_split:
        # Stripes that are stated would cap the split of a leaf, which has the uplinks of all its ports.
        topology = topology.with_values(split=SplitRule.PANEL)
    reserve = topology.reserve
    if reserve.leaves is not None:
        topology = topology.with_values(reserve=reserve.with_values(leaves=fabric.lowest.reserve))
    stated = _stripes_of(fabric, shares=shares)
    nodes = tuple(entry.with_values(**stated[entry.name]) for entry in intent.nodes)
    return replace(intent, nodes=nodes, topology=topology)


def _with_rails_and_pods(intent: Intent, fabric: Fabric) -> Intent:
    """Return the intent with the rails and the size of pods stated where these follow from the number of switches."""
    topology = intent.topology
    if with_fewer_rails(intent) is not None:
        topology = topology.with_values(rails=fabric.rails)
    if topology.pod is None and fabric.pod_stripes:
        topology = topology.with_values(pod=fabric.pod_stripes)
    return replace(intent, topology=topology)


def _stripes_of(fabric: Fabric, *, shares: bool) -> dict[str, dict[str, int]]:
    """Return the first stripe of each entry, and its nodes in a stripe where entries share leaves, as values of their
    keys."""
    # From the last node to the first, so that the first one's stripe is kept.
    stripes = {host.kind: host.stripe for host in reversed(fabric.hosts)}
    stated: dict[str, dict[str, int]] = {kind: {"first_stripe": stripe} for kind, stripe in stripes.items()}
    if shares:
        for kind, nodes in fabric.stripe_nodes.items():
            stated[kind]["stripe"] = nodes
    return stated


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


def _owners(intent: Intent) -> list[Nodes]:
    """Return the entries with leaves of their own, in the order of their stripes."""
    return sorted((entry for entry in intent.nodes if not entry.share_leaves), key=_first_stripe)


def _first_stripe(entry: Nodes) -> int:
    """Return the first stripe of an entry; of ``with_first_stripes`` all but the first state it."""
    return entry.first_stripe or 0


def gpus_of(intent: Intent) -> int:
    """Return the GPUs of all nodes."""
    return sum(entry.count * entry.gpus for entry in intent.nodes)


def most_growing(intent: Intent, fabric: Fabric) -> int:
    """Return how many nodes of the entry that grows fit into ``fabric`` without moving a cable.

    Where another entry begins behind it, its stripes end there; else it takes all room that the fabric has left.
    """
    owners = _owners(intent)
    entry = growing(intent)
    if entry is not owners[-1]:
        return _most_before(intent, fabric, entry, owners[owners.index(entry) + 1])
    nodes = sum(other.count for other in intent.nodes if other.share_leaves)
    # Full stripes, also where today's nodes do not fill them: they are no room for another entry.
    nodes += sum(_most_before(intent, fabric, other, following) for other, following in pairwise(owners))
    return fabric.sizing.limits.nodes - nodes


def _most_before(intent: Intent, fabric: Fabric, entry: Nodes, following: Nodes) -> int:
    """Return the nodes of an entry that its stripes up to the ``following`` one's hold, as far as spines keep ports."""
    stripes = _first_stripe(following) - _first_stripe(entry)
    if entry.leaf and entry.leaf.reserve:
        leaves_of_stripe = fabric.leaves_per_nic
        if intent.topology.shape.has_rails:
            leaves_of_stripe *= fabric.rails
        stripes = min(stripes, -(-entry.leaf.reserve // leaves_of_stripe))
    return stripes * fabric.stripe_nodes[entry.name]


def grown(intent: Intent, nodes: int, today: Fabric) -> Intent:
    """Return the intent with so many nodes of the entry that grows; its leaves follow from them, its spines stay.

    Nodes that do not fit before the stripes of another entry are behind the last, as an entry of their own. What it
    states of the workload's GPUs and growth is left out.
    """
    entry = growing(intent)
    topology = intent.topology
    leaf = topology.leaf.with_values(count=None)
    tiers = topology.tiers
    if tiers == 2 and today.pod_stripes:
        # Pods that are reserved are for a third tier later.
        tiers = None
    behind = 0
    owners = _owners(intent)
    if entry is not owners[-1]:
        behind = max(0, nodes - _most_before(intent, today, entry, owners[owners.index(entry) + 1]))
    entries = list(intent.nodes)
    entries[entries.index(entry)] = entry.with_values(count=nodes - behind)
    if behind:
        end = 1 + max(host.stripe or 0 for host in today.hosts)
        entries.append(entry.with_values(name=f"{entry.name}{_BEHIND}", count=behind, first_stripe=end))
    return replace(
        intent,
        workload=intent.workload.with_values(gpus=None, growth=None),
        nodes=tuple(entries),
        topology=topology.with_values(leaf=leaf, tiers=tiers),
    )


def without_switches_of_pods(intent: Intent, before: Fabric) -> Intent | None:
    """Return the intent without the number of spines, where it states that of all pods of ``before`` together, to be
    designed as far as its pods; None where nothing depends on their number."""
    topology = intent.topology
    if not before.pod_stripes or topology.spine.count is None:
        return None
    return replace(intent, topology=topology.with_values(spine=topology.spine.with_values(count=None)))


def with_switches_of_pods(intent: Intent, before: Fabric, after: Fabric) -> Intent:
    """Return the intent with the spines for the pods of ``after``, each with as many as those of ``before`` have."""
    topology = intent.topology
    of_a_pod = (topology.spine.count or 0) // _pods(before)
    spine = topology.spine.with_values(count=of_a_pod * _pods(after))
    return replace(intent, topology=topology.with_values(spine=spine))


def _pods(fabric: Fabric) -> int:
    """Return the number of pods; two tiers are one, whose number is not stated."""
    return len({switch.pod for switch in fabric.switches if switch.pod is not None}) or 1
