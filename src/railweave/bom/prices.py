"""Prices from a file of the user; railweave knows none.

``currency: EUR`` and ``prices:``, a mapping from parts, as the bill of materials names them, to the price of one piece.
A cable of one length is ``PART 20 m``, which goes before ``PART``.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from railweave.bom.bill import Bill, Line
from railweave.diagnostics import Diagnostic, Where, error
from railweave.errors import RefusedError
from railweave.intent.paths import child
from railweave.intent.positions import Document, read_checked

CODE = "RW018"
_KEYS = ("currency", "prices")
_CURRENCY = re.compile(r"[A-Z]{3}")
_PRICE = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,4})?")
_CURRENCY_FIX = "write the code of a currency (ISO 4217), such as `currency: EUR`"


class Prices(NamedTuple):
    """The price of one piece by part, and where it stands."""

    currency: str
    of: Mapping[str, Decimal]
    places: Mapping[str, Where]


def read_prices(path: Path) -> Prices:
    """Return the prices of a file; raises RefusedError with everything that is wrong in it."""
    document = read_checked(path, _faults, "file of prices", "currency: EUR")
    listed = document.value["prices"]
    assert isinstance(listed, dict)  # noqa: S101  no fault
    places = {part: document.keys[child("prices", part)] for part in listed}
    return Prices(str(document.value["currency"]), {part: Decimal(str(one)) for part, one in listed.items()}, places)


def _faults(document: Document, file: str) -> Iterator[Diagnostic]:
    value, start = document.value, Where(file, 1, 1)
    for key in [key for key in value if key not in _KEYS]:
        yield error(CODE, f"unknown key `{key}`", document.keys[key], fix="keys here are currency, prices")
    currency = value.get("currency")
    if not isinstance(currency, str) or not _CURRENCY.fullmatch(currency):
        said = "the currency is missing" if currency is None else f"`{currency}` is no currency"
        yield error(CODE, said, document.places.get("currency", start), fix=_CURRENCY_FIX)
    listed = value.get("prices")
    if not isinstance(listed, dict) or not listed:
        where = document.places.get("prices", start)
        yield error(CODE, "there are no prices", where, fix="list them below `prices:`, as `PART: 1234.50`")
        return
    for part, price in listed.items():
        if isinstance(price, bool) or not _PRICE.fullmatch(str(price)):
            yield error(
                CODE,
                f"`{price}` is no price of {part!r}" if price is not None else f"{part!r} has no price",
                document.places[child("prices", part)],
                fix="write a number without sign, currency or separators, such as `1234.50`",
            )


def priced(bill: Bill, prices: Prices, known: Iterable[Line]) -> Bill:
    """Return the bill with prices. Raises RefusedError for a price of a part that is not among the ``known`` ones."""
    names = list(dict.fromkeys(name for line in known for name in _names(line)))
    unknown = [part for part in prices.of if part not in names]
    if unknown:
        raise RefusedError([_unknown(part, prices.places[part], names) for part in unknown])
    lines = tuple(line._replace(unit_price=_price(line, prices)) for line in bill.lines)
    return bill._replace(lines=lines, currency=prices.currency)


def _names(line: Line) -> tuple[str, ...]:
    """Return the names of a part in a file of prices, the one that goes first first."""
    return (line.part,) if line.length_m is None else (f"{line.part} {line.length_m} m", line.part)


def _price(line: Line, prices: Prices) -> Decimal | None:
    return next((prices.of[name] for name in _names(line) if name in prices.of), None)


def _unknown(part: str, where: Where, known: Collection[str]) -> Diagnostic:
    near = get_close_matches(part, known, n=1, cutoff=0.5)
    fix = f"did you mean `{near[0]}`?" if near else "name a part as the bill of materials prints it"
    return error(CODE, f"the bill has no part `{part}`", where, fix=fix)
