"""An intent with more nodes: the same fabric after growth, with everything that follows from the number of nodes."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from math import ceil

from railweave.design.nodes import with_fewer_rails
from railweave.fabric.devices import NodeRole
from railweave.fabric.model import Fabric
from railweave.intent.model import Intent, Nodes, Shape, SplitRule

_BEHIND = "-behind"
"""The end of the name of the entry for nodes behind the stripes of others."""


def with_first_stripes(intent: Intent, fabric: Fabric) -> Intent:
    """Return the intent with those automatic values stated that its fabric has to keep as it grows.

    These are the first stripes of entries of nodes, the reserve of leaves, and the stripe of entries that share leaves.
    Rails are stated if they follow from the number of leaves, and so is the size of pods, which may follow from the
    number of spines.
    """
    intent = _with_rails_and_pods(intent, fabric)
    shares_leaves = any(entry.share_leaves for entry in intent.nodes)
    first_stripes_are_stated = all(entry.first_stripe is not None for entry in intent.nodes[1:])
    if first_stripes_are_stated and not shares_leaves:
        return intent
    topology = intent.topology
    if shares_leaves and not intent.stripe_caps_split:
        # With stated stripes the default split gives a leaf the uplinks for these only; now it has those of all ports.
        topology = topology.with_values(split=SplitRule.PANEL)
    reserve = topology.reserve
    if reserve.leaves is not None:
        topology = topology.with_values(reserve=reserve.with_values(leaves=fabric.lowest.reserve))
    stripe_values = _stripe_values(fabric, with_nodes=shares_leaves)
    nodes = tuple(entry.with_values(**stripe_values[entry.name]) for entry in intent.nodes)
    return replace(intent, nodes=nodes, topology=topology)


def _with_rails_and_pods(intent: Intent, fabric: Fabric) -> Intent:
    """Return the intent with the rails and the size of pods stated if these follow from the number of switches."""
    topology = intent.topology
    if with_fewer_rails(intent) is not None:
        topology = topology.with_values(rails=fabric.rails)
    if topology.pod is None and fabric.pod_stripes:
        topology = topology.with_values(pod=fabric.pod_stripes)
    return replace(intent, topology=topology)


def _stripe_values(fabric: Fabric, *, with_nodes: bool) -> dict[str, dict[str, int]]:
    """Return the keys and values to state for each entry of nodes, by its name.

    Each has ``first_stripe``. With ``with_nodes`` each also has ``stripe``, the nodes of a full stripe.
    """
    values: dict[str, dict[str, int]] = {}
    for host in fabric.hosts:
        if host.kind not in values:
            values[host.kind] = {"first_stripe": host.stripe}
    if with_nodes:
        for kind, nodes in fabric.stripe_nodes.items():
            values[kind]["stripe"] = nodes
    return values


def has_automatic_ports(intent: Intent) -> bool:
    """Tell whether the leaf ports of a node may follow from the number of nodes or leaves."""
    return any(entry.share_leaves for entry in intent.nodes) or has_automatic_rails(intent)


def has_automatic_rails(intent: Intent) -> bool:
    """Tell whether rails are automatic: the NICs of a node, or the leaves of a plane if these are fewer."""
    topology = intent.topology
    return topology.rails is None and topology.shape is Shape.RAIL_OPTIMIZED and topology.leaves_per_nic == 1


def of_nodes(intent: Intent, counts: Mapping[str, int], leaves: int) -> Intent | None:
    """Return the intent with ``counts`` nodes of each entry, None if there is no node at all.

    The number of ``leaves`` of a plane is stated if the number of rails may follow from it.
    """
    nodes = tuple(entry.with_values(count=counts[entry.name]) for entry in intent.nodes if counts[entry.name])
    if not nodes:
        return None
    topology = intent.topology
    if has_automatic_rails(intent) and leaves < nodes[0].nics.count:
        topology = topology.with_values(leaf=topology.leaf.with_values(count=leaves))
    return replace(intent, nodes=nodes, topology=topology)


def growing(intent: Intent) -> Nodes:
    """Return the entry of nodes that grows: the one in the last stripes, behind which there is room.

    Entries that share leaves do not grow, and those without GPUs only if no other entry has any.
    """
    owners = [entry for entry in intent.nodes if not entry.share_leaves]
    gpu_owners = [entry for entry in owners if entry.role is NodeRole.GPU and entry.gpus]
    return max(gpu_owners or owners, key=_first_stripe)


def _owners(intent: Intent) -> list[Nodes]:
    """Return the entries with leaves of their own, in the order of their stripes."""
    return sorted((entry for entry in intent.nodes if not entry.share_leaves), key=_first_stripe)


def _first_stripe(entry: Nodes) -> int:
    """Return the first stripe of an entry of an intent of ``with_first_stripes``, where all but the first state it."""
    return entry.first_stripe or 0


def gpus_of(intent: Intent) -> int:
    """Return the GPUs of all nodes."""
    return sum(entry.count * entry.gpus for entry in intent.nodes)


def most_growing(intent: Intent, fabric: Fabric) -> int:
    """Return how many nodes the growing entry can have in ``fabric`` without moving a cable.

    An entry can grow until its stripes reach those of the next entry, the last one until the fabric is full.
    """
    owners = _owners(intent)
    entry = growing(intent)
    if entry is not owners[-1]:
        return _most_nodes_before(intent, fabric, entry, owners[owners.index(entry) + 1])
    nodes_of_others = sum(sharer.count for sharer in intent.nodes if sharer.share_leaves)
    # The stripes of other entries count as full, because no other entry can use the places left in them.
    for owner, following in pairwise(owners):
        nodes_of_others += _most_nodes_before(intent, fabric, owner, following)
    return fabric.sizing.limits.nodes - nodes_of_others


def _most_nodes_before(intent: Intent, fabric: Fabric, entry: Nodes, following: Nodes) -> int:
    """Return how many nodes an entry can have in the stripes before those of the ``following`` entry.

    If it states a reserve of leaves, spines keep ports for these leaves only.
    """
    stripes = _first_stripe(following) - _first_stripe(entry)
    if entry.leaf and entry.leaf.reserve:
        leaves_of_stripe = fabric.leaves_per_nic
        if intent.topology.shape.has_rails:
            leaves_of_stripe *= fabric.rails
        stripes = min(stripes, ceil(entry.leaf.reserve / leaves_of_stripe))
    return stripes * fabric.stripe_nodes[entry.name]


def grown(intent: Intent, nodes: int, today: Fabric) -> Intent:
    """Return the intent with ``nodes`` nodes of the growing entry. The number of leaves follows from them, that of
    spines stays as stated.

    Nodes that do not fit before the stripes of another entry become an entry of their own behind all stripes of
    ``today``. The workload's GPUs and growth are no longer stated.
    """
    topology = intent.topology
    leaf = topology.leaf.with_values(count=None)
    tiers = topology.tiers
    if tiers == 2 and today.pod_stripes:
        # Growth may use the third tier that pods are reserved for.
        tiers = None
    return replace(
        intent,
        workload=intent.workload.with_values(gpus=None, growth=None),
        nodes=_grown_entries(intent, nodes, today),
        topology=topology.with_values(leaf=leaf, tiers=tiers),
    )


def _grown_entries(intent: Intent, nodes: int, today: Fabric) -> tuple[Nodes, ...]:
    """Return the entries with ``nodes`` nodes of the growing one.

    Those that do not fit into its stripes get an entry of their own at the end.
    """
    entry = growing(intent)
    owners = _owners(intent)
    nodes_behind = 0
    if entry is not owners[-1]:
        most_nodes = _most_nodes_before(intent, today, entry, owners[owners.index(entry) + 1])
        nodes_behind = max(0, nodes - most_nodes)
    entries = list(intent.nodes)
    entries[entries.index(entry)] = entry.with_values(count=nodes - nodes_behind)
    if nodes_behind:
        end_stripe = 1 + max(host.stripe or 0 for host in today.hosts)
        entries.append(entry.with_values(name=f"{entry.name}{_BEHIND}", count=nodes_behind, first_stripe=end_stripe))
    return tuple(entries)


def without_switches_of_pods(intent: Intent, before: Fabric) -> Intent | None:
    """Return the intent with an automatic number of spines, so that its pods can be designed.

    The stated number would be that of all pods of ``before`` together. None if it is not stated, or if ``before`` has
    no pods.
    """
    topology = intent.topology
    if not before.pod_stripes or topology.spine.count is None:
        return None
    return replace(intent, topology=topology.with_values(spine=topology.spine.with_values(count=None)))


def with_switches_of_pods(intent: Intent, before: Fabric, after: Fabric) -> Intent:
    """Return the intent with the spines for the pods of ``after``, as many in each as in those of ``before``."""
    topology = intent.topology
    spines_of_pod = (topology.spine.count or 0) // _pods(before)
    spine = topology.spine.with_values(count=spines_of_pod * _pods(after))
    return replace(intent, topology=topology.with_values(spine=spine))


def _pods(fabric: Fabric) -> int:
    """Return the number of pods; two tiers count as one."""
    return len({switch.pod for switch in fabric.switches if switch.pod is not None}) or 1
