"""A host sends packets as large as its own MTU; a switch port drops what is larger than its own."""

from railweave.checks.registry import Breach, Breaches, LinkBreach, LinkBreaches, LinkEnds, rule
from railweave.intent.model import Intent

RULE = rule("M-1", "the MTU of the nodes fits the fabric's", __doc__, "mtu: {hosts: 9214, fabric: 9000}")


@RULE.on_intent
def compare_intended_mtus(intent: Intent) -> Breaches:
    """Yield a breach if the MTU of nodes is greater than that of the fabric."""
    mtu = intent.policies.mtu
    if mtu.hosts_bytes > mtu.fabric_bytes:
        # At the key that the file states; the other one is a default.
        path = "mtu.hosts" if "mtu.hosts" in intent.places else "mtu.fabric"
        message = f"the hosts send packets of {mtu.hosts_bytes} bytes, the fabric carries {mtu.fabric_bytes}"
        yield Breach(path, message, f"lower mtu.hosts to {mtu.fabric_bytes} or raise mtu.fabric to {mtu.hosts_bytes}")


@RULE.on_link
def compare_set_mtus(link: LinkEnds) -> LinkBreaches:
    """Yield a breach if the MTU of a node's port is greater than that of the switch's port."""
    node = link.lower
    switch = link.upper
    if not node.is_host or node.mtu_bytes is None or switch.mtu_bytes is None:
        return
    if node.mtu_bytes > switch.mtu_bytes:
        message = (
            f"{node} has an MTU of {node.mtu_bytes} bytes, {switch} of {switch.mtu_bytes}: what the node sends is"
            " dropped"
        )
        yield LinkBreach(switch, "mtu", message, f"raise the MTU of {switch} to {node.mtu_bytes} or more")
