"""Forward error correction is part of the signal: a port understands its own mode only."""

from railweave.checks.registry import LinkBreaches, LinkEnds, rule, unlike

RULE = rule(
    "P-5", "FEC modes match at both ends of a link", __doc__, "PORT|Ethernet0|fec rs on one end, none on the other"
)


@RULE.on_link
def fec(link: LinkEnds) -> LinkBreaches:
    """Compare both ends."""
    yield from unlike(link, "FEC", link.lower.fec, link.upper.fec)
