"""What single FRR lines mean: which line replaces which, what `no` removes, in which order they go.

An FRR configuration is compared as a set of (context, line). A context is the path of the lines above, joined by
`` / ``; the top level is the empty text. Sources: FRR's manual (docs.frrouting.org, basic, bgp, routemap, filter) and
the running configurations of FRR 8.4, 8.5 and 10.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from railweave.secrets import shown_frr

JOIN = " / "

SINGLE_VALUED = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?P<slot>bgp (router-id|cluster-id|confederation identifier)) ",
        r"(?P<slot>bgp graceful-restart (restart-time|select-defer-time|stalepath-time|rib-stale-time)) ",
        r"(?P<slot>bgp (default local-preference|listen limit|update-delay|session-dscp|route-map delay-timer)) ",
        r"(?P<slot>bgp (max-med (on-startup|administrative)|dampening|bestpath med|shutdown))( |$)",
        r"(?P<slot>bgp (bestpath as-path multipath-relax|bestpath bandwidth))( |$)",
        r"(?P<slot>bgp (minimum-holdtime|conditional-advertisement timer|tcp-keepalive)) ",
        r"(?P<slot>bgp (long-lived-graceful-restart stale-time|input-queue-limit|output-queue-limit)) ",
        r"(?P<slot>bgp graceful-restart)(-disable)?$",
        r"(?P<slot>bgp listen range \S+) ",
        r"(?P<slot>timers bgp|coalesce-time|read-quanta|write-quanta|table-map) ",
        r"(?P<slot>maximum-paths( ibgp)?) \d",
        r"(?P<slot>distance bgp) ",
        r"(?P<slot>neighbor \S+ (remote-as|local-as|timers connect|description|update-source|ebgp-multihop))( |$)",
        r"(?P<slot>neighbor \S+ (ttl-security hops|advertisement-interval|password|port|delayopen|weight)) ",
        r"(?P<slot>neighbor \S+ (allowas-in|default-originate|maximum-prefix|maximum-prefix-out))( |$)",
        r"(?P<slot>neighbor \S+ (tcp-mss|local-role|soo)) ",
        r"(?P<slot>neighbor \S+ graceful-restart)(-helper|-disable)?$",
        r"(?P<slot>neighbor \S+ addpath-tx)-(all-paths|bestpath-per-AS|best-selected)( |$)",
        r"(?P<slot>neighbor \S+ timers) \d",
        r"(?P<slot>neighbor \S+ peer-group) \S",
        r"(?P<slot>neighbor \S+ interface)( |$)",
        r"(?P<slot>neighbor \S+ (route-map|prefix-list|filter-list|distribute-list)) \S+(?P<suffix> (in|out))$",
        r"(?P<slot>neighbor \S+ unsuppress-map) ",
        r"(?P<slot>neighbor \S+ bfd)( \d|$)",
        r"(?P<slot>neighbor \S+ (bfd profile|attribute-unchanged|remove-private-AS|shutdown rtt))( |$)",
        r"(?P<slot>neighbor \S+ shutdown)( message |$)",
        r"(?P<slot>network \S+)( |$)",
        r"(?P<slot>redistribute \S+)( |$)",
        r"(?P<slot>(ip|ipv6) route \S+ \S+( (?!tag |nexthop-vrf |vrf |table |onlink|label |color |bfd)[A-Za-z]\S*)?)"
        r"( tag \d+)?( \d+)?(?P<suffix>( nexthop-vrf \S+)?( vrf \S+)?( table \S+)?( onlink)?)( |$)",
        r"(?P<slot>aggregate-address \S+)( |$)",
        r"(?P<slot>(ip|ipv6) prefix-list \S+ seq \d+) ",
        r"(?P<slot>(ip |ipv6 )?access-list \S+ seq \d+) ",
        r"(?P<slot>bgp (as-path access-list|(large-|ext)?community-list (standard|expanded)?) \S+ seq \d+) ",
        r"(?P<slot>route-map \S+) (permit|deny)(?P<suffix> \d+)$",
        r"(?P<slot>(ip|ipv6) protocol \S+ route-map) ",
        r"(?P<slot>(ip|ipv6) prefix-list \S+ description) ",
        r"(?P<slot>match (ip|ipv6) (address|next-hop|route-source)( prefix-list| prefix-len| address| type)?)( |$)",
        r"(?P<slot>match (as-path|community|large-community|extcommunity|interface|metric|tag|peer|source-protocol)) ",
        r"(?P<slot>match (alias|local-preference|mac address|origin|probability|rpki|route-type)) ",
        r"(?P<slot>match (source-instance|source-vrf|evpn (rd|route-type|vni))) ",
        r"(?P<slot>set (community|large-community|as-path prepend|as-path exclude|local-preference|metric|origin)) ",
        r"(?P<slot>set extcommunity (rt|soo|bandwidth)) ",
        r"(?P<slot>set (src|tag|weight|ipv6 next-hop global|table|distance)) ",
        # An address, and a word such as ``unchanged``, are two actions of FRR's.
        r"(?P<slot>set ip next-hop) \d",
        r"(?P<slot>set ip next-hop (?=[a-z]))",
        r"(?P<slot>set (aggregator as|(large-|extended-)?comm-list|label-index|max-metric|metric-type|min-metric)) ",
        r"(?P<slot>set (originator-id|sr-te color)) ",
        r"(?P<slot>(ip router-id|zebra nexthop-group keep|zebra route-map delay-timer)) ",
        r"(?P<slot>(on-match|call|continue|description))( |$)",
        r"(?P<slot>(echo )?(transmit|receive)-interval|detect-multiplier|minimum-ttl) ",
    )
)
"""Lines of which FRR keeps one: a second line of the same slot overwrites the first."""

CLEARED_FIRST = re.compile(
    r"redistribute |(ip|ipv6) prefix-list |(ip |ipv6 )?access-list |bgp \S*(community|access)-list |bgp bestpath med |"
    r"neighbor \S+ (remove-private-AS|shutdown)( |$)|network \S+ label-index "
)
"""Lines of one slot that FRR merges instead of replacing: the old one goes right before the new one comes."""

_TAKES_ALONG = re.compile(r"neighbor \S+ bfd$")
"""Lines whose removal takes the longer forms along: to remove these alone sets the line again (run on FRR 8.4.4)."""

DEFAULT_ON = tuple(
    re.compile(pattern)
    for pattern in (
        r"bgp (ebgp-requires-policy|default ipv4-unicast|network import-check|fast-external-failover)$",
        r"bgp (graceful-restart notification|suppress-duplicates|hard-administrative-reset)$",
        r"bgp client-to-client reflection$",
        r"neighbor \S+ (send-community( all| both| extended| large)?|enforce-first-as)$",
        r"neighbor \S+ capability (fqdn|software-version)$",
        r"(zebra nexthop kernel enable|fpm use-next-hop-groups|fpm use-route-replace)$",
        r"(ip|ipv6) forwarding$",
        r"link-detect$",
    )
)
"""Features that are on in FRR's traditional profile: FRR prints only their ``no`` form."""

