"""NCCL 2.21 and later choose a NIC's GID by address family, range and RoCE version: of the family that RDMA uses
(hosts.rdma_family), and only RoCE v2 is routed. A fixed index counts GIDs in the order in which Linux got their
addresses."""

from collections.abc import Iterator

from railweave.checks.registry import Breach, Breaches, NodeRead, rule
from railweave.diagnostics import Severity
from railweave.fabric.policy import AddressFamily, Addressing, parse_pool
from railweave.units import ipv4_text, ipv6_text

RULE = rule(
    "N-5",
    "NCCL takes the RoCE v2 GID of each rail's address",
    __doc__,
    "NCCL_IB_ROCE_VERSION_NUM=1 in /etc/nccl.conf",
)

_CHOSEN = "NCCL_IB_GID_INDEX"
_FAMILY = "NCCL_IB_ADDR_FAMILY"
_WORDS = {"AF_INET": "IPv4", "AF_INET6": "IPv6"}


@RULE.on_node
def chosen(node: NodeRead) -> Breaches:
    """Compare what NCCL chooses GIDs by."""
    if not node.host.runs_nccl:
        return
    nccl = {key: str(value) for key, value in node.document.get("nccl", {}).items()}
    devices = (node.host.name, *node.switches)
    for key, message, value in _wrong(node, nccl):
        fix = f"take {key} out of /etc/nccl.conf"
        if value:
            fix = f"write {key}={value} into /etc/nccl.conf"
        held = nccl.get(key, "is not set")
        yield Breach("", f"NCCL of {node.host.name} {message} ({key} {held})", fix, devices=devices)
    index = nccl.get(_CHOSEN, "")
    if index.isdigit():
        message = (
            f"NCCL of {node.host.name} takes GID {index} of every NIC, whichever address that is ({_CHOSEN}); the order"
            " of GIDs follows the order in which addresses came"
        )
        fix = f"take {_CHOSEN} out of /etc/nccl.conf; NCCL before 2.21 alone needs it"
        yield Breach("", message, fix, Severity.WARNING, devices=devices)


def _intended_family(node: NodeRead) -> str:
    """Return the family of the addresses that RDMA is to use, as NCCL names it."""
    policies = node.fabric.policies
    if policies.addressing.hosts_ipv6 is not None and policies.hosts.rdma_family is AddressFamily.IPV6:
        return "AF_INET6"
    return "AF_INET"


def _range(node: NodeRead, family: str) -> str:
    """Return the range that holds the addresses of RDMA; empty where NCCL needs none."""
    addressing = node.fabric.policies.addressing
    if family == "AF_INET6":
        return str(addressing.hosts_ipv6)
    # With one family and one address on each port, no range is needed.
    if addressing.hosts_ipv6 is None and not node.fabric.nic_blocks:
        return ""
    return str(addressing.hosts)


def _wrong(node: NodeRead, nccl: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield the variables by which NCCL finds no GID, another one, or one that is not routed.

    Each is a name, a message and the right value, empty for NCCL's own default.
    """
    addressing = node.fabric.policies.addressing
    has_ipv6 = addressing.hosts_ipv6 is not None
    intended = _intended_family(node)
    family = nccl.get(_FAMILY, "")
    # NCCL ignores a word that it does not know.
    if family not in _WORDS:
        family = "AF_INET"
    if family != intended:
        message = f"looks for {_WORDS[family]} addresses; {_why_intended(addressing, intended)}"
        value = ""
        if has_ipv6:
            value = intended
        yield _FAMILY, message, value
    if nccl.get("NCCL_IB_ROCE_VERSION_NUM", "2") != "2":
        yield "NCCL_IB_ROCE_VERSION_NUM", "does not take RoCE v2, the one version that is routed", ""
    outside = _outside(node, family, nccl.get("NCCL_IB_ADDR_RANGE", ""))
    if family == intended and outside:
        yield "NCCL_IB_ADDR_RANGE", f"finds no address of {', '.join(outside)} in its range", _range(node, intended)
    elif node.fabric.nic_blocks and "NCCL_IB_ADDR_RANGE" not in nccl:
        message = "may take the address that the ports of a NIC share, to which packets come in on either of them"
        yield "NCCL_IB_ADDR_RANGE", message, str(addressing.hosts)


def _why_intended(addressing: Addressing, family: str) -> str:
    if addressing.hosts is not None and addressing.hosts_ipv6 is not None:
        return f"RDMA uses {_WORDS[family]} (hosts.rdma_family)"
    return f"its rails have {_WORDS[family]} addresses alone"


def _outside(node: NodeRead, family: str, text: str) -> list[str]:
    """Return the rails whose address of that family is outside of a range."""
    try:
        pool = parse_pool(text)
    except ValueError:
        # NCCL ignores a text that is not a range of the family.
        return []
    if (pool.bits == 128) != (family == "AF_INET6"):
        return []
    mask = -pool.size
    outside = []
    for rail in node.rails:
        own = rail.ipv4 if family == "AF_INET" else rail.ipv6
        if own is not None and own.address & mask != pool.first & mask:
            address = ipv4_text(own.address) if pool.bits == 32 else ipv6_text(own.address)
            outside.append(f"{rail.name} ({address})")
    return outside
