"""Modules against the bill of materials: what a port reports, and what the design planned for its cage.

Identifiers: SFF-8024 table 4-1 as xcvrd writes them. One identifier covers several form factors; a cage that takes
QSFP-DD takes QSFP modules too, so only a module of another kind than planned is named.
"""

from collections.abc import Iterator, Mapping

from railweave.cabling.modules import PlannedModule
from railweave.links.grades import Grade, Reason
from railweave.links.optics import Module

_FORM_FACTORS: Mapping[str, tuple[str, ...]] = {
    "QSFP-DD": ("QSFP-DD", "QSFP-DD800"),
    "OSFP": ("OSFP",),
    "QSFP+ or later with CMIS": ("QSFP56", "QSFP112"),
    "QSFP28": ("QSFP28",),
    "QSFP+": ("QSFP28",),
}
"""By the beginning of an identifier, the longer ones first."""


def part_reasons(end: str, module: Module, planned: PlannedModule) -> list[Reason]:
    """Return a reason for each difference of the module at ``end`` from the one in the bill of materials.

    They are of grade B: the link may work, but not at the reach or the temperature that the design counts on.
    """
    return [Reason(Grade.B, f"module of {end} {text} (bill of materials)") for text in _differences(module, planned)]


def _differences(module: Module, planned: PlannedModule) -> Iterator[str]:
    """Yield the differences in form factor, medium and length, as ends of sentences; unknown values do not differ."""
    factors = form_factors_of(module.info.get("type", ""))
    if factors and not set(factors) & set(planned.form_factors):
        yield f"is {' or '.join(factors)}, {' or '.join(planned.form_factors)} {planned.pmd} is planned"
    copper = module.is_copper
    if copper is not None and copper != planned.copper:
        yield f"is {_medium(copper=copper)}, {_medium(copper=planned.copper)} ({planned.pmd}) is planned"
        return
    length_m = module.length_m
    # A transceiver reports the reach of its fiber here, or nothing.
    if planned.fixed and length_m and round(length_m) != planned.length_m:
        yield f"has a cable of {length_m:g} m, {planned.length_m} m is planned"


def form_factors_of(identifier: str) -> tuple[str, ...]:
    """Return the form factors that an identifier stands for; none if it is unknown."""
    name = identifier.strip()
    for start, factors in _FORM_FACTORS.items():
        if name.startswith(start):
            return factors
    return ()


def _medium(*, copper: bool) -> str:
    if copper:
        return "copper"
    return "optical"
