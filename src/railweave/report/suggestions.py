"""Suggested designs as text and as JSON."""

from collections.abc import Iterator
from typing import Any

from railweave.codec import members
from railweave.comparison.alternative import Alternative
from railweave.comparison.order import DesignOrder
from railweave.comparison.search import Refused
from railweave.comparison.suggestions import Suggested
from railweave.report.comparison import comparison_json
from railweave.wording import counted, first_few

_FIRST = {
    DesignOrder.SWITCHES: "the fewest switches",
    DesignOrder.COST: "the lowest cost",
    DesignOrder.POWER: "the least power",
}
_MISSING = {
    DesignOrder.SWITCHES: "",
    DesignOrder.COST: "a price",
    DesignOrder.POWER: "a published power",
}
_MOST_REFUSED = 4


def suggested_json(suggested: Suggested) -> dict[str, Any]:
    """Return the document of ``railweave compare --suggest --json``."""
    search = {
        **members(suggested, "order", "considered", "sized", "laid_out"),
        "refused": [_refused(design) for design in suggested.refused],
        "without_value": list(suggested.without_value),
        "unused_prices": list(suggested.unused_prices),
    }
    return comparison_json(suggested.comparison, search)


def _refused(design: Refused) -> dict[str, Any]:
    return {
        "design": design.name,
        "switches": design.switches,
        "code": design.error.code,
        "message": design.error.message,
    }


def suggested_lines(suggested: Suggested) -> str:
    """Return what is printed below the table: reasons and changed lines of each design, then how they were found."""
    return "\n".join(_lines(suggested))


def _lines(suggested: Suggested) -> Iterator[str]:
    """Yield the lines below the table of suggested designs."""
    for design in suggested.comparison.alternatives:
        if design.reasons:
            yield from _design(design)
    for refused in suggested.refused[:_MOST_REFUSED]:
        switches = counted(refused.switches, "switch")
        yield f"not suggested: {refused.name} ({switches}): {refused.error.code} {refused.error.message}"
    if len(suggested.refused) > _MOST_REFUSED:
        yield f"not suggested: {counted(len(suggested.refused) - _MOST_REFUSED, 'more design')} that `check` refuses"
    if suggested.without_value:
        missing = _MISSING[suggested.order]
        yield f"left out: {counted(len(suggested.without_value), 'switch model')} without {missing}"
    if suggested.unused_prices:
        yield f"prices of parts that no design here has: {first_few(suggested.unused_prices)}"
    if not suggested.texts:
        yield f"none of them is better than the intent: it has {_FIRST[suggested.order]}"
    if not suggested.counts_parts:
        yield "parts and failures are not counted for so many nodes: run `bom` and `failures` on a design of --out"
    considered = f"{suggested.considered:,} combinations of shapes and models considered"
    work = f"{suggested.sized:,} sized, {suggested.laid_out:,} checked in full"
    yield f"{considered}, {work}; those with {_FIRST[suggested.order]} are shown"


def _design(design: Alternative) -> Iterator[str]:
    """Yield the name of a design, the reasons for it, and the lines of the intent that it changes."""
    yield f"{design.intent}:"
    for reason in design.reasons:
        yield f"  - {reason}"
    for line in design.changes:
        yield f"      {line}"
    yield ""
