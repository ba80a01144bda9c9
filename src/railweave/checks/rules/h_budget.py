"""Each lossless class reserves headroom on every port, and all of it comes out of one buffer."""

from railweave.checks.registry import Breach, Breaches, SwitchRead, rule
from railweave.diagnostics import Severity
from railweave.intent.model import Intent

RULE = rule(
    "H-budget",
    "the headroom of all lossless classes fits the buffer",
    __doc__,
    "traffic_classes: [{name: roce, dscp: [26], lossless: true, priority: 3, share: 50},"
    " {name: storage, role: storage, dscp: [27], lossless: true, priority: 4, share: 20},"
    " {name: other, role: storage, dscp: [28], lossless: true, priority: 5, share: 20},"
    " {name: rest, role: bulk, dscp: default, priority: 0, share: 10}]",
)

# RDMA between GPUs, and RDMA to storage.
_MOST_LOSSLESS = 2


@RULE.on_intent
def count_lossless_classes(intent: Intent) -> Breaches:
    """Yield a warning for more than two lossless classes; the check of the design compares them with the buffer."""
    lossless = [traffic_class.name for traffic_class in intent.policies.classes if traffic_class.lossless]
    if len(lossless) > _MOST_LOSSLESS:
        message = f"{len(lossless)} lossless classes ({', '.join(lossless)}): each reserves headroom on every port"
        fix = "keep to one lossless class, two where storage needs its own"
        yield Breach("traffic_classes", message, fix, Severity.WARNING)


@RULE.on_switch
def check_switch_budget(switch: SwitchRead) -> Breaches:
    """Yield a breach if the lossless groups of a switch, as they are set, need more headroom than its buffer has."""
    from railweave.qos.buffering import plan_buffers
    from railweave.sonic.budget import overrun

    # The design is checked by kinds of switches.
    if switch.read is switch.design:
        return
    fabric = switch.fabric
    intended = fabric.switch_of[switch.name]
    plan = plan_buffers(intended.panel, intended.tier, fabric.policies, fabric.lengths_m_of(switch.name))
    if plan is None:
        return
    excess = overrun(intended, fabric.policies.sonic, plan, switch.read)
    # What the design needs too much of as well is reported of the design.
    if excess is None or overrun(intended, fabric.policies.sonic, plan, switch.design) is not None:
        return
    message = (
        f"{excess.groups} lossless groups of {switch.name} need {excess.needed_bytes} of the {excess.budget_bytes}"
        f" bytes of {excess.of}"
    )
    fix = f"set pools, profiles and cable lengths of {switch.name} as rendered"
    yield Breach("", message, fix, devices=(switch.name,))
