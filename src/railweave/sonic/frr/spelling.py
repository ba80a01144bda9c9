"""The one way in which a line is compared: FRR takes many spellings of a command and prints one.

Each family of commands has a function that writes it as FRR prints it: words in its order, networks without host bits,
addresses and numbers in their short form, a default that is written out left away. The sources are FRR's own answers
(tests/conformance/frr_spellings, FRR 8.4.4 and 10.3) and where they are silent its sources (staticd/static_vty.c,
bgpd/bgp_vty.c, bgpd/bgp_route.c, bgpd/bgp_community.c). What is not known is left as it is written.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, ip_address, ip_network

from railweave.sonic.frr.lines import FrrEntry

_DOTTED = re.compile(r"(\d{1,5})\.(\d{1,5})$")
_ZEROS = re.compile(r"^0+(?=\d)")

WELL_KNOWN_COMMUNITIES = {
    "gshut": 0xFFFF0000,
    "graceful-shutdown": 0xFFFF0000,
    "accept-own": 0xFFFF0001,
    "route-filter-translated-v4": 0xFFFF0002,
    "route-filter-v4": 0xFFFF0003,
    "route-filter-translated-v6": 0xFFFF0004,
    "route-filter-v6": 0xFFFF0005,
    "llgr-stale": 0xFFFF0006,
    "no-llgr": 0xFFFF0007,
    "accept-own-nexthop": 0xFFFF0008,
    "blackhole": 0xFFFF029A,
    "no-export": 0xFFFFFF01,
    "no-advertise": 0xFFFFFF02,
    "local-AS": 0xFFFFFF03,
    "no-peer": 0xFFFFFF04,
}
"""Communities that FRR prints by name (RFC 8326, RFC 7999, RFC 1997, bgpd/bgp_community.h)."""
_NAMES = {value: name for name, value in WELL_KNOWN_COMMUNITIES.items()}

_DEFAULT_VALUES = re.compile(
    r"timers bgp 60 180$|bgp default local-preference 100$|bgp listen limit 100$|distance bgp 20 200 200$|"
    r"bgp graceful-restart (restart-time 120|stalepath-time 360|select-defer-time 360|rib-stale-time 500)$|"
    r"bgp (session-dscp 48|route-map delay-timer 5)$|neighbor \S+ (ebgp-multihop 1|port 179)$|"
    r"(transmit-interval|receive-interval) 300$|detect-multiplier 3$|minimum-ttl 254$|"
    r"no (echo-mode|passive-mode|shutdown)$|echo (transmit-interval|receive-interval) 50$"
)
"""Values that FRR has without a line and prints none for."""

_WITH_BFD = re.compile(r"(?P<bfd>neighbor \S+ bfd) (?P<more>profile|check-control-plane-failure|strict)")


def is_default_value(line: str) -> bool:
    """Tell whether ``line`` writes out a value that FRR has anyway and therefore does not print."""
    if line.startswith("neighbor ") and not line.endswith((" 1", " 179")):
        return False
    return _DEFAULT_VALUES.match(line) is not None


_MORE = re.compile(
    r"echo-interval \d|"
    r"neighbor \S+ (bfd \D|route-server-client$|addpath-tx-bestpath-per-AS$)|no neighbor \S+ send-community (all|both)$"
)


@lru_cache(maxsize=8192)
def has_more_beside(line: str) -> bool:
    """Tell whether FRR prints another line beside this one."""
    return _MORE.match(line) is not None


def beside(entry: FrrEntry) -> tuple[FrrEntry, ...]:
    """Return a line and those that FRR prints beside it: before a profile of BFD comes the neighbor's BFD itself."""
    line = entry.line
    if line.startswith("echo-interval "):
        return _both_echoes(entry)
    return _beside_neighbor(entry)


def _both_echoes(entry: FrrEntry) -> tuple[FrrEntry, ...]:
    interval = number(entry.line.rpartition(" ")[2])
    return tuple(FrrEntry(entry.context, f"echo {way}-interval {interval}") for way in ("transmit", "receive"))


