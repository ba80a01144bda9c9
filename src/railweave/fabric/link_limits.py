"""The error rates that grade a link, and of its alert: from its FEC, its speed, and how much a job can lose."""

from typing import NamedTuple

from railweave.fabric.fec import Fec, error_rate_limit, error_rate_of, fec_of
from railweave.fabric.link_policy import LinkPolicy
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric

# Within a decade of the limit the margin for aging and temperature is used up.
_REPAIR_MARGIN = 10
_WATCH_MARGIN = 100
_DIRECTIONS = 2
_HOUR_S = 3600


class LinkLimits(NamedTuple):
    """Bit error rates before correction from which on a link is no longer grade A, and what its FEC corrects."""

    fec: Fec
    speed_gbps: int
    # From here on grade B, C and D.
    watch: float
    repair: float
    drain: float
    # The first lost codeword is expected within an hour.
    first_loss: float

    @property
    def codewords_per_s(self) -> float:
        """Return the codewords that arrive each second, idle ones included."""
        return self.speed_gbps * 1e9 / self.fec.codeword_bits


class LimitsOf:
    """The limits of the links of one fabric."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._policy = fabric.policies.links
        self._job_links = job_links(fabric, self._policy)
        # Keyed by the texts of the port: a fabric of 1,024 switches has a hundred thousand links.
        self._limits: dict[tuple[str, str, int], LinkLimits] = {}

    def of(self, link: Link) -> LinkLimits:
        """Return the limits of a link; its FEC is that of the port of its upper end."""
        port = self._fabric.switch_of[link.upper].panel.ports[link.upper_port]
        key = port.fec, port.lanes, link.speed_gbps
        if key not in self._limits:
            fec = fec_of(port.fec, link.speed_gbps / len(port.lanes.split(",")))
            self._limits[key] = link_limits(fec, link.speed_gbps, self._policy, self._job_links)
        return self._limits[key]


def job_links(fabric: Fabric, policy: LinkPolicy) -> int:
    """Return how many links the largest job uses: of all links, the same share as of the nodes."""
    nodes = max(1, len(fabric.hosts))
    job_nodes = min(nodes, policy.job_nodes or nodes)
    return max(1, round(len(fabric.links) * job_nodes / nodes))


def link_limits(fec: Fec, speed_gbps: int, policy: LinkPolicy, links: int) -> LinkLimits:
    """Return the limits of a link with a code and speed, if the largest job uses ``links`` links."""
    per_s = speed_gbps * 1e9 / fec.codeword_bits
    limit = error_rate_limit(fec)
    drain = policy.drain_ber
    if drain is None:
        codewords = per_s * _HOUR_S * policy.job_hours * links * _DIRECTIONS
        by_job = error_rate_of(fec, policy.job_loss / codewords)
        # Below a decade from the limit nothing is lost unless the rate rises, and above it IEEE 802.3 is not met.
        drain = min(limit, max(by_job, limit / _REPAIR_MARGIN))
    repair = min(drain, limit / _REPAIR_MARGIN)
    watch = policy.warn_ber
    if watch is None:
        watch = min(repair, limit / _WATCH_MARGIN)
    return LinkLimits(
        fec=fec,
        speed_gbps=speed_gbps,
        watch=watch,
        repair=repair,
        drain=drain,
        first_loss=error_rate_of(fec, 1 / (per_s * _HOUR_S)),
    )