_BLOCK = re.compile(r"(router|address-family|route-map|interface|vrf|bfd|line vty|key chain|segment-routing|no)( |$)")
"""Lines that open a block, and those that turn something off."""
_DEFINES = re.compile(r"neighbor (?P<name>\S+) (remote-as \S+|peer-group( \S+)?|interface( .*)?)$")
_NEIGHBOR = re.compile(r"(no )?neighbor (?P<name>\S+)( |$)")
_GROUP = re.compile(r"neighbor \S+ peer-group$")
_INTERFACE_PEER = re.compile(r"neighbor \S+ interface( |$)")
_MEMBER = re.compile(r"neighbor \S+( interface)? peer-group (?P<group>\S+)$")
_REMOVED_WITHOUT_SECRET = re.compile(
    r"(?P<kept>neighbor \S+ password|key-string|(ip )?ospf (authentication-key|message-digest-key \d+)|isis password|"
    r"(area|domain)-password) "
)
"""Lines whose ``no`` form FRR takes without the secret."""
_REMOVED_BY_FEWER_WORDS = re.compile(r"(?P<kept>set as-path (prepend|exclude)|set table|on-match goto|continue|call) ")
"""Lines whose ``no`` form FRR takes without the value alone (bgpd/bgp_routemap.c, lib/routemap_cli.c, run)."""