def _beside_neighbor(entry: FrrEntry) -> tuple[FrrEntry, ...]:
    line = entry.line
    if not line.startswith(("neighbor ", "no neighbor ")):
        return (entry,)
    with_bfd = _WITH_BFD.match(line)
    if with_bfd:
        return FrrEntry(entry.context, with_bfd["bfd"]), entry
    if line.startswith("no neighbor ") and line.endswith((" send-community all", " send-community both")):
        head, _, kind = line.rpartition(" ")
        names = ["", " extended", *([" large"] if kind == "all" else [])]
        return tuple(FrrEntry(entry.context, f"{head}{name}") for name in names)
    if line.endswith(" addpath-tx-bestpath-per-AS"):
        return FrrEntry(entry.path[0], "bgp deterministic-med"), entry
    if line.endswith(" route-server-client") and line.startswith("neighbor "):
        return entry, FrrEntry(entry.context, line.replace("route-server-client", "attribute-unchanged next-hop"))
    return (entry,)


def as_number(word: str) -> str:
    """Return an AS number in plain digits: FRR takes ``1.10`` for 65546 from 9.0 on (RFC 5396)."""
    dotted = _DOTTED.match(word)
    return str(int(dotted[1]) << 16 | int(dotted[2])) if dotted else word


def network(word: str) -> str:
    """Return a network in its short form, without host bits; another word as it is."""
    if "/" not in word:
        return word
    try:
        return str(ip_network(word, strict=False))
    except ValueError:
        return word


def address(word: str) -> str:
    """Return an IPv6 address in its short form; another word as it is."""
    if ":" not in word:
        return word
    try:
        return str(ip_address(word))
    except ValueError:
        return word


def number(word: str) -> str:
    """Return digits without leading zeros; another word as it is."""
    return _ZEROS.sub("", word) if word.isdigit() else word


# What runs on a switch and what is intended have nearly all of their lines in common.
@lru_cache(maxsize=8192)
def spelled(line: str) -> str:
    """Return a line as FRR prints it."""
    if line.startswith("no "):
        return f"no {spelled(line[3:])}"
    words = line.split(" ")
    write = _NEIGHBOR.get(words[2]) if words[0] == "neighbor" and len(words) > 2 else _WRITTEN.get(words[0])
    if words[0] == "neighbor" and len(words) > 1 and ":" in words[1]:
        words[1] = address(words[1])
    elif write is None:
        return line
    return " ".join(words if write is None else write(words))


def _route(words: list[str]) -> list[str]:
    """Return a static route: tag before distance, then what follows in FRR's order; a distance of 1 is the default."""
    if words[1:2] != ["route"] or len(words) < 4:
        return _list_or_protocol(words)
    head, rest = [*words[:2], network(words[2])], words[3:]
    if _is_mask(rest[0]) and len(rest) > 1:
        head[2] = _masked(words[2], rest[0])
        rest = rest[1:]
    target = "blackhole" if rest[0] in ("Null0", "null0", "blackhole") else address(rest[0])
    head, rest = [*head, target], rest[1:]
    if rest and not rest[0].isdigit() and rest[0] not in _ROUTE_OPTIONS:
        head, rest = [*head, rest[0]], rest[1:]
    options: dict[str, list[str]] = {}
    while rest:
        name = "distance" if rest[0].isdigit() else rest[0]
        length = {"distance": 1, "onlink": 1}.get(name, 2)
        if name not in ("distance", *_ROUTE_OPTIONS):
            return [*head, *_in_order(options), *rest]
        options[name] = [number(word) for word in rest[:length]]
        rest = rest[length:]
    return [*head, *_in_order(options)]


_ROUTE_OPTIONS = ("tag", "distance", "nexthop-vrf", "vrf", "table", "onlink", "label", "color")
_ROUTE_DEFAULTS = (["1"], ["nexthop-vrf", "default"], ["vrf", "default"])


