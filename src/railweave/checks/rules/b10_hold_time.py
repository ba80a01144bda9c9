"""A session falls when no keepalive came within the hold time; with fewer than three keepalives in it a single lost
packet may be the last (RFC 4271 section 4.4)."""

from railweave.checks.registry import Breach, Breaches, rule
from railweave.intent.model import Intent

RULE = rule("B-10", "the BGP hold time is at least three keepalives", __doc__, "bgp: {keepalive: 3, hold: 8}")


@RULE.on_intent
def check_hold_time(intent: Intent) -> Breaches:
    """Yield a breach if the hold time is shorter than three keepalives."""
    bgp = intent.policies.bgp
    if bgp.hold_s < 3 * bgp.keepalive_s:
        message = (
            f"a hold time of {bgp.hold_s} s is under three keepalives of {bgp.keepalive_s} s: one lost packet can end a"
            " session"
        )
        fix = f"set bgp.hold to {3 * bgp.keepalive_s} or more, or lower bgp.keepalive"
        # At the key that the file states; the other one is a default.
        path = "bgp.hold" if "bgp.hold" in intent.places else "bgp.keepalive"
        yield Breach(path, message, fix)
