"""SONiC's releases: their differences that matter here, the release of a name, and the one that a switch runs.

A release is a branch of sonic-buildimage. ``RELEASES`` has all differences; their sources are in
docs/reference/releases.md.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from railweave.wording import compact


class SonicRelease(NamedTuple):
    """One release."""

    # Versions of the host's Debian and Python, and of FRR.
    debian: int
    python: str
    frr: str
    # docker_init.sh appends the fpm lines to a file that lacks them.
    fpm: bool = True
    # zebra may install nexthop objects in the kernel; before 202511 the start-up turns that off.
    kernel_nexthops: bool = False
    # SONiC's own BGP template announces a route only once it is in the ASIC.
    suppress_fib: bool = False
    # `show running-config` prints the nexthop tracking lines although they are defaults (the patch "write ip nht
    # resolve-via-default").
    prints_tracking: bool = False
    # The share of 64-byte packets that headroom is computed for.
    small_packet_percent: int = 50
    # orchagent applies SWITCH_HASH, if the ASIC's SAI supports it.
    hash_fields: bool = True
    # The fastest port that sonic-port.yang allows.
    port_gbps: int = 800
    # bgpcfgd starts FRR's bfdd if SYSTEM_DEFAULTS has `software_bfd`.
    bfd: bool = False
    # The most equal-cost paths that our FRR files state. FRR leaves the line out of its running configuration at the
    # number that it is built with (--enable-multipath): 514 in SONiC, 256 before 202411.
    equal_paths: int = 512


COMMON_PATHS = 128
"""The equal-cost paths that FRR may install on a switch that never has more, in every release."""

RELEASES: Mapping[str, SonicRelease] = {
    "202305": SonicRelease(11, "3.9", "8.5.1", small_packet_percent=100, hash_fields=False, equal_paths=255),
    "202311": SonicRelease(11, "3.9", "8.5.1", fpm=False, small_packet_percent=100, equal_paths=255),
    "202405": SonicRelease(12, "3.11", "8.5.4", small_packet_percent=100, equal_paths=255),
    "202411": SonicRelease(12, "3.11", "10.0.1", suppress_fib=True, prints_tracking=True),
    "202505": SonicRelease(12, "3.11", "10.3", suppress_fib=True, prints_tracking=True, bfd=True),
    "202511": SonicRelease(
        13, "3.13", "10.4.1", kernel_nexthops=True, suppress_fib=True, prints_tracking=True, port_gbps=1600, bfd=True
    ),
    "202605": SonicRelease(
        13, "3.13", "10.5.4", kernel_nexthops=True, suppress_fib=True, prints_tracking=True, port_gbps=1600, bfd=True
    ),
}
"""By name, oldest first."""
DEFAULT_RELEASE = "202505"

NAME = r"20\d\d(0[1-9]|1[0-2])|master"
"""How releases are named: year and month, or the branch of the next one."""


def nearest(name: str) -> str:
    """Return the known release that ``name`` is treated as: the last one up to it, or the first if there is none.

    Names other than year and month (``master``, a vendor's name) are treated as the newest release.
    """
    if not name.isdecimal():
        return max(RELEASES)
    return max((release for release in RELEASES if release <= name), default=min(RELEASES))


def running_release(version: Mapping[str, str]) -> str:
    """Return the release that a switch runs, by its ``/etc/sonic/sonic_version.yml``; empty if that says nothing.

    ``release`` is written by branches that were released, ``branch`` by every build, and ``build_version`` begins with
    one of them unless the build was tagged (sonic-buildimage build_debian.sh, functions.sh).
    """
    text = ""
    for name in ("release", "branch", "build_version"):
        if version.get(name, "none") == "none":
            continue
        text = version[name]
        release = re.search(rf"(?<!\d)({NAME})(?!\d)", text)
        if release:
            return release[0]
    # A vendor's or tagged build: its own name, harmless to show.
    return re.sub(r"[^\w.+-]", "?", text)[:40]


class OtherRelease(NamedTuple):
    """A switch runs another release than the intent says."""

    running: str
    intended: str

    def __str__(self) -> str:
        """Return the difference in words, and the fix."""
        unknown = ""
        if self.running not in RELEASES:
            unknown = f", which is not known (the nearest is {nearest(self.running)})"
        return (
            f"SONiC {self.running} runs{unknown}, and sonic.release of the intent is {self.intended}:"
            " state the release that runs, or upgrade the switch"
        )


def other_release(running: str, intended: str) -> OtherRelease | None:
    """Return the difference of the running release from the intended one.

    None if they are the same, and if the running release is not known (empty).
    """
    if not running or running == intended:
        return None
    return OtherRelease(running, intended)


def release_warnings(differences: Mapping[str, OtherRelease | None]) -> Iterator[str]:
    """Yield a sentence for each difference, given by switch, with the switches that have it."""
    switches: dict[OtherRelease, list[str]] = {}
    for name, difference in differences.items():
        if difference is not None:
            switches.setdefault(difference, []).append(name)
    for difference, names in switches.items():
        yield f"{compact(names)}: {difference}"
