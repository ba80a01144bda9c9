"""The image's ``platform.json`` of a switch: its parent ports, their lanes and breakout modes, and what a mode makes.

No image is at hand: the ports are those of the factory configuration, the modes those that device folders of
sonic-buildimage give to cages of so many lanes and such a speed.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sonic_sim.configdb import natural_key
from sonic_sim.spec import SimDevice

# Modes by lanes and Mbit/s of a cage (device/*/platform.json).
_MODES = {
    (4, 100000): ("1x100G[40G]", "2x50G", "4x25G[10G]", "2x25G(2)+1x50G(2)", "1x50G(2)+2x25G(2)"),
    (8, 400000): ("1x400G", "2x200G", "4x100G", "8x50G"),
    (8, 800000): ("1x800G[400G,200G,100G,50G,40G,25G,10G]", "2x400G[200G,100G,50G,40G,25G,10G]",
                  "4x200G[100G,50G,25G,10G]"),
}  # fmt: skip
# Platforms whose ``platform.json`` lets the ASIC's sensors be read every ten seconds (202505).
ASIC_SENSORS = frozenset({
    "arm64-nokia_ixs7215_52xb-r0", "x86_64-nokia_ixr7220_d4-r0", "x86_64-nokia_ixr7220_h4-r0",
    "x86_64-nokia_ixr7220_h4_32d-r0", "x86_64-nokia_ixr7220_h5_32d-r0", "x86_64-nokia_ixr7220_h5_64d-r0",
    "x86_64-nokia_ixr7220_h5_64o-r0", "x86_64-nokia_ixr7250_x1b-r0", "x86_64-nokia_ixr7250_x3b-r0",
    "x86_64-nokia_ixr7250e_36x400g-r0",
})  # fmt: skip
_PART = re.compile(r"(?P<count>\d+)x(?P<speed>\d+)G(?:\[[^]]*\])?(?:\((?P<lanes>\d+)\))?")
# From 50 Gb/s a lane (PAM4) a port cannot run without FEC.
_FEC_LANE_MBPS = 50000


@dataclass(frozen=True, slots=True)
class Cage:
    """A parent port: its lanes, its number on the panel, its name there, and its default mode."""

    name: str
    lanes: tuple[str, ...]
    index: str
    alias: str
    default: str
    modes: tuple[str, ...]

    def children(self, mode: str) -> dict[str, dict[str, str]]:
        """Return the rows of PORT that the cage has in a breakout mode."""
        parts = _parts_of_mode(mode, len(self.lanes))
        total = sum(part.ports for part in parts)
        first = int(self.name.removeprefix("Ethernet"))
        rows: dict[str, dict[str, str]] = {}
        lane = 0
        for part in parts:
            for _ in range(part.ports):
                # A port is numbered by its first lane.
                rows[f"Ethernet{first + lane}"] = self._child(part, lane, len(rows), total)
                lane += part.lanes
        return rows

    def _child(self, part: "_ModePart", lane: int, index: int, total: int) -> dict[str, str]:
        """Return the row of a port in a breakout: number ``index`` of ``total``, with the first lane ``lane``."""
        row = {
            "alias": self._alias(lane, index, total),
            "lanes": ",".join(self.lanes[lane : lane + part.lanes]),
            "speed": str(part.mbps),
            "index": self.index,
            "subport": "0" if total == 1 else str(index + 1),
        }
        if part.mbps // max(part.lanes, 1) >= _FEC_LANE_MBPS:
            row["fec"] = "rs"
        return row

    def _alias(self, lane: int, index: int, total: int) -> str:
        """Return the name on the panel of a port in a breakout: number ``index`` of ``total``, first lane ``lane``."""
        # Mellanox numbers cages, and names their ports by letters.
        if re.fullmatch(r"etp\d+", self.alias):
            letter = chr(ord("a") + index) if total > 1 else ""
            return f"{self.alias}{letter}"
        # Others number ports by their first lane.
        head = self.alias.rstrip("0123456789")
        number = self.alias.removeprefix(head)
        return f"{head}{int(number) + lane}" if number else self.alias

    def entry(self) -> dict[str, Any]:
        """Return the entry of ``platform.json``."""
        return {
            "index": ",".join([self.index] * len(self.lanes)),
            "lanes": ",".join(self.lanes),
            "breakout_modes": {mode: [row["alias"] for row in self.children(mode).values()] for mode in self.modes},
        }


class _ModePart(NamedTuple):
    """A part of a breakout mode: ports of one speed, each with so many lanes."""

    ports: int
    lanes: int
    mbps: int


def _parts_of_mode(mode: str, cage_lanes: int) -> list[_ModePart]:
    """Return the parts of a breakout mode such as ``1x50G(2)+2x25G(2)``; parts of another form are left out."""
    parts = []
    for match in map(_PART.fullmatch, mode.split("+")):
        if match is not None:
            ports = int(match["count"])
            # In parentheses: the lanes of all ports of the part, by default those of the whole cage.
            lanes = int(match["lanes"] or cage_lanes)
            parts.append(_ModePart(ports, lanes // ports, int(match["speed"]) * 1000))
    return parts


_BEHIND_ALL = 1 << 20
"""A number larger than that of any port."""


def cages(spec: SimDevice) -> dict[str, Cage]:
    """Return the parent ports of a switch by name, in natural order."""
    ports: Mapping[str, Mapping[str, Any]] = spec.factory.get("PORT", {})
    parents = sorted(spec.factory.get("BREAKOUT_CFG", {}) or ports, key=natural_key)
    # A cage has the ports up to the next parent.
    ends = [*map(_number, parents[1:]), _BEHIND_ALL]
    by_name: dict[str, Cage] = {}
    for parent, end in zip(parents, ends, strict=False):
        names = sorted((name for name in ports if _number(parent) <= _number(name) < end), key=natural_key)
        if names:
            by_name[parent] = _cage(spec, parent, [ports[name] for name in names])
    return by_name


def _cage(spec: SimDevice, parent: str, rows: Sequence[Mapping[str, Any]]) -> Cage:
    """Return a parent port by the PORT rows that the factory configuration makes of it."""
    lanes: list[str] = []
    mbps = 0
    for row in rows:
        lanes += str(row.get("lanes", "")).split(",")
        mbps += int(str(row.get("speed", "0")))
    configured = spec.factory.get("BREAKOUT_CFG", {}).get(parent, {})
    mode = str(configured.get("brkout_mode", f"1x{mbps // 1000}G"))
    modes = _MODES.get((len(lanes), mbps), ())
    if mode not in modes:
        modes = (mode, *modes)
    first = rows[0]
    return Cage(parent, tuple(lanes), str(first.get("index", "")), str(first.get("alias", parent)), mode, modes)


def _number(name: str) -> int:
    digits = name.removeprefix("Ethernet")
    return int(digits) if digits.isdigit() else _BEHIND_ALL
