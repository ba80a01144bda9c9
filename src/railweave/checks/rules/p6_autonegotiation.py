"""A port that negotiates waits for the other end to do the same."""

from railweave.checks.registry import LinkBreaches, LinkEnds, rule, unlike

RULE = rule(
    "P-6",
    "auto-negotiation matches at both ends of a link",
    __doc__,
    "PORT|Ethernet0|autoneg on on one end, off on the other",
)


@RULE.on_link
def compare_ends(link: LinkEnds) -> LinkBreaches:
    """Yield a breach if only one end of a link negotiates."""
    yield from unlike(link, "autonegotiation", link.lower.autoneg, link.upper.autoneg)
