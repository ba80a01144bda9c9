"""Max-min fair shares by progressive filling (Bertsekas and Gallager, Data Networks, section 6.5.2).

All flows grow at the same pace until a link is full; its flows keep their rate, the others go on growing. So a flow's
rate is at least its even part of the link on which that part is smallest; the `sure_share` of limits rests on this.
"""

from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush

# Rounding may raise a link's even part a little after it was queued; the link is full nevertheless.
_EVEN = 1 + 1e-12


def fair_rates(flows: Sequence[Sequence[int]], capacity: Mapping[int, float]) -> list[float]:
    """Return the max-min fair rate of every flow, in the unit of ``capacity``, which is that of each link.

    A flow is the links that it crosses, at least one.
    """
    flows_of: dict[int, list[int]] = {}
    for flow, links in enumerate(flows):
        for link in links:
            flows_of.setdefault(link, []).append(flow)
    # The capacity of each link that no flow has taken for good, and the number of its flows that still grow.
    free = {link: capacity[link] for link in flows_of}
    growing = {link: len(link_flows) for link, link_flows in flows_of.items()}
    # Negative while a flow grows.
    rates = [-1.0] * len(flows)
    queue = [(free[link] / growing[link], link) for link in flows_of]
    heapify(queue)
    while queue:
        queued_part, link = heappop(queue)
        if not growing[link]:
            continue
        even_part = max(0.0, free[link] / growing[link])
        if even_part > queued_part * _EVEN:
            # Since the link was queued, some of its flows stopped at another link and left their part to the others.
            heappush(queue, (even_part, link))
            continue
        for flow in flows_of[link]:
            if rates[flow] >= 0:
                continue
            rates[flow] = even_part
            for crossed_link in flows[flow]:
                free[crossed_link] -= even_part
                growing[crossed_link] -= 1
    return rates
