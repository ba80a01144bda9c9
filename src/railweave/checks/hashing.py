"""How evenly the fabric's switches spread flows over equal paths.

What their hash takes in is known only where SONiC sets it (check L-1), and even the best hash puts several of few flows
on one link (check L-3).
"""

from collections.abc import Callable, Iterator

from railweave.checks.buffer_facts import tier_path
from railweave.checks.registry import rule
from railweave.diagnostics import Diagnostic, Severity, Where
from railweave.fabric.devices import Tier
from railweave.fabric.hashing import NCCL_QUEUE_PAIRS, spread
from railweave.fabric.model import Fabric
from railweave.fabric.releases import RELEASES, nearest
from railweave.wording import counted

rule(
    "L-3",
    "the flows of the workload spread over the uplinks of a leaf",
    "A hash puts flows on links like balls into bins: with few of them some uplinks carry several and others none, and"
    " a collective operation waits for its slowest flow.",
    fix="Use more queue pairs per connection (`hosts.qps_per_connection`), or spray packets to NICs that reorder them.",
)

# Advice is given from this ratio of the load of the busiest uplink to the mean.
_UNEVEN = 1.5
_MORE_QUEUE_PAIRS = (2, 4, 8, 16, 32)


def hash_findings(fabric: Fabric, where: Callable[[str], Where]) -> Iterator[Diagnostic]:
    """Yield the tiers whose hash SONiC does not set, and the leaves with too few flows to spread evenly."""
    # One tier has no equal paths.
    if len(fabric.tiers) > 1:
        yield from _unset_fields(fabric, where)
        yield from _collisions(fabric, where)


def _collisions(fabric: Fabric, where: Callable[[str], Where]) -> Iterator[Diagnostic]:
    """Yield L-3 if the flows of a leaf load its uplinks unevenly."""
    leaf = fabric.tiers[0]
    stated_pairs = fabric.policies.hosts.queue_pairs
    queue_pairs = stated_pairs or NCCL_QUEUE_PAIRS
    flows = spread(leaf.ports_down, queue_pairs, leaf.ports_up)
    if flows.load < _UNEVEN:
        return
    message = (
        f"ECMP: with {counted(queue_pairs, 'queue pair')} per downlink the busiest of {flows.links} uplinks carries"
        f" {flows.load:.1f} × the average load"
    )
    loads = []
    for more_pairs in _MORE_QUEUE_PAIRS:
        if more_pairs > queue_pairs:
            load = spread(leaf.ports_down, more_pairs, leaf.ports_up).load
            loads.append(f"{load:.1f} with {more_pairs}")
    fix = "spray packets over the uplinks, where the NICs reorder them"
    if loads:
        fix = f"use more queue pairs: hosts.qps_per_connection (NCCL_IB_QPS_PER_CONNECTION): {', '.join(loads)}"
    place = where("workload" if stated_pairs is None else "hosts.qps_per_connection")
    yield Diagnostic("L-3", Severity.INFO, message, place, fix=fix)


def _unset_fields(fabric: Fabric, where: Callable[[str], Where]) -> Iterator[Diagnostic]:
    """Yield L-1 for each tier and ASIC on which SONiC cannot set the fields of the hash."""
    release = fabric.policies.sonic.release
    release_sets_fields = RELEASES[nearest(release)].hash_fields
    devices_of: dict[tuple[Tier, str], list[str]] = {}
    for switch in fabric.switches:
        if not (release_sets_fields and switch.panel.hash_fields):
            devices_of.setdefault((switch.tier, switch.panel.asic), []).append(switch.name)
    for (tier, asic), devices in devices_of.items():
        message = (
            f"SONiC {release} cannot set the fields of the ECMP hash of {tier.plural} with {asic}: if the UDP source"
            " port is not among the ASIC's own, all flows between two NICs take one path"
        )
        fix = "run RDMA between two nodes and compare the counters of the uplinks"
        yield Diagnostic(
            code="L-1",
            severity=Severity.INFO,
            message=message,
            where=where(f"{tier_path(tier)}.model"),
            devices=tuple(devices),
            fix=fix,
        )
