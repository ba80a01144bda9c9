"""Which BGP sessions are drained before a change, and which links need a change at both ends.

A change that disturbs only some links of a switch drains the BGP sessions on these; one that disturbs all links of a
spine drains the spine. A drain needs another path. A leaf with GPU nodes is never drained as a whole: that would only
take the rail of its nodes out of service earlier. Nothing is drained while its leaves have no other way up: the traffic
would stay, and the rollout would wait for it in vain.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from railweave.fabric.devices import Switch
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.plan.expectation import session_peer
from railweave.sonic.delta.change import Change, Disruption
from railweave.sonic.delta.methods import needs_both_ends
from railweave.sonic.delta.subject import SubjectKind
from railweave.wording import natural_key

WHOLE = ("*",)
"""``DevicePlan.drain`` of a device that is drained altogether."""


class _FabricLinkEnd(NamedTuple):
    """One end of a link between two switches: its port, and its BGP peer as in ``ExpectedSession``."""

    link: Link
    port: str
    peer: str


class _Touched(NamedTuple):
    """The part of a switch that changes affect: everything, or some links, node ports and peers."""

    # Links between switches.
    links: tuple[_FabricLinkEnd, ...] = ()
    # Whether a port of a GPU node is affected.
    nodes: bool = False
    # Peers with which the intent has no session: a session that an operator added, or one that ends.
    unknown_peers: tuple[str, ...] = ()
    everything: bool = False


def drains_of_waves(
    fabric: Fabric,
    changes: Mapping[str, Iterable[Change]],
    waves: Iterable[Sequence[str]],
    unprovisioned: Collection[str] = (),
    two_sided: Iterable[Link] = (),
    out_of_service: Collection[str] = (),
    links_down: Collection[Link] = (),
) -> dict[str, tuple[str, ...]]:
    """Return the BGP peers to drain on each device before its change; devices that are not drained are left out.

    ``unprovisioned`` are the devices that are provisioned for the first time. ``two_sided`` are links that are down
    from the wave of their first end until that of their second. The switches ``out_of_service`` and the links
    ``links_down`` carry no traffic during the whole rollout.
    """
    two_sided_of: dict[str, set[Link]] = {}
    for link in two_sided:
        two_sided_of.setdefault(link.upper, set()).add(link)
        two_sided_of.setdefault(link.lower, set()).add(link)
    drains: dict[str, tuple[str, ...]] = {}
    two_sided_down: set[Link] = set()
    without_traffic = {*unprovisioned, *out_of_service}
    for wave in waves:
        out = {*without_traffic, *wave}
        down = {*two_sided_down, *links_down}
        for name in wave:
            # A switch before its first configuration carries no traffic to move away.
            if name in unprovisioned:
                continue
            switch = fabric.switch_of[name]
            peers = drain_of(fabric, switch, changes.get(name, ()))
            if peers and _has_other_paths(fabric, switch, peers, out, down):
                drains[name] = peers
        for name in wave:
            # The first end of a two-sided link takes it down, the second brings it back.
            two_sided_down ^= two_sided_of.get(name, set())
    return drains


def _has_other_paths(
    fabric: Fabric, switch: Switch, peers: Collection[str], out: Collection[str], down: Collection[Link]
) -> bool:
    """Tell whether every leaf that uses the links of ``peers`` keeps another uplink while these are drained.

    A spine that keeps no uplink announces no routes from above, so the switches below it need another uplink too.
    ``out`` and ``down`` are the switches and links that carry no traffic at that time.
    """
    down = set(down)
    others_out = set(out) - {switch.name}
    drained = _drained_links(fabric, switch, peers)
    affected = {link.lower for link in drained - down} - others_out
    if peers == WHOLE:
        # A switch that is drained as a whole needs no uplink of its own.
        affected -= {switch.name}
    cut_off: set[str] = set()
    # Go down tier by tier, from the switches that lose their uplinks to those below them.
    while affected:
        unusable = others_out | cut_off
        newly_cut_off = {lower for lower in affected if not _has_uplink(fabric, lower, unusable, drained | down)}
        if any(fabric.switch_of[name].tier.attaches_nodes for name in newly_cut_off):
            return False
        cut_off |= newly_cut_off
        affected = set().union(*map(fabric.below, newly_cut_off)) - others_out
    return True


def _drained_links(fabric: Fabric, switch: Switch, peers: Collection[str]) -> set[Link]:
    if peers == WHOLE:
        return set(fabric.fabric_links_of(switch.name))
    return set(links_of_peers(fabric, switch.name, peers))


def _has_uplink(fabric: Fabric, name: str, unusable: Collection[str], down: Collection[Link]) -> bool:
    """Tell whether a switch has an uplink outside ``down`` to a switch that is not ``unusable``."""
    return any(link not in down and link.upper not in unusable for link in fabric.uplinks_of[name])


def drain_of(fabric: Fabric, switch: Switch, changes: Iterable[Change]) -> tuple[str, ...]:
    """Return the BGP peers to drain before ``changes``, provided that all traffic has another path.

    Returns ``("*",)`` for the whole switch, and nothing if no change disturbs traffic.
    """
    disturbing = _disturbing_changes(changes)
    if not disturbing:
        return ()
    touched = _touched(fabric, switch, disturbing)
    touches_all_links = bool(touched.links) and len(touched.links) == len(fabric.fabric_links_of(switch.name))
    if not touched.everything and not touches_all_links:
        return (*(link_end.peer for link_end in touched.links), *touched.unknown_peers)
    if switch.tier.attaches_nodes:
        # Draining a leaf as a whole would only take the rail of its nodes out of service earlier.
        return ()
    return WHOLE


def is_disruptive(fabric: Fabric, switch: Switch, changes: Iterable[Change]) -> bool:
    """Tell whether ``changes`` disturb what the intent keeps of a switch that carries traffic.

    A session or port that ends because its far end leaves the intent is not a disturbance.
    """
    disturbing = _disturbing_changes(changes)
    if not disturbing:
        return False
    touched = _touched(fabric, switch, disturbing)
    return touched.everything or touched.nodes or bool(touched.links)


def _disturbing_changes(changes: Iterable[Change]) -> list[Change]:
    return [change for change in changes if change.disruption is not Disruption.NONE]


def two_sided_links(
    fabric: Fabric, changes: Mapping[str, Iterable[Change]], unprovisioned: Collection[str] = ()
) -> set[Link]:
    """Return the links whose two ends both change a value that they must share, such as the speed.

    Links of ``unprovisioned`` devices are left out, since they carry no traffic.
    """
    at_upper_end: set[Link] = set()
    at_lower_end: set[Link] = set()
    for name, changes_of_device in changes.items():
        if name in unprovisioned:
            continue
        two_sided_changes = [change for change in changes_of_device if needs_both_ends((change,))]
        if not two_sided_changes:
            continue
        for link in _links_of_changes(fabric, name, two_sided_changes):
            if link.upper == name:
                at_upper_end.add(link)
            else:
                at_lower_end.add(link)
    return at_upper_end & at_lower_end


def _links_of_changes(fabric: Fabric, name: str, changes: Iterable[Change]) -> Iterable[Link]:
    """Return the links between switches that ``changes`` of the switch ``name`` affect."""
    touched = _touched(fabric, fabric.switch_of[name], changes)
    if touched.everything:
        return fabric.fabric_links_of(name)
    return [link_end.link for link_end in touched.links]


def links_of_peers(fabric: Fabric, name: str, peers: Collection[str]) -> tuple[Link, ...]:
    """Return the links between switches over which a switch has its BGP sessions with ``peers``."""
    links = _fabric_link_ends(fabric, fabric.switch_of[name])
    return tuple(link_end.link for link_end in links if link_end.peer in peers)


def _fabric_link_ends(fabric: Fabric, switch: Switch) -> tuple[_FabricLinkEnd, ...]:
    """Return the switch's own ends of its links to other switches."""
    link_ends = []
    for link in fabric.fabric_links_of(switch.name):
        port = _port_of(switch, link)
        peer = session_peer(fabric, link, link.far(switch.name), port)
        link_ends.append(_FabricLinkEnd(link, port, peer))
    return tuple(link_ends)


