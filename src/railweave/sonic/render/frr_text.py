"""The FRR file of a switch: a BGP speaker put into words by the template ``frr/frr.conf.j2``."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from railweave.routing.instance import (
    CONNECT_RETRY_S,
    LEARNED_COMMUNITY,
    MAXIMUM_PATHS,
    RESTART_MINUTES,
    BgpSpeaker,
    PoolRule,
    Session,
)
from railweave.templates import Templates, find_templates
from railweave.units import ipv4_text


class FrrRelease(NamedTuple):
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


FRR_TEMPLATE = "frr/frr.conf.j2"


def frr_text(speaker: BgpSpeaker, templates: Templates) -> str:
    """Return the whole FRR configuration of ``speaker``."""
    return templates.fill(
        FRR_TEMPLATE,
        {
            "device": speaker.device,
            "attaches_nodes": speaker.attaches_nodes,
            "asn": speaker.asn,
            "router_id": ipv4_text(speaker.router_id),
            "keepalive_s": speaker.keepalive_s,
            "hold_s": speaker.hold_s,
            "connect_retry_s": CONNECT_RETRY_S,
            "dscp": speaker.dscp,
            "groups": speaker.groups,
            "sessions": [(peer_text(one), one.group, one.remote_asn, one.description) for one in speaker.sessions],
            "unnumbered": any(one.address is None for one in speaker.sessions),
            "announced": [str(one) for one in speaker.announced],
            "host_block": str(speaker.host_block) if speaker.host_block else "",
            "accepted": [rule_text(one) for one in speaker.accepted],
            "restart_minutes": RESTART_MINUTES,
            "maximum_paths": MAXIMUM_PATHS,
            "learned_community": LEARNED_COMMUNITY,
            "release": FRR_RELEASES[speaker.release],
        },
    )


def own_frr_template(templates: Templates) -> Path | None:
    """Return the FRR template of the project where it is another one than railweave's."""
    used, shipped = (
        next((folder / FRR_TEMPLATE for folder in one.folders if (folder / FRR_TEMPLATE).is_file()), None)
        for one in (templates, find_templates())
    )
    if used is None or shipped is None or used.read_bytes() == shipped.read_bytes():
        return None
    return used


def peer_text(session: Session) -> str:
    """Return the neighbor as FRR names it: its address, or our interface of an unnumbered link."""
    return session.port if session.address is None else ipv4_text(session.address)


def rule_text(rule: PoolRule) -> str:
    """Return a prefix-list entry's prefix; FRR prints a bound of 32 as ``ge 32`` and needs both bounds for others."""
    if rule.length == rule.pool.length:
        return str(rule.pool)
    if rule.length == 32:
        return f"{rule.pool} ge 32"
    return f"{rule.pool} ge {rule.length} le {rule.length}"
