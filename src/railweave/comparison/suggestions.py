"""What `compare --suggest` comes to: designs beside an intent, and how they were found."""

from collections.abc import Mapping
from typing import NamedTuple

from railweave.comparison.alternative import Comparison
from railweave.comparison.order import DesignOrder
from railweave.comparison.search import Refused


class Suggested(NamedTuple):
    """Designs that carry the same nodes, workload and growth as an intent."""

    # Side by side with their reasons, the intent itself first unless `check` refuses it.
    comparison: Comparison
    # Their intents by name of a file, which begin with the reasons.
    texts: Mapping[str, str]
    order: DesignOrder
    # Forms and switch models that were looked at, those of which sizes were computed, and those laid out in full.
    considered: int
    sized: int
    laid_out: int
    # Designs that come before the suggested ones, with what `check` says against each.
    refused: tuple[Refused, ...]
    # Models that are left out because no price or power is known of them.
    without_value: tuple[str, ...]
    # Prices of parts that none of the designs has.
    unused_prices: tuple[str, ...]
    # Whether the parts and the worst failure of each design were counted.
    counts_parts: bool = True
