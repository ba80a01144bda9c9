"""The commands of FRR that the simulator accepts, by node: what opens a context and what a line replaces.

A pattern is FRR's own notation, slightly simplified: upper-case words are values, ``a|b`` a choice, ``[x]`` an option.
What stands before ``=`` identifies the line: a new line with the same identity replaces the old one. Without ``=`` the
whole line does, so that several may stand.
"""

import re
from dataclasses import dataclass
from functools import cache

CONFIG = "config"
BGP = "bgp"
BGP_AF = "bgp-af"
ROUTE_MAP = "route-map"
INTERFACE = "interface"
VRF = "vrf"
LINE_VTY = "line-vty"

# FRR's numbers of its nodes, as its messages show them (8.4.4, measured).
NODE_NUMBERS = {CONFIG: 4, INTERFACE: 17, BGP: 25, BGP_AF: 28, ROUTE_MAP: 59}

_VALUES = {
    "IP": r"\d+\.\d+\.\d+\.\d+",
    "PFX": r"\d+\.\d+\.\d+\.\d+/\d+",
    "PFX6": r"[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*/\d+",
    "N": r"\d+",
    "NAME": r"\S+",
    "PEER": r"\S+",
    "REST": r".+",
}

_OPENERS: dict[str, tuple[tuple[str, str], ...]] = {
    CONFIG: (
        (BGP, "router bgp N [vrf NAME]"),
        (ROUTE_MAP, "route-map NAME permit|deny N"),
        (INTERFACE, "interface NAME [vrf NAME]"),
        (VRF, "vrf NAME"),
        (LINE_VTY, "line vty"),
    ),
    BGP: ((BGP_AF, "address-family ipv4|ipv6|l2vpn unicast|multicast|evpn|labeled-unicast"),),
}

