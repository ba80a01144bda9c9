"""Ethernet lane arithmetic: which lane rates exist, on how many lanes a speed runs, and the FEC that it needs."""

LANE_RATES_GBPS = (200, 100, 50, 25, 10)
"""Rates of an electrical lane, nominal: 200, 100 and 50 are PAM4, 25 and 10 NRZ."""

_RS_FEC_FROM_GBPS = 25


def lane_rates(speed_gbps: int, lanes: int, lane_gbps: int) -> tuple[int, ...]:
    """Return the lane rates at which a port of ``lanes`` lanes of up to ``lane_gbps`` runs a speed, most lanes first.

    Empty where the speed cannot run there: 40G needs four lanes of 10G, so no single lane carries it.
    """
    usable = [
        rate
        for rate in LANE_RATES_GBPS
        if rate <= lane_gbps and speed_gbps % rate == 0 and _is_lane_count(speed_gbps, rate, lanes)
    ]
    return tuple(sorted(usable))


def _is_lane_count(speed_gbps: int, rate_gbps: int, lanes: int) -> bool:
    """Tell whether the speed takes 1, 2, 4 or 8 of ``lanes`` lanes; 10G lanes come alone or by four."""
    count = speed_gbps // rate_gbps
    return count <= lanes and count in ((1, 4) if rate_gbps == 10 else (1, 2, 4, 8))


def fec_of(lane_gbps: int) -> str:
    """Return PORT.fec for a lane rate: Reed-Solomon is mandatory on PAM4 lanes and the rule on 25G lanes
    (IEEE 802.3 clauses 91, 108 and 134; fabric-facts section 3.4); 10G lanes run without."""
    return "rs" if lane_gbps >= _RS_FEC_FROM_GBPS else "none"
