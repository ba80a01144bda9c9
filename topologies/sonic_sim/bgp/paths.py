"""The paths that bgpd knows, as ``show ip bgp`` shows them."""

from typing import Any

from sonic_sim.bgp.policy import GRACEFUL_SHUTDOWN, PREFERENCE, Route, network
from sonic_sim.bgp.routes import Rib, equal_paths, ribs_of
from sonic_sim.bgp.sessions import bgp_of
from sonic_sim.device import Device


def rib_of(device: Device) -> Rib | None:
    """Return the routes of a switch, None where BGP does not run."""
    return ribs_of(device.network).get(device.name)


def bgp_table(device: Device, every_vrf: bool) -> dict[str, Any]:
    """Return ``show ip bgp json``."""
    instance, rib = bgp_of(device), rib_of(device)
    if instance is None or rib is None:
        return {}
    routes = {prefix: [path for path, _ in _paths(rib, prefix)] for prefix in rib.best}
    return {"vrfId": 0, "vrfName": "default", "routerId": instance.router_id, "defaultLocPrf": PREFERENCE,
            "localAS": instance.asn, "routes": routes}  # fmt: skip


def _paths(rib: Rib, prefix: str) -> list[tuple[dict[str, Any], Route]]:
    """Return the paths to a prefix as FRR lists them; a preference only where it is not the usual one (8.4)."""
    best, source = rib.best[prefix]
    own = {"valid": True, "bestpath": True, "path": "", "nexthops": [{"ip": "0.0.0.0", "used": True}]}
    paths = [] if source else [(own, best)]
    for peer, table in rib.received.items():
        if prefix in table:
            route = table[prefix]
            path: dict[str, Any] = {"valid": True}
            if peer == source:
                path["bestpath"] = True
            if route.local_preference != PREFERENCE:
                path["locPrf"] = route.local_preference
            text = " ".join(str(number) for number in route.path)
            paths.append((path | {"peerId": peer, "path": text, "nexthops": [{"ip": peer, "used": True}]}, route))
    return paths


def bgp_prefix(device: Device, prefix: str) -> dict[str, Any]:
    """Return ``show ip bgp PREFIX json``: the paths with their communities."""
    rib = rib_of(device)
    if rib is None or prefix not in rib.best:
        return {}
    paths = []
    for path, route in _paths(rib, prefix):
        communities = sorted(route.communities)
        named = ["gracefulShutdown" if one == GRACEFUL_SHUTDOWN else one for one in communities]
        marked = {"community": {"string": " ".join(communities), "list": named}} if communities else {}
        paths.append({**path, **marked})
    return {"prefix": prefix, "paths": paths}


def table_text(device: Device) -> str:
    """Return ``show ip bgp`` for a person."""
    instance, rib = bgp_of(device), rib_of(device)
    if instance is None or rib is None:
        return "% BGP instance not found\n"
    lines = [
        f"BGP table version is {len(rib.best)}, local router ID is {instance.router_id}, vrf id 0",
        f"Default local pref {PREFERENCE}, local AS {instance.asn}",
        "Status codes:  * valid, > best, = multipath",
        "",
        "   Network          Next Hop            Metric LocPrf Weight Path",
    ]
    equal = equal_paths(rib)
    for prefix in sorted(rib.best, key=lambda one: (network(one).version, network(one).network_address)):
        hops = {peer for peer, _ in equal.get(prefix, ())}
        for place, (path, _) in enumerate(_paths(rib, prefix)):
            mark = "*>" if path.get("bestpath") else "*=" if path.get("peerId") in hops else "* "
            preference, weight = path.get("locPrf", ""), "" if path["path"] else "32768 "
            name, hop = prefix if place == 0 else "", path["nexthops"][0]["ip"]
            lines.append(f"{mark:<3}{name:<17}{hop:<16}{'':>10}{preference:>7}{weight or '0 ':>8}{path['path']} i")
    return "\n".join([*lines, "", f"Displayed  {len(rib.best)} routes"]) + "\n"
