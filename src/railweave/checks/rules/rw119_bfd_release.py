"""BFD needs FRR's bfdd. Up to 202411 SONiC starts it only with frrcfgd, which would write FRR's configuration beside
our file; from 202505 bgpcfgd starts it (docs/reference/releases.md). Without bfdd no session would be watched."""

from railweave.checks.registry import Breach, Breaches, rule
from railweave.fabric.releases import RELEASES, nearest
from railweave.intent.model import Intent

RULE = rule("RW119", "the release runs BFD", __doc__, "{sonic: {release: 202411}, bgp: {bfd: true}}")


@RULE.on_intent
def check_bfd_release(intent: Intent) -> Breaches:
    """Yield a breach if BFD is on and the release starts no bfdd."""
    policies = intent.policies
    release = nearest(policies.sonic.release)
    if policies.bgp.bfd and not RELEASES[release].bfd:
        first = min(name for name, facts in RELEASES.items() if facts.bfd)
        message = f"SONiC {release} starts no bfdd beside an FRR file of its own: no session would be watched by BFD"
        yield Breach("bgp.bfd", message, f"run SONiC {first} or later (sonic.release), or take bgp.bfd out")
