"""Graded cables for a terminal and as JSON."""

from collections.abc import Iterator
from math import isinf
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from railweave.codec import members
from railweave.failures.cost import Cost
from railweave.links.grades import Grade
from railweave.links.grading import GradedCable, LinksReport, Soaked
from railweave.links.history import Offender
from railweave.report.layout import table
from railweave.report.reasons import reason_lines
from railweave.wording import command_line, counted

_STYLES = {Grade.B: "", Grade.C: "yellow", Grade.D: "bold red"}


def links_json(report: LinksReport) -> dict[str, Any]:
    """Return the document of ``railweave links --json``: every cable, those whose loss harms most first."""
    document = {
        **members(report, "fabric", "target", "seconds"),
        "links": [_cable_json(cable) for cable in report.cables],
        "unread": dict(report.unread),
        "without_optics": dict(report.without_optics),
        "repeat_offenders": [members(offender, *offender._fields) for offender in report.offenders],
    }
    if report.soaked is not None:
        document["soak"] = {
            "readings": report.soaked.readings,
            "may_return": list(report.may_return),
            "not_measured": dict(report.soaked.unmeasured),
        }
    return document


def _cable_json(cable: GradedCable) -> dict[str, Any]:
    """Return a graded cable for the document, with both ends and the cost of its loss."""
    return {
        "cable": cable.cable,
        "a": members(cable.a, *cable.a._fields),
        "b": members(cable.b, *cable.b._fields),
        "grade": cable.grade.value,
        "reasons": [reason.text for reason in cable.reasons],
        "cost": _cost_json(cable.cost),
        "bit_error_rate": cable.bit_error_rate,
        "uncorrectable": cable.uncorrectable,
        "serials": list(cable.serials),
        "suspect": cable.suspect,
    }


def _cost_json(cost: Cost) -> dict[str, Any]:
    document = members(cost, *cost._fields)
    # JSON has no infinity, and null is not a loss.
    if cost.oversubscription is not None and isinf(cost.oversubscription):
        document["oversubscription"] = "infinite"
    return document


def links_view(report: LinksReport) -> RenderableType:
    """Return the cables with another grade than A, repeat offenders, and the next command."""
    parts: list[RenderableType] = [Text(_summary_line(report), style="bold")]
    rows = [row for cable in report.poor for row in _cable_rows(cable)]
    if rows:
        parts.append(table("grade", "cable", "reason", rows=rows))
    parts += [Text(_offender_line(offender)) for offender in report.offenders]
    parts += [Text(f"not read: {line}", style="bold red") for line in reason_lines(report.unread)]
    parts += [Text(f"graded without optics and flaps: {line}") for line in reason_lines(report.without_optics)]
    parts += [Text(line) for line in _last_lines(report)]
    return Group(*parts)


def _last_lines(report: LinksReport) -> Iterator[str]:
    """Yield the verdict of a soak; otherwise the next command, if there is one."""
    if report.soaked is not None:
        yield from _soak_lines(report, report.soaked)
    elif report.to_drain:
        yield f"next: {command_line('links', 'drain', report.to_drain[0].cable)}"


def _summary_line(report: LinksReport) -> str:
    grades = [cable.grade for cable in report.cables]
    summary = ", ".join(f"{grade} {grades.count(grade)}" for grade in Grade)
    return f"{report.fabric} on {report.target}: {counted(len(report.cables), 'cable')}, {summary}"


def _soak_lines(report: LinksReport, soaked: Soaked) -> Iterator[str]:
    """Yield a line for each cable: whether it may return into service, and if not, why."""
    for cable in report.cables:
        if cable.cable in report.may_return:
            yield f"may return: {cable.cable}, {counted(soaked.readings, 'reading')}"
        elif cable.grade > Grade.B:
            yield f"must not return: {cable.cable}, its worst reading has grade {cable.grade}"
        else:
            yield f"not soaked: {cable.cable}, {soaked.unmeasured[cable.cable]}"


def _offender_line(offender: Offender) -> str:
    where = ""
    if offender.kind == "optic":
        where = f" in {', '.join(offender.cables)}"
    days = counted(offender.days, "day")
    return f"repeat offender: {offender.kind} {offender.name}{where}, {days} below grade A"


def _cable_rows(cable: GradedCable) -> Iterator[tuple[Text, str, str]]:
    """Yield a row (grade, cable, reason) for each reason of a cable's grade, then one for the part that is suspect.

    Only the first row names the grade and the cable.
    """
    for index, reason in enumerate(cable.reasons):
        if index == 0:
            yield Text(cable.grade.value, style=_STYLES[cable.grade]), cable.cable, reason.text
        else:
            yield Text(""), "", reason.text
    if cable.suspect:
        yield Text(""), "", f"look at: {cable.suspect}"
