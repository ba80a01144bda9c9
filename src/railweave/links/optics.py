"""Modules judged by their own thresholds, as SONiC's STATE_DB has them: power of each lane, bias, temperature, voltage.

Values are texts: a number, ``N/A`` where the module does not report it (copper cables report nothing), ``-inf`` for a
lane without light. Thresholds of 0 on both sides are not set (SFF-8636, CMIS).
"""

import re
from collections.abc import Iterator, Mapping
from math import isnan
from typing import NamedTuple

from railweave.links.grades import Grade, Reason

_READING = re.compile(r"(?P<kind>rx|tx|temperature|voltage)(?P<lane>\d*)(?P<what>power|bias)?")
_SENTENCE = {
    "rxpower": "receives {value:.1f} dBm on lane {lane}",
    "txpower": "sends {value:.1f} dBm on lane {lane}",
    "txbias": "has a laser bias of {value:.1f} mA on lane {lane}",
    "temp": "is at {value:.1f} °C",
    "vcc": "has a supply of {value:.2f} V",
}
_NAMES = {"temperature": "temp", "voltage": "vcc"}
_ALARM = "alarm"
_WARNING = "warning"


class OpticsBreach(NamedTuple):
    """A reading beyond a threshold of its module."""

    # ``rxpower``, ``txpower``, ``txbias``, ``temp`` or ``vcc``.
    name: str
    # From 1; 0 of the whole module.
    lane: int
    value: float
    # ``alarm`` or ``warning``.
    level: str
    # ``low`` or ``high``.
    side: str
    limit: float


class Module(NamedTuple):
    """A module as its switch reports it: ``link_state`` of the switch's driver."""

    info: Mapping[str, str]
    readings: Mapping[str, str]
    thresholds: Mapping[str, str]

    @property
    def serial(self) -> str:
        """Return the serial number; empty if the module reports none."""
        serial = self.info.get("serial", "").strip()
        if serial in ("N/A", "0"):
            return ""
        return serial

    @property
    def is_copper(self) -> bool | None:
        """Tell whether this is the end of a copper cable; None if the module does not report its medium."""
        compliance = self.info.get("specification_compliance", "")
        if not compliance or compliance == "N/A":
            return None
        return "copper" in compliance.lower() or "-CR" in compliance

    @property
    def length_m(self) -> float:
        """Return the length of its cable in meters; 0 if the module reports none."""
        length = number_in(self.info.get("cable_length", ""))
        return length or 0.0

    @property
    def lanes(self) -> int:
        """Return the lanes that the module has: of others it reports ``N/A``."""
        count = 0
        for field, value in self.readings.items():
            if field.startswith("rx") and field.endswith("power") and value.strip() != "N/A":
                count += 1
        return count


def module_of(row: Mapping[str, object]) -> Module:
    """Return the module of a port's row; a table that is missing or of another form is empty."""
    return Module(
        info=_text_table(row.get("info")),
        readings=_text_table(row.get("readings")),
        thresholds=_text_table(row.get("thresholds")),
    )


def _text_table(table: object) -> dict[str, str]:
    if not isinstance(table, Mapping):
        return {}
    return {str(key): str(value) for key, value in table.items()}


def optics_reasons(end: str, module: Module, lanes: range | None = None) -> list[Reason]:
    """Return a reason for each reading of a module that is beyond its own thresholds.

    With ``lanes`` other lanes are left out, because other ports use them. An alarm is grade C, a warning grade B: light
    that FEC still corrects is no reason to drain.
    """
    reasons = []
    for breach in breaches_of(module, lanes):
        grade = Grade.B
        if breach.level == _ALARM:
            grade = Grade.C
        text = _SENTENCE[breach.name].format(value=breach.value, lane=breach.lane)
        reasons.append(Reason(grade, f"module of {end} {text}, its {breach.side} {breach.level} is {breach.limit:g}"))
    return reasons


def breaches_of(module: Module, lanes: range | None = None) -> list[OpticsBreach]:
    """Return the readings of a module beyond its own thresholds; with ``lanes`` other lanes are left out."""
    breaches = []
    for name, lane, value in module_values(module.readings):
        # Lane 0 stands for the whole module, which all ports of its cage share.
        is_of_other_port = lanes is not None and lane > 0 and lane not in lanes
        if is_of_other_port:
            continue
        breach = _breach(name, lane, value, module.thresholds)
        if breach is not None:
            breaches.append(breach)
    return breaches


def module_values(readings: Mapping[str, str]) -> Iterator[tuple[str, int, float]]:
    """Yield each reading as the name of its thresholds, its lane (0 for the whole module) and its value.

    Readings without a value or without thresholds are left out.
    """
    for field, value_text in readings.items():
        parts = _READING.fullmatch(field)
        value = number_in(value_text)
        if parts is None or value is None:
            continue
        name = _NAMES.get(parts["kind"], f"{parts['kind']}{parts['what'] or ''}")
        if name in _SENTENCE:
            yield name, int(parts["lane"] or 0), value


def _breach(name: str, lane: int, value: float, thresholds: Mapping[str, str]) -> OpticsBreach | None:
    """Return the worst threshold that a value is beyond; None if it is within all of them."""
    for level in (_ALARM, _WARNING):
        low = number_in(thresholds.get(f"{name}low{level}", ""))
        high = number_in(thresholds.get(f"{name}high{level}", ""))
        # The threshold is not set, or the module has none.
        if low is None or high is None or high <= low:
            continue
        if value < low:
            return OpticsBreach(name=name, lane=lane, value=value, level=level, side="low", limit=low)
        if value > high:
            return OpticsBreach(name=name, lane=lane, value=value, level=level, side="high", limit=high)
    return None


def number_in(text: str) -> float | None:
    """Return the number at the beginning of a text (older releases add a unit); None if there is none."""
    match = re.match(r"\s*([-+]?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|inf))", text)
    if match is None:
        return None
    value = float(match[1])
    if isnan(value):
        return None
    return value
