"""Every setting that `hosts apply` makes on a NIC has a reason: with DCQCN off, no sender slows down before PFC pauses
it; with DCBX left to the firmware, a switch may overwrite what the node set; with other receive buffers, lossless
packets are dropped."""

from railweave.checks.registry import Breach, Breaches, NodeRead, rule
from railweave.hosts.settings import unmet_settings
from railweave.wording import command_line

RULE = rule(
    "N-6",
    "the NICs of a node are set as its traffic classes need it",
    __doc__,
    "/sys/class/net/rail0/ecn/roce_rp/enable/3 = 0",
)


@RULE.on_node
def compare_settings(node: NodeRead) -> Breaches:
    """Yield a breach for each setting of a NIC that is not as intended, except those that Q-2 and Q-3 compare."""
    intended = node.intended
    for port in node.ports:
        for setting in unmet_settings(intended, port.facts.get("settings", {})):
            message = f"{setting.what} of {port} is {setting.actual}, and {port.devices[-1]} needs {setting.intended}"
            if setting.effect:
                message += f": {setting.effect}"
            fix = f"set it on {port}: `{command_line('hosts', 'apply')}`"
            yield Breach("", message, fix, devices=port.devices)