_TEXT = """
config:
  frr version = REST | frr defaults = REST | hostname = NAME | domainname = NAME | service integrated-vtysh-config
  service password-encryption | log syslog = [NAME] | log file = REST | log stdout = [NAME] | log facility = NAME
  log timestamp = precision N | password = REST | enable password = REST | agentx
  ip nht resolve-via-default | ipv6 nht resolve-via-default | ip router-id = IP | debug REST
  fpm address = IP [port N] | zebra route-map delay-timer = N | ip protocol NAME = route-map NAME
  ipv6 protocol NAME = route-map NAME | bgp no-rib | bgp send-extra-data zebra
  ip route PFX REST | ipv6 route PFX6 REST | ip prefix-list NAME seq N = permit|deny REST
  ip prefix-list NAME description = REST | ipv6 prefix-list NAME seq N = permit|deny REST
  ipv6 prefix-list NAME description = REST | ip prefix-list NAME permit|deny REST
  ipv6 prefix-list NAME permit|deny REST | access-list NAME seq N = REST
  bgp as-path access-list NAME seq N = permit|deny REST | bgp as-path access-list NAME permit|deny REST
  bgp graceful-shutdown
  bgp community-list standard|expanded NAME seq N = permit|deny REST
  bgp community-list standard|expanded NAME permit|deny REST
  bgp large-community-list standard|expanded NAME seq N = permit|deny REST
bgp:
  bgp router-id = IP | bgp log-neighbor-changes | bgp bestpath as-path multipath-relax
  bgp bestpath compare-routerid | bgp bestpath med REST | bgp always-compare-med | bgp cluster-id = IP
  bgp graceful-restart | bgp graceful-restart-disable | bgp graceful-restart preserve-fw-state
  bgp graceful-restart restart-time = N | bgp graceful-restart stalepath-time = N
  bgp graceful-restart select-defer-time = N | bgp graceful-shutdown | bgp suppress-fib-pending
  bgp update-delay = N [N] | bgp coalesce-time = N | bgp listen range PFX = peer-group NAME | bgp listen limit = N
  bgp deterministic-med | bgp session-dscp = N | bgp max-med REST | timers bgp = N N | coalesce-time = N
  bgp default local-preference = N
  neighbor PEER peer-group | neighbor PEER peer-group = NAME | neighbor PEER remote-as = N|internal|external
  neighbor PEER interface | neighbor PEER interface = peer-group NAME
  neighbor PEER interface = remote-as N|internal|external
  neighbor PEER interface = v6only [remote-as NAME] | neighbor PEER local-as = N [no-prepend] [replace-as]
  neighbor PEER description = REST | neighbor PEER shutdown | neighbor PEER shutdown = message REST
  neighbor PEER password = REST | neighbor PEER ebgp-multihop = [N] | neighbor PEER timers = N N
  neighbor PEER timers connect = N | neighbor PEER advertisement-interval = N | neighbor PEER update-source = NAME
  neighbor PEER disable-connected-check | neighbor PEER capability extended-nexthop | neighbor PEER bfd = [REST]
  neighbor PEER ttl-security = hops N | neighbor PEER passive | neighbor PEER enforce-first-as
  neighbor PEER graceful-restart | neighbor PEER graceful-restart-helper | neighbor PEER graceful-restart-disable
  neighbor PEER graceful-shutdown
bgp-af:
  network PFX = [route-map NAME] | network PFX6 = [route-map NAME] | aggregate-address PFX = [REST]
  redistribute connected|static|kernel = [route-map NAME] | maximum-paths = N | maximum-paths ibgp = N
  neighbor PEER activate | neighbor PEER route-map NAME in|out | neighbor PEER prefix-list NAME in|out
  neighbor PEER filter-list NAME in|out | neighbor PEER soft-reconfiguration inbound
  neighbor PEER maximum-prefix = N [N] [warning-only] [restart N] | neighbor PEER maximum-prefix-out = N
  neighbor PEER allowas-in = [NAME] | neighbor PEER as-override | neighbor PEER next-hop-self = [force]
  neighbor PEER send-community = [NAME] | neighbor PEER default-originate = [route-map NAME]
  neighbor PEER route-reflector-client | neighbor PEER remove-private-AS = [REST] | neighbor PEER weight = N
  neighbor PEER addpath-tx-all-paths | neighbor PEER unsuppress-map = NAME | table-map = NAME
route-map:
  match ip address prefix-list = NAME | match ip address = NAME | match ipv6 address prefix-list = NAME
  match ip next-hop = REST | match community = NAME [exact-match] | match as-path = NAME | match interface = NAME
  match tag = N | match local-preference = N | match metric = N | match source-protocol = NAME | match peer = NAME
  match large-community = NAME | match evpn REST | set community = REST | set large-community = REST
  set comm-list = NAME delete | set as-path prepend = REST | set as-path exclude = REST
  set local-preference = NAME | set metric = NAME | set weight = N | set tag = N | set origin = NAME
  set src = NAME | set ip next-hop = REST | set ipv6 next-hop REST | set extcommunity NAME = REST | on-match = REST
  call = NAME | description = REST
interface:
  ip address PFX [label NAME] | ipv6 address PFX6 | description = REST | shutdown | link-detect | mpls enable|disable
  ipv6 nd ra-interval = REST | ipv6 nd suppress-ra | bandwidth = N | multicast
vrf:
  vni = N | ip route PFX REST | ip router-id = IP | ip nht resolve-via-default | ipv6 nht resolve-via-default
line-vty:
  exec-timeout = REST | access-class = NAME
"""

# Switches that are on unless ``no`` says otherwise; FRR shows them only when they are off. (``link-detect`` and
# ``suppress-ra`` of interfaces may be written either way.)
DEFAULT_ON = {
    CONFIG: ("ip forwarding", "ipv6 forwarding", "fpm use-next-hop-groups", "zebra nexthop kernel enable"),
    BGP: (
        "bgp default ipv4-unicast", "bgp ebgp-requires-policy", "bgp network import-check", "bgp suppress-duplicates",
        "bgp hard-administrative-reset", "bgp graceful-restart notification", "bgp fast-external-failover",
    ),
    INTERFACE: ("ipv6 nd suppress-ra", "link-detect"),
}  # fmt: skip

