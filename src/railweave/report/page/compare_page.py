"""The page that compares designs side by side."""

from importlib.resources import files
from itertools import chain
from typing import NamedTuple

from jinja2 import DictLoader, Environment, StrictUndefined

from railweave.comparison.alternative import Comparison, figures
from railweave.comparison.guidelines import Guideline


class GuidelineRow(NamedTuple):
    """A rule of thumb with the figure of each design, None for a design that it does not apply to."""

    name: str
    cells: tuple[Guideline | None, ...]
    source: str

    @property
    def differs(self) -> bool:
        """Return whether the designs differ in it."""
        return len(set(map(_figure, self.cells))) > 1


def _figure(cell: Guideline | None) -> tuple[str, bool | None] | None:
    """Return the figure of a design and whether it meets the rule, None if the rule does not apply."""
    if cell is None:
        return None
    return cell.value, cell.met


def rules(comparison: Comparison) -> tuple[GuidelineRow, ...]:
    """Return a row for each rule of thumb that applies to at least one design, with the figures of all designs."""
    columns = [{guideline.key: guideline for guideline in design.guidelines} for design in comparison.alternatives]
    # In the order in which they first apply.
    keys = dict.fromkeys(chain.from_iterable(columns))
    rows = []
    for key in keys:
        cells = tuple(column.get(key) for column in columns)
        guidelines = [guideline for guideline in cells if guideline is not None]
        names = dict.fromkeys(guideline.name for guideline in guidelines)
        rows.append(GuidelineRow(" / ".join(names), cells, guidelines[0].source))
    return tuple(rows)


def comparison_html(comparison: Comparison) -> bytes:
    """Return the page, UTF-8; it loads nothing and has no script."""
    assets = files("railweave.report.page").joinpath("assets")
    markup = assets.joinpath("compare.html").read_text(encoding="utf-8")
    sheet = assets.joinpath("page.css").read_text(encoding="utf-8")
    environment = Environment(loader=DictLoader({"page": markup}), autoescape=True, undefined=StrictUndefined)
    html = environment.get_template("page").render(
        names=[alternative.intent for alternative in comparison.alternatives],
        figures=figures(comparison),
        rules=rules(comparison),
        page_style=sheet,
    )
    return html.encode()
