"""Another speed on the links between leaves and spines, one spine after the other; then those to super-spines.

Both ends of a link state its speed, and the link is down while they differ. Changing all spines and then all leaves
would take every path of a leaf away in between. So each step changes the downlinks of one switch with their far ends: a
leaf loses the links of that spine alone, 1/M of its uplinks, until the step is over.

Where lanes or the SKU change too there are no such steps: the switches reload, which the policy of a rollout judges.
"""

from collections.abc import Collection, Iterable, Mapping
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
    """Return the steps that give the links of ``base`` the speeds of ``head``, one spine or super-spine after another.

    Only links with the same ends in both fabrics count. Empty if none of them changes its speed, or if ports come or go
    with the speed.
    """
    new_links = _links_with_new_speed(base, head)
    if not new_links or not _keep_ports(base, head, new_links.values()):
        return ()
    speeds = {link.upper: link.speed_gbps for link in new_links.values()}
    changed: set[str] = set()
    steps = []
    for switch in base.switches:
        if switch.name in speeds:
            changed.add(switch.name)
            fabric = _with_new_speeds(base, head, new_links, frozenset(changed))
            steps.append(SpeedStep(switch.name, speeds[switch.name], fabric))
    return tuple(steps)


_UpperEnd = tuple[str, int]
"""The upper end of a link: spine or super-spine, and port."""


def _links_with_new_speed(base: Fabric, head: Fabric) -> dict[_UpperEnd, Link]:
    """Return the links of ``head`` that differ in speed from the link of ``base`` between the same ends."""
    links_after = {_ends(link): link for link in head.fabric_links}
    new_links = {}
    for link in base.links:
        after = links_after.get(_ends(link))
        if after is not None and after.speed_gbps != link.speed_gbps:
            new_links[link.upper, link.upper_port] = after
    return new_links


def _ends(link: Link) -> tuple[str, int, str, int]:
    return (link.lower, link.lower_port, link.upper, link.upper_port)


def _keep_ports(base: Fabric, head: Fabric, links: Iterable[Link]) -> bool:
    """Tell whether the switches of these links keep their hardware and port layout."""
    names = {name for link in links for name in (link.lower, link.upper)}
    # Thousands of switches share a few panels, so each panel is compared once.
    name_of_panel = {id(base.switch_of[name].panel): name for name in names}
    return all(
        _has_same_layout(base.switch_of[name].panel, head.switch_of[name].panel) for name in name_of_panel.values()
    )


def _has_same_layout(before: Panel, after: Panel) -> bool:
    """Tell whether two panels differ only in what a running port can change: speed and FEC."""
    same_hardware = (before.model, before.hwsku, before.breakout) == (after.model, after.hwsku, after.breakout)
    return same_hardware and [_fixed(port) for port in before.ports] == [_fixed(port) for port in after.ports]


def _fixed(port: SwitchPort) -> tuple[str, str, str, int]:
    """Return what a running port cannot change."""
    return (port.name, port.alias, port.lanes, port.subport)


def _with_new_speeds(
    base: Fabric, head: Fabric, new_links: Mapping[_UpperEnd, Link], spines: Collection[str]
) -> Fabric:
    """Return ``base`` with the links below these spines and super-spines, at both ends, as in ``head``."""
    links = []
    for link in base.links:
        new_link = new_links.get((link.upper, link.upper_port))
        if new_link is not None and link.upper in spines:
            links.append(new_link)
        else:
            links.append(link)
    ports = _changed_ports(head, new_links.values(), spines)
    panels = _Panels()
    switches = []
    for switch in base.switches:
        if switch.name in ports:
            panel = panels.mixed(switch, head.switch_of[switch.name], frozenset(ports[switch.name]))
            switches.append(switch._replace(panel=panel))
        else:
            switches.append(switch)
    return replace(base, switches=tuple(switches), links=tuple(links))


def _changed_ports(head: Fabric, new_links: Iterable[Link], spines: Collection[str]) -> dict[str, set[int]]:
    """Return the ports that are as in ``head`` once these spines and super-spines have changed, by switch."""
    ports = {name: set(range(len(head.switch_of[name].panel.ports))) for name in spines}
    for link in new_links:
        if link.upper in spines:
            ports.setdefault(link.lower, set()).add(link.lower_port)
        elif link.lower in spines:
            # The uplink of a spine changes with its super-spine.
            ports[link.lower].discard(link.lower_port)
    return ports


class _Panels:
    """Panels with some ports as in the newer fabric; switches with equal ones share a panel."""

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
