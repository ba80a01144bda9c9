"""Another speed on the links between leaves and spines, one spine after the other; then those to super-spines.

Both ends of a link state its speed, and the link is down while they differ. Changing all spines and then all leaves
would take every path of a leaf away in between. So each step changes the downlinks of one switch with their far ends: a
leaf loses the links of that spine alone, 1/M of its uplinks, until the step is over.

Where lanes or the SKU change too there are no such steps: the switches reload, which the policy of a rollout judges.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace

from railweave.fabric.model import Fabric, Link, Panel, Switch, SwitchPort


@dataclass(frozen=True, slots=True)
class SpeedStep:
    """One step: the downlinks of ``switch`` get ``speed_gbps``; ``fabric`` is the whole fabric after it."""

    switch: str
    speed_gbps: int
    fabric: Fabric


def speed_steps(base: Fabric, head: Fabric) -> tuple[SpeedStep, ...]:
    """Return ``base`` with the speeds of ``head`` on the links of one spine, of two, and so on up to all of them.

    Only links that have the same ends in both fabrics are followed. Empty where none of them changes its speed, and
    where ports come and go with the speed, so that no step could be told from another.
    """
    faster = _followed(base, head)
    if not faster or not _same_ports(base, head, faster):
        return ()
    speeds = {spine: link.speed_gbps for (spine, _), link in faster.items()}
    spines = [one.name for one in base.switches if one.name in speeds]
    return tuple(
        SpeedStep(spine, speeds[spine], _mixed(base, head, faster, frozenset(spines[: place + 1])))
        for place, spine in enumerate(spines)
    )


_Key = tuple[str, int]
"""The upper end of a link: spine and port."""


def _followed(base: Fabric, head: Fabric) -> dict[_Key, Link]:
    """Return head's form of the links that change their speed and nothing else, by their upper end."""
    now = {_ends(link): link for link in head.fabric_links}
    return {
        (link.upper, link.upper_port): now[_ends(link)]
        for link in base.links
        if _ends(link) in now and now[_ends(link)].speed_gbps != link.speed_gbps
    }


def _ends(link: Link) -> tuple[str, int, str, int]:
    return (link.lower, link.lower_port, link.upper, link.upper_port)


def _same_ports(base: Fabric, head: Fabric, faster: dict[_Key, Link]) -> bool:
    names = {name for link in faster.values() for name in (link.lower, link.upper)}
    pairs = {id(base.switch_of[one].panel): (base.switch_of[one].panel, head.switch_of[one].panel) for one in names}
    return all(_alike(before, after) for before, after in pairs.values())


def _alike(before: Panel, after: Panel) -> bool:
    """Tell whether two panels differ in nothing but what a running port can take: speed and FEC."""
    same_hardware = (before.model, before.hwsku, before.breakout) == (after.model, after.hwsku, after.breakout)
    return same_hardware and [_fixed(port) for port in before.ports] == [_fixed(port) for port in after.ports]


def _fixed(port: SwitchPort) -> tuple[str, str, str, int]:
    return (port.name, port.alias, port.lanes, port.subport)


def _mixed(base: Fabric, head: Fabric, faster: dict[_Key, Link], spines: Collection[str]) -> Fabric:
    """Return ``base`` with the links of these spines and super-spines, at both ends, as in ``head``."""
    links = tuple(
        faster.get((link.upper, link.upper_port), link) if link.upper in spines else link for link in base.links
    )
    done: dict[str, set[int]] = {name: {*range(len(head.switch_of[name].panel.ports))} for name in spines}
    for link in faster.values():
        if link.upper in spines:
            done.setdefault(link.lower, set()).add(link.lower_port)
        elif link.lower in spines:
            done[link.lower].discard(link.lower_port)
    panels = _Panels()
    switches = tuple(
        one._replace(panel=panels.mixed(one, head.switch_of[one.name], frozenset(done[one.name])))
        if one.name in done
        else one
        for one in base.switches
    )
    return replace(base, switches=switches, links=links)


class _Panels:
    """Panels with some ports of the newer fabric: one for all leaves that mix alike."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, int, frozenset[int]], Panel] = {}

    def mixed(self, before: Switch, after: Switch, ports: frozenset[int]) -> Panel:
        """Return ``before``'s panel with these ports as ``after`` has them."""
        if len(ports) == len(before.panel.ports):
            return after.panel
        key = (id(before.panel), id(after.panel), ports)
        if key not in self._made:
            self._made[key] = before.panel._replace(
                ports=tuple(
                    after.panel.ports[port.index] if port.index in ports else port for port in before.panel.ports
                ),
            )
        return self._made[key]
