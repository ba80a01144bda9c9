"""The ends of links: cages of switches and NICs, and the module or cable end plugged into each.

Several links may end in one cage (breakout): one module or cable end serves all of them (twin-port OSFP modules).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from railweave.cabling.media import LaneEnd, LinkingPmds, linking_pmds, nic_end, open_end, switch_end
from railweave.catalog.load import Catalog
from railweave.catalog.media import Medium, Pmd
from railweave.diagnostics import Blocker
from railweave.fabric.devices import Host
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.fabric.panel import Panel


class DeviceCage(NamedTuple):
    """A cage of a device: ``name`` is a switch's front-panel number, or the name of a NIC's interface."""

    device: str
    name: str


class PluggedEnd(NamedTuple):
    """One end of a link with its cage."""

    cage: DeviceCage
    # The port among those of the cage, from 0.
    place: int
    # The number of ports that the cage is broken out into.
    ports: int
    # The form factors that the cage may have; several for a NIC that is sold with a choice.
    form_factors: tuple[str, ...]
    # The module or cable end, with its speed and lanes.
    pmd: Pmd


class CabledLink(NamedTuple):
    """A link with its medium and plugs; ``lower`` is the end nearer to the GPUs."""

    link: Link
    medium: Medium
    lower: PluggedEnd
    upper: PluggedEnd


class DevicePort(NamedTuple):
    """A port of a device, whether or not a link uses it: ``place`` (from 0) among the ``ports`` of its cage."""

    cage: DeviceCage
    place: int
    ports: int
    end: LaneEnd


def cables_of(fabric: Fabric, catalog: Catalog) -> list[CabledLink]:
    """Return all links of a fabric with their media and plugs, in the order of the fabric's links."""
    ports = shared_ports(fabric, catalog)
    media = {medium.id: medium for medium in catalog.media()}
    # A fabric has a quarter of a million links and a handful of pairs of ends.
    pmds: dict[tuple[str, LaneEnd, LaneEnd], LinkingPmds] = {}
    cables = []
    for link in fabric.links:
        lower = ports[link.lower][link.lower_port]
        upper = ports[link.upper][link.upper_port]
        medium = media[link.media]
        key = (link.media, lower.end, upper.end)
        if key not in pmds:
            linking = linking_pmds(medium, lower.end, upper.end)
            assert linking is not None, "the design chose a medium that links both ends"  # noqa: S101
            pmds[key] = linking
        lower_end = _plugged_end(link.lower, lower, pmds[key].a)
        upper_end = _plugged_end(link.upper, upper, pmds[key].b)
        cables.append(CabledLink(link, medium, lower_end, upper_end))
    return cables


def device_ports(fabric: Fabric, catalog: Catalog) -> Mapping[str, Sequence[DevicePort]]:
    """Return the ports of every switch and node by its name, in their order."""
    ports_of = {}
    for name, ports in shared_ports(fabric, catalog).items():
        ports_of[name] = [port._replace(cage=DeviceCage(name, port.cage.name)) for port in ports]
    return ports_of


def shared_ports(fabric: Fabric, catalog: Catalog) -> dict[str, list[DevicePort]]:
    """Return the ports of every device; alike devices share one list, whose cages name no device."""
    ports_of_panel: dict[int, list[DevicePort]] = {}
    ports_of_nics: dict[tuple[int, str, int], list[DevicePort]] = {}
    ports: dict[str, list[DevicePort]] = {}
    # By identity: hashing a panel would walk all its ports, and the fabric keeps panels alive and shared, as it does
    # the ports of alike nodes.
    for switch in fabric.switches:
        panel = id(switch.panel)
        if panel not in ports_of_panel:
            ports_of_panel[panel] = _panel_ports(switch.panel, catalog)
        ports[switch.name] = ports_of_panel[panel]
    for host in fabric.hosts:
        nics = (id(host.ports), host.nic_model, host.shared_ports)
        if nics not in ports_of_nics:
            ports_of_nics[nics] = _host_ports(catalog, host)
        ports[host.name] = ports_of_nics[nics]
    return ports


def _plugged_end(device: str, port: DevicePort, pmd: Pmd) -> PluggedEnd:
    return PluggedEnd(DeviceCage(device, port.cage.name), port.place, port.ports, port.end.form_factors, pmd)


def _panel_ports(panel: Panel, catalog: Catalog) -> list[DevicePort]:
    """Return the ports of every switch with this panel; their cages name no device."""
    ports_in_cage = Counter(port.panel for port in panel.ports)
    next_place: Counter[int] = Counter()
    speeds = {port.speed_gbps for port in panel.ports}
    ends: dict[int, LaneEnd | Blocker] = {}
    if panel.is_model:
        model = catalog.switch(panel.model)
        ends.update((speed_gbps, switch_end(model, speed_gbps)) for speed_gbps in speeds)
    else:
        ends.update((speed_gbps, open_end(panel.model, speed_gbps, catalog)) for speed_gbps in speeds)
    ports = []
    for port in panel.ports:
        end = ends[port.speed_gbps]
        assert isinstance(end, LaneEnd), end  # noqa: S101  the panel was made of this model at this speed
        cage = DeviceCage("", str(port.panel))
        ports.append(DevicePort(cage, next_place[port.panel], ports_in_cage[port.panel], end))
        next_place[port.panel] += 1
    return ports


def _host_ports(catalog: Catalog, host: Host) -> list[DevicePort]:
    """Return the ports of every node with these NICs; a cage has the name of its first port and names no device."""
    nic = catalog.find_nic(host.nic_model)
    ports_of_nic = Counter(port.nic for port in host.ports)
    names_in_cage: dict[tuple[int, int], list[str]] = {}
    for port in host.ports:
        names_in_cage.setdefault((port.nic, port.cage), []).append(port.name)
    ports = []
    for port in host.ports:
        names = names_in_cage[port.nic, port.cage]
        end: LaneEnd | Blocker = open_end("a NIC", port.speed_gbps, catalog)
        if nic is not None:
            end = nic_end(nic, host.shared_ports or ports_of_nic[port.nic], port.speed_gbps, len(names))
        assert isinstance(end, LaneEnd), end  # noqa: S101  the design checked it
        cage = DeviceCage("", names[0])
        ports.append(DevicePort(cage, names.index(port.name), len(names), end))
    return ports
