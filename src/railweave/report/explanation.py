"""Why rows and lines are there, and what a code stands for, for a person and as JSON."""

from typing import Any

from rich.console import RenderableType
from rich.text import Text

from railweave.checks.registry import Rule
from railweave.jsonable import members
from railweave.report.changes import value_text
from railweave.report.layout import table
from railweave.sonic.render.explain import Explanation


def explanation_json(explanation: Explanation) -> dict[str, Any]:
    """Return ``{device, asked, found: [{table, key, field, value, reason}], nearest}``."""
    return members(explanation, "device", "asked", "found", "nearest")


def rule_json(rule: Rule) -> dict[str, Any]:
    """Return the same document without rows, and ``rule``: {code, title, explanation, example}."""
    asked = {"device": "", "asked": rule.code, "found": [], "nearest": []}
    return asked | {"rule": members(rule, "code", "title", "explanation", "example", "fix")}


def rule_view(rule: Rule) -> RenderableType:
    """Return the rule as a sentence that holds, why, an example of what breaks it, and the usual fix."""
    example = f"example of what breaks it:\n{rule.example}" if rule.example else ""
    fix = f"fix: {rule.fix}" if rule.fix else ""
    return Text("\n\n".join(filter(None, (f"{rule.code}: {rule.title}", rule.explanation, example, fix))))


def explanation_view(explanation: Explanation) -> RenderableType:
    """Return a line for each row found, with its value and reason; else what could have been meant."""
    if not explanation.found:
        near = "".join(f"\n  {one}" for one in explanation.nearest)
        question = f"; did you mean:{near}" if near else ""
        return Text(f"{explanation.device} has no row or line {explanation.asked!r}{question}")
    rows = (
        (one.subject, "" if one.value == one.field else value_text(one.value), one.reason) for one in explanation.found
    )
    return table("row", "value", "because", rows=rows)
