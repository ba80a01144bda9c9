"""Facts of a GPU node that are missing, so that no check compares them.

A missing fact says neither that a node is as intended nor that it is not.
"""

from collections.abc import Iterable, Iterator

from railweave.catalog.load import load_catalog
from railweave.checks.registry import NodePort, NodeRead
from railweave.hosts.settings import unread_settings
from railweave.hosts.values import Rail, kernel_settings
from railweave.wording import first_few

_LINK_FACTS = ("mtu", "state", "speed_gbps", "autoneg", "fec", "pcie")
# Facts of IPv6 have the prefix `ipv6_`.
_FAMILY_FACTS = ("addresses", "tables", "rule_priorities", "routes")


def unread_facts(node: NodeRead) -> Iterator[str]:
    """Yield the missing facts of a node that checks of traffic classes need."""
    nics = node.document.get("nics")
    if nics is None:
        yield "nics"
    # Only nodes whose GPUs meet in this fabric have NCCL's file.
    if node.host.runs_nccl and "nccl" not in node.document:
        yield "nccl"
    if nics is None:
        return
    for port in node.ports:
        if port.interface not in nics:
            yield f"nics.{port.interface}"
            continue
        for fact in _unread_port_facts(node, port):
            yield f"{fact} of nics.{port.interface}"


def _unread_port_facts(node: NodeRead, port: NodePort) -> Iterator[str]:
    """Yield the missing facts of a port that was read."""
    if port.readable and port.readable.isdisjoint(port.facts):
        # Not one fact of the vendor's tools: they did not run.
        yield "RDMA settings"
    elif port.facts.get("settings"):
        yield from unread_settings(node.intended, port.facts["settings"])


def uncompared_facts(node: NodeRead) -> Iterator[str]:
    """Yield the missing facts that other checks need, each with its interfaces."""
    sysctls = node.document.get("sysctl", {})
    unread_sysctls = [key for key in kernel_settings(node.rails) if key not in sysctls]
    if unread_sysctls:
        yield f"sysctl {first_few(unread_sysctls, 2)}"
    nics = node.document.get("nics", {})
    rail_of = {rail.name: rail for rail in node.rails}
    interfaces_without: dict[str, list[str]] = {}
    for port in node.ports:
        # `unread_facts` reports interfaces without any facts.
        if port.interface not in nics:
            continue
        for fact in _uncompared_port_facts(node, port, rail_of[port.interface]):
            interfaces_without.setdefault(fact, []).append(port.interface)
    for fact, interfaces in interfaces_without.items():
        yield f"{fact} of {first_few(interfaces, 2)}"


def _uncompared_port_facts(node: NodeRead, port: NodePort, rail: Rail) -> Iterator[str]:
    """Yield the facts of a port that were not read, or cannot be compared."""
    # Without any fact of the vendor's tools they did not run, which `unread_facts` reports.
    has_tools = not port.readable.isdisjoint(port.facts)
    yield from _missing(port, _LINK_FACTS)
    link = port.facts.get("pcie")
    if link is not None and load_catalog().pcie_link_gbps(link) is None:
        yield f"a known pcie ({link})"
    if rail.ipv4 is not None:
        yield from _missing(port, _FAMILY_FACTS)
    if rail.ipv6 is not None:
        yield from _missing(port, _FAMILY_FACTS, prefix="ipv6_")
    if has_tools:
        yield from _missing(port, [fact for fact in ("pause_rx", "pause_tx") if fact in port.readable])
        if _lacks_settings(node, port):
            yield "settings"


def _lacks_settings(node: NodeRead, port: NodePort) -> bool:
    """Tell whether no settings of a port were read, although its vendor's tools report some."""
    return not port.facts.get("settings") and any(unread_settings(node.intended, {}))


def _missing(port: NodePort, facts: Iterable[str], prefix: str = "") -> Iterator[str]:
    """Yield those of the facts that were not read, each with the prefix of its family."""
    for fact in facts:
        if prefix + fact not in port.facts:
            yield prefix + fact
