"""Sizing and fabric as plain documents: the shapes of ``size --json`` and ``fabric.json`` (contract)."""

from math import isinf
from typing import Any

from railweave.diagnostics import Diagnostic
from railweave.fabric.model import Fabric, Host, Link, Switch
from railweave.fabric.sizing import Sizing
from railweave.units import ipv4_text

_HOST_ROLE = "host"


def size_json(sizing: Sizing) -> dict[str, Any]:
    """Return a sizing as ``size --json`` prints it; a ratio without a bound (one spine, lost) is null."""
    ratios = sizing.oversubscription
    return {
        "fabric": sizing.fabric,
        "tiers": sizing.tiers,
        "planes": sizing.planes,
        "rails": sizing.rails,
        "stripes": sizing.stripes,
        "nodes": sizing.nodes,
        "gpus": sizing.gpus,
        "leaves": sizing.leaves,
        "spines": sizing.spines,
        "super_spines": sizing.super_spines,
        "leaf": {
            "down": sizing.leaf.down,
            "up": sizing.leaf.up,
            "down_gbps": sizing.leaf.down_gbps,
            "up_gbps": sizing.leaf.up_gbps,
        },
        "links": {
            "host_leaf": sizing.links.host_leaf,
            "leaf_spine": sizing.links.leaf_spine,
            "spine_super_spine": sizing.links.spine_super_spine,
            "per_leaf_spine_pair": sizing.links.per_leaf_spine_pair,
        },
        "oversubscription": {
            "target": ratios.target,
            "leaf": ratios.leaf,
            "after_spine_loss": None if isinf(ratios.after_spine_loss) else ratios.after_spine_loss,
        },
        "limits": {"nodes": sizing.limits.nodes, "first": sizing.limits.first},
        "room": {
            "leaves": sizing.room.leaves,
            "spines": sizing.room.spines,
            "next_step": sizing.room.next_step,
        },
        "steps": [{"name": step.name, "formula": step.formula, "result": step.result} for step in sizing.steps],
        "diagnostics": [_diagnostic_json(one) for one in sizing.diagnostics],
    }


def fabric_json(fabric: Fabric) -> dict[str, Any]:
    """Return a fabric as ``fabric.json`` holds it.

    Ports are named as the device names them, addresses are dotted without a length (every link is a /31), ``a`` is the
    end nearer to the GPUs. GPU nodes are devices too, with null for what only switches have.
    """
    return {
        **size_json(fabric.sizing),
        "devices": [*map(_switch_json, fabric.switches), *map(_host_json, fabric.hosts)],
        "links": [_link_json(fabric, link) for link in fabric.links],
    }


def _diagnostic_json(diagnostic: Diagnostic) -> dict[str, Any]:
    where = diagnostic.where
    return {
        "code": diagnostic.code,
        "severity": str(diagnostic.severity),
        "message": diagnostic.message,
        "where": {"file": where.file, "line": where.line, "column": where.column, "path": where.path},
        "devices": list(diagnostic.devices),
        "fix": diagnostic.fix,
    }


def _switch_json(switch: Switch) -> dict[str, Any]:
    return {
        "name": switch.name,
        "role": switch.tier.name,
        "plane": switch.plane,
        "stripe": switch.stripe,
        "rail": switch.rail,
        "index": switch.place,
        "asn": switch.asn,
        "loopback": ipv4_text(switch.loopback),
        "model": switch.panel.model,
        "hwsku": switch.panel.hwsku,
    }


def _host_json(host: Host) -> dict[str, Any]:
    return {
        "name": host.name,
        "role": _HOST_ROLE,
        "plane": None,
        "stripe": host.stripe,
        "rail": None,
        "index": host.number,
        "asn": None,
        "loopback": None,
        "model": host.nic_model,
        "hwsku": None,
    }


def _link_json(fabric: Fabric, link: Link) -> dict[str, Any]:
    lower_port = fabric.ports_of[link.lower][link.lower_port].name
    upper_port = fabric.ports_of[link.upper][link.upper_port].name
    upper, lower = _addresses(fabric, link)
    return {
        "a": {"device": link.lower, "port": lower_port, "address": lower},
        "b": {"device": link.upper, "port": upper_port, "address": upper},
        "kind": link.kind,
        "plane": link.plane,
        "speed_gbps": link.speed_gbps,
    }


def _addresses(fabric: Fabric, link: Link) -> tuple[str | None, str | None]:
    """Return the upper and the lower end's address, None on an unnumbered underlay."""
    if not fabric.is_numbered(link):
        return None, None
    return ipv4_text(link.network), ipv4_text(link.network + 1)
