"""Another speed on the links between leaves and spines, one spine after the other; then those to super-spines.

Both ends of a link state its speed, and the link is down while they differ. Changing all spines and then all leaves
would take every path of a leaf away in between. So each step changes the downlinks of one switch with their far ends: a
leaf loses the links of that spine alone, 1/M of its uplinks, until the step is over.

Where lanes or the SKU change too there are no such steps: the switches reload, which the policy of a rollout judges.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace

from railweave.fabric.devices import Switch
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.fabric.panel import Panel, SwitchPort


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
    spines = [switch.name for switch in base.switches if switch.name in speeds]
    return tuple(
        SpeedStep(spine, speeds[spine], _mixed(base, head, faster, frozenset(spines[: place + 1])))
        for place, spine in enumerate(spines)
    )


_Key = tuple[str, int]
"""The upper end of a link: spine and port."""


def _followed(base: Fabric, head: Fabric) -> dict[_Key, Link]:
    """Return head's form of the links that change their speed and nothing else, by their upper end."""
    links_after = {_ends(link): link for link in head.fabric_links}
    followed = {}
    for link in base.links:
        after = links_after.get(_ends(link))
        if after is not None and after.speed_gbps != link.speed_gbps:
            followed[link.upper, link.upper_port] = after
    return followed


def _ends(link: Link) -> tuple[str, int, str, int]:
    return (link.lower, link.lower_port, link.upper, link.upper_port)


def _same_ports(base: Fabric, head: Fabric, faster: dict[_Key, Link]) -> bool:
    """Tell whether the switches of these links keep their hardware and port layout."""
    names = {name for link in faster.values() for name in (link.lower, link.upper)}
    # Thousands of switches share a few panels, so each panel is compared once.
    panels = {id(base.switch_of[name].panel): name for name in names}
    return all(_alike(base.switch_of[name].panel, head.switch_of[name].panel) for name in panels.values())


def _alike(before: Panel, after: Panel) -> bool:
    """Tell whether two panels differ in nothing but what a running port can take: speed and FEC."""
    same_hardware = (before.model, before.hwsku, before.breakout) == (after.model, after.hwsku, after.breakout)
    return same_hardware and [_fixed(port) for port in before.ports] == [_fixed(port) for port in after.ports]


def _fixed(port: SwitchPort) -> tuple[str, str, str, int]:
    return (port.name, port.alias, port.lanes, port.subport)


def _mixed(base: Fabric, head: Fabric, faster: dict[_Key, Link], spines: Collection[str]) -> Fabric:
    """Return ``base`` with the links of these spines and super-spines, at both ends, as in ``head``."""
    links = []
    for link in base.links:
        changed = faster.get((link.upper, link.upper_port))
        links.append(changed if changed is not None and link.upper in spines else link)
    ports = _changed_ports(head, faster, spines)
    panels = _Panels()
    switches = []
    for switch in base.switches:
        if switch.name in ports:
            panel = panels.mixed(switch, head.switch_of[switch.name], frozenset(ports[switch.name]))
            switches.append(switch._replace(panel=panel))
        else:
            switches.append(switch)
    return replace(base, switches=tuple(switches), links=tuple(links))


def _changed_ports(head: Fabric, faster: dict[_Key, Link], spines: Collection[str]) -> dict[str, set[int]]:
    """Return the ports that are as in ``head`` once these spines and super-spines have changed, by switch."""
    ports = {name: {*range(len(head.switch_of[name].panel.ports))} for name in spines}
    for link in faster.values():
        if link.upper in spines:
            ports.setdefault(link.lower, set()).add(link.lower_port)
        elif link.lower in spines:
            # The uplink of a spine waits for its super-spine.
            ports[link.lower].discard(link.lower_port)
    return ports


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
            mixed = list(before.panel.ports)
            for index in ports:
                mixed[index] = after.panel.ports[index]
            self._made[key] = before.panel._replace(ports=tuple(mixed))
        return self._made[key]
