"""Presets: traffic classes and ECN thresholds as vendors publish them, by name (``data/presets.json``).

A preset is data with its source. It fills in what the intent leaves out: an explicit list of traffic classes replaces
the preset's classes, and an ``ecn`` of a class replaces its thresholds. Without published thresholds in bytes those of
railweave apply.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

from railweave.codec import read_text
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


@dataclass(frozen=True, slots=True)
class _PresetClass:
    name: str
    role: ClassRole
    priority: int
    # None for the class of all packets that no other class names.
    dscp: tuple[int, ...] | None = None
    lossless: bool = False
    strict: bool = False
    share: int = 0


@dataclass(frozen=True, slots=True)
class _EcnStep:
    """Thresholds for ports from a speed on."""

    from_gbps: int
    # Queue depths: where marking begins, and from which every packet is marked.
    bytes: tuple[int, int]
    # Percent of packets that are marked just below the second depth.
    probability: int


@dataclass(frozen=True, slots=True)
class _PresetEcn:
    source: str
    by_speed: tuple[_EcnStep, ...]


@dataclass(frozen=True, slots=True)
class _Preset:
    source: str
    classes: tuple[_PresetClass, ...]
    ecn: _PresetEcn | None


@cache
def _presets() -> Mapping[str, _Preset]:
    text = Path(__file__).with_name("data").joinpath("presets.json").read_text(encoding="utf-8")
    presets: dict[str, _Preset] = read_text(dict[str, _Preset], text)
    return presets


def preset_classes(name: PresetName) -> tuple[TrafficClass, ...]:
    """Return the traffic classes of a preset."""
    return tuple(
        TrafficClass(
            name=entry.name,
            role=entry.role,
            dscp=entry.dscp or (),
            is_default=entry.dscp is None,
            lossless=entry.lossless,
            priority=entry.priority,
            strict=entry.strict,
            share_percent=entry.share,
        )
        for entry in _presets()[name].classes
    )


def marking_of(name: PresetName) -> MarkingPreset | None:
    """Return the ECN thresholds of a preset; None if its vendor publishes none in bytes."""
    ecn = _presets()[name].ecn
    if ecn is None:
        return None
    steps = []
    for step in ecn.by_speed:
        least_bytes, most_bytes = step.bytes
        steps.append((step.from_gbps, Marking(least_bytes, most_bytes, step.probability)))
    return MarkingPreset(name.value, ecn.source, tuple(steps))
