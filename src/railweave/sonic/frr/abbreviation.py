"""Abbreviated commands: FRR takes ``neigh 10.0.0.1 remote 65001`` and prints the whole words.

A template with such a line would be planned after every deployment. The words are those that FRR 8.4.4 and 10.3 list
for what a fabric's switches run (``list`` in each context); of other commands nothing is said.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from railweave.sonic.frr.lines import FrrEntry

_Words = dict[str, "_Words"]
"""The words that may follow, each with those after it. ``*`` is a value, ``#`` one that begins with a digit."""


def _tree(*commands: str) -> _Words:
    """Return the words of commands; ``|`` separates alternatives."""
    root: _Words = {}
    for command in commands:
        nodes = [root]
        for alternatives in command.split():
            nodes = [node.setdefault(word, {}) for node in nodes for word in alternatives.split("|")]
    return root


_TOP = _tree(
    "access-list * seq|permit|deny|remark",
    "bgp as-path access-list *",
    "bgp community alias",
    "bgp community-list|large-community-list|extcommunity-list #|standard|expanded|*",
    "bgp session-dscp|route-map|suppress-fib-pending|graceful-restart|update-delay",
    "ip prefix-list * seq # permit|deny",
    "ip prefix-list * permit|deny|description",
    "ip protocol|nht bgp|any|connected|kernel|static route-map",
    "ip nht resolve-via-default",
    "ip route|router-id|forwarding",
    "ipv6 prefix-list * seq # permit|deny",
    "ipv6 prefix-list * permit|deny|description",
    "ipv6 protocol|nht bgp|any|connected|kernel|static route-map",
    "ipv6 nht resolve-via-default",
    "ipv6 access-list|route|router-id|forwarding",
    "route-map * permit|deny",
    "router bgp # vrf|view|as-notation",
    "interface|vrf|zebra|fpm|bfd|key|agentx|hostname|log|service|debug|frr|line|password|enable|domainname|end|mgmt",
)
_ROUTER = _tree(
    "address-family ipv4|ipv6 unicast|multicast|vpn|labeled-unicast|flowspec",
    "address-family l2vpn evpn",
    "aggregate-address * as-set|summary-only|route-map|origin|matching-MED-only|suppress-map",
    "bgp allow-martian-nexthop|always-compare-med|client-to-client|cluster-id|conditional-advertisement|dampening",
    "bgp default-originate|deterministic-med|disable-ebgp-connected-route-check|ebgp-requires-policy|enforce-first-as",
    "bgp fast-convergence|fast-external-failover|graceful-restart-disable|graceful-shutdown|hard-administrative-reset",
    "bgp ipv6-auto-ra|labeled-unicast|log-neighbor-changes|long-lived-graceful-restart|minimum-holdtime|network",
    "bgp reject-as-sets|route-map|route-reflector|router-id|shutdown|suppress-duplicates|suppress-fib-pending",
    "bgp tcp-keepalive|update-delay",
    "bgp bestpath aigp|compare-routerid|peer-type",
    "bgp bestpath as-path confed|ignore|multipath-relax",
    "bgp bestpath bandwidth ignore|skip-missing|default-weight-for-missing",
    "bgp bestpath med confed|missing-as-worst",
    "bgp confederation identifier|peers",
    "bgp default ipv4-unicast|ipv6-unicast|l2vpn-evpn|dynamic-capability|local-preference|show-hostname|shutdown",
    "bgp default show-nexthop-hostname|software-version-capability|subgroup-pkt-queue-max",
    "bgp default ipv4-multicast|ipv4-vpn|ipv4-labeled-unicast|ipv4-flowspec",
    "bgp default ipv6-multicast|ipv6-vpn|ipv6-labeled-unicast|ipv6-flowspec",
    "bgp graceful-restart notification|preserve-fw-state|restart-time|rib-stale-time|select-defer-time|stalepath-time",
    "bgp listen limit|range",
    "bgp max-med administrative|on-startup",
    "bmp|coalesce-time|exit|exit-address-family|import|export|label|list|nexthop|rd|read-quanta|route-map|rt|sid",
    "auto-summary|route-target|segment-routing|synchronization|table-map|update-delay|vnc|vrf-policy|write-quanta",
    "distance #|bgp",
    "maximum-paths #|ibgp",
    "neighbor * accept-own|activate|advertisement-interval|aigp|allowas-in|as-override|attribute-unchanged|bfd",
    "neighbor * addpath-rx-paths-limit|addpath-tx-all-paths|addpath-tx-bestpath-per-AS|addpath-tx-best-selected",
    "neighbor * advertise-map|dampening|default-originate|delayopen|description|disable-addpath-rx",
    "neighbor * disable-connected-check|disable-link-bw-encoding-ieee|distribute-list|dont-capability-negotiate",
    "neighbor * ebgp-multihop|encapsulation-mpls|encapsulation-srv6|enforce-first-as|enforce-multihop",
    "neighbor * extended-link-bandwidth|extended-optional-parameters|filter-list|graceful-restart",
    "neighbor * graceful-restart-disable|graceful-restart-helper|graceful-shutdown|local-as|local-role",
    "neighbor * maximum-prefix-out|next-hop-self|next-hop-unchanged|nexthop-local|oad|override-capability|passive",
    "neighbor * password|path-attribute|peer-group|port|prefix-list|remove-private-AS|route-map",
    "neighbor * route-reflector-client|route-server-client|send-community|sender-as-path-loop-detection",
    "neighbor * soft-reconfiguration|solo|soo|strict-capability-match|tcp-mss|ttl-security|unsuppress-map",
    "neighbor * update-source|weight",
    "neighbor * bfd check-control-plane-failure|profile|strict",
    "neighbor * capability dynamic|extended-nexthop|fqdn|link-local|orf|software-version",
    "neighbor * distribute-list|filter-list|prefix-list|route-map * in|out",
    "neighbor * interface peer-group|remote-as|v6only",
    "neighbor * local-as # no-prepend replace-as dual-as",
    "neighbor * maximum-prefix # warning-only|restart|force|#",
    "neighbor * maximum-prefix # # warning-only|restart|force",
    "neighbor * next-hop-self force|all",
    "neighbor * remote-as #|internal|external|auto",
    "neighbor * remove-private-AS all|replace-AS",
    "neighbor * send-community all|both|extended|large|standard",
    "neighbor * shutdown message|rtt",
    "neighbor * soft-reconfiguration inbound",
    "neighbor * timers #|connect|delayopen",
    "neighbor * ttl-security hops",
    "network * mask|route-map|label-index|backdoor",
    "redistribute kernel|connected|local|static|rip|ripng|ospf|ospf6|isis|eigrp|nhrp|table|vnc|vnc-direct|babel",
    "redistribute openfabric|table-direct",
    "timers bgp",
)
_ROUTE_MAP = _tree(
    "call|continue|description|on-match",
    "on-match next|goto",
    "match alias|as-path|community|community-limit|extcommunity|interface|large-community|local-preference|metric",
    "match mac|origin|peer|probability|rpki|rpki-extcommunity|script|source-instance|source-protocol|source-vrf",
    "match src-peer|tag",
    "match evpn default-route|rd|route-type|vni",
    "match ip|ipv6 address|next-hop|route-source",
    "match origin egp|igp|incomplete",
    "match rpki valid|invalid|notfound",
    "set aggregator|aigp-metric|as-path|atomic-aggregate|comm-list|community|distance|evpn|extcommunity",
    "set extended-comm-list|forwarding-address|ip|ipv4|ipv6|l3vpn|label-index|large-comm-list|large-community",
    "set local-preference|max-metric|metric|metric-type|min-metric|origin|originator-id|sr-te|src|table|tag|weight",
    "set as-path exclude|prepend|replace",
    "set extcommunity bandwidth|color|none|nt|rt|soo",
    "set ip next-hop|vpn",
    "set ip next-hop #|peer-address|unchanged",
    "set ipv6 next-hop|vpn",
    "set ipv6 next-hop global|local|peer-address|prefer-global",
    "set origin egp|igp|incomplete",
)
_CONTEXTS: Mapping[str, _Words] = {
    "router bgp ": _ROUTER,
    "address-family ": _ROUTER,
    "route-map ": _ROUTE_MAP,
}


