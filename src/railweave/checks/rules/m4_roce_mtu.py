"""RoCE sends packets of 256 to 4096 bytes, the largest that the MTU carries with its headers: below 4192 bytes it falls
to 2048, and both ends of a path use the smaller one."""

from collections.abc import Iterator

from railweave.checks.registry import Breach, Breaches, NodeRead, rule
from railweave.diagnostics import Severity
from railweave.hosts.values import ROCE_HEADERS_BYTES, ROCE_MTUS, roce_mtu_bytes
from railweave.intent.model import Intent

RULE = rule("M-4", "the MTU of the nodes carries RoCE packets of 4096 bytes", __doc__, "mtu: {hosts: 1500}")


@RULE.on_intent
def check_intended_mtu(intent: Intent) -> Breaches:
    """Yield a warning if the MTU of nodes is too small for RoCE packets of 4096 bytes."""
    mtu_bytes = intent.policies.mtu.hosts_bytes
    roce = roce_mtu_bytes(mtu_bytes)
    if roce < ROCE_MTUS[0]:
        needed = ROCE_MTUS[0] + ROCE_HEADERS_BYTES
        carried = "RoCE has no packet size that fits"
        if roce:
            carried = f"RoCE falls to packets of {roce} bytes"
        message = f"with a node MTU of {mtu_bytes}, {carried}; {ROCE_MTUS[0]} needs {needed}"
        yield Breach("mtu.hosts", message, "set mtu.hosts to 9000", Severity.WARNING)


@RULE.on_node
def check_read_mtus(node: NodeRead) -> Breaches:
    """Yield a breach for each port with a smaller MTU than intended, with which RoCE falls to smaller packets."""
    yield from (breach for breach, falls in smaller_mtus(node) if falls)


def smaller_mtus(node: NodeRead) -> Iterator[tuple[Breach, bool]]:
    """Yield (breach, whether RoCE's packets get smaller) for each port with a smaller MTU than intended.

    A larger MTU is compared with that of the switch (M-1).
    """
    intended = node.fabric.policies.mtu.hosts_bytes
    for port in node.ports:
        actual = port.facts.get("mtu", intended)
        if actual >= intended:
            continue
        roce = roce_mtu_bytes(actual)
        roce_intended = roce_mtu_bytes(intended)
        falls = roce < roce_intended
        message = f"{port} has an MTU of {actual} bytes towards {port.devices[-1]}, all other rails have {intended}"
        if falls:
            message += f": RoCE falls from {roce_intended} to {roce} bytes on this path"
        yield Breach("", message, f"set the MTU of {port} to {intended}", devices=port.devices), falls
