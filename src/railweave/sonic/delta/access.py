"""Which changes touch who can log in to a switch, by SSH or by SONiC's other servers, or whether anybody can."""

from collections.abc import Iterable, Mapping

from railweave.sonic.delta.change import Change
from railweave.sonic.ownership import EDGE_GUARDS, is_edge_guard

_DECIDES = frozenset(
    {"AAA", "ACL_RULE", "ACL_TABLE", "GNMI", "GNMI_CLIENT_CERT", "KUBERNETES_MASTER", "LDAP", "LDAP_SERVER",
     "LDAP_TYPE", "PASSW_HARDENING", "RADIUS", "RADIUS_SERVER", "RESTAPI", "SERIAL_CONSOLE", "SSH_SERVER", "TACPLUS",
     "TACPLUS_SERVER", "TELEMETRY", "USER"}
)  # fmt: skip
_CONTROL_PLANE = "CTRLPLANE"
_DATA_PLANE_ACLS = frozenset({"L3", "L3V6", "L3V4V6", "MIRROR", "MIRRORV6", "MIRROR_DSCP", "PFCWD", "MCLAG"})


def decides_access(table: str) -> bool:
    """Tell whether a table decides who can log in: an ACL may be one of the control plane, and drop SSH."""
    return table in _DECIDES


def access_tables(changes: Iterable[Change]) -> tuple[str, ...]:
    """Return the tables of ``changes`` that decide who can log in, without data-plane ACLs that these add and our own
    (``sonic.render.edge_guard``)."""
    changes = tuple(changes)
    # A row of our ACL that somebody bound to the control plane decides all the same.
    services = any(one.key in EDGE_GUARDS and _CONTROL_PLANE in _types(one) for one in changes)
    decisive = [one for one in changes if one.table in _DECIDES and (services or not is_edge_guard(one.table, one.key))]
    data_plane = {
        one.key for one in decisive if isinstance(one.after, Mapping) and one.after.get("type") in _DATA_PLANE_ACLS
    }
    return tuple(sorted({one.table for one in decisive if one.key.partition("|")[0] not in data_plane}))


def _types(change: Change) -> tuple[object, ...]:
    values = (change.before, change.after)
    return values if change.field == "type" else tuple(one.get("type") for one in values if isinstance(one, Mapping))
