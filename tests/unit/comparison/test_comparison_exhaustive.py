"""The first suggestion has the fewest switches of all designs: small clusters, of which every design is tried."""

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from railweave import api
from railweave.api.design.intent import gather_text
from railweave.api.reports import suggestions
from railweave.catalog.load import load_catalog
from railweave.comparison.suggestion import switches
from railweave.design.build import calculate
from railweave.diagnostics import has_errors
from railweave.errors import RefusedError
from railweave.intent.load import load_intent_text

SMALL, LARGE = "nokia-ixr7220-h4-32d", "nokia-ixr7220-h4-64d"
"""32 and 64 cages of 400G."""
OCTO = "dell-z9864f"
"""64 cages of 800G, each of which is two ports of 400G."""

CASES = {
    # All rails in one switch.
    "four nodes": ("pretraining", 4, (8, "connectx-7", [(1, 400)]), (SMALL, LARGE), 1),
    # 192 ports of NICs: three switches of 64, or one that has 128, are too few.
    "two planes": ("pretraining", 12, (8, "connectx-8", [(2, 400)]), (SMALL, LARGE), 4),
    # Either one port of 400G or two of 200G.
    "modes": ("inference", 40, (4, "connectx-7", [(1, 400), (2, 200)]), (SMALL, LARGE), 4),
    # With two planes of eight rails there are 16 leaves and at least four spines; a switch for each rail is enough.
    "a switch a rail": ("pretraining", 64, (8, "connectx-8", [(2, 400)]), (LARGE, OCTO), 8),
}
UPLINKS = (None, "400G", "800G")


def nodes_of(count: int, nics: int, model: str, mode: tuple[int, int]) -> dict[str, Any]:
    ports, gbps = mode
    return {
        "name": "gpu",
        "count": count,
        "gpus": 8,
        "nics": {"count": nics, "ports": ports, "speed": f"{gbps}G", "model": model},
    }


def topologies(count: int, nics: int, ports: int, models: tuple[str, str]) -> Iterator[dict[str, Any]]:
    """Yield every topology whose numbers are whole: shapes, rails, planes, stripes, models and speeds of uplinks."""
    meetings: list[dict[str, Any]] = [{"shape": "rack-aligned"}]
    for shape, rails in product(("rail-optimized", "rail-only"), range(2, nics + 1)):
        if nics % rails == 0:
            meetings.append({"shape": shape, "rails": rails})
    stripes = sorted({-(-count // parts) for parts in range(1, 4)})
    for meeting, planes in product(meetings, [planes for planes in (1, 2) if ports % planes == 0]):
        base = {**meeting, "planes": planes}
        for leaf in models:
            yield {**base, "leaf": {"model": leaf, "count": 1}}
        for leaf, spine, uplink, stripe in product(models, models, UPLINKS, (None, *stripes)):
            topology = {**base, "leaf": {"model": leaf}, "spine": {"model": spine}}
            if uplink is not None:
                topology["leaf"] = {"model": leaf, "uplink_speed": uplink}
            if stripe is not None:
                topology["stripe"] = stripe
            yield topology
        if meeting["shape"] == "rail-only":
            for leaf in models:
                yield {**base, "tiers": 1, "leaf": {"model": leaf}}


def fewest_switches(documents: list[dict[str, Any]]) -> int:
    """Return the switches of the smallest design that `check` accepts."""
    catalog = load_catalog()
    sized = []
    for number, document in enumerate(documents):
        text = json.dumps(document)
        try:
            sizing = calculate(load_intent_text(text, "tried.yml"), catalog)
        except RefusedError:
            continue
        if sizing is not None:
            sized.append((switches(sizing), number, text))
    for count, _, text in sorted(sized):
        if not has_errors(gather_text(text, "tried.yml").diagnostics):
            return count
    raise AssertionError("no design is accepted")


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_no_design_has_fewer_switches_than_the_first_suggestion(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workload, count, (nics, model, modes), models, fewest = CASES[name]
    monkeypatch.setattr(suggestions, "weights", lambda *_: dict.fromkeys(models, 1))
    heads = [
        {"fabric": "own", "workload": {"kind": workload}, "nodes": [nodes_of(count, nics, model, mode)]}
        for mode in modes
    ]
    documents = []
    for head, (ports, _) in zip(heads, modes, strict=True):
        documents += [{**head, "topology": topology} for topology in topologies(count, nics, ports, models)]
    own = tmp_path / "own.yml"
    switch = {"model": models[1]}
    planes = modes[0][0]
    own.write_text(json.dumps({**heads[0], "topology": {"planes": planes, "leaf": switch, "spine": switch}}))
    _, first, *_ = api.suggest(api.open_project(own)).comparison.alternatives
    assert switches(first.sizing) == fewest_switches(documents) == fewest
