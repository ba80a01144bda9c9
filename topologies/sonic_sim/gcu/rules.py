"""Which fields a patch may touch: gcu_field_operation_validators.conf.json of branch 202505 (sonic-facts §3.4)."""

import re

from sonic_sim.databases import STATE, rows_of_database
from sonic_sim.device import Device
from sonic_sim.gcu.patch import Move

_PREFIX = "generic_config_updater.field_operation_validators"
_LISTED_SKUS = re.compile(
    r"^(Force10-S6000|ACS-SN5600|ACS-MSN\d+|ACS-SN\d+|Mellanox-.*|Arista-7060X6-64PE.*|Arista-7260CX3.*|Arista-7050.*|"
    r"Arista-7800.*|Nokia-IXR7220-H[345].*|Nokia-M0.*|Nokia-IXR7250.*|Cisco-8.*|Celestica-DX010-C32|Force10-Z9100.*|Force10-S6100.*)$"
)
_TD2_SKUS = frozenset({"Force10-S6000"})
_POOL_FIELDS = {("ingress_lossless_pool", "size"), ("ingress_lossless_pool", "xoff"), ("egress_lossy_pool", "size")}
_WRED_FIELDS = frozenset({"green_min_threshold", "green_max_threshold", "green_drop_probability"})
_NEVER_REMOVED = ("/PFC_WD/GLOBAL", "/PFC_WD/GLOBAL/POLL_INTERVAL", "/LOOPBACK_INTERFACE/Loopback0")


def refusal(device: Device, move: Move) -> str | None:
    """Return why a move is not permitted, in the updater's words, or None."""
    path = "/" + "/".join(move.parts)
    if move.op == "remove" and path in _NEVER_REMOVED:
        return f"Given patch operation is invalid. Operation: remove is illegal on field: {path}"
    table = move.parts[0] if move.parts else ""
    check = _CHECKS.get(table)
    if check is None or check[0](device, move):
        return None
    return f"Modification of {table} table is illegal- validating function {_PREFIX}.{check[1]} returned False"


def _listed(device: Device) -> bool:
    return bool(_LISTED_SKUS.match(device.db.get("DEVICE_METADATA|localhost").get("hwsku", "")))


def _pool(device: Device, move: Move) -> bool:
    if device.db.get("DEVICE_METADATA|localhost").get("hwsku") in _TD2_SKUS:
        return False
    return _listed(device) and move.op == "replace" and move.parts[1:] in _POOL_FIELDS


def _profile(device: Device, move: Move) -> bool:
    # the rule drops the parts of the name that hold a digit, and what is left has to differ from the name
    numbered = len(move.parts) == 3 and any(char.isdigit() for char in move.parts[1])
    if device.db.get("DEVICE_METADATA|localhost").get("hwsku") in _TD2_SKUS and move.parts[-1] != "dynamic_th":
        return False
    return _listed(device) and move.op == "replace" and numbered and move.parts[2] in ("dynamic_th", "xoff")


def _wred(device: Device, move: Move) -> bool:
    return _listed(device) and move.op == "replace" and len(move.parts) == 3 and move.parts[2] in _WRED_FIELDS


def _watchdog(device: Device, move: Move) -> bool:
    return _listed(device)


def _port(device: Device, move: Move) -> bool:
    """Allow speeds and FEC modes that STATE_DB lists for the port; without a list, all."""
    if len(move.parts) != 3 or move.op == "remove":
        return True
    supported = _state_of(device, move.parts[1])
    names = {"speed": "supported_speeds", "fec": "supported_fecs"}
    listed = supported.get(names.get(move.parts[2], ""))
    return listed is None or str(move.value) in listed.split(",")


def _state_of(device: Device, port: str) -> dict[str, str]:
    key = f"PORT_TABLE|{port}"
    return rows_of_database(device, STATE, key).get(key, {})


_CHECKS = {
    "BUFFER_POOL": (_pool, "rdma_config_update_validator"),
    "BUFFER_PROFILE": (_profile, "rdma_config_update_validator"),
    "WRED_PROFILE": (_wred, "wred_profile_config_update_validator"),
    "PFC_WD": (_watchdog, "rdma_config_update_validator"),
    "PORT": (_port, "port_config_update_validator"),
}
