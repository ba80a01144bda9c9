"""What a change of one FRR line does to BGP sessions."""

import re

from railweave.sonic.delta.change import Disruption, Op

QUIET = tuple(
    re.compile(pattern)
    for pattern in (
        r"(ip|ipv6) (prefix-list|access-list|route|protocol|nht) ",  # policy and static routes
        r"access-list |bgp (as-path|community-list|large-community-list|extcommunity-list|community alias) ",
        r"route-map ",
        r"(match|set|call|on-match|continue|description) ",  # inside a route map
        r"network |redistribute |aggregate-address |maximum-paths |distance |table-map ",
        r"neighbor \S+ (route-map|prefix-list|filter-list|distribute-list|unsuppress-map) ",  # route refresh
        r"neighbor \S+ (description|maximum-prefix|maximum-prefix-out|soft-reconfiguration)( |$)",
        r"neighbor \S+ advertisement-interval ",
        r"neighbor \S+ (allowas-in|next-hop-self|send-community|graceful-shutdown|as-override|timers connect)( |$)",
        r"neighbor \S+ (remove-private-AS|default-originate|weight)",
        r"bgp (bestpath|deterministic-med|always-compare-med|log-neighbor-changes|graceful-shutdown|max-med)( |$)",
        r"bgp (ebgp-requires-policy|network import-check|default |update-delay|coalesce-time)",
        r"bgp (fast-external-failover|suppress-duplicates|fast-convergence|route-map delay-timer)",
        r"(debug|log) ",
    )
)
"""Lines that change while the sessions stay up (route refresh where routes are concerned)."""


# With BFD at one end alone, and while it comes up, the session stays. Taken away at one end, BFD goes down at the
# other, which ends the session (run on FRR 8.4 and 10.3; bgpd/bgp_bfd.c bfd_session_status_update).
QUIET_TO_ADD = re.compile(r"neighbor \S+ bfd$")


def line_disruption(context: str, line: str, op: Op) -> Disruption:
    """Return what adding or removing ``line`` does; a line that is not known to be quiet costs a session."""
    bare = line.removeprefix("no ")
    if any(pattern.match(bare) for pattern in QUIET):
        return Disruption.NONE
    if op is Op.ADD and QUIET_TO_ADD.match(line):
        return Disruption.NONE
    # The header of an interface or VRF changes nothing by itself; the lines under it are judged one by one.
    if not context and bare.startswith(("interface ", "vrf ")):
        return Disruption.NONE
    return Disruption.SESSION
