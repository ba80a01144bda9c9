"""Fabrics with their thresholds.prom, and its samples read back."""

import re
from collections import Counter
from typing import Any

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.telemetry.exposition import ThresholdsText
from railweave.telemetry.folder import monitoring_files
from railweave.telemetry.thresholds import Thresholds

Labels = frozenset[tuple[str, str]]
Samples = dict[tuple[str, Labels], float]

_SAMPLE = re.compile(r"([a-z_]+)(?:\{(.*)\})? (\S+)")
_LABEL = re.compile(r'([a-z_]+)="([^"]*)"')


def fabric_of(text: str) -> Fabric:
    fabric = design(load_intent_text(text, "fabric.yml"), load_catalog()).fabric
    assert fabric is not None
    return fabric


def samples_of(text: str) -> Samples:
    """Return the samples of a text in Prometheus' format; a sample that is there twice fails."""
    read = []
    for line in text.splitlines():
        if not line.startswith("#"):
            match = _SAMPLE.fullmatch(line)
            assert match, line
            read.append(((match[1], frozenset(_LABEL.findall(match[2] or ""))), float(match[3])))
    assert not [key for key, count in Counter(key for key, _ in read).items() if count > 1]
    return dict(read)


def threshold_samples(fabric: Fabric) -> Samples:
    text = ThresholdsText(Thresholds(fabric, load_catalog()))
    samples = samples_of("".join(text))
    assert len(samples) == text.samples
    return samples


def telemetry_files(fabric: Fabric) -> dict[str, str]:
    """Return the text of each file of a fabric's monitoring."""
    thresholds = Thresholds(fabric, load_catalog())
    return {"thresholds.prom": "".join(ThresholdsText(thresholds)), **monitoring_files(thresholds)}


def named(name: str, value: Any, **labels: str) -> tuple[tuple[str, Labels], float]:
    """Return a sample by its name, value and labels."""
    return (f"railweave_{name}", frozenset(labels.items())), float(value)
