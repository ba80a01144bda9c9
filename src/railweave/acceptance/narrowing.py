"""Narrower plans: the tests of what a growth or a repair changed, with peers outside it."""

from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

from railweave.acceptance.endpoints import Pair
from railweave.acceptance.model import NicPort
from railweave.cabling.cable_names import cable_names
from railweave.catalog.load import Catalog
from railweave.errors import UsageError
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.fabric.ranges import expanded
from railweave.wording import compact, suggestion


class TestScope(NamedTuple):
    """What a narrower plan is about: tests have a node, a NIC port or a switch of it at an end, and load ``links``."""

    nodes: frozenset[str]
    # Of new, moved or named cables.
    ports: frozenset[NicPort]
    # Switches of the lowest tier: those named, and those below a switch that is named.
    switches: frozenset[str]
    # The links that have to be loaded, as (lower, port, upper, port).
    links: frozenset[tuple[str, int, str, int]]

    def holds(self, pair: Pair) -> bool:
        """Tell whether a pair has an end in the scope."""
        return any(
            port.nic_port.node in self.nodes or port.nic_port in self.ports or port.switch in self.switches
            for port in pair
        )

    def holds_node(self, node: str) -> bool:
        """Tell whether a node or one of its NIC ports is in the scope."""
        return node in self.nodes or any(port.node == node for port in self.ports)

    def demands(self, link: Link) -> bool:
        """Tell whether the plan has to load a link."""
        return link_ends(link) in self.links


def link_ends(link: Link) -> tuple[str, int, str, int]:
    """Return the two ports of a link."""
    return link.lower, link.lower_port, link.upper, link.upper_port


def named_scope(fabric: Fabric, catalog: Catalog, names: str) -> TestScope:
    """Return the scope that ``names`` selects: a comma-separated list of switches, nodes and cables.

    Switches and nodes are given by name, range or pattern, cables by name. Raises UsageError if an item matches none of
    them, and if the list is empty.
    """
    devices = (*fabric.switch_of, *fabric.host_of)
    cables: dict[str, list[Link]] = {}
    for link, name in zip(fabric.links, cable_names(fabric, catalog), strict=True):
        cables.setdefault(name, []).append(link)
    chosen_devices: set[str] = set()
    chosen_links: list[Link] = []
    for item in filter(None, map(str.strip, names.split(","))):
        matching_devices = _devices_named(item, devices)
        chosen_devices.update(matching_devices)
        chosen_links += cables.get(item, ())
        if not matching_devices and item not in cables:
            guess = suggestion(item, devices)
            raise UsageError(f"{fabric.name} has no switch, node or cable {item}: {guess}it has {compact(devices)}")
    if not chosen_devices and not chosen_links:
        raise UsageError("--only names nothing: write switches, nodes, ranges or cables, separated with commas")
    return _scope(fabric, chosen_devices, chosen_links)


def _devices_named(item: str, devices: Collection[str]) -> list[str]:
    """Return the ``devices`` that a name, a pattern or a range stands for.

    A range counts only if all of its members exist.
    """
    in_range = expanded(item, devices)
    if len(in_range) > 1 and set(in_range) <= set(devices):
        return list(in_range)
    return [name for name in devices if fnmatchcase(name, item)]


def changed_scope(before: Fabric, after: Fabric) -> TestScope:
    """Return the scope of nodes, switches and cables that are in ``after`` but not in ``before``.

    A cable that was moved, or whose speed changed, is in it.
    """
    devices_before = before.switch_of.keys() | before.host_of.keys()
    devices = (after.switch_of.keys() | after.host_of.keys()) - devices_before
    speed_before = {link_ends(link): link.speed_gbps for link in before.links}
    new_links = [link for link in after.links if speed_before.get(link_ends(link)) != link.speed_gbps]
    return _scope(after, devices, new_links)


def _scope(fabric: Fabric, devices: Iterable[str], links: Iterable[Link]) -> TestScope:
    """Return the scope of ``devices`` (nodes and switches) with all of their links, and of single ``links``."""
    names = frozenset(devices)
    single_links = set(links)
    device_links = {link for link in fabric.links if link.lower in names or link.upper in names}
    demanded = single_links | device_links
    ports = set()
    for link in single_links:
        if link.is_access:
            port = fabric.host_of[link.lower].ports[link.lower_port]
            ports.add(NicPort(link.lower, port.nic, port.port))
    # The ports of a leaf load its uplinks; a link further up is loaded by the ports of every leaf below.
    loading_switches = {name for name in names if name in fabric.switch_of}
    loading_switches |= {link.lower for link in demanded if not link.is_access}
    node_switches: set[str] = set()
    for name in loading_switches:
        node_switches |= _leaves_below(fabric, name)
    return TestScope(
        nodes=names & fabric.host_of.keys(),
        ports=frozenset(ports),
        switches=frozenset(node_switches),
        links=frozenset(map(link_ends, demanded)),
    )


def _leaves_below(fabric: Fabric, name: str) -> set[str]:
    """Return the switches below a switch that attach nodes, or the switch itself if it attaches nodes."""
    if fabric.switch_of[name].tier.attaches_nodes:
        return {name}
    node_switches: set[str] = set()
    for lower in fabric.below(name):
        node_switches |= _leaves_below(fabric, lower)
    return node_switches
