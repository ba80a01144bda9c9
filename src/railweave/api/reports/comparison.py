"""Designs side by side: what several intents take, carry and lose."""

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
from railweave.comparison.suggestion import Candidate, candidates, smallest
from railweave.diagnostics import error, has_errors
from railweave.errors import RailweaveError, RefusedError, UsageError
from railweave.files import write_private
from railweave.intent.load import document_of
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
    found = _compared([(str(project.intent), gather(project.intent)) for project in projects], prices)
    if html is not None:
        try:
            write_private(html, comparison_html(found), _READABLE)
        except OSError as exc:
            raise RailweaveError(f"{html} cannot be written: {exc.strerror}") from exc
    return found


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
    intent, refused = own.intent, own.diagnostics
    catalog = load_catalog()
    shown = () if has_errors(refused) else (_measured(str(project.intent), own, catalog),)
    del own  # The graphs of large fabrics are held one at a time.
    found = candidates(intent, document_of(project.intent), models(), catalog, nics=nics)
    accepted: dict[str, Alternative] = {}

    def accept(one: Candidate) -> bool:
        gathered = gather_text(one.text, f"{one.name}.yml")
        if not has_errors(gathered.diagnostics):
            accepted[one.name] = _measured(one.name, gathered, catalog)
        return one.name in accepted

    chosen = smallest(found, accept, most)
    if not chosen:
        raise RefusedError(refused or [error("RW020", "no model of the catalog carries these nodes", fix=_WIDER)])
    suggested = tuple(accepted[one.name] for one in chosen)
    growth = intent.workload.growth
    gpus = None if growth is None else growth.gpus
    suggested = tuple(one._replace(reasons=reasons(one, next(iter(shown), None), gpus)) for one in suggested)
    texts = {
        f"suggestion-{number}.yml": "".join(f"# {line}\n" for line in (one.name, *why.reasons)) + one.text
        for number, (one, why) in enumerate(zip(chosen, suggested, strict=True), start=1)
    }
    if out is not None:
        _write(out, texts)
    return Suggested(Comparison((*shown, *suggested)), texts, found.tried)


def _write(out: Path, texts: Mapping[str, str]) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            write_private(out / name, text.encode(), _READABLE)
    except OSError as exc:
        raise RailweaveError(f"{out} cannot be written: {exc.strerror}") from exc


def compare_designs() -> Comparison:
    """Return the reference designs of `init --design` side by side, by their names."""
    return _compared([(name, gather_text(design_intent(name), str(INTENT))) for name in starter_designs()], None)


def _compared(named: Sequence[tuple[str, Gathered]], prices: Path | None) -> Comparison:
    wrong = [one for _, each in named for one in each.diagnostics]
    if has_errors(wrong):
        raise RefusedError(wrong)
    catalog = load_catalog()
    found = [_measured(name, each, catalog) for name, each in named]
    if prices is not None:
        listed = read_prices(prices)
        known = [line for one in found if one.bill is not None for line in one.bill.lines]
        found = [one if one.bill is None else one._replace(bill=priced(one.bill, listed, known)) for one in found]
    return Comparison(tuple(found))


def _measured(name: str, each: Gathered, catalog: Catalog) -> Alternative:
    assert each.sizing is not None, name  # noqa: S101  an intent without errors has sizes
    fabric = each.fabric
    return Alternative(
        name,
        each.sizing,
        None if fabric is None else bill(fabric, catalog),
        None if fabric is None else worst_single(fabric),
        guidelines(each.sizing, fabric, each.intent),
        gpu_gbps(each.intent),
    )
