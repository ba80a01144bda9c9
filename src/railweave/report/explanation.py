"""Why rows and lines are there, for a person and as JSON."""

from typing import Any

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from railweave.report.values import value_text
from railweave.sonic.render.explain import Explained, Explanation


def explanation_json(explanation: Explanation) -> dict[str, Any]:
    """Return ``{device, asked, found: [{table, key, field, value, reason}], nearest}``."""
    return {
        "device": explanation.device,
        "asked": explanation.asked,
        "found": [_found_json(one) for one in explanation.found],
        "nearest": list(explanation.nearest),
    }


def _found_json(one: Explained) -> dict[str, Any]:
    value = one.value if isinstance(one.value, str | tuple) else dict(one.value)
    return {"table": one.table, "key": one.key, "field": one.field, "value": value, "reason": one.reason}


def explanation_view(explanation: Explanation) -> RenderableType:
    """Return a line for each row found, with its value and reason; else what could have been meant."""
    if not explanation.found:
        return _nothing(explanation)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, show_edge=False, header_style="bold")
    for column, ratio in (("row", 3), ("value", 3), ("because", 5)):
        table.add_column(column, overflow="fold", ratio=ratio)
    for one in explanation.found:
        value = "" if one.value == one.field else value_text(one.value)
        table.add_row(Text(one.subject), Text(value), Text(one.reason))
    return table


def _nothing(explanation: Explanation) -> Text:
    text = Text(f"{explanation.device} has no row or line {explanation.asked!r}")
    if explanation.nearest:
        text.append("; did you mean:")
        for near in explanation.nearest:
            text.append(f"\n  {near}")
    return text
