"""Designs side by side as a page of its own."""

from importlib.resources import files
from typing import NamedTuple

from jinja2 import DictLoader, Environment, StrictUndefined

from railweave.comparison.alternative import Comparison, figures
from railweave.comparison.guidelines import Guideline


class Rule(NamedTuple):
    """A rule of thumb with what each design has for it, None for a design that it says nothing about."""

    name: str
    cells: tuple[Guideline | None, ...]
    source: str


def rules(found: Comparison) -> tuple[Rule, ...]:
    """Return the rules of thumb, each with what every design has."""
    columns = [{one.key: one for one in design.guidelines} for design in found.alternatives]
    keys = dict.fromkeys(key for column in columns for key in column)
    rows = []
    for key in keys:
        cells = tuple(column.get(key) for column in columns)
        known = [one for one in cells if one is not None]
        names = dict.fromkeys(one.name for one in known)
        rows.append(Rule(" / ".join(names), cells, known[0].source))
    return tuple(rows)


def comparison_html(found: Comparison) -> bytes:
    """Return the page, UTF-8; it loads nothing and runs nothing."""
    assets = files("railweave.report.page").joinpath("assets")
    markup, sheet = (assets.joinpath(name).read_text(encoding="utf-8") for name in ("compare.html", "page.css"))
    environment = Environment(loader=DictLoader({"page": markup}), autoescape=True, undefined=StrictUndefined)
    return (
        environment.get_template("page")
        .render(
            names=[one.intent for one in found.alternatives],
            figures=figures(found),
            rules=rules(found),
            page_style=sheet,
        )
        .encode()
    )
