"""Growth that changes automatic values of an intent: the lines that keep the running cables and addresses.

The stripes of nodes that share leaves follow from the numbers of all of them. Rails, if they are fewer than the NICs of
a node, follow from ``leaf.count``. If a new automatic value would move running nodes, stating the old value keeps them
in place.
"""

from collections.abc import Collection, Iterator, Mapping, Set
from dataclasses import replace
from typing import NamedTuple

from railweave.catalog.load import Catalog
from railweave.design.build import design
from railweave.design.growth import has_automatic_rails
from railweave.diagnostics import Diagnostic, error
from railweave.fabric.model import Fabric
from railweave.intent.model import Intent, NodeLeaf, Nodes, SplitRule
from railweave.units import format_speed
from railweave.wording import listed


class _AddressedCable(NamedTuple):
    """A cable by its ends, with ports by SONiC's names, and the network of its link."""

    lower: str
    lower_port: str
    upper: str
    upper_port: str
    network: int


class KeptFabric(NamedTuple):
    """The fabric of an intent that states the running values of automatic keys."""

    fabric: Fabric
    # The automatic values that would change, each as a clause.
    changes: tuple[str, ...]
    # What to write into the intent.
    lines: tuple[str, ...]
    # Whether all running cables stay; if not, only cables between switches move.
    whole: bool = True


class _MovedCables(NamedTuple):
    """How many running cables would move. Cables to nodes count first in comparisons."""

    to_nodes: int
    total: int


def keep_what_runs(intent: Intent, before: Fabric, after: Fabric, catalog: Catalog) -> KeptFabric | None:
    """Return how the intent of ``after`` can keep the cables of the running fabric ``before`` by stating values.

    None if no automatic value differs, if no cable moves, or if stating values keeps no further cable.
    """
    rails = _rails_to_keep(intent, before, after)
    stripes = _stripes_to_keep(intent, before, after)
    new_sharers = _new_sharers(intent, before)
    if rails is None and not stripes and not new_sharers:
        return None
    running = cables_and_addresses(before)
    fewest = _moved_cables(before, running, after)
    if not fewest.total:
        return None
    # New nodes that share leaves may change the split of these. Phases move the uplinks, the cables to nodes stay.
    only_new_sharers = rails is None and not stripes
    if only_new_sharers and not fewest.to_nodes:
        return None
    best: KeptFabric | None = None
    for candidate in _candidates(intent, after, rails, stripes, new_sharers, catalog):
        moved = _moved_cables(before, running, candidate.fabric)
        if moved < fewest:
            best = candidate
            fewest = moved
    if best is None:
        return None
    return best._replace(whole=not fewest.total)


def _moved_cables(before: Fabric, running: Set[_AddressedCable], fabric: Fabric) -> _MovedCables:
    """Return how many of the ``running`` cables of ``before`` another fabric does not have."""
    missing = running - cables_and_addresses(fabric)
    to_nodes = sum(cable.lower in before.host_of for cable in missing)
    return _MovedCables(to_nodes, len(missing))


def kept_diagnostics(kept: KeptFabric | None) -> Iterator[Diagnostic]:
    """Yield the error of automatic values that growth changes, with the lines that keep the running fabric."""
    if kept is None:
        return
    what_stays = "nodes at the ports where they run"
    if kept.whole:
        what_stays = "what runs"
    yield error(
        "RW506",
        f"{listed(kept.changes)}: cables and addresses that run would change",
        fix=f"{listed(kept.lines)}, which keeps {what_stays}",
    )


def cables_and_addresses(fabric: Fabric) -> Set[_AddressedCable]:
    """Return all cables with their ends and addresses."""
    ports = fabric.ports_of
    cables = set()
    for link in fabric.links:
        lower_port = ports[link.lower][link.lower_port].name
        upper_port = ports[link.upper][link.upper_port].name
        cables.add(_AddressedCable(link.lower, lower_port, link.upper, upper_port, link.network))
    return cables


def _candidates(
    intent: Intent,
    after: Fabric,
    rails: int | None,
    stripes: Mapping[str, int],
    new_sharers: Collection[Nodes],
    catalog: Catalog,
) -> Iterator[KeptFabric]:
    """Yield the fabrics of the intent with running values stated, those with the fewest changes to the intent first.

    ``rails`` is the number of rails to keep, None if it has not changed. ``stripes`` are the nodes of a stripe to keep,
    by the name of their entry. ``new_sharers`` are entries that could have leaves of their own.
    """
    stated = intent
    changes: list[str] = []
    lines: list[str] = []
    if rails is not None:
        stated = replace(stated, topology=stated.topology.with_values(rails=rails))
        changes.append(f"rails: auto was {rails} and is {after.rails}")
        lines.append(f"state rails: {rails} under topology")
    for name, stripe in stripes.items():
        if after.stripe_nodes[name] != stripe:
            changes.append(f"the automatic stripe of {name!r} was {stripe} and is {after.stripe_nodes[name]}")
        lines.append(f"state stripe: {stripe} for {name!r}")
    if stripes:
        stated = _with_stripes(stated, stripes)
    if lines:
        yield from _designed(stated, changes, lines, catalog)
    if new_sharers:
        names = listed([repr(entry.name) for entry in new_sharers])
        changes.append(f"{names} would share the leaves that run")
        lines += map(_own_leaves_line, new_sharers)
        yield from _designed(_with_own_leaves(stated, new_sharers), changes, lines, catalog)


