"""Pictures beside their reference pictures: compared within a tolerance, or renewed (``make pictures``)."""

import io
import os
from pathlib import Path

from PIL import Image, ImageChops

ROOT = Path(__file__).resolve().parents[2]

SHADES = 48
"""Of 255: the smoothing of letters and edges, and the 256 colors of a reference, change a pixel by less."""

MOST_DIFFERENT = 0.002
"""Share of the pixels that may differ by more, as for a letter that is a pixel further to the right."""

COLORS = 256


def check_picture(png: bytes, reference: Path) -> None:
    """Compare a picture with its reference, or renew the reference where it differs if golden files are rewritten."""
    drawn = Image.open(io.BytesIO(png)).convert("RGB")
    share = _different(drawn, reference)
    if share <= MOST_DIFFERENT:
        return
    if os.environ.get("RAILWEAVE_UPDATE_GOLDEN"):
        _save(drawn, reference)
        return
    seen = ROOT / "build" / "pictures" / reference.name
    _save(drawn, seen)
    raise AssertionError(
        f"{share:.1%} of {reference.relative_to(ROOT)} differs from {seen.relative_to(ROOT)}; `make pictures` renews it"
    )


def _different(drawn: Image.Image, reference: Path) -> float:
    """Return the share of the pixels that differ; all of them without a reference of that size."""
    if not reference.exists():
        return 1.0
    kept = Image.open(reference).convert("RGB")
    if kept.size != drawn.size:
        return 1.0
    difference = ImageChops.difference(drawn, kept)
    # The channel that differs most decides.
    red, green, blue = difference.split()
    most = ImageChops.lighter(ImageChops.lighter(red, green), blue)
    counts = most.histogram()
    return sum(counts[SHADES + 1 :]) / (drawn.width * drawn.height)


def _save(drawn: Image.Image, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # A palette makes the file a third as large, and no shade of these pictures is lost to the eye.
    drawn.quantize(COLORS).save(path, optimize=True)
