"""Sizing and fabric as plain documents: the shapes of ``size --json`` and ``fabric.json`` (contract)."""

from collections.abc import Iterator
from typing import Any

from railweave.codec import as_json, members
from railweave.fabric.devices import Host, Switch
from railweave.fabric.links import LINK_KINDS
from railweave.fabric.model import Fabric
from railweave.fabric.sizing import Sizing
from railweave.units import ipv4_text, ipv6_text


def size_json(sizing: Sizing) -> dict[str, Any]:
    """Return a sizing as ``size --json`` prints it, without ``buffers`` where none are known; a ratio without a bound
    (one spine, lost) is null."""
    return {name: value for name, value in as_json(sizing).items() if name != "buffers" or value}


def fabric_json(fabric: Fabric) -> dict[str, Any]:
    """Return a fabric as ``fabric.json`` holds it.

    Ports are named as the device names them, addresses are dotted without a length (every link is a /31), null where
    a link has none, ``a`` is the end nearer to the GPUs. The ends of a link to a node have an ``ipv6_address`` of a
    /127 where nodes have IPv6. GPU nodes are devices too, with null for what only switches have. In three tiers every
    device has its pod, and spines and super-spines their group; both are null where a device has none.
    """
    switches = [_switch_json(switch) for switch in fabric.switches]
    hosts = [_host_json(host) for host in fabric.hosts]
    if fabric.has_pods:
        for document, switch in zip(switches, fabric.switches, strict=True):
            document.update(members(switch, "pod", "group"))
        for document, host in zip(hosts, fabric.hosts, strict=True):
            document.update(pod=fabric.pod_of(host), group=None)
    return {**size_json(fabric.sizing), "devices": [*switches, *hosts], "links": [*_links_json(fabric)]}


def _switch_json(switch: Switch) -> dict[str, Any]:
    return {
        "name": switch.name,
        "role": switch.tier.name,
        **members(switch, "plane", "stripe", "rail"),
        "index": switch.place,
        "asn": switch.asn,
        "loopback": ipv4_text(switch.loopback),
        **members(switch.panel, "model", "hwsku"),
    }


def _host_json(host: Host) -> dict[str, Any]:
    own = {"name": host.name, "role": "host", "stripe": host.stripe, "index": host.number, "model": host.nic_model}
    return {
        key: own.get(key)
        for key in ("name", "role", "plane", "stripe", "rail", "index", "asn", "loopback", "model", "hwsku")
    }


def _links_json(fabric: Fabric) -> Iterator[dict[str, Any]]:
    names = {device: [port.name for port in ports] for device, ports in fabric.ports_of.items()}
    addressing = fabric.policies.addressing
    has_ipv6 = bool(fabric.ipv6_blocks)
    bare_access = addressing.hosts is None
    bare_fabric = addressing.unnumbered
    for link in fabric.links:
        level, plane, _, lower, lower_port, upper, upper_port, network, speed_gbps, _, _ = link
        a: dict[str, str | None] = {"device": lower, "port": names[lower][lower_port], "address": None}
        b: dict[str, str | None] = {"device": upper, "port": names[upper][upper_port], "address": None}
        is_bare = bare_access
        if level:
            is_bare = bare_fabric
        if not is_bare:
            a["address"] = ipv4_text(network + 1)
            b["address"] = ipv4_text(network)
        if has_ipv6 and (ipv6 := fabric.ipv6_network(link)) is not None:
            a["ipv6_address"] = ipv6_text(ipv6 + 1)
            b["ipv6_address"] = ipv6_text(ipv6)
        yield {"a": a, "b": b, "kind": LINK_KINDS[level], "plane": plane, "speed_gbps": speed_gbps}