def _in_order(options: dict[str, list[str]]) -> list[str]:
    """Return the options of a route in FRR's order, without those that say the default."""
    found = (options[name] for name in _ROUTE_OPTIONS if name in options)
    return [word for option in found if option not in _ROUTE_DEFAULTS for word in option]


def _is_mask(word: str) -> bool:
    return re.fullmatch(r"(255|0)(\.\d{1,3}){3}", word) is not None


def _masked(first: str, mask: str) -> str:
    try:
        return str(ip_network(f"{first}/{mask}", strict=False))
    except ValueError:
        return f"{first} {mask}"


def _list_or_protocol(words: list[str]) -> list[str]:
    """Return a line of a prefix list: its network masked, ``ge`` before ``le``, all prefixes as ``any``."""
    if words[1:2] != ["prefix-list"] or len(words) < 5 or "description" in words[3:4]:
        return words
    head, rest = _numbered(words, 3)
    if rest[:1] not in (["permit"], ["deny"]) or len(rest) < 2:
        return words
    limits = dict(zip(rest[2::2], map(number, rest[3::2]), strict=False))
    prefix = network(rest[1])
    if (prefix, limits) in (("0.0.0.0/0", {"le": "32"}), ("::/0", {"le": "128"})):
        return [*head, rest[0], "any"]
    bounds = [word for name in ("ge", "le") if name in limits for word in (name, limits[name])]
    return [*head, rest[0], prefix, *bounds]


def _numbered(words: list[str], at: int) -> tuple[list[str], list[str]]:
    """Return the words up to the number of a list's entry, without leading zeros, and those after it."""
    if words[at : at + 1] == ["seq"]:
        return [*words[: at + 1], number(words[at + 1])], words[at + 2 :]
    return words[:at], words[at:]


def _access_list(words: list[str]) -> list[str]:
    at = 3 if words[0] == "ipv6" else 2
    head, rest = _numbered(words, at)
    if len(rest) == 3 and rest[1] == "host":
        rest = [rest[0], rest[2]]
    return [*head, *map(network, rest)]


def _bgp(words: list[str]) -> list[str]:
    write = _OF_BGP.get(words[1]) if len(words) > 2 else None
    return words if write is None else write(words)


def _community_list(words: list[str]) -> list[str]:
    if words[2] != "standard":
        return words
    head, rest = _numbered(words, 4)
    return [*head, rest[0], *communities(rest[1:])] if len(rest) > 1 else words


def _extended_list(words: list[str]) -> list[str]:
    """Return a list of extended communities; FRR sorts them by their bytes: route targets come before origins."""
    if words[2] != "standard":
        return words
    head, rest = _numbered(words, 4)
    if len(rest) < 3 or len(rest) % 2 == 0:
        return words
    pairs = sorted(zip(rest[1::2], map(_route_target, rest[2::2]), strict=True))
    return [*head, rest[0], *(word for pair in pairs for word in pair)]


def _route_target(word: str) -> str:
    """Return a route target with its AS number in plain digits; an address in its place stays."""
    administrator, colon, assigned = word.partition(":")
    return f"{as_number(administrator)}{colon}{number(assigned)}"


def _path_list(words: list[str]) -> list[str]:
    head, rest = _numbered(words, 4)
    return [*head, *rest]


def _listen(words: list[str]) -> list[str]:
    return [*words[:3], *map(network, words[3:4]), *words[4:]]


def _cluster_id(words: list[str]) -> list[str]:
    return [*words[:2], str(IPv4Address(int(words[2])))] if words[2].isdigit() else words


def _best_path(words: list[str]) -> list[str]:
    if words[2:] == ["as-path", "multipath-relax", "no-as-set"]:
        return words[:4]
    return [*words[:3], *sorted(words[3:])] if words[2] == "med" else words


def _max_med(words: list[str]) -> list[str]:
    return words[:-1] if words[-1] == _MOST_MED else words


