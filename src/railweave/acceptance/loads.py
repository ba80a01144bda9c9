"""How much each link carried in its best round, from the counters of both ends."""

from collections.abc import Mapping

from railweave.acceptance.counter_names import CounterMeaning
from railweave.acceptance.judge.case import Case
from railweave.acceptance.model import PortEnd

LinkLoads = Mapping[PortEnd, float]
"""The largest share of its rate that a link carried in a round, by its lower end; unread links are missing."""

_BYTES = (CounterMeaning.SENT_BYTES, CounterMeaning.RECEIVED_BYTES)


def link_loads(case: Case) -> LinkLoads:
    """Return the load of every link that was read, of the direction and the end that counted more."""
    loads: dict[PortEnd, float] = {}
    for counts in case.tallies.values():
        seconds = case.index.rounds[counts.round].seconds
        sides = (case.index.lower_places, case.index.upper_places)
        columns = [counts.column(side, meaning) for side in sides for meaning in _BYTES]
        for link, *counted in zip(case.index.plan.links, *columns, strict=True):
            sizes = [size for size in counted if size is not None]
            if sizes:
                share = max(sizes) * 8 / (link.speed_gbps * 1e9 * seconds)
                loads[link.lower] = max(share, loads.get(link.lower, 0.0))
    return loads
