"""Growth that changes what an intent leaves automatic: the lines that keep the cables and addresses in place.

The stripes of nodes that share leaves follow from the numbers of all of them, and rails below the NICs of a node from
``leaf.count``. Where a later value would move nodes that run, stating the value in place keeps them.
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

_Cable = tuple[str, str, str, str, int]
"""Both devices with their ports by SONiC's names, and the address of the link."""


class KeptFabric(NamedTuple):
    """The fabric of an intent that states what runs: ``changes`` are the automatic values that would differ from it,
    ``lines`` what to write. ``whole`` tells whether all cables of what runs stay; else those of nodes do."""

    fabric: Fabric
    changes: tuple[str, ...]
    lines: tuple[str, ...]
    whole: bool = True


class _Moved(NamedTuple):
    """How many cables that run are others: those to nodes, and all."""

    of_nodes: int
    in_all: int


def keep_what_runs(intent: Intent, before: Fabric, after: Fabric, catalog: Catalog) -> KeptFabric | None:
    """Return how the intent of ``after`` keeps the cables of ``before``, which runs, by stating automatic values.

    None where none of these differs, where no cable moves, or where stating them keeps none.
    """
    rails = _rails_that_run(intent, before, after)
    stripes = _stripes_that_run(intent, before, after)
    newcomers = _new_sharers(intent, before)
    if rails is None and not stripes and not newcomers:
        return None
    running = cables_and_addresses(before)
    fewest = _moved(before, running, after)
    # Leaves of another split for new nodes on them are a change that phases make.
    if not fewest.of_nodes and (not fewest.in_all or (rails is None and not stripes)):
        return None
    best: KeptFabric | None = None
    for kept in _candidates(intent, after, rails, stripes, newcomers, catalog):
        moved = _moved(before, running, kept.fabric)
        if moved < fewest:
            best = kept
            fewest = moved
    if best is None:
        return None
    return best._replace(whole=not fewest.in_all)


def _moved(before: Fabric, running: Set[_Cable], fabric: Fabric) -> _Moved:
    lost = running - cables_and_addresses(fabric)
    return _Moved(sum(cable[0] in before.host_of for cable in lost), len(lost))


def kept_diagnostics(kept: KeptFabric | None) -> Iterator[Diagnostic]:
    """Yield the refusal of automatic values that growth changes, with the lines that keep what runs."""
    if kept is None:
        return
    what = "nodes at the ports where they run"
    if kept.whole:
        what = "what runs"
    yield error(
        "RW506",
        f"{listed(kept.changes)}: cables and addresses that run would change",
        fix=f"{listed(kept.lines)}, which keeps {what}",
    )


def cables_and_addresses(fabric: Fabric) -> Set[_Cable]:
    """Return all cables with their ends and addresses."""
    ports = fabric.ports_of
    return {
        (link.lower, ports[link.lower][link.lower_port].name, link.upper, ports[link.upper][link.upper_port].name,
         link.network)
        for link in fabric.links
    }  # fmt: skip


def _candidates(
    intent: Intent,
    after: Fabric,
    rails: int | None,
    stripes: Mapping[str, int],
    newcomers: Collection[Nodes],
    catalog: Catalog,
) -> Iterator[KeptFabric]:
    """Yield the fabrics of the intent with values stated, the one that states least first."""
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
    if newcomers:
        names = listed([repr(entry.name) for entry in newcomers])
        changes.append(f"{names} would share the leaves that run")
        lines += map(_own_leaves_line, newcomers)
        yield from _designed(_with_own_leaves(stated, newcomers), changes, lines, catalog)


def _designed(intent: Intent, changes: list[str], lines: list[str], catalog: Catalog) -> Iterator[KeptFabric]:
    """Yield the fabric of an intent, and that with the split of all ports of a leaf: stripes that are stated cap it."""
    whole = replace(intent, topology=intent.topology.with_values(split=SplitRule.PANEL))
    for variant, more in ((intent, ()), (whole, ("state split: panel under topology",))):
        fabric = design(variant, catalog).fabric
        if fabric is not None:
            yield KeptFabric(fabric, tuple(changes), (*lines, *more))
            continue
        fabric = design(_with_needed_leaves(variant), catalog).fabric
        if fabric is not None:
            count = f"state leaf.count: {fabric.lowest.count} under topology"
            yield KeptFabric(fabric, tuple(changes), (*lines, *more, count))


def _with_needed_leaves(intent: Intent) -> Intent:
    leaf = intent.topology.leaf.with_values(count=None)
    return replace(intent, topology=intent.topology.with_values(leaf=leaf))


def _rails_that_run(intent: Intent, before: Fabric, after: Fabric) -> int | None:
    """Return the rails of ``before`` where those of ``after`` are automatic and others."""
    if not has_automatic_rails(intent) or before.rails == after.rails:
        return None
    return before.rails


def _stripes_that_run(intent: Intent, before: Fabric, after: Fabric) -> dict[str, int]:
    """Return the stripes of ``before`` of entries that share leaves, where one of the automatic ones is another now."""
    automatic = [name for name in _sharing(intent) if name in before.stripe_nodes]
    stripes = {name: before.stripe_nodes[name] for name in automatic}
    if any(after.stripe_nodes[name] != stripe for name, stripe in stripes.items()):
        return stripes
    return {}


def _sharing(intent: Intent) -> Iterator[str]:
    """Yield the entries with an automatic stripe on leaves that several share, the first among them."""
    first, *others = intent.nodes
    sharers = [entry for entry in others if entry.share_leaves]
    if sharers and first.stripe is None and intent.topology.stripe is None:
        yield first.name
    for entry in sharers:
        if entry.stripe is None:
            yield entry.name


def _new_sharers(intent: Intent, before: Fabric) -> tuple[Nodes, ...]:
    sharers = (entry for entry in intent.nodes if entry.share_leaves)
    return tuple(entry for entry in sharers if entry.name not in before.stripe_nodes)


def _own_leaves_line(entry: Nodes) -> str:
    speed = format_speed(entry.nics.speed_gbps)
    return f"write leaf: {{downlink_speed: {speed}}} in place of share_leaves for {entry.name!r}"


def _with_stripes(intent: Intent, stripes: Mapping[str, int]) -> Intent:
    nodes = []
    for entry in intent.nodes:
        if entry.name in stripes:
            nodes.append(entry.with_values(stripe=stripes[entry.name]))
        else:
            nodes.append(entry)
    return replace(intent, nodes=tuple(nodes))


def _with_own_leaves(intent: Intent, newcomers: Collection[Nodes]) -> Intent:
    nodes = []
    for entry in intent.nodes:
        if entry in newcomers:
            leaf = NodeLeaf().with_values(downlink_gbps=entry.nics.speed_gbps)
            nodes.append(entry.with_values(share_leaves=False, leaf=leaf))
        else:
            nodes.append(entry)
    return replace(intent, nodes=tuple(nodes))