def _dampening(words: list[str]) -> list[str]:
    """Return dampening without defaults: a half-life of 15 minutes, and from it all others (bgpd/bgp_damp.h)."""
    values = [number(word) for word in words[2:]]
    if values[1:] == ["750", "2000", str(4 * int(values[0]))]:
        del values[1:]
    return words[:2] if values == ["15"] else [*words[:2], *values]


def _update_delay(words: list[str]) -> list[str]:
    return _numbers(words[:3] if words[3:4] == words[2:3] else words)


def _confederation(words: list[str]) -> list[str]:
    return [*words[:3], *map(as_number, words[3:])]


def _session_dscp(words: list[str]) -> list[str]:
    return [*words[:2], _dscp(words[2])]


_MOST_MED = "4294967294"
_CODE_POINTS = {"ef": 46, "default": 0} | {f"cs{one}": 8 * one for one in range(8)}
_CODE_POINTS |= {f"af{one}{drop}": 8 * one + 2 * drop for one in range(1, 5) for drop in range(1, 4)}


def _dscp(word: str) -> str:
    """Return a code point in digits (RFC 4594); FRR prints it so."""
    if word.lower().startswith("0x"):
        return str(int(word, 16))
    return str(_CODE_POINTS.get(word.lower(), number(word)))


def communities(words: Sequence[str]) -> list[str]:
    """Return communities by name where they have one, each once, in the order of their numbers; ``additive`` last.

    Words that are no community stay in front, as ``none``.
    """
    if any(":" in word and word.count(":") == 2 for word in words):
        return _large_communities(words)
    values = {word: _community(word) for word in words if word != "additive"}
    unknown = [word for word, value in values.items() if value is None]
    known = sorted({value for value in values.values() if value is not None})
    shown = [_NAMES.get(value, f"{value >> 16}:{value & 0xFFFF}") for value in known]
    return [*unknown, *shown, *(word for word in words if word == "additive")]


def _community(word: str) -> int | None:
    if word in WELL_KNOWN_COMMUNITIES:
        return WELL_KNOWN_COMMUNITIES[word]
    high, colon, low = word.partition(":")
    if not colon or not high.isdigit() or not low.isdigit():
        return None
    return int(high) << 16 | int(low)


def _large_communities(words: Sequence[str]) -> list[str]:
    values = {tuple(map(int, word.split(":"))) for word in words if re.fullmatch(r"\d+:\d+:\d+", word)}
    others = [word for word in words if not re.fullmatch(r"\d+:\d+:\d+", word)]
    return [*(":".join(map(str, value)) for value in sorted(values)), *others]


def _announced(words: list[str]) -> list[str]:
    """Return a ``network``: a mask becomes a length, a class its network."""
    if len(words) > 3 and words[2] == "mask":
        return ["network", _masked(words[1], words[3]), *_announced_as(words[4:])]
    prefix = words[1] if "/" in words[1] or ":" in words[1] else _of_class(words[1])
    return ["network", network(prefix), *_announced_as(words[2:])]


def _announced_as(words: list[str]) -> list[str]:
    """Return the options of a ``network``: its label, its route-map, and then that it is a back door."""
    if words[:1] == ["backdoor"]:
        words = [*words[1:], "backdoor"]
    return [*words[:1], number(words[1]), *words[2:]] if words[:1] == ["label-index"] and len(words) > 1 else words


def _of_class(word: str) -> str:
    """Return the network of an address by its class, as before CIDR (lib/prefix.c apply_classful_mask_ipv4)."""
    try:
        first = int(ip_address(word).packed[0])
    except ValueError:
        return word
    if first < 128:
        return f"{word}/8"
    return f"{word}/{16 if first < 192 else 24}"


def _aggregate(words: list[str]) -> list[str]:
    prefix, rest = words[1], words[2:]
    if rest and _is_mask(rest[0]):
        prefix, rest = _masked(prefix, rest[0]), rest[1:]
    options: list[str] = [word for word in ("as-set", "summary-only") if word in rest]
    for name in ("route-map", "origin"):
        if name in rest[:-1]:
            options += [name, rest[rest.index(name) + 1]]
    options += [word for word in ("matching-MED-only",) if word in rest]
    if "suppress-map" in rest[:-1]:
        options += ["suppress-map", rest[rest.index("suppress-map") + 1]]
    return ["aggregate-address", network(prefix), *options] if len(options) == len(rest) else words


