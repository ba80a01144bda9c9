"""Designs that carry the same nodes, workload and growth as an intent, with fewer switches, less cost or less power."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

from railweave.api.design.intent import Gathered, gather, gather_text
from railweave.api.project import Project
from railweave.api.reports.comparison import measured, with_ownership
from railweave.bom.prices import Prices, part_names, read_prices, with_prices
from railweave.catalog.load import Catalog, load_catalog
from railweave.comparison.alternative import Alternative, Comparison
from railweave.comparison.forms import NodeVariant, nic_variants, variants
from railweave.comparison.hardware_choice import Weights, cage_gbps, port_classes
from railweave.comparison.nic_choices import gpu_gbps
from railweave.comparison.order import DesignOrder, value, weights
from railweave.comparison.reasons import reasons
from railweave.comparison.search import Problem, SearchResult, Verdict, search_forms, search_nics
from railweave.comparison.suggestion import SuggestedDesign, counts, own_form, own_models
from railweave.comparison.suggestions import Suggested
from railweave.design.build import calculate
from railweave.diagnostics import Diagnostic, Severity, error, has_errors
from railweave.errors import RailweaveError, RefusedError, UsageError
from railweave.fabric.sizing import Sizing
from railweave.files import cannot_write, write_private
from railweave.intent.load import document_of
from railweave.intent.model import Intent, Shape
from railweave.intent.positions import Value
from railweave.wording import either, suggestion

_READABLE = 0o644
_MOST_PORTS = 8_192
"""Ports of nodes up to which parts and worst failures of each design are counted: with more, that takes minutes."""

_WIDER = "ask for another speed or ratio, or `railweave models` for what each model carries without loss"


@dataclass(frozen=True, slots=True)
class _Start:
    """The intent that suggestions are for."""

    intent: Intent
    document: Mapping[str, Value]
    diagnostics: tuple[Diagnostic, ...]
    catalog: Catalog
    prices: Prices | None
    # None where `check` refuses it.
    present: Alternative | None
    # Whether the parts and the worst failure of each design are counted.
    counts_parts: bool


@dataclass(frozen=True, slots=True)
class _Measures:
    """The designs that were laid out: their figures, by name."""

    start: _Start
    order: DesignOrder
    accepted: dict[str, Alternative] = field(default_factory=dict)

    @property
    def weights(self) -> Weights:
        """Return what a switch of each model adds to the value that designs are sorted by."""
        return weights(self.order, self.start.catalog, self.start.prices)

    def check(self, design: SuggestedDesign, sizing: Sizing) -> Verdict:
        """Lay a design out and check it; keep its figures if it is accepted.

        The intent is read as the user would write it. The verdict has the first error, or the value of the design.
        """
        gathered = gather_text(design.text(sizing), f"{design.name}.yml")
        first_error = next((fault for fault in gathered.diagnostics if fault.severity is Severity.ERROR), None)
        if first_error is not None:
            return Verdict(None, first_error)
        alternative = _figures(design.name, gathered, self.start)
        changes = design.changed_from(self.start.document, sizing)
        self.accepted[design.name] = alternative._replace(changes=changes)
        return Verdict(value(self.order, alternative), None)


def suggest(
    project: Project,
    *,
    most: int = 4,
    out: Path | None = None,
    nics: bool = False,
    order: str = DesignOrder.SWITCHES,
    prices: Path | None = None,
) -> Suggested:
    """Return the ``most`` best designs for the nodes, workload and growth of an intent, and the intent's own design.

    Shapes, rails, planes, uplink speeds, switch models of the catalog and port modes of the NICs are tried. Each design
    is accepted by `check`, and none has more switches than the intent. ``order`` says what the best ones have least of:
    switches, cost or power. With ``nics`` there is instead one design for each number, bandwidth and model of NICs that
    suits the workload.

    ``prices`` is a file as `bom` reads it, with what a network costs over years. ``out`` is a folder into which the
    intents of the designs are written, ``suggestion-1.yml`` and so on. If `check` refuses the intent itself, because it
    cannot grow as it should, its own design is left out. Raises RefusedError if no design carries the intent, with what
    is wrong with it, or if the prices have errors; UsageError for an unknown order, or one by cost without prices;
    RailweaveError if the folder cannot be written.
    """
    design_order = _checked_order(order, prices)
    start = _start(project, prices, design_order)
    measures = _Measures(start, design_order)
    result = _search(start, measures, nics=nics, most=most)
    if not result.ranked and start.present is None:
        nothing = error("RW020", "no model of the catalog carries these nodes", fix=_WIDER)
        raise RefusedError(start.diagnostics or [nothing])
    suggested = _suggested(start, measures, result)
    if out is not None:
        _write(out, suggested.texts)
    return suggested


def _suggested(start: _Start, measures: _Measures, result: SearchResult) -> Suggested:
    """Return the design of the intent itself, if `check` accepts it, and those that the search found, best first."""
    designs = [design for _, design in result.ranked]
    alternatives = [_with_reasons(design, measures) for design in designs]
    texts = _texts(designs, alternatives)
    if start.present is not None:
        alternatives.insert(0, start.present)
    return Suggested(
        Comparison(tuple(alternatives)),
        texts,
        measures.order,
        considered=result.considered,
        sized=result.sized,
        laid_out=result.laid_out,
        refused=result.refused,
        without_value=tuple(model for model in start.catalog.switch_ids() if model not in measures.weights),
        unused_prices=_unused_prices(start.prices, alternatives),
        counts_parts=start.counts_parts,
    )


def _checked_order(name: str, prices: Path | None) -> DesignOrder:
    """Return the order with this name; raises UsageError for an unknown one, or one by cost without prices."""
    if name not in list(DesignOrder):
        raise UsageError(f"unknown order `{name}`: {suggestion(name, list(DesignOrder))}write {either(DesignOrder)}")
    if name == DesignOrder.COST and prices is None:
        raise UsageError("an order by cost takes the prices of switches: add `--prices FILE`")
    return DesignOrder(name)


def _start(project: Project, prices: Path | None, order: DesignOrder) -> _Start:
    """Read the intent and the prices; ``present`` is None if the intent has errors."""
    gathered = gather(project.intent)
    price_list = None
    if prices is not None:
        price_list = read_prices(prices)
    start = _Start(
        intent=gathered.intent,
        document=document_of(project.intent),
        diagnostics=gathered.diagnostics,
        catalog=load_catalog(),
        prices=price_list,
        present=None,
        counts_parts=_counts_parts(gathered.intent, prices, order),
    )
    if has_errors(gathered.diagnostics):
        return start
    return replace(start, present=_figures(str(project.intent), gathered, start))


def _counts_parts(intent: Intent, prices: Path | None, order: DesignOrder) -> bool:
    """Tell whether the parts of each design are counted: always for costs or power, else only of a small fabric."""
    if prices is not None or order is not DesignOrder.SWITCHES:
        return True
    ports = sum(nodes.count * nodes.nics.count * nodes.nics.ports for nodes in intent.nodes)
    return ports <= _MOST_PORTS


def _figures(name: str, gathered: Gathered, start: _Start) -> Alternative:
    """Return the figures of a design, with its costs where there are prices."""
    alternative = measured(name, gathered, start.catalog, count_parts=start.counts_parts)
    if start.prices is None:
        return alternative
    bill_of_parts = alternative.bill
    if bill_of_parts is not None:
        bill_of_parts = with_prices(bill_of_parts, start.prices)
    return with_ownership(alternative, bill_of_parts, start.prices, gpu_gbps(start.intent))


def _search(start: _Start, measures: _Measures, *, nics: bool, most: int) -> SearchResult:
    """Search for the ``most`` best designs; with ``nics`` for one of each choice of NICs."""
    intent_form = own_form(start.intent)
    if nics:
        nic_choices = nic_variants(start.intent, start.document, start.catalog)
        # Other NICs carry other bandwidths: the designs may take more switches than the intent.
        problem = _problem(start, measures, nic_choices)._replace(limit=None)
        return search_nics(problem, nic_choices, intent_form.shape, most)
    port_modes = variants(start.intent, start.document, start.catalog)
    return search_forms(_problem(start, measures, port_modes), port_modes, intent_form, most)


def _problem(start: _Start, measures: _Measures, node_variants: Sequence[NodeVariant]) -> Problem:
    """Return the problem for the search among these variants of the nodes.

    No design may exceed the value of the intent's own design, if that is known.
    """
    intent = start.intent
    intent_models = own_models(intent)
    limit: Fraction | None = None
    present: tuple[object, ...] | None = None
    if start.present is not None:
        limit = value(measures.order, start.present)
        present = counts(intent_models, "", start.present.sizing)
    model_weights = measures.weights
    classes = {}
    for speeds_gbps in {variant.speeds_gbps for variant in node_variants}:
        classes[speeds_gbps] = port_classes(start.catalog, intent.policies, speeds_gbps, model_weights, intent_models)
    return Problem(
        classes=classes,
        weights=model_weights,
        cage_gbps=cage_gbps(start.catalog),
        size=lambda design: calculate(design.intent, start.catalog),
        check=measures.check,
        changed=lambda design, sizing: design.keys_changed_from(start.document, sizing),
        limit=limit,
        present=present,
    )


def _unused_prices(prices: Prices | None, alternatives: Sequence[Alternative]) -> tuple[str, ...]:
    """Return the parts that have a price and are in no bill."""
    if prices is None:
        return ()
    bills = [alternative.bill for alternative in alternatives if alternative.bill is not None]
    names = part_names(line for parts_bill in bills for line in parts_bill.lines)
    return tuple(part for part in prices.places if part not in names)


def _texts(designs: Sequence[SuggestedDesign], alternatives: Sequence[Alternative]) -> dict[str, str]:
    """Return the intents of the chosen designs by the names of their files, each with its reasons as comments."""
    texts = {}
    for number, (design, alternative) in enumerate(zip(designs, alternatives, strict=True), start=1):
        head = "".join(f"# {line}\n" for line in (design.name, *alternative.reasons))
        texts[f"suggestion-{number}.yml"] = head + design.text(alternative.sizing)
    return texts


def _with_reasons(design: SuggestedDesign, measures: _Measures) -> Alternative:
    """Return a suggested design with the reasons for and against it, compared with the design of the intent."""
    start = measures.start
    target_gpus: int | None = None
    if start.intent.workload.growth is not None:
        target_gpus = start.intent.workload.growth.gpus
    # Rail-only changes which nodes the network connects, not only its size.
    becomes_rail_only = design.form.shape is Shape.RAIL_ONLY and start.intent.topology.shape is not Shape.RAIL_ONLY
    alternative = measures.accepted[design.name]
    design_reasons = reasons(alternative, start.present, target_gpus, rail_only=becomes_rail_only)
    return alternative._replace(reasons=design_reasons)


def _write(out: Path, texts: Mapping[str, str]) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            write_private(out / name, text.encode(), _READABLE)
    except OSError as exc:
        raise RailweaveError(cannot_write(out, exc)) from exc
