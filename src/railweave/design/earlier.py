"""What an intent meant in an earlier version, whose defaults were others."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

from railweave.catalog.load import Catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.intent.model import Intent, SplitRule, UplinkWiring

_EARLIER = {"split": SplitRule.PANEL, "wiring": UplinkWiring.PORTS}
"""The defaults of 0.1 by the key of topology that states them."""
_TODAY = {"split": SplitRule.STRIPE, "wiring": UplinkWiring.CAGES}


class EarlierIntent(NamedTuple):
    """An intent that states earlier defaults, with the lines that do, and those that state the defaults of today."""

    intent: Intent
    lines: tuple[str, ...] = ()
    today: tuple[str, ...] = ()


def earlier_intents(intent: Intent, catalog: Catalog) -> Iterator[EarlierIntent]:
    """Yield an intent with earlier defaults, one by one and together, where it states no other value."""
    # Of an intent that was designed, the size of pods is that of today's split.
    if "topology.pod" not in intent.places:
        intent = replace(intent, topology=intent.topology.with_values(pod=None))
    unstated = [key for key in _EARLIER if f"topology.{key}" not in intent.places]
    for count in range(len(unstated) + 1):
        for keys in combinations(unstated, count):
            earlier = _with_earlier(intent, keys)
            if keys:
                yield earlier
            yield from _with_spines_of_today(earlier, catalog)


def _with_earlier(intent: Intent, keys: Sequence[str]) -> EarlierIntent:
    """Return the intent with the earlier defaults of some keys of topology."""
    topology = intent.topology.with_values(**{key: _EARLIER[key] for key in keys})
    lines = tuple(f"{key}: {_EARLIER[key].value}" for key in keys)
    today = tuple(f"{key}: {_TODAY[key].value}" for key in keys)
    return EarlierIntent(replace(intent, topology=topology), lines, today)


def _with_spines_of_today(earlier: EarlierIntent, catalog: Catalog) -> Iterator[EarlierIntent]:
    """Yield the intent whose automatic spines have no ports for the leaves of the reserve, as in 0.1, if they are
    fewer."""
    intent = earlier.intent
    topology = intent.topology
    if topology.spine.count is not None or topology.reserve.leaves is None or topology.links_per_pair is not None:
        return
    unreserved = topology.with_values(reserve=topology.reserve.with_values(leaves=None))
    fewer = _spines(design(replace(intent, topology=unreserved), catalog).fabric)
    count = _spines(design(intent, catalog).fabric)
    if not fewer or fewer >= count:
        return
    stated = topology.with_values(spine=topology.spine.with_values(count=fewer // topology.planes))
    lines = (*earlier.lines, f"spine.count: {fewer // topology.planes}")
    today = (*earlier.today, f"spine.count: {count // topology.planes}")
    yield EarlierIntent(replace(intent, topology=stated), lines, today)


def _spines(fabric: Fabric | None) -> int:
    """Return the spines of two tiers; pods have theirs by their size."""
    if fabric is None or len(fabric.tier_switches) != 2:
        return 0
    return len(fabric.tier_switches[1])