def _redistribute(words: list[str]) -> list[str]:
    head = words[:2]
    rest = words[2:]
    if rest and rest[0].isdigit():  # ``table 5``, ``ospf 1``
        head, rest = [*head, number(rest[0])], rest[1:]
    named = dict(zip(rest[::2], rest[1::2], strict=False))
    if len(rest) % 2 or not named.keys() <= {"metric", "route-map"}:
        return words
    metric = ["metric", number(named["metric"])] if "metric" in named else []
    return [*head, *metric, *(["route-map", named["route-map"]] if "route-map" in named else [])]


def _set(words: list[str]) -> list[str]:
    name = words[1] if len(words) > 1 else ""
    if name == "community" and len(words) > 2:
        return [*words[:2], *communities(words[2:])]
    if name == "large-community":
        return [*words[:2], *_large_communities(words[2:])]
    if name == "as-path" and words[2:3] in (["prepend"], ["exclude"]) and words[3:4] != ["last-as"]:
        return [*words[:3], *map(as_number, words[3:])]
    if name == "aggregator":
        return [*words[:3], *map(as_number, words[3:4]), *words[4:]]
    if name in ("ipv6", "src"):
        return [*words[:2], *map(address, words[2:])]
    return [*words[:2], *map(_signed, words[2:])] if name in _NUMBERED_SETS else words


_NUMBERED_SETS = ("metric", "weight", "tag", "distance", "table", "label-index", "as-path", "extcommunity")


def _signed(word: str) -> str:
    """Return a number, or how much one is raised or lowered by, without leading zeros; another word as it is."""
    sign = word[:1] if word[:1] in ("+", "-") else ""
    return sign + number(word[len(sign) :])


def _match(words: list[str]) -> list[str]:
    if words[1:2] == ["peer"]:
        return [*words[:2], *map(address, words[2:])]
    if words[1:3] == ["evpn", "route-type"]:
        return [*words[:3], *(_ROUTE_TYPES.get(word, word) for word in words[3:])]
    if words[1:3] == ["ipv6", "next-hop"] and len(words) > 3 and ":" in words[-1]:
        return ["match", "ipv6", "next-hop", "address", address(words[-1])]
    if words[3:4] == ["prefix-len"]:
        return [*words[:4], *map(number, words[4:])]
    return [*words[:2], *map(number, words[2:])] if words[1:2] in _NUMBERED_MATCHES else words


_NUMBERED_MATCHES = (["tag"], ["metric"], ["local-preference"])
_ROUTE_TYPES = {"1": "ead", "2": "macip", "3": "multicast", "4": "es", "5": "prefix"}


def _remote_as(words: list[str]) -> list[str]:
    return [*words[:3], *map(as_number, words[3:4]), *words[4:]]


def _interface(words: list[str]) -> list[str]:
    if "remote-as" in words[3:-1]:
        return [*words[:-1], as_number(words[-1])]
    return words


def _bfd(words: list[str]) -> list[str]:
    """Return a neighbor's BFD: bfdd keeps timers that are written here, bgpd prints none."""
    return words[:3] if words[3:] and all(word.isdigit() for word in words[3:]) else words


def _multihop(words: list[str]) -> list[str]:
    return [*words[:3], *map(number, words[3:])] if len(words) > 3 else [*words, "255"]


def _allowas(words: list[str]) -> list[str]:
    count = [number(word) for word in words[3:]]
    return words[:3] if count == ["3"] else [*words[:3], *count]


def _maximum_prefix(words: list[str]) -> list[str]:
    values = [number(word) for word in words[3:]]
    if values[1:2] == ["75"]:
        del values[1]
    return [*words[:3], *values]


def _send_community(words: list[str]) -> list[str]:
    return words[:3] if words[3:] == ["standard"] else words


