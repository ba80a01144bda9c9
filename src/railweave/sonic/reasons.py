"""The reasons of lines of the rendered FRR file and of fields: one sentence with rule, intent path and source.

A line without a rule comes from a template that the project overrides.
"""

import re
from collections.abc import Iterator
from typing import Final

from railweave.sonic.rows import FrrLine

_UNKNOWN = "The project's own template templates/frr/frr.conf.j2 says so."

_RULES: Final[tuple[tuple[str, str], ...]] = (
    (r"frr defaults ", "Names FRR's defaults, so that the file means the same whatever an image was built with."),
    (r"hostname ", "The switch's name (fabric, role and number)."),
    (r"log ", "FRR logs to the switch's syslog."),
    (
        r"(no )?(fpm|zebra nexthop) ",
        "SONiC's bgp container adds this line when it is absent (docker_init.sh); fpmsyncd takes routes to the ASIC.",
    ),
    (
        r"bgp session-dscp ",
        "BGP is marked for the class that carries it (traffic_classes with role control); FRR's own mark is CS6.",
    ),
    (r"service integrated-vtysh-config", "One file for all daemons: docker_routing_config_mode is split-unified."),
    (
        r"ip route \S+ blackhole ",
        "The host block has a route, so that BGP may announce it; distance 250 lets every real route win "
        "(addressing.hosts; the leaf is the block's only origin).",
    ),
    (
        r"ip route \S+ \S+ \S+$",
        "The way to a NIC that several leaves share (topology.leaves_per_nic, addressing.nics), as long as the link is "
        "up: BGP announces what has a route, so this leaf stops when its link fails. The interface keeps the next hop "
        "from being resolved by the host block's route.",
    ),
    (
        r"ipv6 route \S+ blackhole ",
        "The /64 of the leaf's hosts has a route, so that BGP may announce it; distance 250 lets every real route win "
        "(addressing.hosts_ipv6; the leaf is its only origin).",
    ),
    (r"router bgp ", "The switch's AS number: one a leaf, one for all spines of a plane (addressing.asn; RFC 7938)."),
    (r"bgp router-id ", "The switch's own address, unique in the fabric (addressing.loopbacks)."),
    (
        r"bgp suppress-fib-pending",
        "A route is announced once the ASIC has it, as SONiC's own BGP template of 202411 and later says "
        "(sonic.release); before that, traffic for it would be lost here.",
    ),
    (r"bgp log-neighbor-changes", "A session that comes or goes is written to the log."),
    (r"no bgp default ipv4-unicast", "No neighbor carries routes before its policy is attached."),
    (
        r"bgp bestpath as-path multipath-relax",
        "Paths through different AS numbers of one length share the load (RFC 7938 section 6; check B-5).",
    ),
    (r"neighbor \S+ peer-group$", "All neighbors of the far tier share timers and policy."),
    (r"neighbor \S+ bfd$", "BFD ends a session 0.9 s after the neighbor fell silent (bgp.bfd)."),
    (r"neighbor \S+ timers connect ", "A lost session is tried again every 10 s (FRR's data-center profile)."),
    (r"neighbor \S+ timers ", "Keepalive and hold time (bgp.keepalive, bgp.hold; check B-10)."),
    (
        r"neighbor \S+ remote-as ",
        "One session a link with the AS number written out, so that a wrong cable is refused (topology; RFC 7938 "
        "section 5.2.1).",
    ),
    (r"neighbor \S+ peer-group ", "The neighbor takes timers and policy of its tier."),
    (r"neighbor \S+ description ", "The far device and port of the cable plan (topology)."),
    (r"address-family ipv6 ", "Routes of IPv6, the family of the hosts' /64s (addressing.hosts_ipv6)."),
    (r"address-family ", "Routes of IPv4, the family of switches' own addresses and host blocks (addressing)."),
    (
        r"network ",
        "What this switch is the origin of: its own address, on a leaf its host block too (addressing); no link subnet "
        "(RFC 7938 section 5.2.3).",
    ),
    (r"neighbor \S+ activate", "The sessions carry IPv4 routes."),
    (
        r"neighbor \S+ maximum-prefix ",
        "Half as many prefixes again as the reserve can bring (topology.reserve); more is a mistake and closes the "
        "session for five minutes.",
    ),
    (
        r"neighbor \S+ route-map \S+ (in|out)",
        "Policy in both directions is explicit, so that it does not depend on FRR's profile (RFC 8212).",
    ),
    (
        r"maximum-paths ",
        "Room for every uplink a leaf can have; fixed, so that more spines do not change a leaf (check B-6).",
    ),
    (
        r"ip prefix-list FABRIC-PREFIXES ",
        "Only loopbacks and whole host blocks travel through the fabric (addressing.loopbacks, addressing.hosts).",
    ),
    (
        r"ipv6 prefix-list FABRIC-PREFIXES-V6 ",
        "Of IPv6 only the /64s of hosts travel through the fabric (addressing.hosts_ipv6).",
    ),
    (r"ipv6 prefix-list OWN-PREFIXES-V6 ", "A leaf announces its own /64 and nothing else (check V-1)."),
    (
        r"ip prefix-list PL_LoopbackV4 ",
        "What SONiC's TSA still announces of a switch in maintenance; SONiC's own templates write the same list.",
    ),
    (r"ip prefix-list OWN-PREFIXES ", "A leaf announces its own prefixes and nothing else (check V-1)."),
    (
        r"bgp community-list ",
        "The mark of routes that came down from a spine; a leaf never sends them up again (check V-1).",
    ),
    (
        r"route-map RM_SET_SRC |set src |ip protocol bgp route-map RM_SET_SRC",
        "bgpcfgd writes the same: the switch speaks from Loopback0 on routes that BGP learned.",
    ),
    (
        r"route-map TO-(SUPER-)?SPINES-V4 ",
        "Keeps the leaf from being transit: marked routes first, then only its own (check V-1). SONiC's TSA finds it "
        "by the V4 in its name and puts its entries before number 100.",
    ),
    (
        r"route-map TO-(SUPER-)?SPINES-V6 ",
        "Keeps the leaf from being transit for IPv6: marked routes first, then only its own (check V-1). SONiC's TSA "
        "finds it by the V6 in its name and puts its entries before number 100.",
    ),
    (r"route-map ", "What may pass between the tiers (addressing; check V-1)."),
    (r"match community ", "A route that a spine sent is not sent up again (check V-1)."),
    (r"match (ip|ipv6) address ", "Binds the prefix list to the policy."),
    (
        r"set community ",
        "Marks the route as learned from a spine, the second guard beside the prefix list (check V-1).",
    ),
    (r"ip nht ", "Next hops may be resolved through a default route, as in SONiC's own configuration."),
)
_OF_IPV6: Final[tuple[tuple[str, str], ...]] = (
    (
        r"network ",
        "What this leaf is the origin of in IPv6: the /64 of its hosts (addressing.hosts_ipv6).",
    ),
    (
        r"neighbor \S+ activate",
        "The sessions carry IPv6 routes beside those of IPv4 (addressing.hosts_ipv6). FRR negotiates families when a "
        "session opens (RFC 4760 section 8): with the line or without it a running session starts again.",
    ),
)
"""Rules of lines in the address family of IPv6, which come before the others there."""