_BFD_TIMER = re.compile(r"(?P<name>(echo )?(transmit|receive)-interval|detect-multiplier|minimum-ttl) \d+$")
_BFD_DEFAULTS = {
    "transmit-interval": 300,
    "receive-interval": 300,
    "detect-multiplier": 3,
    "minimum-ttl": 254,
    "echo transmit-interval": 50,
    "echo receive-interval": 50,
}
"""What bfdd has without a line (bfdd/bfd.h); to write it is a removal that every release takes."""

_TOP_RANK = tuple(
    (re.compile(pattern), rank)
    for rank, pattern in enumerate(
        (
            r"(ip|ipv6) (prefix-list|access-list)|access-list|bgp (as-path|community-list|large-community-list|ext)",
            r"route-map ",
            r"vrf |interface |ip nht|ipv6 nht|bfd",
            r"(ip|ipv6) route ",
            r"router ",
            r"(ip|ipv6) protocol ",
        )
    )
)
_LINE_RANK = tuple(
    (re.compile(pattern), rank)
    for rank, pattern in enumerate(
        (
            r"bgp router-id|no bgp default",
            r"(no )?bgp |timers |distance ",
            r"neighbor \S+ (peer-group$|interface( |$))",
            r"neighbor (?!\d|\S*:)\S+ remote-as ",
            r"neighbor \S+ remote-as",
            r"neighbor \S+ peer-group ",
            r"network |redistribute |aggregate-address |maximum-paths ",
            r"(no )?neighbor (?!\S+ activate)",
            r"(no )?neighbor \S+ activate",
        )
    )
)


class FrrEntry(NamedTuple):
    """One line in its context. Its text may hold a secret; ``shown`` and ``repr`` never do. The lines of a switch are
    looked up in sets and caches all the time, and a tuple is hashed without a call.
    """

    context: str
    line: str

    @property
    def path(self) -> tuple[str, ...]:
        """Return the contexts of the line, outermost first."""
        if not self.context:
            return ()
        return tuple(self.context.split(JOIN))

    @property
    def shown(self) -> str:
        """Return the line for people and plans, secrets hidden."""
        return shown_frr(self.line)

    def __repr__(self) -> str:
        """Return the entry with secrets hidden."""
        return f"FrrEntry({self.context!r}, {self.shown!r})"


_LIST_ENTRY = re.compile(
    r"(?P<list>(ip|ipv6) prefix-list \S+|(ip |ipv6 )?access-list \S+|"
    r"bgp (as-path access-list|\S*community-list( standard| expanded)?) \S+)"
    r" seq \d+ (?P<content>.+)$"
)


@dataclass(frozen=True, slots=True)
class ListEntry:
    """A numbered line of a prefix, community or AS path list."""

    name: str
    content: str


def list_entry(line: str) -> ListEntry | None:
    """Return the parts of a numbered list line, or None."""
    match = _LIST_ENTRY.match(line)
    if match is None:
        return None
    return ListEntry(match["list"], match["content"])


@lru_cache(maxsize=4096)
def slot(line: str) -> str:
    """Return the setting that ``line`` makes: of two lines of one context and slot the later replaces the other."""
    return _known_slot(line) or line


@lru_cache(maxsize=4096)
def _known_slot(line: str) -> str:
    """Return the slot of ``SINGLE_VALUED`` that a line is in; empty if it is in none."""
    for pattern in SINGLE_VALUED:
        match = pattern.match(line)
        if match:
            return match["slot"] + (match.groupdict().get("suffix") or "")
    return ""


_EXCLUSIVE = re.compile(r"(?P<command>neighbor \S+) (ebgp-multihop|ttl-security) |match (?P<hop>ipv6 next-hop) ")
"""Settings of different slots of which FRR takes one: it refuses the second, or loses it with the first (run)."""


