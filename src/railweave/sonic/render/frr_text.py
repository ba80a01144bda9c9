"""The FRR file of a switch: a BGP speaker rendered by the template ``frr/frr.conf.j2``."""

from pathlib import Path

from railweave.fabric.releases import RELEASES, nearest
from railweave.routing.instance import (
    CONNECT_RETRY_S,
    HOST_LENGTH,
    LEARNED_COMMUNITY,
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
    sessions = speaker.sessions
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
            "sessions": [
                (peer_text(session), session.group, session.remote_asn, session.description) for session in sessions
            ],
            "unnumbered": any(session.address is None for session in sessions),
            "announced": [str(prefix) for prefix in speaker.announced],
            "networks": _networks(speaker),
            "host_block": str(speaker.host_block or ""),
            "accepted": [rule_text(rule) for rule in speaker.accepted],
            "restart_minutes": RESTART_MINUTES,
            "maximum_paths": speaker.maximum_paths,
            "learned_community": LEARNED_COMMUNITY,
            "release": RELEASES[nearest(speaker.release)],
            "ipv6": _ipv6_values(speaker.ipv6),
            **_nic_values(speaker.nics),
        },
    )


def _networks(speaker: BgpSpeaker) -> list[str]:
    """Return the IPv4 prefixes that a switch announces, in FRR's order."""
    prefixes = [*speaker.announced]
    if speaker.nics:
        prefixes += speaker.nics.addresses
    return [str(prefix) for prefix in sorted(prefixes, key=lambda prefix: prefix.first)]


def _nic_values(nics: NicRoutes | None) -> dict[str, object]:
    """Return what the template needs of routes to NICs that several leaves share."""
    if nics is None:
        return {"nic_block": "", "nic_routes": []}
    routes = [
        {"address": str(route.address), "gateway": ipv4_text(route.gateway), "port": route.port}
        for route in nics.routes
    ]
    return {"nic_block": rule_text(PoolRule(nics.block, HOST_LENGTH)), "nic_routes": routes}


def _ipv6_values(routes: Ipv6Routes | None) -> dict[str, str] | None:
    """Return what the template needs of IPv6; None if the fabric carries none."""
    if routes is None:
        return None
    return {"host_block": str(routes.host_block or ""), "accepted": rule_text(routes.accepted)}


def own_frr_template(templates: Templates) -> Path | None:
    """Return the project's FRR template, or None if the project has none or it is equal to railweave's."""
    used = _template_file(templates)
    shipped = _template_file(find_templates())
    if used is None or shipped is None or used.read_bytes() == shipped.read_bytes():
        return None
    return used


def _template_file(templates: Templates) -> Path | None:
    """Return the FRR template that is used: the one in the first folder that has it."""
    for folder in templates.folders:
        file = folder / FRR_TEMPLATE
        if file.is_file():
            return file
    return None


def peer_text(session: BgpSession) -> str:
    """Return the name of a session's neighbor in FRR: its address, or our port of an unnumbered link."""
    if session.address is None:
        return session.port
    return ipv4_text(session.address)


def rule_text(rule: PoolRule) -> str:
    """Return a pool with the length of its prefixes, as an entry of a prefix list."""
    if rule.length == rule.pool.length:
        return str(rule.pool)
    # FRR prints the bound of whole addresses as ``ge 32``; other lengths need both bounds.
    if rule.length == rule.pool.bits:
        return f"{rule.pool} ge {rule.length}"
    return f"{rule.pool} ge {rule.length} le {rule.length}"
