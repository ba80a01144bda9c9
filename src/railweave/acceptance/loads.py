"""How much each link carried in its best round, from the counters of both ends."""

from collections.abc import Mapping

from railweave.acceptance.counter_names import CounterMeaning
from railweave.acceptance.judge.case import Case
from railweave.acceptance.model import PortEnd

LinkLoads = Mapping[PortEnd, float]
"""The largest share of its rate that a link carried in a round, by its lower end; unread links are missing."""

_BYTES = (CounterMeaning.SENT_BYTES, CounterMeaning.RECEIVED_BYTES)


def link_loads(case: Case) -> LinkLoads:
    """Return the highest load that each link had in any round, as a share of its bandwidth, by its lower end.

    Both ends count the bytes of both directions, and the largest of these four counters is taken. Links that neither
    end counted are left out.
    """
    index = case.index
    loads: dict[PortEnd, float] = {}
    for tally in case.tallies.values():
        seconds = index.rounds[tally.round].seconds
        columns = [
            tally.column(places, meaning) for places in (index.lower_places, index.upper_places) for meaning in _BYTES
        ]
        for link, *counters in zip(index.plan.links, *columns, strict=True):
            counted_bytes = [counter for counter in counters if counter is not None]
            if counted_bytes:
                load = max(counted_bytes) * 8 / (link.speed_gbps * 1e9 * seconds)
                loads[link.lower] = max(load, loads.get(link.lower, 0.0))
    return loads