def _designed(intent: Intent, changes: list[str], lines: list[str], catalog: Catalog) -> Iterator[KeptFabric]:
    """Yield the fabric of an intent, and that of the same intent with ``split: panel``.

    A stated stripe limits how many ports the default split gives to nodes, which ``split: panel`` does not. An intent
    that cannot be designed with its number of leaves gets the number that the nodes need, and a line that states it.
    An intent that cannot be designed then either is left out.
    """
    panel_split = replace(intent, topology=intent.topology.with_values(split=SplitRule.PANEL))
    panel_lines = [*lines, "state split: panel under topology"]
    for variant, variant_lines in ((intent, lines), (panel_split, panel_lines)):
        fabric = design(variant, catalog).fabric
        if fabric is not None:
            yield KeptFabric(fabric, tuple(changes), tuple(variant_lines))
            continue
        fabric = design(_with_automatic_leaves(variant), catalog).fabric
        if fabric is not None:
            count_line = f"state leaf.count: {fabric.lowest.count} under topology"
            yield KeptFabric(fabric, tuple(changes), (*variant_lines, count_line))


def _with_automatic_leaves(intent: Intent) -> Intent:
    leaf = intent.topology.leaf.with_values(count=None)
    return replace(intent, topology=intent.topology.with_values(leaf=leaf))


def _rails_to_keep(intent: Intent, before: Fabric, after: Fabric) -> int | None:
    """Return the rails of ``before`` if rails are automatic and ``after`` has another number, else None."""
    if not has_automatic_rails(intent) or before.rails == after.rails:
        return None
    return before.rails


def _stripes_to_keep(intent: Intent, before: Fabric, after: Fabric) -> dict[str, int]:
    """Return the nodes in a stripe of ``before`` by the name of their entry, for entries with an automatic stripe on
    shared leaves. Empty if ``after`` has the same."""
    names = [name for name in _automatic_sharers(intent) if name in before.stripe_nodes]
    stripes = {name: before.stripe_nodes[name] for name in names}
    if any(after.stripe_nodes[name] != stripe for name, stripe in stripes.items()):
        return stripes
    return {}


def _automatic_sharers(intent: Intent) -> Iterator[str]:
    """Yield the names of entries with an automatic stripe on leaves that several entries share.

    The first entry, whose leaves these are, is one of them.
    """
    first, *others = intent.nodes
    sharers = [entry for entry in others if entry.share_leaves]
    first_is_automatic = first.stripe is None and intent.topology.stripe is None
    if sharers and first_is_automatic:
        yield first.name
    for entry in sharers:
        if entry.stripe is None:
            yield entry.name


def _new_sharers(intent: Intent, before: Fabric) -> tuple[Nodes, ...]:
    """Return the entries that share leaves and that ``before`` does not have."""
    return tuple(entry for entry in intent.nodes if entry.share_leaves and entry.name not in before.stripe_nodes)


def _own_leaves_line(entry: Nodes) -> str:
    speed = format_speed(entry.nics.speed_gbps)
    return f"write leaf: {{downlink_speed: {speed}}} in place of share_leaves for {entry.name!r}"


def _with_stripes(intent: Intent, stripes: Mapping[str, int]) -> Intent:
    """Return the intent with ``stripes`` stated: the nodes in a stripe by the name of their entry."""
    nodes = []
    for entry in intent.nodes:
        if entry.name in stripes:
            nodes.append(entry.with_values(stripe=stripes[entry.name]))
        else:
            nodes.append(entry)
    return replace(intent, nodes=tuple(nodes))


def _with_own_leaves(intent: Intent, new_sharers: Collection[Nodes]) -> Intent:
    """Return the intent with leaves of their own for ``new_sharers``, in place of shared ones."""
    nodes = []
    for entry in intent.nodes:
        if entry in new_sharers:
            leaf = NodeLeaf().with_values(downlink_gbps=entry.nics.speed_gbps)
            nodes.append(entry.with_values(share_leaves=False, leaf=leaf))
        else:
            nodes.append(entry)
    return replace(intent, nodes=tuple(nodes))
