"""The FRR file of a switch: a BGP speaker put into words by the template ``frr/frr.conf.j2``."""

from pathlib import Path

from railweave.fabric.releases import RELEASES, nearest
from railweave.routing.instance import (
    CONNECT_RETRY_S,
    HOST_LENGTH,
    LEARNED_COMMUNITY,
    MAXIMUM_PATHS,
    RESTART_MINUTES,
    BgpSession,
    BgpSpeaker,
    Ipv6Routes,
    NicRoutes,
    PoolRule,
)
from railweave.templates import Templates, find_templates
from railweave.units import ipv4_text

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
            "bfd": speaker.bfd,
            "connect_retry_s": CONNECT_RETRY_S,
            "dscp": speaker.dscp,
            "groups": speaker.groups,
            "sessions": [(peer_text(one), one.group, one.remote_asn, one.description) for one in speaker.sessions],
            "unnumbered": any(one.address is None for one in speaker.sessions),
            "announced": [str(one) for one in speaker.announced],
            "networks": _networks(speaker),
            "host_block": str(speaker.host_block) if speaker.host_block else "",
            "accepted": [rule_text(one) for one in speaker.accepted],
            "restart_minutes": RESTART_MINUTES,
            "maximum_paths": MAXIMUM_PATHS,
            "learned_community": LEARNED_COMMUNITY,
            "release": RELEASES[nearest(speaker.release)],
            "ipv6": _ipv6_values(speaker.ipv6),
            **_nic_values(speaker.nics),
        },
    )


def _networks(speaker: BgpSpeaker) -> list[str]:
    """Return what a switch announces of IPv4, in FRR's order."""
    nics = speaker.nics.addresses if speaker.nics else ()
    return [str(one) for one in sorted((*speaker.announced, *nics), key=lambda one: one.first)]


def _nic_values(nics: NicRoutes | None) -> dict[str, object]:
    if nics is None:
        return {"nic_block": "", "nic_routes": []}
    routes = [{"address": str(one.address), "gateway": ipv4_text(one.gateway), "port": one.port} for one in nics.routes]
    return {"nic_block": rule_text(PoolRule(nics.block, HOST_LENGTH)), "nic_routes": routes}


def _ipv6_values(routes: Ipv6Routes | None) -> dict[str, str] | None:
    if routes is None:
        return None
    return {
        "host_block": str(routes.host_block) if routes.host_block else "",
        "accepted": rule_text(routes.accepted),
    }


def own_frr_template(templates: Templates) -> Path | None:
    """Return the FRR template of the project where it is another one than railweave's."""
    used, shipped = (
        next((folder / FRR_TEMPLATE for folder in one.folders if (folder / FRR_TEMPLATE).is_file()), None)
        for one in (templates, find_templates())
    )
    if used is None or shipped is None or used.read_bytes() == shipped.read_bytes():
        return None
    return used


def peer_text(session: BgpSession) -> str:
    """Return the neighbor as FRR names it: its address, or our interface of an unnumbered link."""
    return session.port if session.address is None else ipv4_text(session.address)


def rule_text(rule: PoolRule) -> str:
    """Return a prefix-list entry's prefix; FRR prints a bound of 32 as ``ge 32`` and needs both bounds for others."""
    if rule.length == rule.pool.length:
        return str(rule.pool)
    if rule.length == rule.pool.bits:
        return f"{rule.pool} ge {rule.length}"
    return f"{rule.pool} ge {rule.length} le {rule.length}"
