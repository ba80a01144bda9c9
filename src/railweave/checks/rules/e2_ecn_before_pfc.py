"""A sender that is marked slows down; one that is paused only stops. Marking has to begin before the first pause, else
PFC does the work of congestion control (the DCQCN paper, section 4)."""

from railweave.checks.registry import LinkBreaches, LinkEnds, rule
from railweave.checks.rules.e1_thresholds import broken_thresholds

RULE = rule(
    "E-2",
    "ECN marks before a single congested priority group pauses",
    __doc__,
    "green_min_threshold of a WRED_PROFILE above the size at which a priority group sends a pause",
)


@RULE.on_link
def check_set_thresholds(link: LinkEnds) -> LinkBreaches:
    """Yield a breach for each lossless queue that marks only after a single congested priority group has paused."""
    yield from broken_thresholds(link, "E-2")
