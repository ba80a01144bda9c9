"""Max-min fair shares by progressive filling (Bertsekas and Gallager, Data Networks, section 6.5.2).

All flows grow alike until a link is full; its flows keep their rate, the others grow on. So a flow's rate is at least
its even part of the link on which it has the least, which `sure` bounds rest on.
"""

from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush

# Rounding may leave a link's even part a little above what it was; it is full all the same.
_EVEN = 1 + 1e-12


def fair_rates(flows: Sequence[Sequence[int]], capacity: Mapping[int, float]) -> list[float]:
    """Return the rate of every flow, in the unit of ``capacity``; a flow is the links that it crosses, at least one."""
    members: dict[int, list[int]] = {}
    for flow, links in enumerate(flows):
        for link in links:
            members.setdefault(link, []).append(flow)
    left = {link: capacity[link] for link in members}
    growing = {link: len(on_link) for link, on_link in members.items()}
    rates = [-1.0] * len(flows)
    fullest = [(left[link] / growing[link], link) for link in members]
    heapify(fullest)
    while fullest:
        part, link = heappop(fullest)
        if not growing[link]:
            continue
        # Flows that stopped elsewhere left more than the part at which the link was queued.
        now = max(0.0, left[link] / growing[link])
        if now > part * _EVEN:
            heappush(fullest, (now, link))
            continue
        for flow in members[link]:
            if rates[flow] >= 0:
                continue
            rates[flow] = now
            for crossed in flows[flow]:
                left[crossed] -= now
                growing[crossed] -= 1
    return rates
