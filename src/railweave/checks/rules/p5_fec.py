"""Forward error correction is part of the signal: a port understands its own mode only."""

from railweave.checks.registry import LinkBreach, LinkBreaches, LinkEnds, rule, unlike

RULE = rule(
    "P-5", "FEC modes match at both ends of a link", __doc__, "PORT|Ethernet0|fec rs on one end, none on the other"
)


@RULE.on_link
def compare_ends(link: LinkEnds) -> LinkBreaches:
    """Yield a breach if the ends of a link have different FEC modes."""
    yield from unlike(link, "FEC", link.lower.fec, link.upper.fec)


@RULE.on_link
def compare_with_design(link: LinkEnds) -> LinkBreaches:
    """Yield a breach for each switch port with another FEC mode than designed.

    Ends with different modes are reported by the comparison of both ends.
    """
    for end in link.switches:
        designed = link.design(end).fec
        if designed is None or end.fec in (None, designed):
            continue
        # A port that chooses by itself may choose the designed mode; of a row that was read in part FEC is unknown.
        if end.fec == "auto" or not end.is_read_whole:
            continue
        if link.far(end).fec in (None, end.fec):
            message = f"{end} has FEC {end.fec} towards {link.far(end)}, by design {designed}"
            yield LinkBreach(end, "designed FEC", message, f"set PORT|{end.port}|fec of {end.device} to {designed}")
