"""The fabrics that an intent described under the defaults of earlier versions."""

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
    for earlier_intent in earlier_intents(intent, catalog):
        fabric = design(earlier_intent.intent, catalog).fabric
        if fabric is not None:
            yield EarlierDefault(earlier_intent.lines, earlier_intent.today, fabric)


def name_earlier_switches(
    diagnostics: Sequence[Diagnostic], intent: Intent, fabric: Fabric, is_reached: Callable[[Fabric], bool]
) -> tuple[Diagnostic, ...]:
    """Return ``diagnostics`` of switches that are not reached, with a fix if an earlier default gives other names.

    The spines of three tiers are numbered by the split of a leaf, so that another default of it gives other names. If
    ``is_reached`` accepts all switches of an earlier default, the fix names the lines that state that default. Else the
    diagnostics are unchanged.
    """
    missing = {name for diagnostic in diagnostics for name in diagnostic.devices}
    if not missing:
        return tuple(diagnostics)
    for default in earlier_defaults(intent):
        default_names = default.fabric.switch_of.keys()
        has_other_names = not default_names <= fabric.switch_of.keys()
        has_no_missing_name = missing.isdisjoint(default_names)
        if has_other_names and has_no_missing_name and is_reached(default.fabric):
            where = intent.where("topology")
            fix = f"; if an earlier version of railweave deployed the switches, write {quoted(default.lines)} under"
            fix += f" `{where.path}` in {where.file}, which keeps their names"
            return tuple(diagnostic._replace(fix=diagnostic.fix + fix) for diagnostic in diagnostics)
    return tuple(diagnostics)
