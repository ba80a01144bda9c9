"""The page that compares designs side by side."""

from importlib.resources import files
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
        figures_and_verdicts = {None if cell is None else (cell.value, cell.met) for cell in self.cells}
        return len(figures_and_verdicts) > 1


def rules(comparison: Comparison) -> tuple[GuidelineRow, ...]:
    """Return the rules of thumb that apply to some design, each with the figures of all."""
    columns = [{guideline.key: guideline for guideline in design.guidelines} for design in comparison.alternatives]
    # In the order in which they first apply.
    keys = dict.fromkeys(key for column in columns for key in column)
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
