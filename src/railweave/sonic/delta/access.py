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
    """Return the tables of ``changes`` that decide who can log in, in alphabetical order.

    Data-plane ACLs that the changes add do not count. Nor does our own ACL (``sonic.render.edge_guard``), unless the
    changes bind it to the control plane.
    """
    decisive = _decisive(tuple(changes))
    data_plane_acls = {change.key for change in decisive if _adds_data_plane_acl(change)}
    # The key of an ACL rule begins with the name of its ACL.
    tables = {change.table for change in decisive if change.key.partition("|")[0] not in data_plane_acls}
    return tuple(sorted(tables))


def _decisive(changes: tuple[Change, ...]) -> list[Change]:
    """Return the changes of tables that decide who can log in.

    Those of our own ACL are left out, unless a change is about its binding to the control plane.
    """
    decisive = [change for change in changes if change.table in _DECIDES]
    if any(map(_binds_guard_to_control_plane, changes)):
        return decisive
    return [change for change in decisive if not is_edge_guard(change.table, change.key)]


def _adds_data_plane_acl(change: Change) -> bool:
    return isinstance(change.after, Mapping) and change.after.get("type") in _DATA_PLANE_ACLS


def _binds_guard_to_control_plane(change: Change) -> bool:
    """Tell whether a change is about an ACL of ours that is of the control plane before or after it."""
    # Somebody may have bound our ACL to the control plane; then its rules decide like those of any other.
    if change.key not in EDGE_GUARDS:
        return False
    if change.field == "type":
        return _CONTROL_PLANE in (change.before, change.after)
    rows = (change.before, change.after)
    return any(isinstance(row, Mapping) and row.get("type") == _CONTROL_PLANE for row in rows)
