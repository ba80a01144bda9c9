"""Pictures differ from their reference where an eye would see it, and not for a smoothed edge."""

import io
from pathlib import Path

import pictures
import pytest
from PIL import Image, ImageDraw

WHITE = (255, 255, 255)


def drawn(*shapes: tuple[tuple[int, int, int, int], tuple[int, int, int]]) -> bytes:
    image = Image.new("RGB", (200, 100), WHITE)
    for place, color in shapes:
        ImageDraw.Draw(image).rectangle(place, color)
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


BLOCK = ((20, 20, 80, 60), (11, 107, 203))


@pytest.fixture
def reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(pictures, "ROOT", tmp_path)
    monkeypatch.setenv("RAILWEAVE_UPDATE_GOLDEN", "1")
    pictures.check_picture(drawn(BLOCK), tmp_path / "block.png")
    monkeypatch.delenv("RAILWEAVE_UPDATE_GOLDEN")
    return tmp_path / "block.png"


def test_the_same_picture_and_smoothed_edges_pass(reference: Path) -> None:
    pictures.check_picture(drawn(BLOCK), reference)
    pictures.check_picture(drawn(BLOCK, ((20, 20, 80, 20), (40, 130, 220))), reference)
    pictures.check_picture(drawn(BLOCK, ((100, 10, 105, 15), (0, 0, 0))), reference)


@pytest.mark.parametrize("shape", [((20, 20, 80, 60), (180, 23, 158)), ((100, 10, 112, 20), (0, 0, 0))])
def test_another_color_or_shape_is_shown_and_refused(
    shape: tuple[tuple[int, int, int, int], tuple[int, int, int]], reference: Path, tmp_path: Path
) -> None:
    with pytest.raises(AssertionError, match=r"% of block.png differs from build/pictures/block.png; `make pictures`"):
        pictures.check_picture(drawn(BLOCK, shape), reference)
    assert (tmp_path / "build" / "pictures" / "block.png").exists()


def test_a_picture_of_another_size_is_refused(reference: Path) -> None:
    Image.new("RGB", (200, 101), WHITE).save(reference)
    with pytest.raises(AssertionError, match=r"100\.0% of block\.png"):
        pictures.check_picture(drawn(BLOCK), reference)
