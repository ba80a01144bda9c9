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


def module_of(row: Mapping[str, object]) -> Module:
    """Return the module of a port's row; a table that is missing or of another form is empty."""
    tables = []
    for name in ("info", "readings", "thresholds"):
        table = row.get(name)
        texts = {}
        if isinstance(table, Mapping):
            texts = {str(key): str(value) for key, value in table.items()}
        tables.append(texts)
    return Module(*tables)


def optics_reasons(end: str, module: Module, lanes: range | None = None) -> list[Reason]:
    """Return what a module is short of by its own thresholds; of ``lanes`` alone if other ports use the others.

    An alarm is grade C, a warning grade B: light that FEC still corrects is no reason to drain.
    """
    reasons = []
    for name, lane, value in _values(module.readings):
        if lanes is not None and lane and lane not in lanes:
            continue
        breach = _breach(name, value, module.thresholds)
        if breach is None:
            continue
        level, side, limit = breach
        grade = Grade.B
        if level == _ALARM:
            grade = Grade.C
        text = _SENTENCE[name].format(value=value, lane=lane)
        reasons.append(Reason(grade, f"module of {end} {text}, its {side} {level} is {limit:g}"))
    return reasons


def _values(readings: Mapping[str, str]) -> Iterator[tuple[str, int, float]]:
    """Yield the name of the thresholds, the lane (0: of the whole module) and the value of each reading."""
    for field, text in readings.items():
        parts = _READING.fullmatch(field)
        value = _number(text)
        if parts is None or value is None:
            continue
        name = _NAMES.get(parts["kind"], f"{parts['kind']}{parts['what'] or ''}")
        if name in _SENTENCE:
            yield name, int(parts["lane"] or 0), value


def _breach(name: str, value: float, thresholds: Mapping[str, str]) -> tuple[str, str, float] | None:
    """Return the level, side and value of the threshold that a value is beyond; None within all of them."""
    for level in (_ALARM, _WARNING):
        low = _number(thresholds.get(f"{name}low{level}", ""))
        high = _number(thresholds.get(f"{name}high{level}", ""))
        # Not set, or not of this module.
        if low is None or high is None or high <= low:
            continue
        if value < low:
            return level, "low", low
        if value > high:
            return level, "high", high
    return None


def _number(text: str) -> float | None:
    """Return the number that begins a text (older releases add a unit); None if there is none."""
    word = re.match(r"\s*([-+]?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|inf))", text)
    if word is None:
        return None
    value = float(word[1])
    if isnan(value):
        return None
    return value
