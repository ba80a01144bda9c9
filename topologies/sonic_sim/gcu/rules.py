"""Which fields a patch may touch: field_operation_validators of sonic-utilities 202505."""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sonic_sim.databases import STATE, rows_of_database
from sonic_sim.device import Device
from sonic_sim.gcu.patch import Operation, PatchError, difference, parts_of

_PREFIX = "generic_config_updater.field_operation_validators"
_LISTED_SKUS = re.compile(
    r"^(Force10-S6000|ACS-SN5600|ACS-MSN\d+|ACS-SN\d+|Mellanox-.*|Arista-7060X6-64PE.*|Arista-7260CX3.*|Arista-7050.*|"
    r"Arista-7800.*|Nokia-IXR7220-H[345].*|Nokia-M0.*|Nokia-IXR7250.*|Cisco-8.*|Celestica-DX010-C32|Force10-Z9100.*|Force10-S6100.*)$"
)
_TD2_SKUS = ("force10-s6000", "arista-7050-qx", "arista-7050qx", "nexus-3164")
_NEVER_REMOVED = ("/PFC_WD/GLOBAL/POLL_INTERVAL", "/PFC_WD/GLOBAL", "/LOOPBACK_INTERFACE/Loopback0")
_FECS = ("rs", "fc", "none", "auto")


def refusal(device: Device, current: Mapping[str, Any], target: Any) -> str | None:
    """Return why a change is not permitted, in the updater's words; None if it is."""
    patch = difference(current, target)
    for path in _NEVER_REMOVED:
        if any(operation["op"] == "remove" and operation["path"] == path for operation in patch):
            return f"Given patch operation is invalid. Operation: remove is illegal on field: {path}"
    if not isinstance(target, dict):
        return f"'{type(target).__name__}' object has no attribute 'get'"
    reason = _acl_refusal(current, target)
    if reason is not None:
        return reason
    # SONiC looks at the operations in the order of jsonpatch, which is another one in each run; here they are sorted.
    for operation in sorted(patch, key=lambda operation: str(operation["path"])):
        reason = _table_refusal(device, operation)
        if reason is not None:
            return reason
    return None


def _table_refusal(device: Device, operation: Operation) -> str | None:
    """Return why the validator of a table does not permit an operation; None if it does."""
    parts = parts_of(operation["path"])
    if not parts or not parts[0]:
        return f"Invalid jsonpatch path: {operation['path']}"
    table = parts[0]
    validator = _VALIDATORS.get(table)
    if validator is None or validator.permits(device, operation):
        return None
    return f"Modification of {table} table is illegal- validating function {_PREFIX}.{validator.name} returned False"


def _acl_refusal(current: Mapping[str, Any], target: Mapping[str, Any]) -> str | None:
    """Return why a rule of a data ACL may not change: the type of its ACL changes. None if there is no such rule."""
    old_tables = current.get("ACL_TABLE", {})
    new_tables = target.get("ACL_TABLE", {})
    changed = []
    for name in old_tables:
        old_type = old_tables[name].get("type")
        new_type = new_tables.get(name, {}).get("type")
        # The validator looks at data ACLs alone: those of the control plane are the host's iptables.
        is_data = old_type not in (None, "CTRLPLANE") and new_type not in (None, "CTRLPLANE")
        if is_data and old_type != new_type:
            changed.append(name)
    old_rules = current.get("ACL_RULE", {})
    new_rules = target.get("ACL_RULE", {})
    for key in {**old_rules, **new_rules}:
        if key.partition("|")[0] in changed and old_rules.get(key, {}) != new_rules.get(key, {}):
            gap = " " * 24
            return f"Modification of dataacl rule {key} is illegal: {gap}acl table type changed in {changed}"
    return None


def _fields(operation: Operation, *, with_names: bool) -> list[str]:
    """Return the fields that an operation changes, below the table, as ``key/field`` in lower case.

    Without ``with_names`` parts of the path with a digit, as names of objects mostly have, are left out.
    """
    parts = parts_of(operation["path"])[1:]
    if not with_names:
        parts = tuple(part for part in parts if not any(map(str.isdigit, part)))
    place = "/".join(parts).lower()
    value = operation.get("value")
    if not isinstance(value, dict):
        return [place]
    return [f"{place}/{name}".lstrip("/") for name in value]


