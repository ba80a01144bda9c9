"""The fabrics that an intent meant in an earlier version, whose defaults were others."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, combinations

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.intent.model import Intent, SplitRule, UplinkWiring
from railweave.plan.earlier_default import EarlierDefault

_EARLIER = {"split": SplitRule.PANEL, "wiring": UplinkWiring.PORTS}
"""The defaults of 0.1 by the key of topology that states them."""


def earlier_defaults(intent: Intent) -> Iterator[EarlierDefault]:
    """Yield the fabrics of an intent with earlier defaults, one by one and together, where it states no other value."""
    catalog = load_catalog()
    unstated = [key for key in _EARLIER if f"topology.{key}" not in intent.places]
    for keys in chain.from_iterable(combinations(unstated, count) for count in range(1, len(unstated) + 1)):
        topology = intent.topology.with_values(**{key: _EARLIER[key] for key in keys})
        fabric = design(replace(intent, topology=topology), catalog).fabric
        if fabric is not None:
            yield EarlierDefault(tuple(f"{key}: {_EARLIER[key].value}" for key in keys), fabric)
