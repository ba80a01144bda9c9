"""A GPU node while a value that both ends of its paths share changes: it accepts the old and the new, and sends one.

What a NIC accepts is its MTU, the priority of each code point, PFC and DCQCN per priority. What it sends is the marking
of RDMA and of notifications, and the size that its routes allow, which may be smaller than the interface's MTU. RDMA
does not ask routes: it takes the interface's MTU, and both ends of a queue pair agree on the smaller one.
"""

from railweave.catalog.load import load_catalog
from railweave.fabric.model import Fabric, Host
from railweave.hosts.outcome import ChangeKind, HostsRun
from railweave.hosts.places import Places
from railweave.hosts.values import NicMarking, Node, marking, node_of


def node_in_transition(accepts: Fabric, sends: Fabric, host: Host) -> Node:
    """Return the values of ``host`` that accepts what ``accepts`` says, and sends what ``sends`` says."""
    node = node_of(accepts, host)
    if sends is accepts:
        return node
    sent = min(node.mtu_bytes, sends.policies.mtu.hosts_bytes)
    return node._replace(sent_mtu_bytes=sent, marking=_sending(node.marking, marking(sends.policies.classes)))


def _sending(accepted: NicMarking | None, sent: NicMarking | None) -> NicMarking | None:
    if accepted is None or sent is None:
        return accepted
    return accepted._replace(
        dscp=sent.dscp,
        priority=sent.priority,
        cnp_dscp=sent.cnp_dscp,
        cnp_priority=sent.cnp_priority,
        share_percent=sent.share_percent,
    )


def route_mtu(node: Node) -> int | None:
    """Return the MTU of a node's routes in bytes, None where the interfaces' MTU holds."""
    if node.sent_mtu_bytes >= node.mtu_bytes:
        return None
    return node.sent_mtu_bytes


_SHARED_FACTS = ("pfc", "dscp_to_priority", "roce_tos", "roce_dscp", "cnp_dscp")


def changed_values(run: HostsRun, document: str = Places().document) -> dict[str, tuple[str, ...]]:
    """Return the settings that other nodes and switches rely on and that would change, by node.

    ``document`` is where nodes have theirs. A node whose document is already as it would be written only gets its
    settings again; one without any is new.
    """
    shared = _shared_settings()
    changed: dict[str, tuple[str, ...]] = {}
    for host in run.hosts:
        differs = any(change.subject == document and change.before == "differs" for change in host.changes)
        settings = [change.what for change in host.changes if change.kind is ChangeKind.SETTING]
        of_others = [what for what in settings if what in shared]
        if differs and of_others:
            changed[host.name] = tuple(dict.fromkeys(of_others))
    return changed


def _shared_settings() -> set[str]:
    """Return the names of settings that other nodes and switches rely on, with the tools of any vendor."""
    catalog = load_catalog()
    settings = {"mtu"}
    for vendor in catalog.vendor_ids():
        facts = catalog.vendor_pack(vendor).facts
        settings.update(facts[fact]["what"] for fact in _SHARED_FACTS if fact in facts)
    return settings
