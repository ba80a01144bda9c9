"""A GPU node while a value changes that both ends of a path share: it accepts the old and the new, and sends one.

A NIC accepts packets by its MTU, the priority of each code point, PFC and DCQCN per priority. It sends with the marking
of RDMA and of notifications, and up to the size that its routes allow, which may be smaller than the interface's MTU.
RDMA ignores routes: it uses the interface's MTU, and both ends of a queue pair agree on the smaller one.
"""

from railweave.catalog.load import load_catalog
from railweave.fabric.devices import Host
from railweave.fabric.model import Fabric
from railweave.hosts.outcome import ChangeKind, HostResult, HostsRun
from railweave.hosts.places import Places
from railweave.hosts.values import NicMarking, NodeSettings, marking, node_of


def node_in_transition(accepts: Fabric, sends: Fabric, host: Host) -> NodeSettings:
    """Return the settings of ``host`` if it accepts the values of one fabric and sends those of the other."""
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


def route_mtu(node: NodeSettings) -> int | None:
    """Return the MTU of a node's routes in bytes, None if it is the interfaces' MTU."""
    if node.sent_mtu_bytes >= node.mtu_bytes:
        return None
    return node.sent_mtu_bytes


_SHARED_FACTS = ("pfc", "dscp_to_priority", "roce_tos", "roce_dscp", "cnp_dscp")


def changed_values(run: HostsRun, document: str = Places().document) -> dict[str, tuple[str, ...]]:
    """Return, by node, the settings that would change and that other nodes and switches rely on.

    ``document`` is the path of the nodes' document.
    """
    shared = _shared_settings()
    changed: dict[str, tuple[str, ...]] = {}
    for host in run.hosts:
        # With the same document a node only gets its settings back; without one it is new, and nobody relies on it.
        if not _has_other_document(host, document):
            continue
        settings = dict.fromkeys(change.what for change in host.changes if change.kind is ChangeKind.SETTING)
        shared_settings = tuple(setting for setting in settings if setting in shared)
        if shared_settings:
            changed[host.name] = shared_settings
    return changed


def _has_other_document(host: HostResult, document: str) -> bool:
    """Tell whether a node holds another document at the path than the one that it would get."""
    return any(change.subject == document and change.before == "differs" for change in host.changes)


def _shared_settings() -> set[str]:
    """Return the names of the settings that other nodes and switches rely on, as the vendors' packs name them."""
    shared = {"mtu"}
    for vendor in load_catalog().vendor_ids():
        facts = load_catalog().vendor_pack(vendor).facts
        shared |= {facts[fact]["what"] for fact in _SHARED_FACTS if fact in facts}
    return shared
