"""Whole configurations of a leaf and a spine; `RAILWEAVE_UPDATE_GOLDEN=1` writes them anew."""

import os
from pathlib import Path

import pytest
from engine_tools import config_db_json

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent
from railweave.sonic.render.configure import configure
from railweave.templates import find_templates

HERE = Path(__file__).resolve().parent
REFERENCE = HERE.parents[2] / "intent"
INTENTS = (
    REFERENCE / "pod-32.yml",
    REFERENCE / "lab-4.yml",
    *sorted((HERE / "intents").glob("*.yml")),
)


def designed(path: Path) -> Fabric:
    fabric = design(load_intent(path), load_catalog()).fabric
    assert fabric is not None, path
    return fabric


@pytest.mark.parametrize("role", ["leaf", "spine"])
@pytest.mark.parametrize("path", INTENTS, ids=lambda path: path.stem)
def test_the_first_leaf_and_the_last_spine_are_configured_as_recorded(path: Path, role: str) -> None:
    fabric = designed(path)
    switch = [one for one in fabric.switches if one.tier.name == role][0 if role == "leaf" else -1]
    config = configure(fabric, switch, find_templates())
    recorded = HERE / "expected" / path.stem / switch.name
    files = {"config_db.json": config_db_json(config), "frr.conf": config.frr.encode()}
    for name, rendered in files.items():
        if os.environ.get("RAILWEAVE_UPDATE_GOLDEN"):
            recorded.mkdir(parents=True, exist_ok=True)
            (recorded / name).write_bytes(rendered)
        assert (recorded / name).read_bytes() == rendered, f"{recorded / name} differs"
