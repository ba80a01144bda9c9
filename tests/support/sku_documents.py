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


_WITH_DPU = {"PORT": _PORTS | {"Ethernet24": {"role": "Dpc"}}}
_COMPUTING: tuple[dict[str, Any], ...] = (
    _switch(type="LeafRouter", resource_type="DL-NPU-Apollo") | _WITH_DPU,
    _switch(type="BackEndToRRouter", resource_type="ComputeAI"),
)
"""Of switches that connect processors and DPUs."""

DOCUMENTS = _PLAIN + _COMPUTING


def digest(text: str) -> str:
    """Return the digest of a rendered text, whatever its layout, or of the name of an error."""
    with contextlib.suppress(json.JSONDecodeError):
        text = json.dumps(json.loads(text), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:10]
