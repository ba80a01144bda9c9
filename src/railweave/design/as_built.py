"""Lengths of cables as they were built, in place of those of the design."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from railweave.cabling.ends import CabledLink, cables_of
from railweave.catalog.load import Catalog
from railweave.diagnostics import Diagnostic, error
from railweave.fabric.model import Fabric
from railweave.intent.as_built import CODE, MOST_REPORTED, AsBuilt, and_more
from railweave.wording import suggestion

_End = tuple[str, str]
"""A device and the name of its port."""


class _PlannedCable(NamedTuple):
    """A cable of the design: the position of its link in the fabric, its ends, and its media and reach."""

    number: int
    lower: _End
    upper: _End
    cabled: CabledLink


def with_as_built(
    fabric: Fabric, lengths: Sequence[AsBuilt], catalog: Catalog
) -> tuple[Fabric, tuple[Diagnostic, ...]]:
    """Return the fabric with the lengths that were measured, and no diagnostics.

    If rows do not match the design, the fabric is returned as it is, with their errors. At most `MOST_REPORTED` of them
    are reported.
    """
    cable_at = _cables_by_end(fabric, catalog)
    row_of: dict[int, AsBuilt] = {}
    diagnostics: list[Diagnostic] = []
    for row in lengths:
        if len(diagnostics) >= MOST_REPORTED:
            diagnostics.append(and_more(row.where))
            break
        cable = cable_at.get((row.device, row.port))
        if cable is None:
            diagnostics.append(_no_cable(fabric, row))
            continue
        faults = list(_faults(row, cable, row_of.get(cable.number)))
        diagnostics += faults
        if not faults:
            row_of[cable.number] = row
    if diagnostics:
        return fabric, tuple(diagnostics)
    links = list(fabric.links)
    for number, row in row_of.items():
        links[number] = links[number]._replace(length_m=row.length_m)
    return replace(fabric, links=tuple(links)), ()


def _cables_by_end(fabric: Fabric, catalog: Catalog) -> dict[_End, _PlannedCable]:
    """Return each cable of the fabric twice: by its lower and by its upper end."""
    cable_at = {}
    cabled_links = cables_of(fabric, catalog)
    for number, link in enumerate(fabric.links):
        lower = link.lower, fabric.ports_of[link.lower][link.lower_port].name
        upper = link.upper, fabric.ports_of[link.upper][link.upper_port].name
        cable = _PlannedCable(number, lower, upper, cabled_links[number])
        cable_at[lower] = cable
        cable_at[upper] = cable
    return cable_at


def _no_cable(fabric: Fabric, row: AsBuilt) -> Diagnostic:
    """Return the error of a row with an unknown device, or with a port at which no cable ends."""
    ports = fabric.ports_of.get(row.device)
    if ports is None:
        fix = f"{suggestion(row.device, tuple(fabric.ports_of))}name a device of the fabric, or remove the row"
        return error(CODE, f"the fabric has no device `{row.device}`", row.where, fix=fix)
    fix = f"{suggestion(row.port, [port.name for port in ports])}name the port as cables.csv does"
    return error(CODE, f"no cable ends at {row.device} {row.port}", row.where, fix=fix, devices=(row.device,))


def _faults(row: AsBuilt, cable: _PlannedCable, earlier_row: AsBuilt | None) -> Iterator[Diagnostic]:
    """Yield the errors of a row about a cable.

    A row that names another far end than the design has only this error. Any other row has one if an ``earlier_row``
    about the cable was accepted, and one if the medium does not reach the measured length.
    """
    row_end = row.device, row.port
    far_end = cable.lower
    if far_end == row_end:
        far_end = cable.upper
    row_end_text = " ".join(row_end)
    far_end_text = " ".join(far_end)
    for stated, planned in zip(row.far, far_end, strict=True):
        # A row may leave out the device or port of its far end.
        if stated and stated != planned:
            message = f"the cable at {row_end_text} leads to {far_end_text}, not to {' '.join(row.far).strip()}"
            fix = "correct the row, or the cabling on site"
            yield error(CODE, message, row.where, fix=fix, devices=(row.device, far_end[0]))
            return
    if earlier_row is not None:
        message = f"the cable at {row_end_text} has a length in line {earlier_row.where.line} already"
        yield error(CODE, message, row.where, fix="keep one of the two rows")
    medium = cable.cabled.medium
    reach_m = min(cable.cabled.lower.pmd.reach_m, cable.cabled.upper.pmd.reach_m)
    if row.length_m > reach_m:
        message = (
            f"{medium.id} ({medium.title}) reaches {reach_m} m between {row_end_text} and {far_end_text}, and the"
            f" cable has {row.length_m} m"
        )
        fix = "use a shorter cable, or a medium that reaches"
        yield error("P-4", message, row.where, fix=fix, devices=(row.device,))
