"""An ACL at the edge keeps other traffic out of the strict queue of notifications by its DSCP. Where it drops the
notifications too, which have that DSCP and are RoCE packets themselves, no sender slows down before PFC pauses it."""

from railweave.checks.registry import Breach, Breaches, SwitchRead, rule
from railweave.fabric.policy import ClassRole

RULE = rule(
    "Q-7",
    "no ACL drops RDMA or its notifications",
    __doc__,
    "overrides: {leaf: {ACL_RULE: {'EDGE|drop': {PRIORITY: '10', DSCP: '48', PACKET_ACTION: DROP}}}}",
)

_ROLES = (ClassRole.RDMA, ClassRole.CNP)


@RULE.on_switch
def dropping(switch: SwitchRead) -> Breaches:
    """Look for rules that drop packets of RDMA or notifications, first match first."""
    from railweave.sonic.acl import ROCE_PORT, dropped

    names = {dscp: one.name for one in switch.fabric.policies.classes if one.role in _ROLES for dscp in one.dscp}
    for found in dropped(switch.read, tuple(names)):
        message = f"rule {found.rule} of {switch.name} drops RoCE packets with DSCP {found.dscp} of {names[found.dscp]}"
        fix = f"let UDP port {ROCE_PORT} pass by a rule of higher priority"
        yield Breach("", message, fix, devices=(switch.name,))
