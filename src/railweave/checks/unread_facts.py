"""Facts of a GPU node that are missing, so that no check compares them.

A missing fact says neither that a node is as intended nor that it is not.
"""

from collections.abc import Iterable, Iterator

from railweave.catalog.load import load_catalog
from railweave.checks.registry import NodePort, NodeRead
from railweave.hosts.settings import unread_settings
from railweave.hosts.values import Rail, kernel_settings
from railweave.wording import first_few

_OF_LINK = ("mtu", "state", "speed_gbps", "autoneg", "fec", "pcie")
_OF_FAMILY = ("addresses", "tables", "rule_priorities", "routes")


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
        if port.interface in nics:
            yield from (f"{fact} of nics.{port.interface}" for fact in _unread_of_port(node, port))
        else:
            yield f"nics.{port.interface}"


def _unread_of_port(node: NodeRead, port: NodePort) -> Iterator[str]:
    """Yield the missing facts of a port that was read."""
    if port.readable and port.readable.isdisjoint(port.facts):
        # Not one fact of the vendor's tools: they did not run.
        yield "RDMA settings"
    elif port.facts.get("settings"):
        yield from unread_settings(node.intended, port.facts["settings"])


def uncompared_facts(node: NodeRead) -> Iterator[str]:
    """Yield the missing facts that other checks need, each with its interfaces."""
    stated = node.document.get("sysctl", {})
    if lacks := [key for key in kernel_settings(node.rails) if key not in stated]:
        yield f"sysctl {first_few(lacks, 2)}"
    rail_of = {rail.name: rail for rail in node.rails}
    interfaces_without: dict[str, list[str]] = {}
    for port in node.ports:
        if port.interface in node.document.get("nics", {}):
            for fact in _lacking(node, port, rail_of[port.interface]):
                interfaces_without.setdefault(fact, []).append(port.interface)
    yield from (f"{fact} of {first_few(names, 2)}" for fact, names in interfaces_without.items())


def _lacking(node: NodeRead, port: NodePort, rail: Rail) -> Iterator[str]:
    """Yield the facts of a port that were not read, or cannot be compared."""
    link = port.facts.get("pcie")
    # Without any fact of the vendor's tools they did not run, which `unread_facts` reports.
    has_tools = not port.readable.isdisjoint(port.facts)
    yield from _missing(port, _OF_LINK)
    if link is not None and load_catalog().pcie_link_gbps(link) is None:
        yield f"a known pcie ({link})"
    yield from _missing(port, _needed(port, rail, has_tools=has_tools))
    if has_tools and not port.facts.get("settings") and any(unread_settings(node.intended, {})):
        yield "settings"


def _missing(port: NodePort, facts: Iterable[str]) -> Iterator[str]:
    return (fact for fact in facts if fact not in port.facts)


def _needed(port: NodePort, rail: Rail, *, has_tools: bool) -> Iterator[str]:
    """Yield the facts of a port that its addresses and, with the vendor's tools, its pause frames are checked by."""
    if rail.ipv4 is not None:
        yield from _OF_FAMILY
    if rail.ipv6 is not None:
        yield from (f"ipv6_{fact}" for fact in _OF_FAMILY)
    if has_tools:
        yield from (fact for fact in ("pause_rx", "pause_tx") if fact in port.readable)
