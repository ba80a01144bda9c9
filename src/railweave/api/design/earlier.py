"""The fabrics that an intent meant in an earlier version, whose defaults were others."""

from collections.abc import Callable, Iterator, Sequence

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.design.earlier import earlier_intents
from railweave.diagnostics import Diagnostic
from railweave.fabric.model import Fabric
from railweave.intent.model import Intent
from railweave.plan.earlier_default import EarlierDefault, quoted


def earlier_defaults(intent: Intent) -> Iterator[EarlierDefault]:
    """Yield the fabrics of an intent with earlier defaults, as far as they can be designed."""
    catalog = load_catalog()
    for earlier in earlier_intents(intent, catalog):
        fabric = design(earlier.intent, catalog).fabric
        if fabric is not None:
            yield EarlierDefault(earlier.lines, earlier.today, fabric)


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
