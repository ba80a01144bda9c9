"""Pictures as files, whole and byte by byte; ``RAILWEAVE_UPDATE_GOLDEN=1`` rewrites them: look at the difference."""

import os
from pathlib import Path

import pytest
from pictures import check_picture

from railweave import api

HERE = Path(__file__).parent
INTENTS = Path(__file__).resolve().parents[3] / "intent"
DRAWN = (
    ("lab-4", "fabric"),
    ("pods-512", "fabric"),
    ("pods-512", "stripe-3"),
)


@pytest.mark.parametrize("ending", [".svg", ".mmd", ".drawio", ".txt"])
@pytest.mark.parametrize(("intent", "part"), DRAWN)
def test_a_picture_is_written_as_before(intent: str, part: str, ending: str, tmp_path: Path) -> None:
    out = tmp_path / f"{intent}.{part}{ending}"
    api.draw(api.open_project(INTENTS / f"{intent}.yml"), of=part, out=out)
    kept = HERE / out.name
    if os.environ.get("RAILWEAVE_UPDATE_GOLDEN"):
        kept.write_bytes(out.read_bytes())
    assert out.read_bytes() == kept.read_bytes()


@pytest.mark.parametrize(("intent", "part"), DRAWN)
def test_a_png_looks_as_before(intent: str, part: str, tmp_path: Path) -> None:
    out = tmp_path / f"{intent}.{part}.png"
    api.draw(api.open_project(INTENTS / f"{intent}.yml"), of=part, out=out)
    check_picture(out.read_bytes(), HERE / out.name)
