"""Lengths of cables as they were built, in place of those of the design."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from railweave.cabling.ends import CabledLink, cables_of
from railweave.catalog.load import Catalog
from railweave.diagnostics import Diagnostic, error
from railweave.fabric.model import Fabric
from railweave.intent.as_built import CODE, MOST_REPORTED, AsBuilt, and_more
from railweave.wording import suggestion

_End = tuple[str, str]


def with_as_built(
    fabric: Fabric, lengths: Sequence[AsBuilt], catalog: Catalog
) -> tuple[Fabric, tuple[Diagnostic, ...]]:
    """Return the fabric with the lengths that were measured, or every one that no cable of it can have."""
    number_of: dict[_End, int] = {}
    ends: list[tuple[_End, _End]] = []
    for number, link in enumerate(fabric.links):
        lower = link.lower, fabric.ports_of[link.lower][link.lower_port].name
        upper = link.upper, fabric.ports_of[link.upper][link.upper_port].name
        ends.append((lower, upper))
        number_of[lower] = number_of[upper] = number
    cables = cables_of(fabric, catalog)
    measured: dict[int, AsBuilt] = {}
    diagnostics: list[Diagnostic] = []
    for row in lengths:
        if len(diagnostics) >= MOST_REPORTED:
            diagnostics.append(and_more(row.where))
            break
        if (row.device, row.port) not in number_of:
            diagnostics.append(_no_cable(fabric, row))
            continue
        number = number_of[row.device, row.port]
        faults = list(_faults(row, ends[number], cables[number], measured.get(number)))
        diagnostics += faults
        if not faults:
            measured[number] = row
    if diagnostics:
        return fabric, tuple(diagnostics)
    links = list(fabric.links)
    for number, row in measured.items():
        links[number] = links[number]._replace(length_m=row.length_m)
    return replace(fabric, links=tuple(links)), ()


def _no_cable(fabric: Fabric, row: AsBuilt) -> Diagnostic:
    ports = fabric.ports_of.get(row.device)
    if ports is None:
        fix = f"{suggestion(row.device, tuple(fabric.ports_of))}name a device of the fabric, or remove the row"
        return error(CODE, f"the fabric has no device `{row.device}`", row.where, fix=fix)
    fix = f"{suggestion(row.port, [port.name for port in ports])}name the port as cables.csv does"
    return error(CODE, f"no cable ends at {row.device} {row.port}", row.where, fix=fix, devices=(row.device,))


def _faults(row: AsBuilt, ends: tuple[_End, _End], cable: CabledLink, before: AsBuilt | None) -> Iterator[Diagnostic]:
    """Yield what is wrong with a length: its far end, a row for the same cable, more than the medium reaches."""
    near = row.device, row.port
    far = ends[0]
    if far == near:
        far = ends[1]
    # A row may leave its far end out.
    for stated, planned in zip(row.far, far, strict=True):
        if stated and stated != planned:
            message = f"the cable at {' '.join(near)} leads to {' '.join(far)}, not to {' '.join(row.far).strip()}"
            fix = "correct the row, or the cabling on site"
            yield error(CODE, message, row.where, fix=fix, devices=(row.device, far[0]))
            return
    if before is not None:
        message = f"the cable at {' '.join(near)} has a length in line {before.where.line} already"
        yield error(CODE, message, row.where, fix="keep one of the two rows")
    reach_m = min(cable.lower.pmd.reach_m, cable.upper.pmd.reach_m)
    if row.length_m > reach_m:
        message = f"{cable.medium.id} ({cable.medium.title}) reaches {reach_m} m between {' '.join(near)} and"
        message = f"{message} {' '.join(far)}, and the cable has {row.length_m} m"
        yield error("P-4", message, row.where, fix="use a shorter cable, or a medium that reaches", devices=near[:1])
