"""The report of a fabric: a page with design, risk and cost, and with a plan, verification, drift or rollout of it."""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from railweave.api.design.intent import gather, to_configure
from railweave.api.project import Project
from railweave.api.simulator.rehearsal_files import stored
from railweave.bom.bill import bill
from railweave.catalog.load import load_catalog
from railweave.diagnostics import Diagnostic, has_errors
from railweave.drawing.marks import Mark, Marks
from railweave.errors import RailweaveError, RefusedError, UsageError
from railweave.fabric.model import Fabric
from railweave.failures.analysis import lossless_classes, single_failures
from railweave.files import cannot_write, write_private
from railweave.plan.document import parse_plan
from railweave.plan.model import Plan
from railweave.qos.summary import switch_buffers
from railweave.report.page.change_sections import MarkedSection, drift_section, rollout_section, verification_section
from railweave.report.page.content import Section
from railweave.report.page.design_sections import (
    bill_section,
    diagnostics_section,
    failures_section,
    management_section,
    qos_section,
    racks_section,
    sizing_section,
    summary_facts,
)
from railweave.report.page.evidence import read_drifted, read_verified
from railweave.report.page.page import Page, page_html
from railweave.report.page.plan_section import plan_section
from railweave.wording import command_line, first_few, listed

_READABLE = 0o644


class Reported(NamedTuple):
    """A page that was written, and of which fabric."""

    fabric: Fabric
    out: Path
    size_bytes: int


def report(
    project: Project,
    out: Path,
    *,
    plan: Path | None = None,
    verification: Path | None = None,
    drift: Path | None = None,
    rollout: str | None = None,
    acceptance: Path | None = None,
) -> Reported:
    """Write the report of the intent's fabric into ``out``, one HTML file that loads nothing.

    ``plan`` is a file of `plan -o`. ``verification`` and ``drift`` are files that `verify --json` and `drift --json`
    printed. ``rollout`` is the name of a rollout, empty for the newest. ``acceptance`` is the directory of an
    acceptance plan with its results. Each of them gets a section, and marks on the topology. Raises RefusedError with
    every error of the intent or of the plan, UsageError for another ending and for files of another kind or fabric,
    RailweaveError where the page cannot be written.
    """
    if out.suffix.lower() not in {".html", ".htm"}:
        raise UsageError(f"a report is written as .html, not as `{out.name}`: name a file like fabric.html")
    gathered = gather(project.intent)
    if has_errors(gathered.diagnostics):
        raise RefusedError(gathered.diagnostics)
    fabric = gathered.fabric
    if fabric is None:
        raise RefusedError(to_configure(gathered.diagnostics))
    marked_sections = _marked_sections(fabric, plan, verification, drift, rollout)
    if acceptance is not None:
        marked_sections["the acceptance"] = _acceptance(fabric, acceptance, gathered.intent.sha256)
    html = page_html(_page(fabric, gathered.diagnostics, marked_sections))
    try:
        write_private(out, html, _READABLE)
    except OSError as exc:
        raise RailweaveError(cannot_write(out, exc)) from exc
    return Reported(fabric, out, size_bytes=len(html))


def _page(fabric: Fabric, diagnostics: tuple[Diagnostic, ...], marked_sections: Mapping[str, MarkedSection]) -> Page:
    """Return the page: first the sections whose marks are drawn on the topology, then those of the design."""
    marked_by = ""
    if marked_sections:
        marked_by = listed(marked_sections)
    sections = [marked.section for marked in marked_sections.values()]
    sections += _design_sections(fabric, diagnostics)
    leaving_cables = [cable for marked in marked_sections.values() for cable in marked.leaving]
    return Page(
        fabric=fabric,
        summary=summary_facts(fabric, diagnostics),
        sections=tuple(sections),
        marks=_joined_marks(marked_sections.values()),
        marked=marked_by,
        leaving=tuple(leaving_cables),
    )