class WrittenOut(NamedTuple):
    """A line with whole words, and the abbreviations that it had."""

    line: str
    abbreviations: tuple[str, ...]


# The switches of a fabric have most of their lines in common.
@lru_cache(maxsize=8192)
def written_out(entry: FrrEntry) -> WrittenOut:
    """Return a line with its abbreviated words written out."""
    tree = _words_of(entry.path)
    negation = ""
    line = entry.line
    if line.startswith("no "):
        negation = "no "
        line = line.removeprefix("no ")
    words = line.split(" ")
    whole_words = _whole_words(words, tree)
    abbreviations = [word for word, whole_word in zip(words, whole_words, strict=True) if word != whole_word]
    return WrittenOut(negation + " ".join(whole_words), tuple(abbreviations))


def _words_of(path: Sequence[str]) -> _Words:
    """Return the commands of a context, none for one that a fabric's switches do not have."""
    if not path:
        return _TOP
    for opening, tree in _CONTEXTS.items():
        if path[-1].startswith(opening):
            return tree
    return {}


def _whole_words(words: Iterable[str], tree: _Words) -> list[str]:
    """Return the words of a command written out; values and unknown words stay."""
    whole_words: list[str] = []
    for word in words:
        key = _key(tree, word)
        is_keyword = key not in ("", "*", "#")
        whole_words.append(key if is_keyword else word)
        tree = tree.get(key, {})
    return whole_words


def _key(tree: _Words, word: str) -> str:
    """Return which of the words that may follow is meant; empty if none or several are."""
    if word in tree:
        return word
    if "#" in tree and word[:1].isdigit():
        return "#"
    if "*" in tree:
        return "*"
    candidates = [key for key in tree if key.startswith(word)]
    if len(candidates) != 1:
        return ""
    return candidates[0]
