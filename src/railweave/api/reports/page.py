"""The report of a fabric: one page with design, risk and cost, and what is to happen to it or was found on it."""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from railweave.api.design.intent import gather
from railweave.api.project import Project
from railweave.api.simulator.rehearsal_files import stored
from railweave.bom.bill import bill
from railweave.catalog.load import load_catalog
from railweave.diagnostics import has_errors
from railweave.drawing.marks import Mark, Marks
from railweave.errors import RailweaveError, RefusedError, UsageError
from railweave.fabric.model import Fabric
from railweave.failures.analysis import lossless_classes, single_failures
from railweave.files import write_private
from railweave.plan.document import parse_plan
from railweave.plan.model import Plan
from railweave.qos.summary import switch_buffers
from railweave.report.page.change_sections import (
    Told,
    drift_section,
    plan_section,
    rollout_section,
    verification_section,
)
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
) -> Reported:
    """Write the report of the intent's fabric into ``out``, one HTML file that loads nothing.

    ``plan`` is a file of `plan -o`, ``verification`` and ``drift`` are files that `verify --json` and `drift --json`
    printed, ``rollout`` is the name of a rollout, empty for the newest: what they tell is drawn on the topology. Raises
    RefusedError with every error of the intent or of the plan, UsageError for another ending and for files of another
    kind or fabric, RailweaveError where the page cannot be written.
    """
    if out.suffix.lower() not in {".html", ".htm"}:
        raise UsageError(f"a report is written as .html, not as `{out.name}`: name a file like fabric.html")
    gathered = gather(project.intent)
    if has_errors(gathered.diagnostics):
        raise RefusedError(gathered.diagnostics)
    fabric = gathered.fabric
    if fabric is None:
        raise RailweaveError(
            f"{project.intent}: this intent can be sized but not drawn; name switch models of the catalog"
        )
    told = _told(fabric, plan, verification, drift, rollout)
    buffers = switch_buffers(fabric)
    sections = (
        *(one.section for one in told.values()),
        sizing_section(fabric.sizing),
        qos_section(fabric, buffers),
        diagnostics_section(gathered.diagnostics),
        *(() if fabric.racks is None else (racks_section(fabric, fabric.racks),)),
        *(() if fabric.management is None else (management_section(fabric.management),)),
        failures_section(single_failures(fabric), lossless_classes(fabric)),
        bill_section(bill(fabric, load_catalog())),
    )
    marked = listed(told) if told else ""
    written = page_html(
        Page(
            fabric,
            summary_facts(fabric, gathered.diagnostics),
            sections,
            _joined(told.values()),
            marked,
            tuple(cable for one in told.values() for cable in one.leaving),
        )
    )
    try:
        write_private(out, written, _READABLE)
    except OSError as exc:
        raise RailweaveError(f"{out} cannot be written: {exc.strerror}") from exc
    return Reported(fabric, out, len(written))


def _told(
    fabric: Fabric, plan: Path | None, verification: Path | None, drift: Path | None, rollout: str | None
) -> dict[str, Told]:
    """Return what is said of the fabric beside its design, by what says it."""
    found: dict[str, Told] = {}
    if plan is not None:
        read = _of_fabric(_plan(plan), fabric, plan)
        found["the plan"] = plan_section(fabric, read, stored(read, plan))
    if verification is not None:
        verified = read_verified(verification)
        _demand_devices({check.device for check in verified.checks}, fabric, verification)
        found["the verification"] = verification_section(fabric, verified)
    if drift is not None:
        drifted = read_drifted(drift)
        _demand_fabric(drifted.fabric, fabric, drift)
        found["drift"] = drift_section(drifted)
    if rollout is not None:
        from railweave.api.journal.rollout import find  # it brings the driver with it: most of the time of a small page

        told = find(rollout)
        _demand_fabric(told.fabric, fabric, told.path)
        found["the rollout"] = rollout_section(told)
    return found


def _plan(path: Path) -> Plan:
    try:
        return parse_plan(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as exc:
        raise UsageError(
            f"{path} cannot be read: {exc}; name a file that `{command_line('plan', '-o', 'FILE')}` wrote"
        ) from None


def _of_fabric(plan: Plan, fabric: Fabric, path: Path) -> Plan:
    _demand_fabric(plan.fabric, fabric, path)
    return plan


def _demand_fabric(found: str, fabric: Fabric, path: Path) -> None:
    if found != fabric.name:
        raise UsageError(f"{path} is of fabric {found!r}, the intent is of {fabric.name!r}")


def _demand_devices(found: Collection[str], fabric: Fabric, path: Path) -> None:
    """Raise UsageError for a verification of another fabric, which has no name: none of its devices is of this one."""
    if found and not any(name in fabric.ports_of for name in found):
        raise UsageError(f"{path} is of {first_few(sorted(found))}, of which the fabric {fabric.name!r} has none")


def _joined(told: Iterable[Told]) -> Marks:
    devices: dict[str, tuple[Mark, ...]] = {}
    cables: dict[tuple[str, str], tuple[Mark, ...]] = {}
    for one in told:
        for name, marks in one.marks.devices.items():
            devices[name] = (*devices.get(name, ()), *marks)
        for pair, marks in one.marks.cables.items():
            cables[pair] = (*cables.get(pair, ()), *marks)
    return Marks(devices, cables)
