"""bgpcfgd, as much of it as works beside an FRR file of the user's own: TSA, traffic shift away.

sonic-buildimage 202505: src/sonic-bgpcfgd/bgpcfgd/managers_device_global.py, dockers/docker-fpm-frr/frr/bgpd/tsa/*.j2,
dockers/docker-fpm-frr/TS, files/image_config/constants/constants.yml.
"""

import re

_COMMUNITY = "12345:12345"
_TAG = "201"
_OUT = re.compile(r"^\s*neighbor \S+ route-map (\S+) out$", re.M)
_VERSIONS = {"V4": "ip", "V6": "ipv6"}
_ENTRIES = ("permit 20", "permit 30", "deny 40")


def shift_lines(running: str, *, away: bool) -> str:
    """Return the lines that shift traffic away from a switch with this FRR configuration, or back."""
    return "".join(_lines(name, away=away) for name in sorted(set(_OUT.findall(running))) if _version(name))


def system_mode(running: str) -> str:
    """Return the mode of a switch as ``TSC`` says it: by the entries of its outbound route-maps."""
    maps = [name for name in dict.fromkeys(_OUT.findall(running)) if _version(name) and not _is_internal(name)]
    there = [f"\nroute-map {name} {entry}\n" in running for name in maps for entry in _ENTRIES]
    if not there:
        return "No external neighbors"
    return "Maintenance" if all(there) else "Not consistent" if any(there) else "Normal"


def _version(name: str) -> str:
    return next((version for version in _VERSIONS if version in name), "")


def _is_internal(name: str) -> bool:
    return "_INTERNAL_" in name or "VOQ_" in name


def _lines(name: str, *, away: bool) -> str:
    if not away:
        return "".join(f"no route-map {name} {entry}\n" for entry in _ENTRIES[: 1 if _is_internal(name) else 3])
    if _is_internal(name):
        return f"route-map {name} permit 20\n set community no-export additive\nexit\n"
    version = _version(name)
    return (
        f"route-map {name} permit 20\n match {_VERSIONS[version]} address prefix-list PL_Loopback{version}\n"
        f" set community {_COMMUNITY}\nexit\n"
        f"route-map {name} permit 30\n match tag {_TAG}\n set community {_COMMUNITY}\nexit\n"
        f"route-map {name} deny 40\nexit\n"
    )
