"""The fabrics that an intent meant in an earlier version, whose defaults were others."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, combinations
from typing import NamedTuple

from railweave.catalog.load import Catalog, load_catalog
from railweave.design.build import design
from railweave.diagnostics import Diagnostic
from railweave.fabric.model import Fabric
from railweave.intent.model import Intent, SplitRule, UplinkWiring
from railweave.plan.earlier_default import EarlierDefault, quoted

_EARLIER = {"split": SplitRule.PANEL, "wiring": UplinkWiring.PORTS}
"""The defaults of 0.1 by the key of topology that states them."""
_TODAY = {"split": SplitRule.STRIPE, "wiring": UplinkWiring.CAGES}


class _Variant(NamedTuple):
    """An intent that states earlier defaults, with the lines that do, and those that state the defaults of today."""

    intent: Intent
    lines: tuple[str, ...] = ()
    today: tuple[str, ...] = ()


def earlier_defaults(intent: Intent) -> Iterator[EarlierDefault]:
    """Yield the fabrics of an intent with earlier defaults, one by one and together, where it states no other value."""
    catalog = load_catalog()
    # Of an intent that was designed, the size of pods is that of today's split.
    if "topology.pod" not in intent.places:
        intent = replace(intent, topology=intent.topology.with_values(pod=None))
    for variant in _variants(intent, catalog):
        fabric = design(variant.intent, catalog).fabric
        if fabric is not None:
            yield EarlierDefault(variant.lines, variant.today, fabric)


def _variants(intent: Intent, catalog: Catalog) -> Iterator[_Variant]:
    unstated = [key for key in _EARLIER if f"topology.{key}" not in intent.places]
    for keys in chain.from_iterable(combinations(unstated, count) for count in range(len(unstated) + 1)):
        topology = intent.topology.with_values(**{key: _EARLIER[key] for key in keys})
        lines = tuple(f"{key}: {_EARLIER[key].value}" for key in keys)
        today = tuple(f"{key}: {_TODAY[key].value}" for key in keys)
        variant = _Variant(replace(intent, topology=topology), lines, today)
        if keys:
            yield variant
        yield from _with_spines_of_today(variant, catalog)


def _with_spines_of_today(variant: _Variant, catalog: Catalog) -> Iterator[_Variant]:
    """Yield the variant whose automatic spines have no ports for the leaves of the reserve, as in 0.1, if they are
    fewer."""
    intent = variant.intent
    topology = intent.topology
    if topology.spine.count is not None or topology.reserve.leaves is None or topology.links_per_pair is not None:
        return
    unreserved = topology.with_values(reserve=topology.reserve.with_values(leaves=None))
    fewer = _spines(design(replace(intent, topology=unreserved), catalog).fabric)
    count = _spines(design(intent, catalog).fabric)
    if not fewer or fewer >= count:
        return
    stated = topology.with_values(spine=topology.spine.with_values(count=fewer // topology.planes))
    lines = (*variant.lines, f"spine.count: {fewer // topology.planes}")
    today = (*variant.today, f"spine.count: {count // topology.planes}")
    yield _Variant(replace(intent, topology=stated), lines, today)


def _spines(fabric: Fabric | None) -> int:
    """Return the spines of two tiers; pods have theirs by their size."""
    if fabric is None or len(fabric.tier_switches) != 2:
        return 0
    return len(fabric.tier_switches[1])


def name_earlier_switches(
    diagnostics: Sequence[Diagnostic], intent: Intent, fabric: Fabric, is_reached: Callable[[Fabric], bool]
) -> tuple[Diagnostic, ...]:
    """Return why switches of ``fabric`` are not reached; the fix names the lines of an earlier default whose switches
    all are, because spines of three tiers are numbered by the split of a leaf."""
    missing = {name for diagnostic in diagnostics for name in diagnostic.devices}
    if not missing:
        return tuple(diagnostics)
    for default in earlier_defaults(intent):
        has_others = not default.fabric.switch_of.keys() <= fabric.switch_of.keys()
        if has_others and missing.isdisjoint(default.fabric.switch_of) and is_reached(default.fabric):
            where = intent.where("topology")
            fix = f"; if an earlier version of railweave deployed the switches, write {quoted(default.lines)} under"
            fix += f" `{where.path}` in {where.file}, which keeps their names"
            return tuple(diagnostic._replace(fix=diagnostic.fix + fix) for diagnostic in diagnostics)
    return tuple(diagnostics)
