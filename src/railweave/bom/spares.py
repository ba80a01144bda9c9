"""Spares by kind of part: a percentage of each part, rounded up, or a number of pieces of each."""

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from math import ceil
from typing import NamedTuple

from railweave.bom.bill import Bill, PartKind
from railweave.errors import UsageError
from railweave.wording import either, suggestion

_RULE = re.compile(r"(?:(?P<kind>[a-z]+)=)?(?:(?P<percent>[0-9]{1,3}(?:\.[0-9]{1,4})?)%?|\+(?P<pieces>[0-9]{1,6}))")
_MOST_PERCENT = 100


class SpareRule(NamedTuple):
    """The spares of a part: ``percent`` of its quantity, rounded up, plus ``pieces``."""

    percent: Decimal = Decimal(0)
    pieces: int = 0

    def of(self, quantity: int) -> int:
        """Return the spares of a part of which ``quantity`` pieces are used; none for a part that is not used."""
        if not quantity:
            return 0
        return ceil(quantity * self.percent / 100) + self.pieces


Spares = Mapping[PartKind, SpareRule]


def read_spares(rules: Iterable[str]) -> Spares:
    """Return the rule for each kind of part from texts such as ``5``, ``module=5`` or ``switch=+1``.

    A number is a percentage, one after ``+`` counts pieces. The rule of a kind takes precedence over that of all kinds.
    Raises UsageError for an invalid text or an unknown kind.
    """
    for_all: SpareRule | None = None
    for_kind: dict[PartKind, SpareRule] = {}
    kinds = [kind.value for kind in PartKind]
    for rule_text in rules:
        kind, rule = _read_rule(rule_text)
        if kind is None:
            for_all = rule
        elif kind in kinds:
            for_kind[PartKind(kind)] = rule
        else:
            raise UsageError(f"unknown kind of part `{kind}`: {suggestion(kind, kinds)}write {either(kinds)}")
    if for_all is None:
        return for_kind
    return dict.fromkeys(PartKind, for_all) | for_kind


def _read_rule(text: str) -> tuple[str | None, SpareRule]:
    """Return the kind that a rule is for, None for all kinds, and the rule; raises UsageError for an invalid text."""
    match = _RULE.fullmatch(text)
    if match is not None:
        percent = Decimal(match["percent"] or 0)
        # The pattern allows three digits before the point, so 999 % has to be refused apart.
        if percent <= _MOST_PERCENT:
            return match["kind"], SpareRule(percent, int(match["pieces"] or 0))
    raise UsageError(f"`{text}` is not a valid spares rule: write a percentage like 2.5, module=5 or switch=+1")


def with_spares(bill: Bill, spares: Spares) -> Bill:
    """Return the bill with spares by the rules; none for a kind without a rule."""
    lines = []
    for line in bill.lines:
        rule = spares.get(line.kind, SpareRule())
        lines.append(line._replace(spares=rule.of(line.quantity)))
    return bill._replace(lines=tuple(lines))