def _tunable(
    *allowed: str, operations: tuple[str, ...] = ("replace",), not_td2: tuple[str, ...] = (), by_end: bool = False
) -> Callable[[Device, Operation], bool]:
    """Return a check that permits ``operations`` on the ``allowed`` fields, on the ASICs that GCU knows.

    ``not_td2`` are the fields that Trident 2 cannot change. With ``by_end`` a field is compared by the last part of its
    path, whatever row it is in.
    """

    def check(device: Device, operation: Operation) -> bool:
        sku = device.db.get("DEVICE_METADATA|localhost").get("hwsku", "")
        names = _fields(operation, with_names=by_end)
        if by_end:
            names = [field.rpartition("/")[2] for field in names]
        # The validator's table leaves Trident 2 out for these (gcu_field_operation_validators.conf.json).
        if sku.lower().startswith(_TD2_SKUS) and not set(names).isdisjoint(not_td2):
            return False
        if not _LISTED_SKUS.match(sku):
            return False
        # An operation that changes no field is permitted whatever it is.
        if names and operation["op"] not in operations:
            return False
        return set(names) <= set(allowed)

    return check


def _permits_port_change(device: Device, operation: Operation) -> bool:
    """Tell whether an operation on PORT sets only speeds and FEC modes that STATE_DB lists for the ports."""
    parts = parts_of(operation["path"])[1:]
    # The value as it is in the table, whether the path ends at the table, a row or a field.
    rows = operation.get("value")
    for part in reversed(parts):
        rows = {part: rows}
    if operation["op"] == "remove" or not isinstance(rows, dict):
        return True
    changed = {port: row for port, row in rows.items() if isinstance(row, dict)}
    if parts and any(_CHECKED_FIELDS & row.keys() for row in changed.values()):
        # The validator takes the port's name from the path.
        port_name = re.search(r"Ethernet\d+", operation["path"])
        if port_name is None:
            raise PatchError(_NO_PORT_NAME)
        return all(_is_supported(device, port_name[0], row) for row in changed.values())
    return all(_is_supported(device, port, row) for port, row in changed.items())


_CHECKED_FIELDS = frozenset({"fec", "speed"})
# What SWIG says where the validator asks STATE_DB for a port whose name it did not find in the path: it looks for
# ``Ethernet`` and digits (sonic-utilities generic_config_updater/field_operation_validators.py).
_NO_PORT_NAME = "invalid null reference in method 'Table_hget', argument 2 of type 'std::string const &'"


def _is_supported(device: Device, port: str, row: Mapping[str, Any]) -> bool:
    """Tell whether STATE_DB lists the speed and the FEC mode that a port's row states, if any."""
    key = f"PORT_TABLE|{port}"
    supported = rows_of_database(device, STATE, key).get(key, {})
    speeds = supported.get("supported_speeds")
    if "fec" in row and str(row["fec"]).strip() not in _supported_fecs(supported.get("supported_fecs", "")):
        return False
    return "speed" not in row or not speeds or str(row["speed"]) in speeds.split(",")


def _supported_fecs(text: str) -> tuple[str, ...]:
    """Return the FEC modes that a field of STATE_DB lists: all for a missing field, none for ``N/A``."""
    if not text:
        return _FECS
    if text == "N/A":
        return ()
    return tuple(mode.strip() for mode in text.split(","))


class _Validator(NamedTuple):
    """The check of a table, and the name of the function that makes it in sonic-utilities."""

    permits: Callable[[Device, Operation], bool]
    name: str


_POOL_FIELDS = ("ingress_lossless_pool/xoff", "ingress_lossless_pool/size", "egress_lossy_pool/size")
_VALIDATORS = {
    "BUFFER_POOL": _Validator(_tunable(*_POOL_FIELDS, not_td2=_POOL_FIELDS), "rdma_config_update_validator"),
    "BUFFER_PROFILE": _Validator(_tunable("dynamic_th", "xoff", not_td2=("xoff",)), "rdma_config_update_validator"),
    "WRED_PROFILE": _Validator(
        _tunable("green_min_threshold", "green_max_threshold", "green_drop_probability", by_end=True),
        "wred_profile_config_update_validator",
    ),
    "PFC_WD": _Validator(
        _tunable(
            "restoration_time",
            "detection_time",
            "action",
            "global/poll_interval",
            "",
            operations=("remove", "add", "replace"),
        ),
        "rdma_config_update_validator",
    ),
    "PORT": _Validator(_permits_port_change, "port_config_update_validator"),
}
