"""Facts of a GPU node that are missing, so that no check compares them.

A missing fact says neither that a node is as intended nor that it is not.
"""

from collections.abc import Iterator

from railweave.catalog.load import load_catalog
from railweave.checks.registry import NodePort, NodeRead
from railweave.hosts.settings import unread_settings
from railweave.hosts.values import Rail, kernel_settings
from railweave.wording import first_few

_OF_LINK = ("mtu", "state", "speed_gbps", "autoneg", "fec", "pcie")
_OF_FAMILY = ("addresses", "tables", "rule_priorities", "routes")


def unread_facts(node: NodeRead) -> Iterator[str]:
    """Yield the missing facts of a node that checks of traffic classes need."""
    has_nics = "nics" in node.document
    if not has_nics:
        yield "nics"
    # Only nodes whose GPUs meet in this fabric have NCCL's file.
    if node.host.runs_nccl and "nccl" not in node.document:
        yield "nccl"
    if not has_nics:
        return
    intended = node.intended
    for port in node.ports:
        if port.interface not in node.document["nics"]:
            yield f"nics.{port.interface}"
        elif port.readable and port.readable.isdisjoint(port.facts):
            # Not one fact of the vendor's tools: they did not run.
            yield f"RDMA settings of nics.{port.interface}"
        elif port.facts.get("settings"):
            for setting in unread_settings(intended, port.facts["settings"]):
                yield f"{setting} of nics.{port.interface}"


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
    yield from (fact for fact in _OF_LINK if fact not in port.facts)
    link = port.facts.get("pcie")
    if link is not None and load_catalog().pcie_link_gbps(link) is None:
        yield f"a known pcie ({link})"
    needed: list[str] = []
    if rail.ipv4 is not None:
        needed += _OF_FAMILY
    if rail.ipv6 is not None:
        needed += [f"ipv6_{fact}" for fact in _OF_FAMILY]
    # Without any fact of the vendor's tools they did not run, which `unread_facts` reports.
    has_tools = not port.readable.isdisjoint(port.facts)
    if has_tools:
        needed += [fact for fact in ("pause_rx", "pause_tx") if fact in port.readable]
    yield from (fact for fact in needed if fact not in port.facts)
    if has_tools and not port.facts.get("settings") and next(unread_settings(node.intended, {}), None) is not None:
        yield "settings"
