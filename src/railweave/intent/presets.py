"""Presets: traffic classes and ECN thresholds as vendors publish them, by name (``data/presets.json``).

A preset is data with its source. It fills in what the intent leaves out: an explicit list of traffic classes replaces
the preset's classes, and an ``ecn`` of a class replaces its thresholds. A vendor that publishes no thresholds in bytes
leaves them to the rule of the tool.
"""

import json
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from railweave.fabric.policy import ClassRole, Marking, MarkingPreset, TrafficClass


class PresetName(StrEnum):
    """The vendors whose published settings are known."""

    AMD = "amd"
    ARISTA = "arista"
    BROADCOM = "broadcom"
    CISCO = "cisco"
    DELL = "dell"
    JUNIPER = "juniper"
    MICROSOFT = "microsoft"
    NVIDIA = "nvidia"


@cache
def _document() -> dict[str, Any]:
    text = Path(__file__).with_name("data").joinpath("presets.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def preset_classes(name: PresetName) -> tuple[TrafficClass, ...]:
    """Return the traffic classes of a preset."""
    return tuple(
        TrafficClass(
            name=one["name"],
            role=ClassRole(one["role"]),
            dscp=tuple(one.get("dscp", ())),
            is_default="dscp" not in one,
            lossless=one.get("lossless", False),
            priority=one["priority"],
            strict=one.get("strict", False),
            share_percent=one.get("share", 0),
        )
        for one in _document()[name]["classes"]
    )


def marking_of(name: PresetName) -> MarkingPreset | None:
    """Return the ECN thresholds of a preset; None where its vendor publishes none in bytes."""
    ecn = _document()[name]["ecn"]
    if not ecn:
        return None
    steps = tuple(
        (one["from_gbps"], Marking(one["bytes"][0], one["bytes"][1], one["probability"])) for one in ecn["by_speed"]
    )
    return MarkingPreset(name.value, ecn["source"], steps)
