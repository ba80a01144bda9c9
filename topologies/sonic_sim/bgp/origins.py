"""The routes that a switch has without BGP, and which of them it announces."""

from collections.abc import Sequence

from sonic_sim.bgp.instance import Instance
from sonic_sim.bgp.policy import network
from sonic_sim.bgp.rib import version_of
from sonic_sim.device import Device


def originated(device: Device, instance: Instance) -> list[str]:
    """Return the prefixes that a switch announces as its own: those of ``network`` lines, then redistributed ones."""
    routes = local_routes(device)
    prefixes = [prefix for prefix in instance.networks if prefix in routes or not instance.import_check]
    for version, protocol in instance.redistribute:
        for prefix, protocol_of_route in routes.items():
            if protocol_of_route == protocol and version_of(prefix) == version:
                prefixes.append(prefix)
    return list(dict.fromkeys(prefixes))


def local_routes(device: Device) -> dict[str, str]:
    """Return the protocols, ``connected`` or ``static``, of the routes that do not come from BGP, by prefix."""
    routes: dict[str, str] = {}
    for line in device.frr.root.lines.values():
        if not line.startswith(("ip route ", "ipv6 route ")):
            continue
        words = line.split()
        if static_is_active(device, words):
            routes[words[2]] = "static"
    # A connected route wins over a static one by its distance.
    for address in device.addresses():
        if device.link_up(address.interface):
            routes[str(network(f"{address.address}/{address.length}"))] = "connected"
    return routes


def static_is_active(device: Device, words: Sequence[str]) -> bool:
    """Tell whether zebra uses the static route of a line ``ip route PREFIX GATEWAY [INTERFACE]``."""
    if len(words) < 5 or words[4] not in device.network.ports(device):
        return True
    # While the link of the interface after the gateway is down, staticd takes the route away, and ``network``
    # announces it no longer (FRR 8.4, measured).
    return device.link_up(words[4])
