"""``rails.json``: the one document from which a node is set, checked and read back."""

from collections.abc import Mapping
from typing import Any

from railweave.hosts.values import LINK_PREFIX_LENGTH, Node, Rail, kernel_settings
from railweave.units import ipv4_text

VERSION = 1


def port_values(node: Node, rail: Rail) -> dict[str, Any]:
    """Return an interface as the document and the templates have it; addresses are text, MTU in bytes."""
    via = ipv4_text(rail.gateway)
    return {
        "name": rail.name,
        "pci": rail.pci,
        "rdma": rail.rdma,
        "leaf": rail.leaf,
        "address": f"{ipv4_text(rail.address)}/{LINK_PREFIX_LENGTH}",
        "mtu": node.mtu_bytes,
        "table": rail.table,
        "rule_priority": rail.rule_priority,
        "routes": [
            {"to": "default", "via": via, "table": rail.table},
            # The metric orders the rails for sockets that bind no address.
            {"to": f"{ipv4_text(node.pool)}/{node.pool_length}", "via": via, "table": 254, "metric": rail.table},
        ],
    }


def rails_document(
    node: Node, ports: list[dict[str, Any]], nic: Mapping[str, Any], nccl: Mapping[str, str]
) -> dict[str, Any]:
    """Return the document of ``node``; ``nic`` is what all nodes of its kind share."""
    return {
        "version": VERSION,
        "fabric": node.fabric,
        "host": node.name,
        "interfaces": ports,
        "sysctl": kernel_settings(node.rails),
        "nccl": nccl,
        "nic": nic,
    }
