"""How often components fail and how long their repair takes, from a file of the user; railweave knows no rates.

``rates:`` maps kinds of components, as `railweave failures` names them, to ``failures_per_year`` of one component and
``repair_hours``. ``link`` and ``switch`` stand for all kinds of links and of switches that are not named themselves.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from railweave.diagnostics import Diagnostic, Where, error
from railweave.fabric.devices import TIER_NAMES
from railweave.fabric.links import LINK_KINDS
from railweave.failures.components import CARD, PLANE, POD
from railweave.intent.paths import child
from railweave.intent.positions import Document, read_checked
from railweave.wording import either, suggestion

CODE = "RW019"
HOURS_A_YEAR = 8766
"""Of 365.25 days."""

_LINK = "link"
_SWITCH = "switch"
KINDS = (_LINK, *LINK_KINDS, CARD, _SWITCH, *TIER_NAMES, PLANE, POD)
_NUMBERS = ("failures_per_year", "repair_hours")
_NUMBER = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,9})?")


class Rate(NamedTuple):
    """How often one component fails in a year, and the hours until it is repaired."""

    failures_per_year: float
    repair_hours: float

    @property
    def unavailability(self) -> float:
        """Return the part of the time in which it is out of service: repair over the whole of a cycle."""
        down = self.failures_per_year * self.repair_hours / HOURS_A_YEAR
        return down / (1 + down)


NEVER = Rate(0, 0)


class Rates(NamedTuple):
    """The rates by kind of component."""

    of: Mapping[str, Rate]

    def rate(self, kind: str) -> Rate:
        """Return the rate of a kind, that of all links or switches where it has none of its own, `NEVER` without."""
        general = kind
        if kind in LINK_KINDS:
            general = _LINK
        elif kind in TIER_NAMES:
            general = _SWITCH
        return self.of.get(kind, self.of.get(general, NEVER))


def read_rates(path: Path) -> Rates:
    """Return the rates of a file; raises RefusedError with everything that is wrong in it."""
    document = read_checked(path, _faults, "file of rates", "rates:")
    listed = document.value["rates"]
    assert isinstance(listed, dict)  # noqa: S101  no fault
    return Rates({str(kind): _rate(rate) for kind, rate in listed.items()})


def _rate(listed: object) -> Rate:
    assert isinstance(listed, dict)  # noqa: S101  no fault
    return Rate(float(listed["failures_per_year"]), float(listed["repair_hours"]))


def _faults(document: Document, file: str) -> Iterator[Diagnostic]:
    value = document.value
    for key in [key for key in value if key != "rates"]:
        yield error(CODE, f"unknown key `{key}`", document.keys[key], fix="the key here is rates")
    listed = value.get("rates")
    if not isinstance(listed, dict) or not listed:
        where = document.places.get("rates", Where(file, 1, 1))
        fix = "list them below `rates:`, as `leaf: {failures_per_year: 0.02, repair_hours: 12}`"
        yield error(CODE, "there are no rates", where, fix=fix)
        return
    for kind, rate in listed.items():
        path = child("rates", kind)
        if kind not in KINDS:
            fix = f"{suggestion(str(kind), list(KINDS))}kinds are {either(KINDS)}"
            yield error(CODE, f"unknown kind of component `{kind}`", document.keys[path], fix=fix)
        yield from _rate_faults(document, path, rate)


def _rate_faults(document: Document, path: str, rate: object) -> Iterator[Diagnostic]:
    if not isinstance(rate, dict) or set(rate) != set(_NUMBERS):
        fix = "write both numbers, as `{failures_per_year: 0.02, repair_hours: 12}`"
        yield error(CODE, f"`{path.rpartition('.')[2]}` has no rate", document.places[path], fix=fix)
        return
    for name in _NUMBERS:
        number = rate[name]
        if isinstance(number, bool) or not _NUMBER.fullmatch(str(number)):
            where = document.places[child(path, name)]
            yield error(CODE, f"`{number}` is not a valid rate", where, fix="write a number like 0.02, below a million")