# Switches of every VRF, the default one among them, that are on from FRR 9.1 (pull request 14162).
NEXTHOP_TRACKING = ("ip nht resolve-via-default", "ipv6 nht resolve-via-default")


@dataclass(frozen=True, slots=True)
class Rule:
    """One pattern: ``whole`` matches a line, its group is the identity; ``words`` for incomplete commands."""

    whole: re.Pattern[str]
    words: tuple[str, ...]


def _word(word: str) -> str:
    """Return the regular expression of a word of a pattern, with its choices."""
    return "|".join(_VALUES.get(choice, re.escape(choice)) for choice in word.split("|"))


def _regex(pattern: str) -> str:
    """Return the regular expression of a pattern; it has a space before each word."""
    text = ""
    # The parts of a pattern are words and options in brackets.
    for part in re.findall(r"\[[^]]*\]|\S+", pattern):
        words = part.strip("[]").split()
        expression = "".join(rf" (?:{_word(word)})" for word in words)
        text += f"(?:{expression})?" if part.startswith("[") else expression
    return text


def _compile(pattern: str) -> Rule:
    """Return the rule of a pattern."""
    identity, equals, value = pattern.partition(" = ")
    head = _regex(identity).removeprefix(" ")
    tail = _regex(value) if equals else ""
    words = tuple(_word(word.strip("[]")) for word in pattern.replace(" =", "").split())
    return Rule(re.compile(f"^({head}){tail}$"), words)


@cache
def _patterns() -> dict[str, dict[str, list[str]]]:
    """Return the patterns of each node by their first word, which is never a value."""
    patterns: dict[str, dict[str, list[str]]] = {}
    node = CONFIG
    for line in _TEXT.strip().splitlines():
        if not line.startswith(" "):
            node = line.rstrip(":")
            patterns[node] = {}
            continue
        for pattern in line.strip().split(" | "):
            patterns[node].setdefault(pattern.split()[0], []).append(pattern)
    for node_of_switches, switches in DEFAULT_ON.items():
        for switch in switches:
            patterns[node_of_switches].setdefault(switch.split()[0], []).append(switch)
    return patterns


@cache
def _rules(node: str, first: str) -> tuple[Rule, ...]:
    """Return the rules of a node for lines that begin with the word ``first``."""
    # Compiled when a line begins so: most never do.
    return tuple(_compile(pattern) for pattern in _patterns()[node].get(first, ()))


@cache
def _openers(node: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return the nodes that lines of a node open, each with the pattern of its lines."""
    openers = _OPENERS.get(node, ())
    return tuple((opened, re.compile(f"^{_regex(text).removeprefix(' ')}$")) for opened, text in openers)


def opens(node: str, line: str) -> str | None:
    """Return the node that a line opens when it is given in ``node``; None if it opens none."""
    for opened, pattern in _openers(node):
        if pattern.match(line):
            return opened
    return None


def identity(node: str, line: str) -> str | None:
    """Return the identity of a line, which a line that replaces it has too; None if the node has no such command."""
    for rule in _rules(node, line.partition(" ")[0]):
        match = rule.whole.match(line)
        if match:
            return match.group(1)
    return None


def is_beginning(node: str, line: str) -> bool:
    """Tell whether a line is the beginning of a command of the node, with words missing at its end."""
    words = line.split()
    for rule in _rules(node, line.partition(" ")[0]):
        if len(words) < len(rule.words):
            words_and_patterns = zip(words, rule.words, strict=False)
            if all(re.fullmatch(pattern, word) for word, pattern in words_and_patterns):
                return True
    return False
