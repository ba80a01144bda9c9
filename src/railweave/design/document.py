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
    """Return a sizing as ``size --json`` prints it, without ``buffers`` if none are known.

    An infinite ratio, as after the loss of the only spine, is null.
    """
    return {name: value for name, value in as_json(sizing).items() if name != "buffers" or value}


def fabric_json(fabric: Fabric) -> dict[str, Any]:
    """Return a fabric as ``fabric.json`` holds it.

    GPU nodes are devices too, with null for what only switches have. In three tiers every device has a pod and a group,
    null if it belongs to none.

    ``a`` is the end of a link nearer to the GPUs. Ports are named as the device names them. Addresses are dotted,
    without a length since every link is a /31; null for a link without addresses. The ends of a link to a node have an
    ``ipv6_address`` of a /127 if nodes have IPv6.
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
    """Return a switch as ``fabric.json`` holds it, without its pod and group."""
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
    """Return a node as ``fabric.json`` holds it, without its pod and group; null for what only switches have."""
    return {
        "name": host.name,
        "role": "host",
        "plane": None,
        "stripe": host.stripe,
        "rail": None,
        "index": host.number,
        "asn": None,
        "loopback": None,
        "model": host.nic_model,
        "hwsku": None,
    }


def _links_json(fabric: Fabric) -> Iterator[dict[str, Any]]:
    """Yield the links; ``a`` is the lower end. Only links with IPv6 have ``ipv6_address`` at both ends."""
    # A fabric has up to a quarter of a million links: a link is unpacked once, and whether links of a level are
    # numbered is looked up once.
    names = {device: [port.name for port in ports] for device, ports in fabric.ports_of.items()}
    addressing = fabric.policies.addressing
    access_is_numbered = addressing.hosts is not None
    fabric_is_numbered = not addressing.unnumbered
    has_ipv6 = bool(fabric.ipv6_blocks)
    for link in fabric.links:
        level, plane, _, lower, lower_port, upper, upper_port, network, speed_gbps, _, _ = link
        a: dict[str, str | None] = {"device": lower, "port": names[lower][lower_port], "address": None}
        b: dict[str, str | None] = {"device": upper, "port": names[upper][upper_port], "address": None}
        is_numbered = access_is_numbered
        # Level 0 has the links to nodes.
        if level:
            is_numbered = fabric_is_numbered
        if is_numbered:
            a["address"] = ipv4_text(network + 1)
            b["address"] = ipv4_text(network)
        if has_ipv6:
            ipv6_network = fabric.ipv6_network(link)
            if ipv6_network is not None:
                a["ipv6_address"] = ipv6_text(ipv6_network + 1)
                b["ipv6_address"] = ipv6_text(ipv6_network)
        yield {"a": a, "b": b, "kind": LINK_KINDS[level], "plane": plane, "speed_gbps": speed_gbps}
