"""Presets: traffic classes and ECN thresholds as vendors publish them, by name (``data/presets.json``).

A preset is data with its source. It fills in what the intent leaves out: an explicit list of traffic classes replaces
the preset's classes, and an ``ecn`` of a class replaces its thresholds. Without published thresholds in bytes those of
railweave apply.
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
            name=keys["name"],
            role=ClassRole(keys["role"]),
            dscp=tuple(keys.get("dscp", ())),
            is_default="dscp" not in keys,
            lossless=keys.get("lossless", False),
            priority=keys["priority"],
            strict=keys.get("strict", False),
            share_percent=keys.get("share", 0),
        )
        for keys in _document()[name]["classes"]
    )


def marking_of(name: PresetName) -> MarkingPreset | None:
    """Return the ECN thresholds of a preset; None if its vendor publishes none in bytes."""
    ecn = _document()[name]["ecn"]
    if not ecn:
        return None
    steps = []
    for step in ecn["by_speed"]:
        least_bytes, most_bytes = step["bytes"]
        steps.append((step["from_gbps"], Marking(least_bytes, most_bytes, step["probability"])))
    return MarkingPreset(name.value, ecn["source"], tuple(steps))
