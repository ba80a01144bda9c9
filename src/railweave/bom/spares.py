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
    """How many spares there are of a part: ``percent`` of its quantity, rounded up, and ``pieces`` beyond."""

    percent: Decimal = Decimal(0)
    pieces: int = 0

    def of(self, quantity: int) -> int:
        """Return the spares of a part of which so many pieces are used; none of one that is not used."""
        return ceil(quantity * self.percent / 100) + (self.pieces if quantity else 0)


Spares = Mapping[PartKind, SpareRule]


def read_spares(rules: Iterable[str]) -> Spares:
    """Return the rules of ``5``, ``module=5`` or ``switch=+1``: percent or pieces, of every kind of part or of one.

    Rules of a kind take precedence over those of every kind. Raises UsageError for anything else.
    """
    every: SpareRule | None = None
    found: dict[PartKind, SpareRule] = {}
    kinds = [kind.value for kind in PartKind]
    for text in rules:
        match = _RULE.fullmatch(text)
        if match is None or Decimal(match["percent"] or 0) > _MOST_PERCENT:
            raise UsageError(f"`{text}` is no rule of spares: write a percentage like 2.5, module=5 or switch=+1")
        rule = SpareRule(Decimal(match["percent"] or 0), int(match["pieces"] or 0))
        if match["kind"] is None:
            every = rule
        elif match["kind"] not in kinds:
            raise UsageError(
                f"there is no kind of part `{match['kind']}`: {suggestion(match['kind'], kinds)}write {either(kinds)}"
            )
        else:
            found[PartKind(match["kind"])] = rule
    return ({} if every is None else dict.fromkeys(PartKind, every)) | found


def with_spares(bill: Bill, spares: Spares) -> Bill:
    """Return the bill with the spares that the rules give each part; none of the kinds without a rule."""
    none = SpareRule()
    lines = (line._replace(spares=spares.get(line.kind, none).of(line.quantity)) for line in bill.lines)
    return bill._replace(lines=tuple(lines))
