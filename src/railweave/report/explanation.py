"""The reasons of rows and lines, and the rule of a code, for a terminal and as JSON."""

from collections.abc import Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from railweave.acceptance.limits.topics import LimitTopic
from railweave.checks.registry import Rule
from railweave.codec import as_json, members
from railweave.health.watch_rules import WatchInput, WatchRule
from railweave.report.changes import value_text
from railweave.report.layout import table
from railweave.sonic.render.explain import Explanation


def explanation_json(explanation: Explanation) -> dict[str, Any]:
    """Return ``{device, asked, found: [{table, key, field, value, reason}], nearest}``."""
    return members(explanation, "device", "asked", "found", "nearest")


def rule_json(rule: Rule) -> dict[str, Any]:
    """Return the document of `explanation_json` without rows, and ``rule``: code, title, explanation, example, fix."""
    asked = {"device": "", "asked": rule.code, "found": [], "nearest": []}
    return asked | {"rule": members(rule, "code", "title", "explanation", "example", "fix")}


def rule_view(rule: Rule) -> RenderableType:
    """Return the rule in a sentence, why it exists, an example that breaks it, and the usual fix."""
    parts = [f"{rule.code}: {rule.title}"]
    if rule.explanation:
        parts.append(rule.explanation)
    if rule.example:
        parts.append(f"example of what breaks it:\n{rule.example}")
    if rule.fix:
        parts.append(f"fix: {rule.fix}")
    return Text("\n\n".join(parts))


def watch_json(rule: WatchRule) -> dict[str, Any]:
    """Return the document of `explanation_json` without rows, and in ``watch`` the rule of an alert or of `health`."""
    asked = {"device": "", "asked": rule.code, "found": [], "nearest": []}
    return asked | {"watch": as_json(rule)}


def watch_view(rule: WatchRule) -> RenderableType:
    """Return what a rule says, its limit, its inputs and its runbook page."""
    parts = []
    if rule.alert:
        parts += [f"{rule.code}, alert {rule.alert} ({rule.severity}): {rule.summary}"]
        parts += [f"limit: {rule.limit}", rule.expression]
    if rule.holds:
        check = f"`railweave health` checks that {rule.holds}"
        # The paragraph on the alert has the code already.
        if not rule.alert:
            check = f"{rule.code}: {check}"
        parts += [check, rule.explanation]
    if rule.inputs:
        parts.append("\n".join(["reads:", *map(_input_line, rule.inputs)]))
    parts.append(f"what to look at: {rule.runbook}")
    return Text("\n\n".join(parts))


def _input_line(entry: WatchInput) -> str:
    notes = [note for note in (entry.source, entry.enable) if note]
    line = f"  {entry.name}: {entry.help}"
    if notes:
        line += f" ({'; '.join(notes)})"
    return line


def limits_json(topics: Sequence[LimitTopic]) -> dict[str, Any]:
    """Return the document of `explanation_json` without rows, and ``limits``: [{name, title, explanation}]."""
    asked = {"device": "", "asked": "acceptance", "found": [], "nearest": []}
    return asked | {"limits": [members(topic, "name", "title", "explanation") for topic in topics]}


def limits_view(topics: Sequence[LimitTopic]) -> RenderableType:
    """Return how one limit is computed, or a line for each of several."""
    if len(topics) == 1:
        return Text(f"acceptance {topics[0].name}: {topics[0].title}\n\n{topics[0].explanation}")
    return table("acceptance", "limit", rows=[(topic.name, topic.title) for topic in topics])


def explanation_view(explanation: Explanation) -> RenderableType:
    """Return a table of the rows found, with their values and reasons; if there are none, the nearest subjects."""
    if not explanation.found:
        message = f"{explanation.device} has no row or line {explanation.asked!r}"
        if explanation.nearest:
            message += "; did you mean:" + "".join(f"\n  {subject}" for subject in explanation.nearest)
        return Text(message)
    rows = []
    for row in explanation.found:
        # A line of FRR is its own value.
        value = "" if row.value == row.field else value_text(row.value)
        rows.append((row.subject, value, row.reason))
    return table("row", "value", "because", rows=rows)
