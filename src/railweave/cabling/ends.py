"""The ends of links as they are bought: cages of switches and NICs, and what is plugged into them.

Several links may end in one cage (breakout): a module or a cable end is plugged in once for all of them
(fabric-facts section 3.3, twin-port modules).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from railweave.cabling.media import LaneEnd, linking_pmds, nic_end, switch_end
from railweave.catalog.load import Catalog
from railweave.catalog.model import Medium, Pmd
from railweave.fabric.model import Fabric, Host, Link, Panel


class Cage(NamedTuple):
    """A place for one plug: of a switch by its front-panel number, of a NIC by the name of its interface."""

    device: str
    name: str


class CableEnd(NamedTuple):
    """One end of a link: port ``place`` (from 0) of the ``ports`` of its cage, which has one of ``form_factors``, by
    the speed and lanes of ``pmd``."""

    cage: Cage
    place: int
    ports: int
    form_factors: tuple[str, ...]
    pmd: Pmd


class Cable(NamedTuple):
    """A link as it is cabled: ``lower`` is the end nearer to the GPUs."""

    link: Link
    medium: Medium
    lower: CableEnd
    upper: CableEnd


class DevicePort(NamedTuple):
    """A port of a device before its link is looked at: ``place`` (from 0) among the ``ports`` of its cage."""

    cage: Cage
    place: int
    ports: int
    end: LaneEnd


def cables_of(fabric: Fabric, catalog: Catalog) -> list[Cable]:
    """Return all links of a fabric with what is plugged in at both ends, in the order of the fabric's links."""
    ports = _by_place(fabric, catalog)
    media = {medium.id: medium for medium in catalog.media()}
    pairs: dict[tuple[str, LaneEnd, LaneEnd], tuple[Pmd, Pmd]] = {}
    found = []
    for link in fabric.links:
        lower, upper = ports[link.lower][link.lower_port], ports[link.upper][link.upper_port]
        key = (link.media, lower.end, upper.end)
        if key not in pairs:
            linking = linking_pmds(media[link.media], lower.end, upper.end)
            assert linking is not None, "the design chose a medium that links both ends"  # noqa: S101
            pairs[key] = linking.a, linking.b
        a, b = pairs[key]
        ends = _end(link.lower, lower, a), _end(link.upper, upper, b)
        found.append(Cable(link, media[link.media], *ends))
    return found


def device_ports(fabric: Fabric, catalog: Catalog) -> Mapping[str, Sequence[DevicePort]]:
    """Return the ports of every switch and node by its name, in their order."""
    return {
        name: [port._replace(cage=Cage(name, port.cage.name)) for port in ports]
        for name, ports in _by_place(fabric, catalog).items()
    }


def _by_place(fabric: Fabric, catalog: Catalog) -> dict[str, list[DevicePort]]:
    """Return the ports of every device, where those of switches of one panel are the same ones, with cages of none."""
    panels: dict[int, list[DevicePort]] = {}
    ports: dict[str, list[DevicePort]] = {}
    for switch in fabric.switches:
        if id(switch.panel) not in panels:
            panels[id(switch.panel)] = _panel_ports(switch.panel, catalog)
        ports[switch.name] = panels[id(switch.panel)]
    return ports | {host.name: _host_ports(catalog, host) for host in fabric.hosts}


def _end(device: str, port: DevicePort, pmd: Pmd) -> CableEnd:
    return CableEnd(Cage(device, port.cage.name), port.place, port.ports, port.end.form_factors, pmd)


def _panel_ports(panel: Panel, catalog: Catalog) -> list[DevicePort]:
    """Return the ports of any switch with a panel, with cages of no device."""
    in_cage = Counter(port.panel for port in panel.ports)
    seen: Counter[int] = Counter()
    ends = {speed: switch_end(catalog.switch(panel.model), speed) for speed in {one.speed_gbps for one in panel.ports}}
    found = []
    for port in panel.ports:
        end = ends[port.speed_gbps]
        assert isinstance(end, LaneEnd), end  # noqa: S101  the panel was made of this model at this speed
        found.append(DevicePort(Cage("", str(port.panel)), seen[port.panel], in_cage[port.panel], end))
        seen[port.panel] += 1
    return found


def _host_ports(catalog: Catalog, host: Host) -> list[DevicePort]:
    """Return a node's ports; a cage has the name of its first one."""
    nic = catalog.find_nic(host.nic_model)
    assert nic is not None, host.nic_model  # noqa: S101  the design looked it up
    of_nic = Counter(port.nic for port in host.ports)
    of_cage: dict[tuple[int, int], list[str]] = {}
    for port in host.ports:
        of_cage.setdefault((port.nic, port.cage), []).append(port.name)
    found = []
    for port in host.ports:
        together = of_cage[port.nic, port.cage]
        end = nic_end(nic, of_nic[port.nic], port.speed_gbps, len(together))
        assert isinstance(end, LaneEnd), end  # noqa: S101  the design checked it
        found.append(DevicePort(Cage(host.name, together[0]), together.index(port.name), len(together), end))
    return found
