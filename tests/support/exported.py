"""Intents as sources of exports, and their files read back."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.export.hostlist import expanded
from railweave.export.model import ExportOptions, ExportSource
from railweave.export.registry import FORMATS
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.intent.reference import reference

ROOT = Path(__file__).resolve().parents[2]
CLUSTER = ROOT / "tests" / "golden" / "export" / "cluster.yml"

TWO_CLUSTERS = """
fabric: ai
workload: {kind: inference}
nodes:
  - {name: gpu, count: 4, gpus: 2, nics: [{fabric: blue, count: 2, speed: 100G, model: connectx-6}]}
  - {name: cpu, count: 4, gpus: 2, nics: [{fabric: green, count: 1, speed: 100G, model: connectx-6}]}
fabrics:
  blue:
    topology: {rails: 2, oversubscription: "8:1", leaf: {model: sonic-vs}, spine: {model: sonic-vs}}
  green:
    topology: {rails: 1, oversubscription: "8:1", leaf: {model: sonic-vs}, spine: {model: sonic-vs}}
"""


def source_of(
    text: str, *fabrics: str, out: Mapping[str, str] = {}, options: ExportOptions | None = None
) -> ExportSource:
    """Return the source of an intent's fabrics, by name where it has several; ``out`` is out of service."""
    intents = [load_intent_text(text, str(reference(Path("cluster.yml"), name))) for name in fabrics or ("",)]
    designed = [design(intent, load_catalog()).fabric for intent in intents]
    assert all(designed)
    built = tuple(fabric for fabric in designed if fabric is not None)
    places = {fabric.name: intent.where for fabric, intent in zip(built, intents, strict=True)}
    return ExportSource(built, options or ExportOptions(), out, places)


def cluster(out: Mapping[str, str] = {}, options: ExportOptions | None = None) -> ExportSource:
    return source_of(CLUSTER.read_text(encoding="utf-8"), out=out, options=options)


def of_fabric(fabric: Fabric, out: Mapping[str, str] = {}) -> ExportSource:
    return ExportSource((fabric,), out_of_service=out)


def text_of(source: ExportSource, name: str) -> str:
    return FORMATS[name].write(source)


def documents(source: ExportSource, name: str) -> list[Any]:
    """Return the documents of a YAML format, read by PyYAML."""
    return list(yaml.load_all(text_of(source, name), yaml.CSafeLoader))


def slurm_switches(text: str) -> dict[str, tuple[list[str], list[str]]]:
    """Return nodes and switches of each switch or block of a topology.conf."""
    switches = {}
    for line in text.splitlines():
        match = re.fullmatch(r"(?:SwitchName|BlockName)=(\S+)(?: Nodes=(\S+))?(?: Switches=(\S+))?", line)
        if match:
            switches[match[1]] = expanded(match[2] or ""), expanded(match[3] or "")
    return switches
