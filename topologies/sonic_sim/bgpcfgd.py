"""bgpcfgd, as much of it as works beside an FRR file of the user's own: TSA, traffic shift away.

sonic-buildimage 202505: src/sonic-bgpcfgd/bgpcfgd/managers_device_global.py, dockers/docker-fpm-frr/frr/bgpd/tsa/*.j2,
dockers/docker-fpm-frr/TS, files/image_config/constants/constants.yml.
"""

import re

# The community and the tag of constants.yml that stand for a switch out of traffic.
_COMMUNITY = "12345:12345"
_TAG = "201"
_OUT = re.compile(r"^\s*neighbor \S+ route-map (\S+) out$", re.M)
_VERSIONS = {"V4": "ip", "V6": "ipv6"}
_ENTRIES = ("permit 20", "permit 30", "deny 40")


def shift_lines(running: str, *, away: bool) -> str:
    """Return the lines that shift traffic away from a switch with this FRR configuration, or back."""
    route_maps = sorted(set(_OUT.findall(running)))
    return "".join(_route_map_lines(name, away=away) for name in route_maps if _version(name))


def system_mode(running: str) -> str:
    """Return the mode that ``TSC`` prints, from the entries of the outbound route-maps."""
    maps = [name for name in set(_OUT.findall(running)) if _version(name) and not _is_internal(name)]
    if not maps:
        return "No external neighbors"
    present = []
    for name in maps:
        present += [f"\nroute-map {name} {entry}\n" in running for entry in _ENTRIES]
    if all(present):
        return "Maintenance"
    if any(present):
        return "Not consistent"
    return "Normal"


def _version(name: str) -> str:
    """Return the IP version in a route-map's name, by which bgpcfgd tells it; empty if it has none."""
    for version in _VERSIONS:
        if version in name:
            return version
    return ""


def _is_internal(name: str) -> bool:
    return "_INTERNAL_" in name or "VOQ_" in name


def _route_map_lines(name: str, *, away: bool) -> str:
    """Return the lines that add the entries of TSA to a route-map, or those that remove them (TSB)."""
    # The route-maps towards other cards of a chassis have only the first entry.
    is_internal = _is_internal(name)
    if not away:
        entries = _ENTRIES[:1] if is_internal else _ENTRIES
        return "".join(f"no route-map {name} {entry}\n" for entry in entries)
    if is_internal:
        return f"route-map {name} permit 20\n set community no-export additive\nexit\n"
    version = _version(name)
    # Loopbacks stay reachable, so that the switch can still be managed; all other prefixes are denied.
    return (
        f"route-map {name} permit 20\n match {_VERSIONS[version]} address prefix-list PL_Loopback{version}\n"
        f" set community {_COMMUNITY}\nexit\n"
        f"route-map {name} permit 30\n match tag {_TAG}\n set community {_COMMUNITY}\nexit\n"
        f"route-map {name} deny 40\nexit\n"
    )
