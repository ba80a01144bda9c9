"""Where traffic is led away before a change, and which links a change parts.

A change that disturbs only some links of a switch drains the BGP sessions on these; one that disturbs all links of a
spine drains the spine. Draining needs another way. A leaf with GPU nodes is never drained as a whole: announcing it
away would only take the rail of its nodes out of service earlier. And nothing is drained whose leaves have no other
way up at that moment of the rollout: the traffic would stay, and the rollout would wait for it in vain.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from railweave.fabric.model import Fabric, Link, Switch
from railweave.plan.expectation import session_peer
from railweave.sonic.delta.change import Change, Disruption
from railweave.sonic.delta.methods import needs_both_ends
from railweave.sonic.delta.subject import SubjectKind
from railweave.wording import natural_key

WHOLE = ("*",)
"""``DevicePlan.drain`` of a device that is drained altogether."""


class _Uplink(NamedTuple):
    """A link between two switches as one of its ends sees it; ``peer`` as in ``ExpectedSession``."""

    link: Link
    port: str
    peer: str


class _Touched(NamedTuple):
    """What changes are about: all, or ``links`` between switches, ports of GPU nodes (``nodes``), and
    ``unknown_peers``: peers that the intent has no session with."""

    links: tuple[_Uplink, ...] = ()
    nodes: bool = False
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
    """Return what is drained of each device before its change, as its moment among the ``waves`` allows.

    ``unprovisioned`` are the devices that are provisioned for the first time, ``two_sided`` the links that are down
    from the wave of their first end until that of their second. ``out_of_service`` and ``links_down`` carry nothing
    whatever the rollout does.
    """
    of_device: dict[str, set[Link]] = {}
    for link in two_sided:
        of_device.setdefault(link.upper, set()).add(link)
        of_device.setdefault(link.lower, set()).add(link)
    drains: dict[str, tuple[str, ...]] = {}
    down: set[Link] = set()
    idle = {*unprovisioned, *out_of_service}
    for wave in waves:
        for name in wave:
            switch = fabric.switch_of[name]
            peers = () if name in unprovisioned else drain_of(fabric, switch, changes.get(name, ()))
            if peers and _has_other_ways(fabric, switch, peers, {*idle, *wave}, {*down, *links_down}):
                drains[name] = peers
        for name in wave:
            # The first end of a two-sided link takes it down, the second brings it back.
            down ^= of_device.get(name, set())
    return drains


def _has_other_ways(
    fabric: Fabric, switch: Switch, peers: Collection[str], out: Collection[str], down: Collection[Link]
) -> bool:
    """Tell whether every leaf that uses the drained links keeps another way up.

    A switch between two tiers that keeps none announces nothing from above, so that those below it need one.
    """
    links = fabric.fabric_links_of(switch.name)
    drained = {*links} if peers == WHOLE else {one.link for one in _uplinks(fabric, switch) if one.peer in peers}
    elsewhere, shut = set(out) - {switch.name}, drained | set(down)
    lowers = {link.lower for link in drained - set(down)} - elsewhere
    cut_off: set[str] = set()
    if peers == WHOLE:
        # A switch that is drained as a whole needs no way up of its own.
        lowers -= {switch.name}
    while lowers:
        stuck = {
            lower
            for lower in lowers
            if all(
                other in shut or other.upper in elsewhere or other.upper in cut_off
                for other in fabric.uplinks_of[lower]
            )
        }
        if any(fabric.switch_of[lower].tier.attaches_nodes for lower in stuck):
            return False
        cut_off |= stuck
        lowers = {below for lower in stuck for below in fabric.below(lower)} - elsewhere
    return True


def drain_of(fabric: Fabric, switch: Switch, changes: Iterable[Change]) -> tuple[str, ...]:
    """Return the peers to drain for ``changes`` where all traffic has another way; ``("*",)`` is the whole switch."""
    disturbing = _disturbing(changes)
    if not disturbing:
        return ()
    touched = _touched(fabric, switch, disturbing)
    if touched.everything or (touched.links and len(touched.links) == len(fabric.fabric_links_of(switch.name))):
        return () if switch.tier.attaches_nodes else WHOLE
    return (*(uplink.peer for uplink in touched.links), *touched.unknown_peers)


def is_disruptive(fabric: Fabric, switch: Switch, changes: Iterable[Change]) -> bool:
    """Tell whether ``changes`` disturb what the intent keeps of a switch that carries traffic.

    A session or port that ends because its far end leaves the intent is no disturbance.
    """
    disturbing = _disturbing(changes)
    if not disturbing:
        return False
    touched = _touched(fabric, switch, disturbing)
    return touched.everything or touched.nodes or bool(touched.links)


def _disturbing(changes: Iterable[Change]) -> list[Change]:
    return [change for change in changes if change.disruption is not Disruption.NONE]


def two_sided_links(
    fabric: Fabric, changes: Mapping[str, Iterable[Change]], unprovisioned: Collection[str] = ()
) -> set[Link]:
    """Return the links of which both ends change what they must agree on; ``unprovisioned`` devices carry nothing."""
    found: dict[str, set[Link]] = {}
    for name, own in changes.items():
        needing = [change for change in own if needs_both_ends((change,))]
        if needing and name not in unprovisioned:
            switch = fabric.switch_of[name]
            touched = _touched(fabric, switch, needing)
            every = fabric.fabric_links_of(name) if touched.everything else ()
            found[name] = {*every, *(one.link for one in touched.links)}
    return {link for name, links in found.items() for link in links if link.upper == name} & {
        link for name, links in found.items() for link in links if link.lower == name
    }


def links_of_peers(fabric: Fabric, name: str, peers: Collection[str]) -> tuple[Link, ...]:
    """Return the links between switches over which a switch has its BGP sessions with ``peers``."""
    return tuple(one.link for one in _uplinks(fabric, fabric.switch_of[name]) if one.peer in peers)


def _uplinks(fabric: Fabric, switch: Switch) -> tuple[_Uplink, ...]:
    name = switch.name
    return tuple(
        _Uplink(link, port, session_peer(fabric, link, link.far(name), port))
        for link in fabric.fabric_links_of(name)
        for port in (_port_of(switch, link),)
    )


def _port_of(switch: Switch, link: Link) -> str:
    return switch.panel.ports[link.port_of(switch.name)].name


def _touched(fabric: Fabric, switch: Switch, changes: Iterable[Change]) -> _Touched:
    """Return what ``changes`` are about; what names neither port nor peer is about everything."""
    ports = {port.name for port in switch.panel.ports}
    named: set[str] = set()
    for change in changes:
        told = _told(change, ports)
        if not told:
            return _Touched(everything=True)
        named.add(told)
    uplinks = _uplinks(fabric, switch)
    met = tuple(uplink for uplink in uplinks if uplink.port in named or uplink.peer in named)
    known = ports | {uplink.peer for uplink in uplinks}
    return _Touched(
        met,
        any(link.is_access and _port_of(switch, link) in named for link in fabric.links_of.get(switch.name, ())),
        tuple(sorted(named - known, key=natural_key)),
    )


def _told(change: Change, ports: Collection[str]) -> str:
    """Return the port or peer that a change is about; empty where it is about more than one."""
    if change.disruption is Disruption.RELOAD:
        return ""
    subject = change.subject
    if subject.kind is SubjectKind.SESSION:
        return subject.name
    return subject.port if subject.port in ports else ""