def _design_sections(fabric: Fabric, diagnostics: tuple[Diagnostic, ...]) -> tuple[Section, ...]:
    """Return the sections that follow from the intent alone, in the order of the page."""
    sections = [
        sizing_section(fabric.sizing),
        qos_section(fabric, switch_buffers(fabric)),
        diagnostics_section(diagnostics),
    ]
    if fabric.racks is not None:
        sections.append(racks_section(fabric, fabric.racks))
    if fabric.management is not None:
        sections.append(management_section(fabric.management))
    sections.append(failures_section(single_failures(fabric), lossless_classes(fabric)))
    sections.append(bill_section(bill(fabric, load_catalog())))
    return tuple(sections)


def _marked_sections(
    fabric: Fabric, plan: Path | None, verification: Path | None, drift: Path | None, rollout: str | None
) -> dict[str, MarkedSection]:
    """Return the sections of a plan, verification, drift and rollout, by the words that the page has for them."""
    sections: dict[str, MarkedSection] = {}
    if plan is not None:
        parsed = _read_plan(plan)
        _require_fabric(parsed.fabric, fabric, plan)
        sections["the plan"] = plan_section(fabric, parsed, stored(parsed, plan))
    if verification is not None:
        verified = read_verified(verification)
        _require_devices({check.device for check in verified.checks}, fabric, verification)
        sections["the verification"] = verification_section(fabric, verified)
    if drift is not None:
        drifted = read_drifted(drift)
        _require_fabric(drifted.fabric, fabric, drift)
        sections["drift"] = drift_section(drifted)
    if rollout is not None:
        # Imports the driver, which takes most of the time of a small page.
        from railweave.api.journal.rollout import find

        recorded = find(rollout)
        _require_fabric(recorded.fabric, fabric, recorded.path)
        sections["the rollout"] = rollout_section(recorded)
    return sections


def _acceptance(fabric: Fabric, folder: Path, intent_sha256: str) -> MarkedSection:
    """Return the section of the results in a directory, which are judged again."""
    # Imports the readers of every tool.
    from railweave.api.acceptance import judgement
    from railweave.report.page.acceptance_section import acceptance_section
    from railweave.report.status import acceptance_text

    judged = judgement(folder, intent_sha256)
    _require_fabric(judged.verdict.plan.fabric, fabric, folder)
    note = "its verdict is not stored yet"
    if judged.stored is not None:
        note = acceptance_text(judged.stored)
    return acceptance_section(fabric, judged.verdict, judged.loads, (note,))


def _read_plan(path: Path) -> Plan:
    try:
        return parse_plan(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as exc:
        raise UsageError(
            f"{path} cannot be read: {exc}; name a file that `{command_line('plan', '-o', 'FILE')}` wrote"
        ) from None


def _require_fabric(name: str, fabric: Fabric, path: Path) -> None:
    """Raise UsageError for a file of another fabric."""
    if name != fabric.name:
        raise UsageError(f"{path} is of fabric {name!r}, the intent is of {fabric.name!r}")


def _require_devices(devices: Collection[str], fabric: Fabric, path: Path) -> None:
    """Raise UsageError for a verification of another fabric.

    `verify --json` does not name its fabric, but a verification of another one has none of this one's devices.
    """
    if devices and not any(name in fabric.ports_of for name in devices):
        raise UsageError(f"{path} is of {first_few(sorted(devices))}, of which the fabric {fabric.name!r} has none")


def _joined_marks(sections: Iterable[MarkedSection]) -> Marks:
    """Return the marks of all sections; those of one device or cable are in the order of the sections."""
    devices: dict[str, tuple[Mark, ...]] = {}
    cables: dict[tuple[str, str], tuple[Mark, ...]] = {}
    for section in sections:
        for name, marks in section.marks.devices.items():
            devices[name] = (*devices.get(name, ()), *marks)
        for cable, marks in section.marks.cables.items():
            cables[cable] = (*cables.get(cable, ()), *marks)
    return Marks(devices, cables)
