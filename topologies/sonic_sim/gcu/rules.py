"""Which fields a patch may touch: field_operation_validators of sonic-utilities 202505."""

import re
from collections.abc import Callable, Mapping
from typing import Any

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
    """Return why a change is not permitted, in the updater's words, or None."""
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
    table = (*parts_of(operation["path"]), "")[0]
    if not table:
        return f"Invalid jsonpatch path: {operation['path']}"
    permits, name = _VALIDATORS.get(table, (None, ""))
    if permits is None or permits(device, operation):
        return None
    return f"Modification of {table} table is illegal- validating function {_PREFIX}.{name} returned False"


def _acl_refusal(current: Mapping[str, Any], target: Mapping[str, Any]) -> str | None:
    """Refuse changes of the rules of a data ACL whose type changes."""
    old = current.get("ACL_TABLE", {})
    new = target.get("ACL_TABLE", {})
    changed = []
    for name in old:
        old_type = old[name].get("type")
        new_type = new[name].get("type") if name in new else None
        # The validator looks at data ACLs alone: those of the control plane are the host's iptables.
        is_data = old_type not in (None, "CTRLPLANE") and new_type not in (None, "CTRLPLANE")
        if is_data and old_type != new_type:
            changed.append(name)
    rules = current.get("ACL_RULE", {})
    wanted = target.get("ACL_RULE", {})
    for key in {**rules, **wanted}:
        if key.partition("|")[0] in changed and rules.get(key, {}) != wanted.get(key, {}):
            gap = " " * 24
            return f"Modification of dataacl rule {key} is illegal: {gap}acl table type changed in {changed}"
    return None


def _fields(operation: Operation, *, with_names: bool) -> list[str]:
    """Return the fields that an operation touches; ``with_names``: below parts of the path that hold a digit."""
    parts = [part for part in parts_of(operation["path"])[1:] if with_names or not any(map(str.isdigit, part))]
    place = "/".join(parts).lower()
    value = operation.get("value")
    if not isinstance(value, dict):
        return [place]
    return [f"{place}/{name}".lstrip("/") for name in value]


def _tunable(
    *allowed: str, operations: tuple[str, ...] = ("replace",), not_td2: tuple[str, ...] = (), by_end: bool = False
) -> Callable[[Device, Operation], bool]:
    """Return the check of fields that known ASICs can change; ``by_end``: the field's name alone counts."""

    def check(device: Device, operation: Operation) -> bool:
        sku = device.db.get("DEVICE_METADATA|localhost").get("hwsku", "")
        names = _fields(operation, with_names=by_end)
        if by_end:
            names = [field.rpartition("/")[2] for field in names]
        # The validator's table leaves Trident 2 out for these (gcu_field_operation_validators.conf.json).
        if sku.lower().startswith(_TD2_SKUS) and not set(names).isdisjoint(not_td2):
            return False
        permitted = operation["op"] in operations or not names
        return permitted and set(names) <= set(allowed) and _LISTED_SKUS.match(sku) is not None

    return check


def _port(device: Device, operation: Operation) -> bool:
    """Allow speeds and FEC modes that STATE_DB lists for the port."""
    below = parts_of(operation["path"])[1:]
    value = operation.get("value")
    for part in reversed(below):
        value = {part: value}
    if operation["op"] == "remove" or not isinstance(value, dict):
        return True
    changed = [(port, row) for port, row in value.items() if isinstance(row, dict)]
    if below and any(_CHECKED_FIELDS & row.keys() for _, row in changed):
        named = re.search(r"Ethernet\d+", operation["path"])
        if named is None:
            raise PatchError(_NO_PORT_NAME)
        return all(_fits(device, named[0], row) for _, row in changed)
    return all(_fits(device, port, row) for port, row in changed)


_CHECKED_FIELDS = frozenset({"fec", "speed"})
# What SWIG says where the validator asks STATE_DB for a port whose name it did not find in the path: it looks for
# ``Ethernet`` and digits (sonic-utilities generic_config_updater/field_operation_validators.py).
_NO_PORT_NAME = "invalid null reference in method 'Table_hget', argument 2 of type 'std::string const &'"


def _fits(device: Device, port: str, row: Mapping[str, Any]) -> bool:
    key = f"PORT_TABLE|{port}"
    supported = rows_of_database(device, STATE, key).get(key, {})
    speeds = supported.get("supported_speeds")
    if "fec" in row and str(row["fec"]).strip() not in _supported_fecs(supported.get("supported_fecs", "")):
        return False
    return "speed" not in row or not speeds or str(row["speed"]) in speeds.split(",")


def _supported_fecs(text: str) -> tuple[str, ...]:
    """Return the FEC modes that a field of STATE_DB lists: any where it is missing, none for ``N/A``."""
    if not text:
        return _FECS
    if text == "N/A":
        return ()
    return tuple(mode.strip() for mode in text.split(","))


_VALIDATORS = {
    "BUFFER_POOL": (
        _tunable(*(pool := ("ingress_lossless_pool/xoff", "ingress_lossless_pool/size", "egress_lossy_pool/size")),
                 not_td2=pool), "rdma_config_update_validator"),
    "BUFFER_PROFILE": (_tunable("dynamic_th", "xoff", not_td2=("xoff",)), "rdma_config_update_validator"),
    "WRED_PROFILE": (
        _tunable("green_min_threshold", "green_max_threshold", "green_drop_probability", by_end=True),
        "wred_profile_config_update_validator"),
    "PFC_WD": (
        _tunable("restoration_time", "detection_time", "action", "global/poll_interval", "",
                 operations=("remove", "add", "replace")), "rdma_config_update_validator"),
    "PORT": (_port, "port_config_update_validator"),
}  # fmt: skip
