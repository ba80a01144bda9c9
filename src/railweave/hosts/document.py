"""``rails.json``: the one document from which a node is set, checked and read back."""

from collections.abc import Mapping, Sequence
from typing import Any

from railweave.hosts.values import LINK_PREFIX_LENGTH, Node, Rail, kernel_settings
from railweave.units import ipv4_text

VERSION = 1


MAIN_TABLE = 254


def rail_texts(node: Node, rail: Rail) -> dict[str, Any]:
    """Return an interface as the templates have it: ``source`` is its address without the length, ``gateway`` the
    leaf's; ``table`` holds the default route, the main table the route to ``pool`` with ``metric``; MTU in bytes."""
    source = ipv4_text(rail.address)
    return {
        "host": node.name,
        "name": rail.name,
        "pci": rail.pci,
        "address": f"{source}/{LINK_PREFIX_LENGTH}",
        "source": source,
        "gateway": ipv4_text(rail.gateway),
        "mtu": node.mtu_bytes,
        "table": rail.table,
        # The metric orders the rails for sockets that bind no address.
        "metric": rail.table,
        "rule_priority": rail.rule_priority,
        "pool": f"{ipv4_text(node.pool)}/{node.pool_length}",
    }


def _interface(rail: Rail, texts: Mapping[str, Any]) -> dict[str, Any]:
    via = texts["gateway"]
    return {
        "name": rail.name,
        "pci": rail.pci,
        "rdma": rail.rdma,
        "leaf": rail.switch,
        "address": texts["address"],
        "mtu": texts["mtu"],
        "table": rail.table,
        "rule_priority": rail.rule_priority,
        "routes": [
            {"to": "default", "via": via, "table": rail.table},
            {"to": texts["pool"], "via": via, "table": MAIN_TABLE, "metric": texts["metric"]},
        ],
    }


def rails_document(
    node: Node, texts: Sequence[Mapping[str, Any]], nic: Mapping[str, Any], nccl: Mapping[str, str]
) -> dict[str, Any]:
    """Return the document of ``node``; ``texts`` are those of its rails, ``nic`` is what its kind shares."""
    return {
        "version": VERSION,
        "fabric": node.fabric,
        "host": node.name,
        "interfaces": [_interface(*each) for each in zip(node.rails, texts, strict=True)],
        "sysctl": kernel_settings(node.rails),
        "nccl": nccl,
        "nic": nic,
    }
