"""The size document of every reference intent, whole; ``RAILWEAVE_UPDATE_GOLDEN=1`` writes them anew."""

import json
import os
from pathlib import Path

import pytest
from reference_intents import REFERENCE_INTENTS

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.design.document import size_json
from railweave.intent.load import load_intent_text

ROOT = Path(__file__).resolve().parents[3]
GOLDEN = ROOT / "tests" / "golden" / "design"


@pytest.mark.parametrize("path", REFERENCE_INTENTS, ids=lambda path: path.stem)
def test_the_sizes_of_a_reference_intent_are_as_reviewed(path: Path) -> None:
    intent = load_intent_text(path.read_text(encoding="utf-8"), f"intent/{path.name}")
    outcome = design(intent, load_catalog())
    assert outcome.fabric is not None
    document = size_json(outcome.fabric.sizing)
    # Places move with every comment of the intent; the refused intents hold them to their lines.
    for diagnostic in document["diagnostics"]:
        diagnostic["where"] = diagnostic["where"]["path"]
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    golden = GOLDEN / f"{path.stem}.size.json"
    if os.environ.get("RAILWEAVE_UPDATE_GOLDEN"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", REFERENCE_INTENTS, ids=lambda path: path.stem)
def test_the_same_intent_gives_the_same_fabric(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    first, second = (design(load_intent_text(text, path.name), load_catalog()) for _ in range(2))
    assert first == second
