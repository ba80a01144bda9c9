"""The image's ``platform.json`` of a switch: its parent ports, their lanes and breakout modes, and what a mode makes.

No image is at hand: the ports are those of the factory configuration, the modes those that device folders of
sonic-buildimage give to cages of so many lanes and such a speed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sonic_sim.configdb import natural_key
from sonic_sim.spec import SimDevice

_MODES = {
    (4, 100000): ("1x100G[40G]", "2x50G", "4x25G[10G]", "2x25G(2)+1x50G(2)", "1x50G(2)+2x25G(2)"),
    (8, 400000): ("1x400G", "2x200G", "4x100G", "8x50G"),
    (8, 800000): ("1x800G[400G,200G,100G,50G,40G,25G,10G]", "2x400G[200G,100G,50G,40G,25G,10G]",
                  "4x200G[100G,50G,25G,10G]"),
}  # fmt: skip
"""Modes by lanes and Mbit/s of a cage (device/*/platform.json)."""
ASIC_SENSORS = frozenset({
    "arm64-nokia_ixs7215_52xb-r0", "x86_64-nokia_ixr7220_d4-r0", "x86_64-nokia_ixr7220_h4-r0",
    "x86_64-nokia_ixr7220_h4_32d-r0", "x86_64-nokia_ixr7220_h5_32d-r0", "x86_64-nokia_ixr7220_h5_64d-r0",
    "x86_64-nokia_ixr7220_h5_64o-r0", "x86_64-nokia_ixr7250_x1b-r0", "x86_64-nokia_ixr7250_x3b-r0",
    "x86_64-nokia_ixr7250e_36x400g-r0",
})  # fmt: skip
"""Platforms whose ``platform.json`` lets the ASIC's sensors be read every ten seconds (202505)."""
_PART = re.compile(r"(?P<count>\d+)x(?P<speed>\d+)G(?:\[[^]]*\])?(?:\((?P<lanes>\d+)\))?")
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
        """Return the PORT rows that a mode makes of the cage."""
        parts = [found for text in mode.split("+") if (found := _PART.fullmatch(text))]
        total = sum(int(part["count"]) for part in parts)
        rows: dict[str, dict[str, str]] = {}
        base = int(self.name.removeprefix("Ethernet"))
        lane = 0
        for part in parts:
            width = int(part["lanes"] or len(self.lanes)) // int(part["count"])
            for _ in range(int(part["count"])):
                speed = int(part["speed"]) * 1000
                rows[f"Ethernet{base + lane}"] = {
                    "alias": self._alias(lane, len(rows), total), "lanes": ",".join(self.lanes[lane : lane + width]),
                    "speed": str(speed), "index": self.index, "subport": "0" if total == 1 else str(len(rows) + 1),
                    **({"fec": "rs"} if speed // max(width, 1) >= _FEC_LANE_MBPS else {}),
                }  # fmt: skip
                lane += width
        return rows

    def _alias(self, lane: int, place: int, total: int) -> str:
        """Return a child's name on the panel: by letter where the cage has one number, else by its first lane."""
        if re.fullmatch(r"etp\d+", self.alias):
            return self.alias + (chr(ord("a") + place) if total > 1 else "")
        head, number = re.fullmatch(r"(.*?)(\d*)", self.alias).groups()  # type: ignore[union-attr]
        return f"{head}{int(number) + lane}" if number else self.alias

    def entry(self) -> dict[str, Any]:
        """Return the entry of ``platform.json``."""
        return {
            "index": ",".join([self.index] * len(self.lanes)),
            "lanes": ",".join(self.lanes),
            "breakout_modes": {mode: [row["alias"] for row in self.children(mode).values()] for mode in self.modes},
        }


def cages(spec: SimDevice) -> dict[str, Cage]:
    """Return the parent ports of a switch by name, in natural order."""
    ports: Mapping[str, Mapping[str, Any]] = spec.factory.get("PORT", {})
    modes = spec.factory.get("BREAKOUT_CFG", {})
    parents = sorted(modes or ports, key=natural_key)
    found: dict[str, Cage] = {}
    for place, parent in enumerate(parents):
        start = _number(parent)
        end = _number(parents[place + 1]) if place + 1 < len(parents) else 1 << 20
        inside = sorted((name for name in ports if start <= _number(name) < end), key=natural_key)
        if not inside:
            continue
        lanes = tuple(lane for name in inside for lane in str(ports[name].get("lanes", "")).split(","))
        speed = sum(int(str(ports[name].get("speed", "0"))) for name in inside)
        mode = str(modes.get(parent, {}).get("brkout_mode", f"1x{speed // 1000}G"))
        known = _MODES.get((len(lanes), speed), ())
        first = ports[inside[0]]
        found[parent] = Cage(parent, lanes, str(first.get("index", "")), str(first.get("alias", parent)),
                             mode, known if mode in known else (mode, *known))  # fmt: skip
    return found


def _number(name: str) -> int:
    digits = name.removeprefix("Ethernet")
    return int(digits) if digits.isdigit() else 1 << 20
