"""Designs side by side: sizes, parts, worst failures and rules of thumb; and suggestions of other designs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from railweave.api.design.intent import Gathered, gather, gather_text
from railweave.api.project import Project
from railweave.api.reference import models
from railweave.api.starter import INTENT, design_intent, starter_designs
from railweave.bom.bill import bill
from railweave.bom.prices import priced, read_prices
from railweave.catalog.load import Catalog, load_catalog
from railweave.comparison.alternative import Alternative, Comparison, worst_single
from railweave.comparison.guidelines import guidelines
from railweave.comparison.nic_choices import gpu_gbps
from railweave.comparison.reasons import reasons
from railweave.comparison.suggestion import SuggestedDesign, candidates, smallest
from railweave.diagnostics import error, has_errors
from railweave.errors import RailweaveError, RefusedError, UsageError
from railweave.files import cannot_write, write_private
from railweave.intent.load import document_of
from railweave.intent.model import Intent
from railweave.report.page.compare_page import comparison_html

_READABLE = 0o644
_WIDER = "ask for another speed or ratio, or `railweave models` for what each model carries without loss"


def compare(projects: Sequence[Project], *, prices: Path | None = None, html: Path | None = None) -> Comparison:
    """Return several intents side by side: their sizes, parts, worst single failure, what they have of the rules of
    thumb and, with ``prices``, their cost; ``html`` is a file into which they are written as a page.

    An intent without switch models of the catalog has sizes alone. Raises RefusedError with every error of all intents
    or of the prices, UsageError for fewer than two intents, RailweaveError where ``html`` cannot be written.
    """
    if len(projects) < 2:
        raise UsageError("name two intents or more to compare")
    comparison = _compared([(str(project.intent), gather(project.intent)) for project in projects], prices)
    if html is not None:
        try:
            write_private(html, comparison_html(comparison), _READABLE)
        except OSError as exc:
            raise RailweaveError(cannot_write(html, exc)) from exc
    return comparison


class Suggested(NamedTuple):
    """Designs that carry the same nodes, workload and growth as an intent: side by side with their reasons, the intent
    itself first, and their intents by name, which begin with the reasons; ``tried`` counts the designs that were laid
    out."""

    comparison: Comparison
    texts: Mapping[str, str]
    tried: int


def suggest(project: Project, *, most: int = 4, out: Path | None = None, nics: bool = False) -> Suggested:
    """Return the designs with the fewest switches for the nodes, workload and growth of an intent, over the switch
    models of the catalog and the port modes of its NICs; each is accepted by `check`.

    With ``nics`` there is one design for each number, bandwidth and model of NICs that suits the workload instead.

    An intent that `check` refuses, because it cannot grow as it should, is not shown beside them. ``out`` is a folder
    into which their intents are written, ``suggestion-1.yml`` and so on. Raises RefusedError with what is wrong with
    the intent where no design carries it, RailweaveError where the folder cannot be written.
    """
    own = gather(project.intent)
    intent = own.intent
    diagnostics = own.diagnostics
    catalog = load_catalog()
    present: Alternative | None = None
    if not has_errors(diagnostics):
        present = _measured(str(project.intent), own, catalog)
    # The graphs of large fabrics are held in memory one at a time.
    del own
    tried = candidates(intent, document_of(project.intent), models(), catalog, nics=nics)
    accepted: dict[str, Alternative] = {}

    # Asked of designs alone that may still be chosen: a whole fabric is laid out for each answer.
    def accept(candidate: SuggestedDesign) -> bool:
        gathered = gather_text(candidate.text, f"{candidate.name}.yml")
        if has_errors(gathered.diagnostics):
            return False
        accepted[candidate.name] = _measured(candidate.name, gathered, catalog)
        return True

    chosen = smallest(tried, accept, most)
    if not chosen:
        raise RefusedError(diagnostics or [error("RW020", "no model of the catalog carries these nodes", fix=_WIDER)])
    suggestions = [_with_reasons(accepted[candidate.name], present, intent) for candidate in chosen]
    texts = _texts(chosen, suggestions)
    if out is not None:
        _write(out, texts)
    if present is not None:
        suggestions.insert(0, present)
    return Suggested(Comparison(tuple(suggestions)), texts, tried.tried)


def _texts(chosen: Sequence[SuggestedDesign], suggestions: Sequence[Alternative]) -> dict[str, str]:
    """Return the intents of the chosen designs by the names of their files, each with its reasons as comments."""
    texts = {}
    for number, (candidate, suggestion) in enumerate(zip(chosen, suggestions, strict=True), start=1):
        head = "".join(f"# {line}\n" for line in (candidate.name, *suggestion.reasons))
        texts[f"suggestion-{number}.yml"] = head + candidate.text
    return texts


def _with_reasons(suggestion: Alternative, present: Alternative | None, intent: Intent) -> Alternative:
    """Return a suggestion with what speaks for it and against it, beside ``present``, the design of the intent."""
    gpus: int | None = None
    if intent.workload.growth is not None:
        gpus = intent.workload.growth.gpus
    return suggestion._replace(reasons=reasons(suggestion, present, gpus))


def _write(out: Path, texts: Mapping[str, str]) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            write_private(out / name, text.encode(), _READABLE)
    except OSError as exc:
        raise RailweaveError(cannot_write(out, exc)) from exc


def compare_designs() -> Comparison:
    """Return the reference designs of `init --design` side by side, by their names."""
    return _compared([(name, gather_text(design_intent(name), str(INTENT))) for name in starter_designs()], None)


def _compared(named: Sequence[tuple[str, Gathered]], prices: Path | None) -> Comparison:
    """Return intents with their names side by side; raises RefusedError with every error of all of them."""
    diagnostics = [diagnostic for _, gathered in named for diagnostic in gathered.diagnostics]
    if has_errors(diagnostics):
        raise RefusedError(diagnostics)
    catalog = load_catalog()
    alternatives = [_measured(name, gathered, catalog) for name, gathered in named]
    if prices is not None:
        alternatives = _priced(alternatives, prices)
    return Comparison(tuple(alternatives))


def _priced(alternatives: Sequence[Alternative], prices: Path) -> list[Alternative]:
    """Return the alternatives with their costs; those that can only be sized have no bill."""
    price_list = read_prices(prices)
    # A price counts as known if any of the alternatives has its part.
    bills = [alternative.bill for alternative in alternatives if alternative.bill is not None]
    parts = [line for each in bills for line in each.lines]
    result = []
    for alternative in alternatives:
        if alternative.bill is None:
            result.append(alternative)
        else:
            result.append(alternative._replace(bill=priced(alternative.bill, price_list, parts)))
    return result


def _measured(name: str, gathered: Gathered, catalog: Catalog) -> Alternative:
    """Return what an intent without errors takes, carries and loses."""
    sizing = gathered.sizing
    assert sizing is not None, name  # noqa: S101  an intent without errors has sizes
    fabric = gathered.fabric
    alternative = Alternative(
        name,
        sizing,
        bill=None,
        worst=None,
        guidelines=guidelines(sizing, fabric, gathered.intent),
        gpu_gbps=gpu_gbps(gathered.intent),
    )
    if fabric is None:
        return alternative
    return alternative._replace(bill=bill(fabric, catalog), worst=worst_single(fabric))