def _next_hop_self(words: list[str]) -> list[str]:
    return [*words[:3], "force"] if words[3:] == ["all"] else words


def _attribute_unchanged(words: list[str]) -> list[str]:
    kinds = ("as-path", "next-hop", "med")
    return [*words[:3], *(one for one in kinds if one in words[3:] or not words[3:])]


def _shutdown(words: list[str]) -> list[str]:
    return [*words, "count", "1"] if words[3:4] == ["rtt"] and len(words) == 5 else words


def _source(words: list[str]) -> list[str]:
    return [*words[:3], *map(address, words[3:])]


def _numbers(words: list[str]) -> list[str]:
    return [number(word) for word in words]


def _router(words: list[str]) -> list[str]:
    if words[1:2] != ["bgp"]:
        return words
    words = [*words[:2], *map(as_number, words[2:3]), *words[3:]]
    return words[:3] if words[3:] == ["vrf", "default"] else words


def _route_map(words: list[str]) -> list[str]:
    return [*words[:3], *map(number, words[3:])]


def _continue(words: list[str]) -> list[str]:
    """Return how FRR prints where a route-map goes on: ``continue 20`` is ``on-match goto 20``."""
    return ["on-match", "goto", *map(number, words[1:])] if len(words) == 2 else words


def _family(words: list[str]) -> list[str]:
    return [*words, "unicast"] if len(words) == 2 and words[1] in ("ipv4", "ipv6") else words


_Write = Callable[[list[str]], list[str]]
_OF_BGP: dict[str, _Write] = {
    "as-path": _path_list,
    "community-list": _community_list,
    "large-community-list": _community_list,
    "extcommunity-list": _extended_list,
    "listen": _listen,
    "cluster-id": _cluster_id,
    "bestpath": _best_path,
    "max-med": _max_med,
    "dampening": _dampening,
    "update-delay": _update_delay,
    "confederation": _confederation,
    "session-dscp": _session_dscp,
    "graceful-restart": _numbers,
    "default": _numbers,
    "tcp-keepalive": _numbers,
}
"""How the lines of BGP are written that begin with ``bgp``, by their second word."""
_WRITTEN: dict[str, _Write] = {
    "ip": _route,
    "ipv6": lambda words: _access_list(words) if words[1:2] == ["access-list"] else _route(words),
    "access-list": _access_list,
    "bgp": _bgp,
    "network": _announced,
    "aggregate-address": _aggregate,
    "redistribute": _redistribute,
    "set": _set,
    "match": _match,
    "timers": _numbers,
    "maximum-paths": _numbers,
    "distance": lambda words: [*map(network, _numbers(words))],
    "on-match": _numbers,
    "transmit-interval": _numbers,
    "receive-interval": _numbers,
    "detect-multiplier": _numbers,
    "minimum-ttl": _numbers,
    "echo": _numbers,
    "coalesce-time": _numbers,
    "router": _router,
    "route-map": _route_map,
    "continue": _continue,
    "address-family": _family,
}
"""How the lines of each family are written, by their first word."""

_NEIGHBOR: dict[str, _Write] = {
    "remote-as": _remote_as,
    "local-as": _remote_as,
    "interface": _interface,
    "timers": lambda words: [*words[:3], *_numbers(words[3:])],
    "advertisement-interval": lambda words: [*words[:3], *_numbers(words[3:])],
    "weight": lambda words: [*words[:3], *_numbers(words[3:])],
    "ebgp-multihop": _multihop,
    "bfd": _bfd,
    "allowas-in": _allowas,
    "maximum-prefix": _maximum_prefix,
    "maximum-prefix-out": lambda words: [*words[:3], *_numbers(words[3:])],
    "addpath-tx-best-selected": lambda words: [*words[:3], *_numbers(words[3:])],
    "send-community": _send_community,
    "next-hop-self": _next_hop_self,
    "attribute-unchanged": _attribute_unchanged,
    "shutdown": _shutdown,
    "update-source": _source,
}
"""How the lines of a neighbor are written, by their third word."""
