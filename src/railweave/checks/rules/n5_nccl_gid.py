"""NCCL 2.21 and later choose a NIC's GID by address family, range and RoCE version: of the family that RDMA uses
(hosts.rdma_family), and only RoCE v2 is routed. A fixed index counts GIDs in the order in which Linux got their
addresses."""

from collections.abc import Iterator
from typing import NamedTuple

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

_INDEX = "NCCL_IB_GID_INDEX"
_FAMILY = "NCCL_IB_ADDR_FAMILY"
_RANGE = "NCCL_IB_ADDR_RANGE"
_VERSION = "NCCL_IB_ROCE_VERSION_NUM"
# NCCL's names of address families.
_WORDS = {"AF_INET": "IPv4", "AF_INET6": "IPv6"}


class _GidFault(NamedTuple):
    """A variable by which NCCL takes a wrong GID, why, and its right value; empty for NCCL's own default."""

    variable: str
    message: str
    value: str


@RULE.on_node
def check_gid_choice(node: NodeRead) -> Breaches:
    """Yield a breach for each variable by which NCCL may take a wrong GID."""
    if not node.host.runs_nccl:
        return
    nccl = {key: str(value) for key, value in node.document.get("nccl", {}).items()}
    devices = (node.host.name, *node.switches)
    for fault in _faults(node, nccl):
        fix = f"take {fault.variable} out of /etc/nccl.conf"
        if fault.value:
            fix = f"write {fault.variable}={fault.value} into /etc/nccl.conf"
        actual = nccl.get(fault.variable, "is not set")
        message = f"NCCL of {node.host.name} {fault.message} ({fault.variable} {actual})"
        yield Breach("", message, fix, devices=devices)
    index = nccl.get(_INDEX, "")
    if index.isdigit():
        message = (
            f"NCCL of {node.host.name} takes GID {index} of every NIC, whichever address that is ({_INDEX}); the order"
            " of GIDs follows the order in which addresses came"
        )
        fix = f"take {_INDEX} out of /etc/nccl.conf; NCCL before 2.21 alone needs it"
        yield Breach("", message, fix, Severity.WARNING, devices=devices)


def _intended_family(node: NodeRead) -> str:
    """Return the family of the addresses that RDMA is to use, as NCCL names it."""
    policies = node.fabric.policies
    if policies.addressing.hosts_ipv6 is not None and policies.hosts.rdma_family is AddressFamily.IPV6:
        return "AF_INET6"
    return "AF_INET"


def _needed_range(node: NodeRead, family: str) -> str:
    """Return the range that holds the addresses of RDMA; empty where NCCL needs none."""
    addressing = node.fabric.policies.addressing
    if family == "AF_INET6":
        return str(addressing.hosts_ipv6)
    # With one family and one address on each port, no range is needed.
    if addressing.hosts_ipv6 is None and not node.fabric.nic_blocks:
        return ""
    return str(addressing.hosts)


def _faults(node: NodeRead, nccl: dict[str, str]) -> Iterator[_GidFault]:
    """Yield a fault for each variable by which NCCL finds no GID, another one, or one that is not routed.

    ``nccl`` are the variables by name.
    """
    addressing = node.fabric.policies.addressing
    intended = _intended_family(node)
    family = nccl.get(_FAMILY, "")
    # NCCL ignores a word that it does not know.
    if family not in _WORDS:
        family = "AF_INET"
    if family != intended:
        message = f"looks for {_WORDS[family]} addresses; {_why_intended(addressing, intended)}"
        value = ""
        if addressing.hosts_ipv6 is not None:
            value = intended
        yield _GidFault(_FAMILY, message, value)
    if nccl.get(_VERSION, "2") != "2":
        yield _GidFault(_VERSION, "does not take RoCE v2, the one version that is routed", "")
    rails = _rails_outside(node, family, nccl.get(_RANGE, ""))
    if family == intended and rails:
        yield _GidFault(_RANGE, f"finds no address of {', '.join(rails)} in its range", _needed_range(node, intended))
    elif node.fabric.nic_blocks and _RANGE not in nccl:
        message = "may take the address that the ports of a NIC share, to which packets come in on either of them"
        yield _GidFault(_RANGE, message, str(addressing.hosts))


def _why_intended(addressing: Addressing, family: str) -> str:
    if addressing.hosts is not None and addressing.hosts_ipv6 is not None:
        return f"RDMA uses {_WORDS[family]} (hosts.rdma_family)"
    return f"its rails have {_WORDS[family]} addresses alone"


def _rails_outside(node: NodeRead, family: str, text: str) -> list[str]:
    """Return the rails whose address of a family is outside the range that ``text`` states, each with that address.

    Empty if the text is not a range of the family.
    """
    try:
        pool = parse_pool(text)
    except ValueError:
        # NCCL ignores a text that is not a range of the family.
        return []
    is_ipv6 = family == "AF_INET6"
    if (pool.bits == 128) != is_ipv6:
        return []
    # The size of a pool is a power of two, so its negative is the netmask.
    mask = -pool.size
    rails = []
    for rail in node.rails:
        interface = rail.ipv6 if is_ipv6 else rail.ipv4
        if interface is not None and interface.address & mask != pool.first & mask:
            address = ipv6_text(interface.address) if is_ipv6 else ipv4_text(interface.address)
            rails.append(f"{rail.name} ({address})")
    return rails