@lru_cache(maxsize=4096)
def command_of(line: str) -> str:
    """Return the command of a line: its first two words, or three if it is a neighbor's.

    Empty for a line with a known slot, for one that opens a block, and for one that defines a neighbor. Settings that
    exclude each other have one command in common. FRR's ``no`` may remove all values of such a command. So an old line
    is removed before a new line of the same command is added: FRR 8.4.4 and 10.3 would also forget the new value with
    the old one (run).
    """
    exclusive = _EXCLUSIVE.match(line)
    if exclusive:
        return f"{exclusive['command'] or exclusive['hop']} (one of several)"
    if _known_slot(line) or _BLOCK.match(line) or _DEFINES.match(line):
        return ""
    words = line.split(" ", 3)
    if words[0] == "neighbor":
        return " ".join(words[:3])
    return " ".join(words[:2])


@lru_cache(maxsize=8192)
def is_default_on(line: str) -> bool:
    """Tell whether ``line`` turns on a feature that is on by default, which FRR does not print."""
    # Lines of neighbors are many and all different; these words spare most of them the patterns.
    if line.startswith("neighbor ") and not any(word in line for word in (" send-comm", " enforce-", " capability ")):
        return False
    return any(pattern.match(line) for pattern in DEFAULT_ON)


def defined_neighbor(line: str) -> str | None:
    """Return the neighbor or peer group that ``line`` creates, or None."""
    match = _DEFINES.match(line)
    return match["name"] if match else None


def is_group(line: str) -> bool:
    """Tell whether ``line`` creates a peer group."""
    # The last word spares nearly all lines the pattern.
    return line.endswith(" peer-group") and _GROUP.match(line) is not None


def is_interface_peer(line: str) -> bool:
    """Tell whether ``line`` creates an unnumbered neighbor."""
    return _INTERFACE_PEER.match(line) is not None


_ROUTE = re.compile(r"(?P<prefix>(ip|ipv6) route \S+) (?P<to>\S+)")


class RoutePrefix(NamedTuple):
    """A static route without its next hop: ``ip route PREFIX``, and whether it drops packets."""

    prefix: str
    drops: bool


def route_prefix(line: str) -> RoutePrefix | None:
    """Return the prefix of a static route; None for another line."""
    match = _ROUTE.match(line)
    if match is None:
        return None
    return RoutePrefix(match["prefix"], drops=match["to"] in ("blackhole", "reject"))


def taken_along_by(line: str) -> str:
    """Return the shorter line whose removal removes ``line`` too; empty if there is none."""
    # The word spares nearly all lines the pattern.
    if " bfd " not in line:
        return ""
    shorter = " ".join(line.split(" ", 3)[:3])
    if not _TAKES_ALONG.match(shorter):
        return ""
    return shorter


def membership(line: str) -> str | None:
    """Return the peer group that ``line`` puts a neighbor into, or None."""
    match = _MEMBER.match(line)
    return match["group"] if match else None


def neighbor_of(line: str) -> str | None:
    """Return the neighbor or peer group that ``line`` is about, or None."""
    match = _NEIGHBOR.match(line)
    return match["name"] if match else None


def negated(line: str) -> str:
    """Return the command that removes ``line``."""
    if line.startswith("no "):
        return line.removeprefix("no ")
    timer = _BFD_TIMER.match(line)
    if timer is not None:
        # Writing the default removes the line in every release.
        return f"{timer['name']} {_BFD_DEFAULTS[timer['name']]}"
    shortened = _REMOVED_WITHOUT_SECRET.match(line) or _REMOVED_BY_FEWER_WORDS.match(line)
    if shortened:
        return f"no {shortened['kept']}"
    return f"no {line}"


# The lines of a switch are put in order some thirty times in a provisioning.
@lru_cache(maxsize=4096)
def rank(entry: FrrEntry) -> tuple[int, int, int]:
    """Return the sort key by which lines come before the lines that refer to them.

    Its parts are the kind of the top-level line, the depth of the line, and the kind of the line itself.
    """
    # In an address family a neighbor's policies (_LINE_RANK) come before its activation, so that no route passes
    # in between.
    path = (*entry.path, entry.line)
    return _rank_in(_TOP_RANK, path[0]), len(path), _rank_in(_LINE_RANK, entry.line)


def _rank_in(ranks: tuple[tuple[re.Pattern[str], int], ...], line: str) -> int:
    """Return the rank of the first pattern that matches a line; a line that none matches comes last."""
    return next((number for pattern, number in ranks if pattern.match(line)), len(ranks))
