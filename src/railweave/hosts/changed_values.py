"""The settings of nodes that a change alters and that other nodes and switches rely on."""

from railweave.catalog.load import load_catalog
from railweave.hosts.outcome import ChangeKind, HostResult, HostsRun
from railweave.hosts.places import Places

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
