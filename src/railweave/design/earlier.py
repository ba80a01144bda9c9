"""What an intent meant in an earlier version with other defaults."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

from railweave.catalog.load import Catalog
from railweave.design.build import design
from railweave.intent.model import Intent, SplitRule, UplinkWiring

_EARLIER = {"split": SplitRule.PANEL, "wiring": UplinkWiring.PORTS}
"""The defaults of 0.1 by the key of topology that states them."""
_TODAY = {"split": SplitRule.STRIPE, "wiring": UplinkWiring.CAGES}


class EarlierIntent(NamedTuple):
    """An intent that states earlier defaults."""

    intent: Intent
    # The lines that state them.
    lines: tuple[str, ...] = ()
    # The lines that would state today's defaults instead.
    today: tuple[str, ...] = ()


def earlier_intents(intent: Intent, catalog: Catalog) -> Iterator[EarlierIntent]:
    """Yield the intent with each combination of earlier defaults for the keys that it does not state.

    Each of them, and the intent itself, follows a second time with the spines of 0.1 if these are fewer than today.
    """
    # A designed intent has the size of pods that follows from today's defaults.
    if "topology.pod" not in intent.places:
        intent = replace(intent, topology=intent.topology.with_values(pod=None))
    unstated = [key for key in _EARLIER if f"topology.{key}" not in intent.places]
    for count in range(len(unstated) + 1):
        for keys in combinations(unstated, count):
            earlier = _with_earlier(intent, keys)
            # Without a key it is the intent as it is.
            if keys:
                yield earlier
            yield from _with_unreserved_spines(earlier, catalog)


def _with_earlier(intent: Intent, keys: Sequence[str]) -> EarlierIntent:
    """Return the intent with the earlier defaults of some keys of topology."""
    topology = intent.topology.with_values(**{key: _EARLIER[key] for key in keys})
    lines = tuple(f"{key}: {_EARLIER[key].value}" for key in keys)
    today = tuple(f"{key}: {_TODAY[key].value}" for key in keys)
    return EarlierIntent(replace(intent, topology=topology), lines, today)


def _with_unreserved_spines(earlier: EarlierIntent, catalog: Catalog) -> Iterator[EarlierIntent]:
    """Yield the intent with the spines that it had in 0.1, if these are fewer than today.

    In 0.1 automatic spines had ports for the leaves of today only, not for those of the reserve.
    """
    intent = earlier.intent
    topology = intent.topology
    has_automatic_spines = topology.spine.count is None and topology.links_per_pair is None
    if not has_automatic_spines or topology.reserve.leaves is None:
        return
    unreserved = topology.with_values(reserve=topology.reserve.with_values(leaves=None))
    earlier_spines = _spines_of_plane(replace(intent, topology=unreserved), catalog)
    spines = _spines_of_plane(intent, catalog)
    if not earlier_spines or earlier_spines >= spines:
        return
    with_earlier_spines = topology.with_values(spine=topology.spine.with_values(count=earlier_spines))
    lines = (*earlier.lines, f"spine.count: {earlier_spines}")
    today = (*earlier.today, f"spine.count: {spines}")
    yield EarlierIntent(replace(intent, topology=with_earlier_spines), lines, today)


def _spines_of_plane(intent: Intent, catalog: Catalog) -> int:
    """Return the spines of a plane in two tiers; 0 if the intent has errors or another number of tiers.

    The spines of pods follow from the size of these.
    """
    fabric = design(intent, catalog).fabric
    if fabric is None or len(fabric.tier_switches) != 2:
        return 0
    return len(fabric.tier_switches[1]) // fabric.planes