_COMPILED = tuple((re.compile(pattern), reason) for pattern, reason in _RULES)
_COMPILED_IPV6 = tuple((re.compile(pattern), reason) for pattern, reason in _OF_IPV6)
_CLOSING = frozenset({"", "!", "end", "exit", "exit-address-family"})


_PLATFORM = "The platform's own, for the speeds of topology.leaf and topology.spine (catalog)."
_OF_FIELDS: Final = {
    ("PORT", "mtu"): "The MTU of the fabric's links and the nodes' packets on them (mtu.fabric).",
    ("PORT", "speed"): "The speed of the port's part of the panel (topology.leaf, topology.spine).",
    **{("PORT", name): _PLATFORM for name in ("alias", "fec", "index", "lanes", "subport")},
}


def field_reason(table: str, field: str) -> str:
    """Return why a field has its value; empty if the reason depends on the row."""
    return _OF_FIELDS.get((table, field), "")


def frr_reason(line: str, context: str = "") -> str:
    """Return why a line is in a rendered FRR file; ``context`` are the contexts that it is in."""
    rules = _COMPILED
    if "address-family ipv6" in context:
        rules = (*_COMPILED_IPV6, *_COMPILED)
    for pattern, reason in rules:
        if pattern.match(line):
            return reason
    return _UNKNOWN


def frr_lines(text: str) -> Iterator[FrrLine]:
    """Yield the lines of an FRR file in their contexts, without those that only close a context."""
    # Lines that may be contexts of the next one, by their indents: the outermost first.
    enclosing: dict[int, str] = {}
    for raw_line in text.splitlines():
        line = raw_line.strip()
        if line in _CLOSING:
            continue
        indent = len(raw_line) - len(raw_line.lstrip())
        enclosing = {outer_indent: outer for outer_indent, outer in enclosing.items() if outer_indent < indent}
        context = " / ".join(enclosing.values())
        yield FrrLine(context, line, frr_reason(line, context))
        enclosing[indent] = line
