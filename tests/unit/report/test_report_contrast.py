"""Every color of a page stands out from what is behind it, in light and in dark: WCAG 2.2, 1.4.3 and 1.4.11."""

import re
from collections.abc import Iterator, Mapping
from importlib.resources import files

import pytest

from railweave.drawing import palette

SHEET = files("railweave.report.page").joinpath("assets", "page.css").read_text(encoding="utf-8")
PICTURES = "".join(
    files("railweave.drawing").joinpath(name).read_text("utf-8") for name in ("picture.css", "marks.css")
)
WORDS, GRAPHICS = 4.5, 3.0
PAGE_GROUNDS = ("page", "panel")
"""What words and controls are written on: the page, and what stands out from it."""


def schemes() -> Iterator[tuple[str, Mapping[str, str], Mapping[str, str]]]:
    """Yield the colors of the page and of its pictures, by their names."""
    light, dark, chosen = (
        dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6})", one)) for one in re.findall(r"\{([^{}]*--page:[^{}]*)\}", SHEET)
    )
    assert dark == chosen, "the viewer's dark and the button's are the same"
    assert light.keys() == dark.keys()
    yield "light", light, palette.LIGHT
    yield "dark", dark, palette.DARK


SCHEMES = pytest.mark.parametrize(("page", "picture"), [(p, q) for _, p, q in schemes()], ids=["light", "dark"])


def rules(sheet: str) -> Iterator[tuple[str, str]]:
    """Yield selector and declarations of every rule."""
    yield from ((one.strip(), said) for one, said in re.findall(r"([^{}]+)\{([^{}]*)\}", sheet))


def colors_of(sheet: str, declared: str, selected: str = "") -> set[str]:
    """Return the variables that rules with a matching selector use in matching declarations."""
    return {
        name
        for selector, said in rules(sheet)
        if re.search(selected, selector)
        for name in re.findall(rf"(?:^|[\s;])(?:{declared}):[^;]*var\(--([a-z]+)\)", said)
    }


@SCHEMES
def test_all_words_of_a_page_can_be_read(page: Mapping[str, str], picture: Mapping[str, str]) -> None:
    used = colors_of(SHEET, "color")
    assert used == {"text", "soft", "accent", "good", "bad", "warn"}
    assert colors_of(SHEET, "background") <= {*PAGE_GROUNDS, "mark", "good", "accent"}
    low = [(name, on) for name in used for on in PAGE_GROUNDS if contrast(page[name], page[on]) < WORDS]
    assert low == []
    grounds = [name for name in picture if name in {"paper", "frame"} or name.startswith("level-")]
    assert {*colors_of(PICTURES, "fill", "text|band|remark")} == {"ink", "dim"}
    low = [(name, on) for name in ("ink", "dim") for on in grounds if contrast(picture[name], picture[on]) < WORDS]
    assert low == []


def test_the_hint_of_an_empty_field_is_not_left_to_the_browser() -> None:
    assert colors_of(SHEET, "color", "::placeholder") == {"soft"}


@SCHEMES
def test_controls_and_what_is_chosen_can_be_seen(page: Mapping[str, str], picture: Mapping[str, str]) -> None:
    borders = colors_of(SHEET, "border", r"^button|chip|\.front i")
    shown = {*borders, *colors_of(SHEET, "outline"), *colors_of(SHEET, "background", r"\.front")}
    assert borders == {"control", "soft"}
    low = [(name, on) for name in shown for on in PAGE_GROUNDS if contrast(page[name], page[on]) < GRAPHICS]
    assert low == []
    strokes = colors_of(SHEET, "stroke", "#stage")
    assert strokes == {"accent"}
    assert min(contrast(page["accent"], picture[on]) for on in grounds_of_blocks(picture)) >= GRAPHICS


@SCHEMES
def test_all_that_is_drawn_can_be_seen(page: Mapping[str, str], picture: Mapping[str, str]) -> None:
    """Frames are named by their titles, and are nothing but a lighter ground."""
    outlines = colors_of(PICTURES, "stroke", r"\.block|\.cell|\.line") - {"mark"}
    assert outlines == {"line"}
    marks = [name for name in picture if name.startswith("mark-")]
    low = [
        (name, on)
        for name in ("line", *marks)
        for on in grounds_of_blocks(picture)
        if contrast(picture[name], picture[on]) < GRAPHICS
    ]
    assert low == []
    cables = ["line", *(name for name in picture if name.startswith("rail-"))]
    opacity = min((float(one) for one in re.findall(r"\.line path \{[^}]*opacity: ([0-9.]+)", PICTURES)), default=1.0)
    low = [
        (name, on)
        for name in cables
        for on in ("paper", "frame")
        if contrast(mixed(picture[name], picture[on], opacity), picture[on]) < GRAPHICS
    ]
    assert low == []
    assert min(contrast(picture[name], page["page"]) for name in marks) >= GRAPHICS, "their legend is on the page"


def test_ports_up_and_down_differ_by_more_than_their_color() -> None:
    assert {selector for selector, said in rules(SHEET) if "border-radius: 50%" in said} == {".front .up, .ports .up"}


def grounds_of_blocks(picture: Mapping[str, str]) -> list[str]:
    return [name for name in picture if name in {"paper", "frame"} or name.startswith("level-")]


def mixed(color: str, ground: str, opacity: float) -> str:
    """Return a color that lets the ground shine through."""
    pairs = zip(bytes.fromhex(color[1:]), bytes.fromhex(ground[1:]), strict=True)
    return "#" + bytes(round(opacity * one + (1 - opacity) * other) for one, other in pairs).hex()


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of WCAG 2.2."""
    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def luminance(color: str) -> float:
    parts = [part / 255 for part in bytes.fromhex(color[1:])]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
