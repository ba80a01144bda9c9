"""Configurations for which the templates of SKUs were rendered, and the digest of what they gave."""

import contextlib
import hashlib
import json
from typing import Any

_PORTS = {f"Ethernet{8 * place}": {"lanes": str(place)} for place in range(4)}
_NEIGHBORS = {"Ethernet0": {"name": "a", "port": "Ethernet4"}, "Ethernet8": {"name": "b", "port": "Ethernet4"}}
_ROLES = {"a": {"type": "SpineRouter"}, "b": {"type": "BackEndToRRouter"}}


def _switch(*, asic: str = "mellanox", **localhost: str) -> dict[str, Any]:
    return {"DEVICE_METADATA": {"localhost": localhost}, "PORT": dict(_PORTS), "asic_type": asic}


_PLAIN: tuple[dict[str, Any], ...] = (
    _switch(asic="broadcom"),
    _switch(type="LeafRouter"),
    _switch(type="LeafRouter") | {"DEVICE_NEIGHBOR": _NEIGHBORS, "DEVICE_NEIGHBOR_METADATA": _ROLES},
    _switch(asic="vs", type="ToRRouter") | {"VLAN_MEMBER": {("Vlan2", "Ethernet16"): {"tagging_mode": "untagged"}}},
    _switch(type="SpineRouter", subtype="LowerSpineRouter"),
    _switch(type="SpineRouter"),
    _switch(type="MgmtToRRouter") | {"PORT": _PORTS | {"Ethernet-Rec0": {}, "Ethernet-BP4": {}}},
    {"PORT": dict(_PORTS)},
    {"DEVICE_METADATA": {}, "PORT": dict(_PORTS)},
)
"""With keys of several parts as tuples, as templates see them; the last ones are of dry runs."""


def _remapped(document: dict[str, Any], **neighbors: str) -> dict[str, Any]:
    """Return a configuration with a tunnel's traffic remapped, and neighbors of some types."""
    row = {"SYSTEM_DEFAULTS": {"tunnel_qos_remap": {"status": "enabled"}}}
    if not neighbors:
        return document | row
    return document | row | {
        "DEVICE_NEIGHBOR": {port: {"name": f"to-{port}"} for port in neighbors},
        "DEVICE_NEIGHBOR_METADATA": {f"to-{port}": {"type": role} for port, role in neighbors.items()},
    }  # fmt: skip


_CARDS: dict[str, Any] = {
    "SYSTEM_PORT": {("card1", "asic0", port): {} for port in ("Ethernet0", "Ethernet8", "Ethernet-IB0")}
}
_CHASSIS = _switch(type="SpineRouter", switch_type="voq") | _CARDS
_WITH_DPU = {"PORT": _PORTS | {"Ethernet24": {"role": "Dpc"}}}

_REMAPPED: tuple[dict[str, Any], ...] = (
    _remapped(_switch(type="LeafRouter"), Ethernet0="ToRRouter", Ethernet8="SpineRouter"),
    _remapped(_switch(type="LeafRouter", asic="broadcom"), Ethernet0="ToRRouter", Ethernet8="ToRRouter"),
    _remapped(_switch(type="LeafRouter")),
    _remapped(_switch(type="ToRRouter", subtype="DualToR"), Ethernet0="LeafRouter", Ethernet8="Server"),
    _remapped(_switch(type="ToRRouter", subtype="DualToR", asic="broadcom"), Ethernet0="Server"),
    _remapped(_switch(type="ToRRouter"), Ethernet0="LeafRouter", Ethernet8="Server"),
    _remapped(_switch(type="MgmtToRRouter", subtype="DualToR"), Ethernet0="LeafRouter"),
    _remapped(_switch(subtype="DualToR"), Ethernet0="LeafRouter"),
    _remapped(_switch(type="BackEndLeafRouter"), Ethernet0="ToRRouter"),
    _remapped(_switch(type="SpineRouter", subtype="DualToR"), Ethernet0="LeafRouter"),
    _remapped(_switch(type="BackEndToRRouter", resource_type="ComputeAI", subtype="DualToR"), Ethernet0="LeafRouter"),
    _remapped(_switch(type="LeafRouter") | _WITH_DPU, Ethernet0="ToRRouter"),
    _remapped(_switch(type="LeafRouter")) | {"DEVICE_NEIGHBOR_METADATA": _ROLES},
    _remapped({"PORT": dict(_PORTS)}),
    _switch(type="LeafRouter", resource_type="DL-NPU-Apollo") | _WITH_DPU,
    _switch(type="BackEndToRRouter", storage_device="true"),
    _switch(type="BackEndToRRouter", resource_type="ComputeAI"),
    _switch(type="BackEndToRRouter", resource_type="ComputeAI", subtype="DualToR"),
    _CHASSIS,
    _switch(type="LeafRouter", switch_type="voq") | _CARDS,
    _switch(type="LeafRouter", switch_type="voq") | {"SYSTEM_PORT": {"alone": {}}},
)
"""With remapped traffic of a tunnel, of switches in a backend, and of cards of a chassis."""

DOCUMENTS = _PLAIN + _REMAPPED


def digest(text: str) -> str:
    """Return the digest of a rendered text, whatever its layout, or of the name of an error."""
    with contextlib.suppress(json.JSONDecodeError):
        text = json.dumps(json.loads(text), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:10]
