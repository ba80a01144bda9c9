"""Narrower plans: the tests of what a growth or a repair changed, with peers outside it."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

from railweave.acceptance.endpoints import Pair
from railweave.errors import UsageError
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.wording import compact, suggestion


class TestScope(NamedTuple):
    """What a narrower plan is about: tests have one of ``switches`` or ``nodes`` at an end, and load ``links``."""

    nodes: frozenset[str]
    # Switches of the lowest tier: those named, and those below a switch that is named.
    switches: frozenset[str]
    # The links that have to be loaded, as (lower, port, upper, port).
    links: frozenset[tuple[str, int, str, int]]

    def holds(self, pair: Pair) -> bool:
        """Tell whether a pair has an end in the scope."""
        return any(port.nic_port.node in self.nodes or port.switch in self.switches for port in pair)

    def demands(self, link: Link) -> bool:
        """Tell whether the plan has to load a link."""
        return link_ends(link) in self.links


def link_ends(link: Link) -> tuple[str, int, str, int]:
    """Return the two ports of a link."""
    return link.lower, link.lower_port, link.upper, link.upper_port


def named_scope(fabric: Fabric, names: str) -> TestScope:
    """Return the scope of nodes and switches by name or pattern, comma-separated.

    Raises UsageError for a word that names none.
    """
    devices = (*fabric.switch_of, *fabric.host_of)
    chosen: set[str] = set()
    for word in filter(None, map(str.strip, names.split(","))):
        matching = [name for name in devices if fnmatchcase(name, word)]
        if not matching:
            guess = suggestion(word, devices)
            raise UsageError(f"{fabric.name} has no switch or node {word}: {guess}it has {compact(devices)}")
        chosen.update(matching)
    if not chosen:
        raise UsageError("--only names nothing: write switches, nodes or patterns, separated with commas")
    return _scope(fabric, chosen, ())


def changed_scope(before: Fabric, after: Fabric) -> TestScope:
    """Return the scope of what ``after`` has and ``before`` has not: nodes, switches, new and moved cables."""
    devices = (after.switch_of.keys() | after.host_of.keys()) - before.switch_of.keys() - before.host_of.keys()
    old_links = {link_ends(link): link.speed_gbps for link in before.links}
    changed = [link for link in after.links if old_links.get(link_ends(link)) != link.speed_gbps]
    return _scope(after, devices, changed)


def _scope(fabric: Fabric, devices: Iterable[str], links: Iterable[Link]) -> TestScope:
    names = frozenset(devices)
    nodes = {name for name in names if name in fabric.host_of}
    switches: set[str] = set()
    demanded = set()
    for link in fabric.links:
        if not names.isdisjoint((link.lower, link.upper)):
            demanded.add(link)
    for link in links:
        demanded.add(link)
        if link.is_access:
            nodes.add(link.lower)
    for name in names:
        if name in fabric.switch_of:
            switches |= _lowest_below(fabric, name)
    for link in demanded:
        # A link of a leaf is loaded by that leaf's ports; one further up by those of every leaf below.
        if not link.is_access:
            switches |= _lowest_below(fabric, link.lower)
    return TestScope(frozenset(nodes), frozenset(switches), frozenset(map(link_ends, demanded)))


def _lowest_below(fabric: Fabric, name: str) -> set[str]:
    """Return the switches of the lowest tier below a switch, itself if it is one."""
    if fabric.switch_of[name].tier.attaches_nodes:
        return {name}
    lowest: set[str] = set()
    for lower in fabric.below(name):
        lowest |= _lowest_below(fabric, lower)
    return lowest
