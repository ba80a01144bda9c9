"""Prices, read from a file of the user; the catalog has none.

The file has ``currency: EUR`` and ``prices:``, which maps parts, as the bill of materials names them, to the price of
one piece. ``PART 20 m`` prices a cable of one length and takes precedence over ``PART``.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from railweave.bom.bill import Bill, BillLine
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
    """The price of one piece of each part, and its place in the file."""

    currency: str
    of: Mapping[str, Decimal]
    places: Mapping[str, Where]


def read_prices(path: Path) -> Prices:
    """Return the prices of a file; raises RefusedError with all its errors."""
    document = read_checked(path, _faults, "file of prices", "currency: EUR")
    listed = document.value["prices"]
    assert isinstance(listed, dict)  # noqa: S101  no fault
    places = {part: document.keys[child("prices", part)] for part in listed}
    # The reader leaves numbers with a point as text, so no price is ever rounded to a binary fraction.
    prices = {part: Decimal(str(price)) for part, price in listed.items()}
    return Prices(str(document.value["currency"]), prices, places)


def _faults(document: Document, file: str) -> Iterator[Diagnostic]:
    for key in document.value:
        if key not in _KEYS:
            yield error(CODE, f"unknown key `{key}`", document.keys[key], fix="keys here are currency, prices")
    start = Where(file, 1, 1)
    currency = document.value.get("currency")
    if not isinstance(currency, str) or not _CURRENCY.fullmatch(currency):
        message = "the currency is missing" if currency is None else f"`{currency}` is not a valid currency"
        yield error(CODE, message, document.places.get("currency", start), fix=_CURRENCY_FIX)
    yield from _price_faults(document, start)


def _price_faults(document: Document, start: Where) -> Iterator[Diagnostic]:
    listed = document.value.get("prices")
    if not isinstance(listed, dict) or not listed:
        where = document.places.get("prices", start)
        yield error(CODE, "there are no prices", where, fix="list them below `prices:`, as `PART: 1234.50`")
        return
    for part, price in listed.items():
        if not _PRICE.fullmatch(str(price)):
            message = f"{part!r} has no price" if price is None else f"`{price}` is not a valid price of {part!r}"
            where = document.places[child("prices", part)]
            fix = "write a number without sign, currency or separators, such as `1234.50`"
            yield error(CODE, message, where, fix=fix)


def priced(bill: Bill, prices: Prices, lines: Iterable[BillLine]) -> Bill:
    """Return the bill with prices; raises RefusedError for a price whose part is in none of ``lines``.

    ``lines`` may be more than those of ``bill``, for example those of all phases.
    """
    # A dictionary without values keeps the order of the bill, in which a near name is looked for.
    names: dict[str, None] = {}
    for line in lines:
        names.update(dict.fromkeys(_names(line)))
    unknown = [part for part in prices.of if part not in names]
    if unknown:
        raise RefusedError([_unknown(part, prices.places[part], names) for part in unknown])
    priced_lines = tuple(line._replace(unit_price=_price(line, prices)) for line in bill.lines)
    return bill._replace(lines=priced_lines, currency=prices.currency)


def _names(line: BillLine) -> tuple[str, ...]:
    """Return the names of a part in a file of prices, the one that takes precedence first."""
    if line.length_m is None:
        return (line.part,)
    return (f"{line.part} {line.length_m} m", line.part)


def _price(line: BillLine, prices: Prices) -> Decimal | None:
    return next((prices.of[name] for name in _names(line) if name in prices.of), None)


def _unknown(part: str, where: Where, names: Collection[str]) -> Diagnostic:
    near = get_close_matches(part, names, n=1, cutoff=0.5)
    fix = f"did you mean `{near[0]}`?" if near else "name a part as the bill of materials prints it"
    return error(CODE, f"the bill has no part `{part}`", where, fix=fix)
