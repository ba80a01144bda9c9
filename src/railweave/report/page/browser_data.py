"""The data for the page's script: every device, cable and picture, packed to keep the page of a large fabric small."""

import base64
import gzip
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from railweave.drawing.elevation import RACKS, elevation
from railweave.drawing.layout import lay_out
from railweave.drawing.marks import Marks
from railweave.drawing.scene import Scene
from railweave.drawing.svg import svg_element
from railweave.fabric.devices import Host, HostPort
from railweave.fabric.model import Fabric
from railweave.fabric.panel import SwitchPort
from railweave.fabric.racks import RackLayout
from railweave.units import ipv4_text

# Gzip's slowest level: a page is written once and loaded often.
_LEVEL = 9
NODE_LEVEL = -1
"""The level of GPU nodes in the data; tiers count from 0."""


def packed(fabric: Fabric, scenes: Iterable[Scene], marks: Marks) -> str:
    """Return the data as JSON, compressed by gzip, in base64; the same fabric gives the same text."""
    # Devices are referred to by their numbers in the columns of `_devices`.
    number_of = {name: number for number, name in enumerate(fabric.ports_of)}
    pictures = {scene.key: _picture(scene, number_of, marks) for scene in scenes}
    if fabric.racks is not None:
        pictures[RACKS] = _racks_picture(fabric, fabric.racks, number_of, marks)
    document = {
        "fabric": fabric.name,
        "tiers": [tier.name for tier in fabric.tiers],
        "devices": _devices(fabric),
        "panels": _panels(fabric),
        "cables": _cables(fabric, number_of),
        "marks": _marks(marks, number_of),
        "pictures": pictures,
    }
    # Without a time in gzip's header the same fabric gives the same page.
    return base64.b64encode(gzip.compress(orjson.dumps(document), _LEVEL, mtime=0)).decode()


def _marks(marks: Marks, number_of: Mapping[str, int]) -> dict[str, list[list[str]]]:
    """Return the kind and text of each mark by the number of its device.

    Devices that a plan removes have no number: their marks are only in the picture.
    """
    texts = {}
    for name, device_marks in marks.devices.items():
        if name in number_of:
            texts[str(number_of[name])] = [[mark.kind.value, mark.text] for mark in device_marks]
    return texts


def _devices(fabric: Fabric) -> dict[str, list[Any]]:
    """Return the devices in columns, switches first; only switches have an AS number and a loopback."""
    panels = {id(ports): number for number, ports in enumerate(_distinct_ports(fabric))}
    columns: dict[str, list[Any]] = {
        "name": [],
        "level": [],
        "model": [],
        "panel": [],
        "plane": [],
        "stripe": [],
        "pod": [],
        "rail": [],
        "asn": [switch.asn for switch in fabric.switches],
        "loopback": [ipv4_text(switch.loopback) for switch in fabric.switches],
    }
    for switch in fabric.switches:
        columns["name"].append(switch.name)
        columns["level"].append(switch.tier.level)
        columns["model"].append(switch.panel.model)
        columns["panel"].append(panels[id(switch.panel.ports)])
        columns["plane"].append(switch.plane)
        columns["stripe"].append(switch.stripe)
        columns["pod"].append(switch.pod)
        columns["rail"].append(switch.rail)
    for host in fabric.hosts:
        columns["name"].append(host.name)
        columns["level"].append(NODE_LEVEL)
        columns["model"].append(host.nic_model)
        columns["panel"].append(panels[id(host.ports)])
        columns["plane"].append(None)
        columns["stripe"].append(host.stripe)
        columns["pod"].append(_pod(fabric, host))
        columns["rail"].append(None)
    return columns


def _pod(fabric: Fabric, host: Host) -> int | None:
    if not fabric.has_pods:
        return None
    return fabric.pod_of(host)


_Ports = tuple[SwitchPort, ...] | tuple[HostPort, ...]


def _distinct_ports(fabric: Fabric) -> list[_Ports]:
    """Return the ports of every kind of device once: devices of a kind share one tuple."""
    ports: dict[int, _Ports] = {id(switch.panel.ports): switch.panel.ports for switch in fabric.switches}
    ports |= {id(host.ports): host.ports for host in fabric.hosts}
    return list(ports.values())


def _panels(fabric: Fabric) -> list[list[list[Any]]]:
    """Return the ports of every kind of device as name, label on the panel, number of the cage or NIC, and Gb/s."""
    return [[_port(port) for port in ports] for ports in _distinct_ports(fabric)]


def _port(port: SwitchPort | HostPort) -> list[Any]:
    if isinstance(port, SwitchPort):
        return [port.name, port.alias, port.panel, port.speed_gbps]
    return [port.name, "", port.nic, port.speed_gbps]


_CABLE_COLUMNS = ("lower", "lowerPort", "upper", "upperPort", "plane", "rail", "speed", "length", "medium")
"""Of each cable: the numbers of its devices and ports, plane, rail, Gb/s, meters and the number of its medium."""


def _cables(fabric: Fabric, number_of: Mapping[str, int]) -> dict[str, list[Any]]:
    """Return the cables in columns, in the order of the fabric."""
    media = list(dict.fromkeys(link.media for link in fabric.links))
    number_of_medium = {medium: number for number, medium in enumerate(media)}
    # Columns of numbers compress far better than a quarter of a million objects with equal keys.
    columns: dict[str, list[Any]] = {name: [] for name in _CABLE_COLUMNS}
    for link in fabric.links:
        columns["lower"].append(number_of[link.lower])
        columns["lowerPort"].append(link.lower_port)
        columns["upper"].append(number_of[link.upper])
        columns["upperPort"].append(link.upper_port)
        columns["plane"].append(link.plane)
        columns["rail"].append(link.rail)
        columns["speed"].append(link.speed_gbps)
        columns["length"].append(link.length_m)
        columns["medium"].append(number_of_medium[link.media])
    return {**columns, "media": media}


def _picture(scene: Scene, number_of: Mapping[str, int], marks: Marks) -> dict[str, Any]:
    """Return a picture, and the devices of its blocks as runs of numbers."""
    blocks = {}
    for block in scene.blocks:
        # A picture of a plan also has devices that the fabric loses.
        blocks[block.key] = _runs(number_of[name] for name in block.devices if name in number_of)
    return {"svg": svg_element(lay_out(scene), marks), "blocks": blocks}


def _racks_picture(fabric: Fabric, racks: RackLayout, number_of: Mapping[str, int], marks: Marks) -> dict[str, Any]:
    # Each device is a block of its own, and so a run from its number to the same number.
    blocks = {name: [[number_of[name], number_of[name]]] for name in racks.places}
    return {"svg": elevation(fabric, racks, marks), "blocks": blocks}


def _runs(numbers: Iterable[int]) -> list[list[int]]:
    """Return the first and last number of each run of consecutive numbers."""
    runs: list[list[int]] = []
    last: int | None = None
    for number in sorted(numbers):
        if last is not None and number == last + 1:
            first, _ = runs[-1]
            runs[-1] = [first, number]
        else:
            runs.append([number, number])
        last = number
    return runs
