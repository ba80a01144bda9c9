"""How evenly the fabric's switches spread flows over equal paths: what their hash takes in is known only where SONiC
sets it (check L-1)."""

from collections.abc import Callable, Iterator

from railweave.checks.buffer_facts import tier_path
from railweave.diagnostics import Diagnostic, Severity, Where
from railweave.fabric.model import Fabric, Tier
from railweave.fabric.releases import RELEASES, nearest


def hash_findings(fabric: Fabric, where: Callable[[str], Where]) -> Iterator[Diagnostic]:
    """Yield the tiers with equal paths whose hash is what their ASIC ships with."""
    release = fabric.policies.sonic.release
    alike: dict[tuple[Tier, str], list[str]] = {}
    for switch in fabric.switches:
        if not (switch.panel.hash_fields and RELEASES[nearest(release)].hash_fields) and len(fabric.tiers) > 1:
            alike.setdefault((switch.tier, switch.panel.asic), []).append(switch.name)
    for (tier, asic), devices in alike.items():
        message = (
            f"SONiC {release} cannot set the fields of the ECMP hash of {tier.plural} with {asic}: without the UDP"
            " source port among the ASIC's own (SONiC's test of ECMP expects it there: sonic-mgmt tests/fib), all flows"
            " between two NICs take one path"
        )
        fix = "run RDMA between two nodes and compare the counters of the uplinks"
        yield Diagnostic("L-1", Severity.INFO, message, where(f"{tier_path(tier)}.model"), tuple(devices), fix)
