"""What differs between SONiC's releases is known of some; another is treated as the nearest one before it."""

from railweave.checks.registry import Breach, Breaches, rule
from railweave.diagnostics import Severity
from railweave.fabric.releases import RELEASES, nearest
from railweave.intent.model import Intent

RULE = rule("RW116", "SONiC's release is known", __doc__, "sonic: {release: 202606}")


@RULE.on_intent
def check_release(intent: Intent) -> Breaches:
    """Yield a warning if the release is not among the known ones."""
    name = intent.policies.sonic.release
    if name not in RELEASES:
        message = f"SONiC {name} is not known: everything is rendered as for {nearest(name)}, the nearest"
        fix = f"try it on one switch first, or write {nearest(name)}"
        yield Breach("sonic.release", message, fix, Severity.WARNING)
