"""Whole configurations of a switch of each tier; `RAILWEAVE_UPDATE_GOLDEN=1` writes them anew."""

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
    REFERENCE / "lab-dual.yml",
    REFERENCE / "lab-ipv6.yml",
    REFERENCE / "lab-pods.yml",
    *sorted((HERE / "intents").glob("*.yml")),
)
SWITCHES = (
    *(
        (path, role)
        for path in INTENTS
        for role in ("leaf", "spine")
        if (path.stem, role) != ("rail-switches", "spine")
    ),
    (REFERENCE / "lab-pods.yml", "super-spine"),
)


def designed(path: Path) -> Fabric:
    fabric = design(load_intent(path), load_catalog()).fabric
    assert fabric is not None, path
    return fabric


@pytest.mark.parametrize(("path", "role"), SWITCHES, ids=lambda one: getattr(one, "stem", one))
def test_the_first_leaf_and_the_last_switches_above_are_configured_as_recorded(path: Path, role: str) -> None:
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
