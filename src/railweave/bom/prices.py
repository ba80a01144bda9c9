"""Prices, read from a file of the user; the catalog has none.

The file has ``currency: EUR`` and ``prices:``, which maps parts, as the bill of materials names them, to the price of
one piece. ``PART 20 m`` prices a cable of one length and takes precedence over ``PART``. Further keys price what a
network costs over years, and GPUs that wait for it; each may be left out, and then so is the number that takes it.
``watts:`` maps parts to what one piece draws, where no source states it or the user knows better.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from railweave.bom.bill import Bill, BillLine
from railweave.diagnostics import Diagnostic, Where, error
from railweave.errors import RefusedError
from railweave.intent.paths import child
from railweave.intent.positions import Document, Value, read_checked
from railweave.wording import suggestion

CODE = "RW018"
_PARTS = "prices"
_WATTS = "watts"
_CURRENCY = re.compile(r"[A-Z]{3}")
_PRICE = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,4})?")
_CURRENCY_FIX = "write the code of a currency (ISO 4217), such as `currency: EUR`"
_WITHOUT_SIGN = "a number without sign, currency or separators"


class PriceTerms(NamedTuple):
    """The numbers of a file of prices beside those of parts, None for those that it does not have."""

    # The time that costs are stated for.
    years: Decimal | None = None
    # Price of a kWh.
    kwh: Decimal | None = None
    # Power of switches and cooling together, divided by that of the switches.
    cooling_factor: Decimal | None = None
    # Price of a rack for a month.
    rack_month: Decimal | None = None
    # Usable units of a rack.
    rack_units: Decimal | None = None
    # Price of one GPU for an hour.
    gpu_hour: Decimal | None = None
    # Part of a step that GPUs wait for the network, in the first design.
    step_wait_share: Decimal | None = None


class _Term(NamedTuple):
    """What the number of a key may be."""

    least: Decimal
    most: Decimal
    # How it is written, to complete `write`.
    written: str


_ANY_PRICE = Decimal(10**12)
_TERMS = {
    "years": _Term(Decimal("0.1"), Decimal(30), "years from 0.1 to 30, such as `4`"),
    "kwh": _Term(Decimal(0), _ANY_PRICE, f"{_WITHOUT_SIGN}, such as `0.21`"),
    "cooling_factor": _Term(Decimal(1), Decimal(5), "a number from 1 to 5, such as `1.3`"),
    "rack_month": _Term(Decimal(0), _ANY_PRICE, f"{_WITHOUT_SIGN}, such as `1400`"),
    "rack_units": _Term(Decimal(1), Decimal(100), "the usable units of a rack from 1 to 100, such as `42`"),
    "gpu_hour": _Term(Decimal(0), _ANY_PRICE, f"{_WITHOUT_SIGN}, such as `2.50`"),
    "step_wait_share": _Term(Decimal(0), Decimal(1), "a share from 0 to 1, such as `0.2`"),
}
_MOST_WATTS = 100_000
_KEYS = ("currency", _PARTS, _WATTS, *_TERMS)


class Prices(NamedTuple):
    """The numbers of a file of prices."""

    # An ISO 4217 code.
    currency: str
    # The price of one piece of each part.
    of: Mapping[str, Decimal]
    # Where the parts of both mappings are in the file.
    places: Mapping[str, Where]
    # The watts that one piece of a part draws.
    watts: Mapping[str, int] = MappingProxyType({})
    terms: PriceTerms = PriceTerms()


def read_prices(path: Path) -> Prices:
    """Return the prices and other numbers of a file. Raises RefusedError with all errors of the file."""
    document = read_checked(path, _faults, "file of prices", "currency: EUR")
    places: dict[str, Where] = {}
    of_parts: dict[str, dict[str, Decimal]] = {}
    for key in (_WATTS, _PARTS):
        number_of_part = document.value.get(key, {})
        assert isinstance(number_of_part, dict)  # noqa: S101  no fault
        places.update({part: document.keys[child(key, part)] for part in number_of_part})
        # The reader leaves numbers with a point as text, so no price is ever rounded to a binary fraction.
        of_parts[key] = {part: Decimal(str(number)) for part, number in number_of_part.items()}
    terms = {key: Decimal(str(document.value[key])) for key in _TERMS if key in document.value}
    watts = {part: int(number) for part, number in of_parts[_WATTS].items()}
    return Prices(str(document.value["currency"]), of_parts[_PARTS], places, watts, PriceTerms(**terms))


def _faults(document: Document, file: str) -> Iterator[Diagnostic]:
    """Yield an error for each unknown key and each missing or invalid value of a file of prices."""
    for key in document.value:
        if key not in _KEYS:
            fix = f"{suggestion(key, _KEYS)}keys here are {', '.join(_KEYS)}"
            yield error(CODE, f"unknown key `{key}`", document.keys[key], fix=fix)
    start = Where(file, 1, 1)
    currency = document.value.get("currency")
    if not isinstance(currency, str) or not _CURRENCY.fullmatch(currency):
        message = "the currency is missing" if currency is None else f"`{currency}` is not a valid currency"
        yield error(CODE, message, document.places.get("currency", start), fix=_CURRENCY_FIX)
    yield from _price_faults(document, start)
    yield from _watt_faults(document, start)
    for key, term in _TERMS.items():
        if key in document.value and not _is_valid(document.value[key], term):
            message = f"`{document.value[key]}` is not valid for `{key}`"
            yield error(CODE, message, document.places[key], fix=f"write {term.written}")


def _is_valid(number: Value, term: _Term) -> bool:
    """Whether a value is a plain decimal number within the limits of a term."""
    if isinstance(number, bool) or not _PRICE.fullmatch(str(number)):
        return False
    return term.least <= Decimal(str(number)) <= term.most


def _price_faults(document: Document, start: Where) -> Iterator[Diagnostic]:
    """Yield an error for each invalid price, or if there are none; ``start`` is the start of the file."""
    # Prices of parts may be left out of a file with other numbers.
    if _PARTS not in document.value and any(key in document.value for key in _TERMS):
        return
    price_of_part = document.value.get(_PARTS)
    if not isinstance(price_of_part, dict) or not price_of_part:
        where = document.places.get(_PARTS, start)
        yield error(CODE, "there are no prices", where, fix="list them below `prices:`, as `PART: 1234.50`")
        return
    for part, price in price_of_part.items():
        if not _PRICE.fullmatch(str(price)):
            message = f"{part!r} has no price" if price is None else f"`{price}` is not a valid price of {part!r}"
            where = document.places[child(_PARTS, part)]
            yield error(CODE, message, where, fix=f"write {_WITHOUT_SIGN}, such as `1234.50`")


def _watt_faults(document: Document, start: Where) -> Iterator[Diagnostic]:
    """Yield an error for each invalid power, or if ``watts`` has none; ``start`` is the start of the file."""
    if _WATTS not in document.value:
        return
    watts_of_part = document.value[_WATTS]
    if not isinstance(watts_of_part, dict) or not watts_of_part:
        where = document.places.get(_WATTS, start)
        yield error(CODE, "there are no watts", where, fix="list them below `watts:`, as `PART: 850`")
        return
    for part, number in watts_of_part.items():
        if not _are_watts(number):
            where = document.places[child(_WATTS, part)]
            fix = f"write whole watts of one piece, at most {_MOST_WATTS:,}, such as `850`"
            yield error(CODE, f"`{number}` is not a valid power of {part!r}", where, fix=fix)


def _are_watts(number: Value) -> bool:
    # To Python a boolean is an integer.
    if isinstance(number, bool) or not isinstance(number, int):
        return False
    return 0 <= number <= _MOST_WATTS


def priced(bill: Bill, prices: Prices, lines: Iterable[BillLine]) -> Bill:
    """Return the bill with prices. Raises RefusedError if the part of a price is in none of ``lines``.

    ``lines`` may be more than those of ``bill``, for example those of all phases.
    """
    names = part_names(lines)
    unknown = [part for part in prices.places if part not in names]
    if unknown:
        raise RefusedError([_unknown(part, prices.places[part], names) for part in unknown])
    return with_prices(bill, prices)


def part_names(lines: Iterable[BillLine]) -> Collection[str]:
    """Return the names by which a file of prices may have the parts of a bill, in its order."""
    # A dictionary without values keeps the order, in which a near name is looked for.
    names: dict[str, None] = {}
    for line in lines:
        names.update(dict.fromkeys(_names(line)))
    return names


def with_prices(bill: Bill, prices: Prices) -> Bill:
    """Return the bill with the prices and watts of its parts; those of other parts in the file have no effect."""
    lines = []
    for line in bill.lines:
        watts = prices.watts.get(line.part, line.max_power_w)
        lines.append(line._replace(unit_price=_price(line, prices), max_power_w=watts))
    return bill._replace(lines=tuple(lines), currency=prices.currency)


def _names(line: BillLine) -> tuple[str, ...]:
    """Return the names of a part in a file of prices, the one that takes precedence first."""
    if line.length_m is None:
        return (line.part,)
    return (f"{line.part} {line.length_m} m", line.part)


def _price(line: BillLine, prices: Prices) -> Decimal | None:
    """Return the price of one piece of a part, None if the file has none."""
    return next((prices.of[name] for name in _names(line) if name in prices.of), None)


def _unknown(part: str, where: Where, names: Collection[str]) -> Diagnostic:
    similar_names = get_close_matches(part, names, n=1, cutoff=0.5)
    fix = "name a part as the bill of materials prints it"
    if similar_names:
        fix = f"did you mean `{similar_names[0]}`?"
    return error(CODE, f"the bill has no part `{part}`", where, fix=fix)
