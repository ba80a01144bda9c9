"""SONiC's releases: what of each matters here, which one a name stands for, and which one a switch runs.

A release is a branch of sonic-buildimage. What differs between them stands once, in ``RELEASES``; where each value is
from stands in docs/reference/releases.md.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from railweave.wording import compact


class SonicRelease(NamedTuple):
    """One release."""

    # Versions of Debian and Python of the host, and of FRR in the bgp container.
    debian: int
    python: str
    frr: str
    # docker_init.sh appends the fpm lines if a file lacks them.
    fpm: bool = True
    # zebra may install nexthop objects in the kernel; before 202511 the start-up turns that off.
    kernel_nexthops: bool = False
    # SONiC's own BGP template announces a route only once it is in the ASIC.
    suppress_fib: bool = False
    # ``show running-config`` has the nexthop tracking lines although they are defaults (the patch "write ip nht
    # resolve-via-default").
    prints_tracking: bool = False
    # The share of 64-byte packets that headroom is computed for.
    small_packet_percent: int = 50
    # orchagent follows SWITCH_HASH, if the ASIC's SAI does.
    hash_fields: bool = True
    # The fastest port that sonic-port.yang takes.
    port_gbps: int = 800
    # bgpcfgd starts FRR's bfdd if SYSTEM_DEFAULTS says ``software_bfd``.
    bfd: bool = False


RELEASES: Mapping[str, SonicRelease] = {
    "202305": SonicRelease(11, "3.9", "8.5.1", small_packet_percent=100, hash_fields=False),
    "202311": SonicRelease(11, "3.9", "8.5.1", fpm=False, small_packet_percent=100),
    "202405": SonicRelease(12, "3.11", "8.5.4", small_packet_percent=100),
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
    """Return the release that ``name`` is treated as: itself, else the last one before it, else the first."""
    # What is no year and month, such as ``master`` or a vendor's name, is treated as the newest.
    if not name.isdecimal():
        return max(RELEASES)
    return max((release for release in RELEASES if release <= name), default=min(RELEASES))


def running_release(version_file: Mapping[str, str]) -> str:
    """Return the release that a switch runs, from its ``/etc/sonic/sonic_version.yml``; empty if it names none.

    ``release`` is written by branches that were released, ``branch`` by every build, and ``build_version`` begins with
    one of them unless the build was tagged (sonic-buildimage build_debian.sh, functions.sh).
    """
    keys = ("release", "branch", "build_version")
    texts = [version_file[key] for key in keys if version_file.get(key, "none") != "none"]
    if not texts:
        return ""
    for text in texts:
        match = re.search(rf"(?<!\d)({NAME})(?!\d)", text)
        if match is not None:
            return match[0]
    # The text is shown to people, and whoever builds an image writes it.
    return re.sub(r"[^\w.+-]", "?", texts[-1])[:40]


class OtherRelease(NamedTuple):
    """A switch runs another release than the intent says."""

    running: str
    intended: str

    def __str__(self) -> str:
        """Return the difference and the fix."""
        unknown = ""
        if self.running not in RELEASES:
            unknown = f", which is not known (the nearest is {nearest(self.running)})"
        return (
            f"SONiC {self.running} runs{unknown}, and sonic.release of the intent is {self.intended}:"
            " state the release that runs, or upgrade the switch"
        )


def other_release(running: str, intended: str) -> OtherRelease | None:
    """Return how the running release differs from the intended one; None if it does not, or is unknown."""
    if not running or running == intended:
        return None
    return OtherRelease(running, intended)


def release_warnings(releases: Mapping[str, OtherRelease | None]) -> Iterator[str]:
    """Yield a sentence for each difference, with the switches that have it."""
    for difference in dict.fromkeys(releases.values()):
        if difference is not None:
            yield f"{compact(name for name, other in releases.items() if other == difference)}: {difference}"
