"""NCCL 2.21 and later choose a NIC's GID by address family, range and RoCE version: nodes have IPv4 addresses, and only
RoCE v2 is routed. A fixed index counts GIDs in the order in which Linux got their addresses."""

from collections.abc import Iterator
from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network

from railweave.checks.registry import Breach, Breaches, NodeRead, rule
from railweave.diagnostics import Severity
from railweave.units import ipv4_text

RULE = rule(
    "N-5",
    "NCCL takes the RoCE v2 GID of each rail's address",
    __doc__,
    "NCCL_IB_ROCE_VERSION_NUM=1 in /etc/nccl.conf",
)

_CHOSEN = "NCCL_IB_GID_INDEX"


@RULE.on_node
def chosen(node: NodeRead) -> Breaches:
    """Compare what NCCL chooses GIDs by."""
    if not node.host.runs_nccl:
        return
    nccl = {key: str(value) for key, value in node.document.get("nccl", {}).items()}
    devices = (node.host.name, *node.switches)
    for key, message in _wrong(node, nccl):
        fix = f"take {key} out of /etc/nccl.conf"
        yield Breach("", f"NCCL of {node.host.name} {message} ({key} {nccl[key]})", fix, devices=devices)
    index = nccl.get(_CHOSEN, "")
    if index.isdigit():
        message = (
            f"NCCL of {node.host.name} takes GID {index} of every NIC, whichever address that is ({_CHOSEN}); the order"
            " of GIDs follows the order in which addresses came"
        )
        fix = f"take {_CHOSEN} out of /etc/nccl.conf; NCCL before 2.21 alone needs it"
        yield Breach("", message, fix, Severity.WARNING, devices=devices)


def _wrong(node: NodeRead, nccl: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the variables by which NCCL finds no GID, or one that is not routed; what it cannot read it ignores."""
    if nccl.get("NCCL_IB_ADDR_FAMILY") == "AF_INET6":
        yield "NCCL_IB_ADDR_FAMILY", "looks for IPv6 addresses; its rails have IPv4 addresses alone"
    if nccl.get("NCCL_IB_ROCE_VERSION_NUM", "2") != "2":
        yield "NCCL_IB_ROCE_VERSION_NUM", "does not take RoCE v2, the one version that is routed"
    with suppress(ValueError):
        taken = IPv4Network(nccl.get("NCCL_IB_ADDR_RANGE", ""), strict=False)
        outside = [one for one in node.rails if IPv4Address(one.address) not in taken]
        if outside:
            named = ", ".join(f"{one.name} ({ipv4_text(one.address)})" for one in outside)
            yield "NCCL_IB_ADDR_RANGE", f"finds no address of {named} in its range"