def _port_of(switch: Switch, link: Link) -> str:
    return switch.panel.ports[link.port_of(switch.name)].name


def _touched(fabric: Fabric, switch: Switch, changes: Iterable[Change]) -> _Touched:
    """Return what ``changes`` affect. A change that is about neither a port nor a peer affects everything."""
    ports = {port.name for port in switch.panel.ports}
    ports_and_peers: set[str] = set()
    for change in changes:
        name = _port_or_peer(change, ports)
        if not name:
            return _Touched(everything=True)
        ports_and_peers.add(name)
    links = _fabric_link_ends(fabric, switch)
    known_peers = {link.peer for link in links}
    return _Touched(
        links=tuple(link for link in links if link.port in ports_and_peers or link.peer in ports_and_peers),
        nodes=not ports_and_peers.isdisjoint(_node_ports(fabric, switch)),
        unknown_peers=tuple(sorted(ports_and_peers - ports - known_peers, key=natural_key)),
    )


def _node_ports(fabric: Fabric, switch: Switch) -> Iterable[str]:
    return [_port_of(switch, link) for link in fabric.links_of.get(switch.name, ()) if link.is_access]


def _port_or_peer(change: Change, ports: Collection[str]) -> str:
    """Return the port or the BGP peer that a change is about; empty if it may affect more than that.

    ``ports`` are the names of the switch's ports.
    """
    # `config reload` ends all sessions, whatever row needs it.
    if change.disruption is Disruption.RELOAD:
        return ""
    subject = change.subject
    if subject.kind is SubjectKind.SESSION:
        return subject.name
    if subject.port in ports:
        return subject.port
    return ""
