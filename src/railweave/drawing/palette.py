"""The colors of pictures, for light and for dark paper.

Text has a contrast of at least 4.5:1, lines and shapes of 3:1 (WCAG 2.2, 1.4.3 and 1.4.11).
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from railweave.drawing.marks import Mark, MarkKind, worst

RAILS: Final = 8
"""Colors of rails, one for each of the eight NICs of the usual GPU node; with more rails they repeat.

They are blue, violet and magenta: green, yellow, orange, red and gray are the colors of marks.
"""

LIGHT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "paper": "#ffffff",
        "ink": "#1d2733",
        "dim": "#525f6d",
        "edge": "#c3ccd6",
        "frame": "#f4f6f9",
        "line": "#717d8b",
        "level-node": "#e3f3e6",
        "level-0": "#dcebfa",
        "level-1": "#e4e0f7",
        "level-2": "#f9e3ee",
        "mark-done": "#1a7f37",
        "mark-added": "#1a7f37",
        "mark-changed": "#9a6700",
        "mark-disturbed": "#bc4c00",
        "mark-removed": "#cf222e",
        "mark-drifted": "#bc4c00",
        "mark-failed": "#cf222e",
        "mark-unreachable": "#6e7781",
        "rail-0": "#0b6bcb",
        "rail-1": "#b5179e",
        "rail-2": "#0f5257",
        "rail-3": "#7c3aed",
        "rail-4": "#0092d0",
        "rail-5": "#1f1b78",
        "rail-6": "#e055b0",
        "rail-7": "#6b0f4f",
    }
)
DARK: Final[Mapping[str, str]] = MappingProxyType(
    {
        "paper": "#12171d",
        "ink": "#e6edf3",
        "dim": "#9aa7b4",
        "edge": "#3d4956",
        "frame": "#1a2129",
        "line": "#8b98a5",
        "level-node": "#173822",
        "level-0": "#17324d",
        "level-1": "#2c2852",
        "level-2": "#47233a",
        "mark-done": "#3fb950",
        "mark-added": "#3fb950",
        "mark-changed": "#d29922",
        "mark-disturbed": "#f0883e",
        "mark-removed": "#f85149",
        "mark-drifted": "#f0883e",
        "mark-failed": "#f85149",
        "mark-unreachable": "#8b949e",
        "rail-0": "#58a6ff",
        "rail-1": "#f078e0",
        "rail-2": "#4fe0d6",
        "rail-3": "#9d6bff",
        "rail-4": "#a9d3ff",
        "rail-5": "#4a6fd8",
        "rail-6": "#f4c6e4",
        "rail-7": "#c2558f",
    }
)
"""Colors by use: ``level-0`` and up are those of the tiers, ``level-node`` that of GPU nodes."""


def rail_color(rails: frozenset[int]) -> str:
    """Return the name of the color of cables: that of their rail, ``line`` for several rails or none."""
    if len(rails) != 1:
        return "line"
    (rail,) = rails
    return f"rail-{rail % RAILS}"


def level_color(level: int | None) -> str:
    """Return the name of the color of a block by the level of its tier, None for nodes."""
    return "level-node" if level is None else f"level-{level}"


def mark_color(kind: MarkKind) -> str:
    """Return the name of the color of a mark."""
    return f"mark-{kind.value}"


def mark_class(marks: Iterable[Mark]) -> str:
    """Return the suffix of a block's ``class`` for the most urgent of its marks, empty without marks."""
    kind = worst(marks)
    return f" mark {mark_color(kind)}" if kind else ""


def variables() -> str:
    """Return the colors as CSS variables: light ones, and dark ones if the viewer or the page prefers dark."""
    return "\n".join(
        (
            f".picture {{ {_declared(LIGHT)} }}",
            "@media (prefers-color-scheme: dark) { "
            f':root:not([data-theme="light"]) .picture, svg.picture:root {{ {_declared(DARK)} }} }}',
            f':root[data-theme="dark"] .picture {{ {_declared(DARK)} }}',
        )
    )


def literal(sheet: str, colors: Mapping[str, str]) -> str:
    """Return CSS rules with the colors themselves instead of variables, for renderers that know no variables."""
    marks = [name for name in colors if name.startswith("mark-")]
    lines: list[str] = []
    for line in sheet.splitlines():
        sets_variable = "--mark:" in line
        if "var(--mark)" in line:
            # The variable `--mark` depends on the kind of mark, so each kind gets a rule of its own.
            lines += [line.replace(".mark ", f".{name} ").replace("(--mark)", f"(--{name})") for name in marks]
        elif not sets_variable:
            lines.append(line)
    text = "\n".join(lines)
    for name, color in colors.items():
        text = text.replace(f"var(--{name})", color)
    return text


def rules() -> str:
    """Return the CSS rules that color elements by their class."""
    lines = []
    for name in LIGHT:
        if name.startswith("level-"):
            lines.append(f".picture .block.{name} rect {{ fill: var(--{name}); }}")
        elif name.startswith("rail-"):
            lines.append(f".picture .line.{name} path {{ stroke: var(--{name}); }}")
        elif name.startswith("mark-"):
            lines.append(f".picture .{name} {{ --mark: var(--{name}); }}")
    return "\n".join(lines)


def _declared(colors: Mapping[str, str]) -> str:
    return " ".join(f"--{name}: {color};" for name, color in colors.items())
