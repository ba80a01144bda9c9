"""How unevenly a hash spreads flows over equal links; the busiest link sets the pace of a collective operation.

A NIC port that talks to one peer at a time has a flow for each queue pair of the connection. Hashed flows fall like
balls into bins (Raab and Steger, "Balls into Bins" - A Simple and Tight Analysis, 1998): a link's load is binomial. The
links are treated as independent, which understates the busiest by up to 8 % for few flows.
"""

from math import exp, lgamma, log
from typing import NamedTuple

NCCL_QUEUE_PAIRS = 1
"""Queue pairs of a connection without NCCL_IB_QPS_PER_CONNECTION."""


class Spread(NamedTuple):
    """``flows`` of equal size hashed onto ``links``; ``busiest`` is how many the busiest link carries on average."""

    flows: int
    links: int
    busiest: float

    @property
    def load(self) -> float:
        """Return the load of the busiest link divided by the mean of all."""
        return self.busiest * self.links / self.flows


def spread(ports: int, queue_pairs: int, links: int) -> Spread:
    """Return the spread over ``links`` of the flows of ``ports``, each sending to one peer over ``queue_pairs``."""
    flows = ports * queue_pairs
    if links == 1:
        return Spread(flows, links, flows)
    ratio = 1 / links
    # The mean of the maximum: the sum over all counts of the probability that some link has more flows.
    busiest = 0.0
    at_most = 0.0
    for count in range(flows + 1):
        # In logarithms, because the binomial coefficient overflows a float from about 1,000 flows.
        choices = lgamma(flows + 1) - lgamma(count + 1) - lgamma(flows - count + 1)
        at_most += exp(choices + count * log(ratio) + (flows - count) * log(1 - ratio))
        busiest += 1 - min(1.0, at_most) ** links
        if count > flows * ratio and at_most >= 1 - 1e-12:
            break
    return Spread(flows, links, busiest)
