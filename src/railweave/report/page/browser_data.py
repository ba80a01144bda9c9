"""What the page's script needs: every device, every cable and every picture, packed so that a large fabric is small."""

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
from railweave.fabric.model import Fabric, HostPort, SwitchPort
from railweave.units import ipv4_text

_LEVEL = 9
NODE_LEVEL = -1
"""The level of GPU nodes in the data; tiers count from 0."""


def packed(fabric: Fabric, scenes: Iterable[Scene], marks: Marks) -> str:
    """Return the data as JSON, compressed by gzip, in base64; the same fabric gives the same text."""
    place = {name: number for number, name in enumerate(fabric.ports_of)}
    document = {
        "fabric": fabric.name,
        "tiers": [tier.name for tier in fabric.tiers],
        "devices": _devices(fabric),
        "panels": _panels(fabric),
        "cables": _cables(fabric, place),
        "marks": {
            str(place[name]): [[mark.kind.value, mark.text] for mark in own]
            for name, own in marks.devices.items()
            if name in place
        },
        "pictures": {scene.key: _picture(scene, place, marks) for scene in scenes} | _racks(fabric, place, marks),
    }
    return base64.b64encode(gzip.compress(orjson.dumps(document), _LEVEL, mtime=0)).decode()


def _devices(fabric: Fabric) -> dict[str, list[Any]]:
    """Return the devices in columns, switches first."""
    panels = {id(panel): number for number, panel in enumerate(_distinct(fabric))}
    switches, hosts = fabric.switches, fabric.hosts
    return {
        "name": [*(one.name for one in switches), *(one.name for one in hosts)],
        "level": [*(one.tier.level for one in switches), *(NODE_LEVEL for _ in hosts)],
        "model": [*(one.panel.model for one in switches), *(one.nic_model for one in hosts)],
        "panel": [*(panels[id(one.panel.ports)] for one in switches), *(panels[id(one.ports)] for one in hosts)],
        "plane": [*(one.plane for one in switches), *(None for _ in hosts)],
        "stripe": [*(one.stripe for one in switches), *(one.stripe for one in hosts)],
        "pod": [*(one.pod for one in switches), *(fabric.pod_of(one) if fabric.has_pods else None for one in hosts)],
        "rail": [*(one.rail for one in switches), *(None for _ in hosts)],
        "asn": [one.asn for one in switches],
        "loopback": [ipv4_text(one.loopback) for one in switches],
    }


_Ports = tuple[SwitchPort, ...] | tuple[HostPort, ...]


def _distinct(fabric: Fabric) -> list[_Ports]:
    found: dict[int, _Ports] = {id(one.panel.ports): one.panel.ports for one in fabric.switches}
    found |= {id(one.ports): one.ports for one in fabric.hosts}
    return list(found.values())


def _panels(fabric: Fabric) -> list[list[list[Any]]]:
    """Return the ports of every kind of device: name, label on the panel, number of the cage, Gb/s."""
    return [
        [
            [port.name, port.alias, port.panel, port.speed_gbps]
            if isinstance(port, SwitchPort)
            else [port.name, "", port.nic, port.speed_gbps]
            for port in ports
        ]
        for ports in _distinct(fabric)
    ]


def _cables(fabric: Fabric, place: Mapping[str, int]) -> dict[str, list[Any]]:
    """Return the cables in columns, in the order of the fabric."""
    links = fabric.links
    media = list(dict.fromkeys(link.media for link in links))
    number = {name: each for each, name in enumerate(media)}
    return {
        "lower": [place[link.lower] for link in links],
        "lowerPort": [link.lower_port for link in links],
        "upper": [place[link.upper] for link in links],
        "upperPort": [link.upper_port for link in links],
        "plane": [link.plane for link in links],
        "rail": [link.rail for link in links],
        "speed": [link.speed_gbps for link in links],
        "length": [link.length_m for link in links],
        "medium": [number[link.media] for link in links],
        "media": media,
    }


def _picture(scene: Scene, place: Mapping[str, int], marks: Marks) -> dict[str, Any]:
    return {
        "svg": svg_element(lay_out(scene), marks),
        "blocks": {block.key: _runs(place[name] for name in block.devices if name in place) for block in scene.blocks},
    }


def _racks(fabric: Fabric, place: Mapping[str, int], marks: Marks) -> dict[str, dict[str, Any]]:
    """Return the picture of the racks by its key, nothing where the intent has none."""
    if fabric.racks is None:
        return {}
    blocks = {name: [[place[name]] * 2] for name in fabric.racks.places}
    return {RACKS: {"svg": elevation(fabric, fabric.racks, marks), "blocks": blocks}}


def _runs(numbers: Iterable[int]) -> list[list[int]]:
    """Return numbers as runs of neighbors: first and last."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return found
