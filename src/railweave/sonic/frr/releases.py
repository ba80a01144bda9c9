"""What SONiC's releases do with FRR: which version they build, and what their own start-up writes for it.

Sources, for each branch of sonic-buildimage: rules/frr.mk (version), src/sonic-frr/patch (what is printed),
dockers/docker-fpm-frr/docker_init.sh and frr/zebra/zebra.conf.j2 (zebra, fpm), frr/bgpd/bgpd.main.conf.j2 (bgpd) and
frr/supervisord (the fpm module that knows the lines). Upstream's tags are the base of every build.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FrrRelease:
    """FRR in one release.

    ``fpm``: docker_init.sh appends the fpm lines where a file lacks them. ``kernel_nexthops``: zebra may install
    nexthop objects in the kernel; before 202511 the start-up turns that off. ``suppress_fib``: SONiC's own BGP
    template announces a route only once it is in the ASIC. ``prints_tracking``: ``show running-config`` holds the
    nexthop tracking lines although they are defaults (the patch "write ip nht resolve-via-default").
    """

    version: str
    fpm: bool = True
    kernel_nexthops: bool = False
    suppress_fib: bool = False
    prints_tracking: bool = False


FRR_RELEASES: Mapping[str, FrrRelease] = {
    "202305": FrrRelease("8.5.1"),
    "202311": FrrRelease("8.5.1", fpm=False),
    "202405": FrrRelease("8.5.4"),
    "202411": FrrRelease("10.0.1", suppress_fib=True, prints_tracking=True),
    "202505": FrrRelease("10.3", suppress_fib=True, prints_tracking=True),
    "202511": FrrRelease("10.4.1", kernel_nexthops=True, suppress_fib=True, prints_tracking=True),
    "202605": FrrRelease("10.5.4", kernel_nexthops=True, suppress_fib=True, prints_tracking=True),
}
"""By release, oldest first."""
