"""SONiC's releases: what of each matters here, which one a name stands for, and which one a switch runs.

A release is a branch of sonic-buildimage. What differs between them stands once, in ``RELEASES``; where each value is
from stands in docs/reference/releases.md.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from railweave.wording import compact


class SonicRelease(NamedTuple):
    """One release: Debian and Python of the host, and FRR.

    ``fpm``: docker_init.sh appends the fpm lines where a file lacks them. ``kernel_nexthops``: zebra may install
    nexthop objects in the kernel; before 202511 the start-up turns that off. ``suppress_fib``: SONiC's own BGP
    template announces a route only once it is in the ASIC. ``prints_tracking``: ``show running-config`` holds the
    nexthop tracking lines although they are defaults (the patch "write ip nht resolve-via-default").
    ``small_packet_percent``: the share of 64-byte packets that headroom is computed for. ``hash_fields``: orchagent
    follows SWITCH_HASH, where the ASIC's SAI does. ``port_gbps``: the fastest port that sonic-port.yang takes. ``bfd``:
    bgpcfgd starts FRR's bfdd where SYSTEM_DEFAULTS says ``software_bfd``.
    """

    debian: int
    python: str
    frr: str
    fpm: bool = True
    kernel_nexthops: bool = False
    suppress_fib: bool = False
    prints_tracking: bool = False
    small_packet_percent: int = 50
    hash_fields: bool = True
    port_gbps: int = 800
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
    """Return the release that ``name`` is treated as: itself, else the last one before it, else the first.

    What is no year and month (``master``, a vendor's name) is treated as the newest.
    """
    if not name.isdecimal():
        return max(RELEASES)
    return max((one for one in RELEASES if one <= name), default=min(RELEASES))


def running_release(told: Mapping[str, str]) -> str:
    """Return the release that a switch runs, by what its ``/etc/sonic/sonic_version.yml`` says; empty for nothing.

    ``release`` is written by branches that were released, ``branch`` by every build, and ``build_version`` begins with
    one of them unless the build was tagged (sonic-buildimage build_debian.sh, functions.sh).
    """
    texts = [told[name] for name in ("release", "branch", "build_version") if told.get(name, "none") != "none"]
    named = (found[0] for text in texts if (found := re.search(rf"(?<!\d)({NAME})(?!\d)", text)))
    return next(named, re.sub(r"[^\w.+-]", "?", texts[-1])[:40] if texts else "")


class OtherRelease(NamedTuple):
    """A switch runs another release than the intent says."""

    running: str
    intended: str

    def __str__(self) -> str:
        """Return what is the matter and what to do."""
        unknown = "" if self.running in RELEASES else f", which is not known (the nearest is {nearest(self.running)})"
        return (
            f"SONiC {self.running} runs{unknown}, and sonic.release of the intent is {self.intended}:"
            " state the release that runs, or upgrade the switch"
        )


def other_release(running: str, intended: str) -> OtherRelease | None:
    """Return how the running release differs from the intended one; None where it does not, or is not known."""
    return OtherRelease(running, intended) if running and running != intended else None


def release_warnings(found: Mapping[str, OtherRelease | None]) -> Iterator[str]:
    """Yield a sentence for each difference, with the switches that have it."""
    for other in dict.fromkeys(one for one in found.values() if one is not None):
        yield f"{compact(name for name, one in found.items() if one == other)}: {other}"
