"""The spelling in which lines are compared: FRR accepts many spellings of a command and prints one.

Each family of commands has a function that writes it as FRR prints it: words in its order, networks without host bits,
addresses and numbers in their short form, defaults left out. They follow FRR's own output
(tests/conformance/frr_spellings, FRR 8.4.4 and 10.3) and otherwise its sources (staticd/static_vty.c, bgpd/bgp_vty.c,
bgpd/bgp_route.c, bgpd/bgp_community.c). Unknown commands are left as they are.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, ip_address, ip_network
from itertools import chain

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
    """Tell whether ``line`` states a default value, which FRR does not print."""
    # Most lines are of neighbors, and only two defaults are: their last word spares the others the pattern.
    if line.startswith("neighbor ") and not line.endswith((" 1", " 179")):
        return False
    return _DEFAULT_VALUES.match(line) is not None


_SEVERAL = re.compile(
    r"echo-interval \d|"
    r"neighbor \S+ (bfd \D|route-server-client$|addpath-tx-bestpath-per-AS$)|no neighbor \S+ send-community (all|both)$"
)


@lru_cache(maxsize=8192)
def has_more_beside(line: str) -> bool:
    """Tell whether FRR prints this line as several (``beside``)."""
    return _SEVERAL.match(line) is not None


def beside(entry: FrrEntry) -> tuple[FrrEntry, ...]:
    """Return the lines that FRR prints for a line, in its order."""
    line = entry.line
    if line.startswith("echo-interval "):
        return _both_echoes(entry)
    if line.startswith(("neighbor ", "no neighbor ")):
        return _beside_neighbor(entry)
    return (entry,)


def _both_echoes(entry: FrrEntry) -> tuple[FrrEntry, ...]:
    interval = number(entry.line.rpartition(" ")[2])
    return tuple(FrrEntry(entry.context, f"echo {way}-interval {interval}") for way in ("transmit", "receive"))


def _beside_neighbor(entry: FrrEntry) -> tuple[FrrEntry, ...]:
    line = entry.line
    with_bfd = _WITH_BFD.match(line)
    if with_bfd:
        # Before a profile of BFD FRR prints the neighbor's BFD itself.
        return FrrEntry(entry.context, with_bfd["bfd"]), entry
    if line.startswith("no neighbor ") and line.endswith((" send-community all", " send-community both")):
        head, _, kind = line.rpartition(" ")
        suffixes = ["", " extended"]
        if kind == "all":
            suffixes.append(" large")
        return tuple(FrrEntry(entry.context, f"{head}{suffix}") for suffix in suffixes)
    if line.endswith(" addpath-tx-bestpath-per-AS"):
        return FrrEntry(entry.path[0], "bgp deterministic-med"), entry
    if line.endswith(" route-server-client") and line.startswith("neighbor "):
        return entry, FrrEntry(entry.context, line.replace("route-server-client", "attribute-unchanged next-hop"))
    return (entry,)


def as_number(word: str) -> str:
    """Return an AS number in plain digits: FRR takes ``1.10`` for 65546 from 9.0 on (RFC 5396)."""
    dotted = _DOTTED.match(word)
    if dotted is None:
        return word
    return str(int(dotted[1]) << 16 | int(dotted[2]))


# The prefixes of a switch are in several of its lines: announced, in its lists, and in a static route.
@lru_cache(maxsize=4096)
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
    if not word.isdigit():
        return word
    return _ZEROS.sub("", word)


# The running and the intended configuration of a switch have nearly all of their lines in common.
@lru_cache(maxsize=8192)
def spelled(line: str) -> str:
    """Return a line as FRR prints it."""
    if line.startswith("no "):
        return f"no {spelled(line[3:])}"
    words = line.split(" ")
    if words[0] == "neighbor":
        return _spelled_neighbor(line, words)
    write = _WRITTEN.get(words[0])
    if write is None:
        return line
    return " ".join(write(words))


def _spelled_neighbor(line: str, words: list[str]) -> str:
    write = _NEIGHBOR.get(words[2]) if len(words) > 2 else None
    has_ipv6_address = len(words) > 1 and ":" in words[1]
    if has_ipv6_address:
        words[1] = address(words[1])
    elif write is None:
        return line
    if write is not None:
        words = write(words)
    return " ".join(words)


def _route(words: list[str]) -> list[str]:
    """Return a static route: tag before distance, then the other options in FRR's order, defaults left out."""
    if words[1:2] != ["route"] or len(words) < 4:
        return _list_or_protocol(words)
    prefix = network(words[2])
    rest = words[3:]
    if _is_mask(rest[0]) and len(rest) > 1:
        prefix = _masked(words[2], rest[0])
        rest = rest[1:]
    nexthop = [address(rest[0])]
    if rest[0] in ("Null0", "null0"):
        nexthop = ["blackhole"]
    rest = rest[1:]
    # An address may be followed by the interface that it is on.
    if rest and not rest[0].isdigit() and rest[0] not in _ROUTE_OPTIONS:
        nexthop.append(rest[0])
        rest = rest[1:]
    return [*words[:2], prefix, *nexthop, *_route_options(rest)]


_ROUTE_OPTIONS = ("tag", "distance", "nexthop-vrf", "vrf", "table", "onlink", "label", "color")
_ROUTE_DEFAULTS = (["1"], ["nexthop-vrf", "default"], ["vrf", "default"])


def _route_options(words: list[str]) -> list[str]:
    """Return the options of a route in FRR's order, without defaults; from an unknown word on they stay as they are."""
    options: dict[str, list[str]] = {}
    rest = words
    while rest:
        # A distance has no keyword.
        name = "distance" if rest[0].isdigit() else rest[0]
        if name not in _ROUTE_OPTIONS:
            break
        length = 1 if name in ("distance", "onlink") else 2
        options[name] = [number(word) for word in rest[:length]]
        rest = rest[length:]
    ordered: list[str] = []
    for name in _ROUTE_OPTIONS:
        if name in options and options[name] not in _ROUTE_DEFAULTS:
            ordered += options[name]
    return [*ordered, *rest]


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
    action = rest[0]
    prefix = network(rest[1])
    limits = dict(zip(rest[2::2], map(number, rest[3::2]), strict=False))
    if (prefix, limits) in (("0.0.0.0/0", {"le": "32"}), ("::/0", {"le": "128"})):
        return [*head, action, "any"]
    bounds: list[str] = []
    for name in ("ge", "le"):
        if name in limits:
            bounds += [name, limits[name]]
    return [*head, action, prefix, *bounds]


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
    if len(words) < 3 or words[1] not in _OF_BGP:
        return words
    return _OF_BGP[words[1]](words)


def _community_list(words: list[str]) -> list[str]:
    # FRR prints the pattern of an expanded list as it was typed.
    if words[2] != "standard":
        return words
    head, rest = _numbered(words, 4)
    if len(rest) < 2:
        return words
    return [*head, rest[0], *communities(rest[1:])]


def _extended_list(words: list[str]) -> list[str]:
    if words[2] != "standard":
        return words
    head, rest = _numbered(words, 4)
    if len(rest) < 3 or len(rest) % 2 == 0:
        return words
    # FRR sorts extended communities by their bytes: route targets (rt) come before origins (soo).
    pairs = sorted(zip(rest[1::2], map(_route_target, rest[2::2]), strict=True))
    return [*head, rest[0], *chain.from_iterable(pairs)]


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
    # A cluster id may be typed as a 32-bit number.
    if not words[2].isdigit():
        return words
    return [*words[:2], str(IPv4Address(int(words[2])))]


def _best_path(words: list[str]) -> list[str]:
    # ``no-as-set`` is the default of ``multipath-relax``.
    if words[2:] == ["as-path", "multipath-relax", "no-as-set"]:
        return words[:4]
    if words[2] == "med":
        return [*words[:3], *sorted(words[3:])]
    return words


def _max_med(words: list[str]) -> list[str]:
    if words[-1] == _MOST_MED:
        return words[:-1]
    return words


def _dampening(words: list[str]) -> list[str]:
    values = [number(word) for word in words[2:]]
    # Defaults (bgpd/bgp_damp.h): a half-life of 15 minutes, reuse at 750, suppress at 2000, at most 4 half-lives.
    if values[1:] == ["750", "2000", str(4 * int(values[0]))]:
        del values[1:]
    if values == ["15"]:
        return words[:2]
    return [*words[:2], *values]


def _update_delay(words: list[str]) -> list[str]:
    # The wait for sessions defaults to the delay itself.
    if words[3:4] == words[2:3]:
        return _numbers(words[:3])
    return _numbers(words)


def _confederation(words: list[str]) -> list[str]:
    return [*words[:3], *map(as_number, words[3:])]


def _session_dscp(words: list[str]) -> list[str]:
    return [*words[:2], _dscp(words[2])]


_MOST_MED = "4294967294"
# The values of RFC 4594: class selectors in steps of 8, assured forwarding AFxy as 8x + 2y.
_CODE_POINTS = {"ef": 46, "default": 0}
_CODE_POINTS |= {f"cs{selector}": 8 * selector for selector in range(8)}
_CODE_POINTS |= {f"af{klass}{drop}": 8 * klass + 2 * drop for klass in range(1, 5) for drop in range(1, 4)}


def _dscp(word: str) -> str:
    """Return a code point in digits, as FRR prints it."""
    if word.lower().startswith("0x"):
        return str(int(word, 16))
    return str(_CODE_POINTS.get(word.lower(), number(word)))


def communities(words: Sequence[str]) -> list[str]:
    """Return communities by name where they have one, each once, in the order of their numbers; ``additive`` last.

    Other words, such as ``none``, stay in front.
    """
    if any(word.count(":") == 2 for word in words):
        return _large_communities(words)
    additive: list[str] = []
    others: dict[str, None] = {}
    values: set[int] = set()
    for word in words:
        value = _community(word)
        if value is not None:
            values.add(value)
        elif word == "additive":
            additive.append(word)
        else:
            others[word] = None
    names = [_NAMES.get(value, f"{value >> 16}:{value & 0xFFFF}") for value in sorted(values)]
    return [*others, *names, *additive]


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
    """Return a ``network`` with its prefix length, also where a mask or a class stands for it."""
    if len(words) > 3 and words[2] == "mask":
        return ["network", _masked(words[1], words[3]), *_announced_as(words[4:])]
    prefix = words[1]
    if "/" not in prefix and ":" not in prefix:
        prefix = _of_class(prefix)
    return ["network", network(prefix), *_announced_as(words[2:])]


def _announced_as(words: list[str]) -> list[str]:
    """Return the options of a ``network``: its label, its route-map, and ``backdoor`` last."""
    if words[:1] == ["backdoor"]:
        words = [*words[1:], "backdoor"]
    if words[:1] == ["label-index"] and len(words) > 1:
        return ["label-index", number(words[1]), *words[2:]]
    return words


def _of_class(word: str) -> str:
    """Return the network of an address by its class, as before CIDR (lib/prefix.c apply_classful_mask_ipv4)."""
    try:
        first = int(ip_address(word).packed[0])
    except ValueError:
        return word
    if first < 128:
        return f"{word}/8"
    if first < 192:
        return f"{word}/16"
    return f"{word}/24"


# The options of an aggregate in FRR's order, and how many words each takes.
_AGGREGATE_OPTIONS = {
    "as-set": 1,
    "summary-only": 1,
    "route-map": 2,
    "origin": 2,
    "matching-MED-only": 1,
    "suppress-map": 2,
}


def _aggregate(words: list[str]) -> list[str]:
    prefix = words[1]
    rest = words[2:]
    if rest and _is_mask(rest[0]):
        prefix = _masked(prefix, rest[0])
        rest = rest[1:]
    options: list[str] = []
    for name, length in _AGGREGATE_OPTIONS.items():
        if name in rest:
            at = rest.index(name)
            options += rest[at : at + length]
    if len(options) != len(rest):
        return words
    return ["aggregate-address", network(prefix), *options]


def _redistribute(words: list[str]) -> list[str]:
    head = words[:2]
    rest = words[2:]
    if rest and rest[0].isdigit():  # ``table 5``, ``ospf 1``
        head = [*head, number(rest[0])]
        rest = rest[1:]
    options = dict(zip(rest[::2], rest[1::2], strict=False))
    if len(rest) % 2 or not options.keys() <= {"metric", "route-map"}:
        return words
    if "metric" in options:
        head += ["metric", number(options["metric"])]
    if "route-map" in options:
        head += ["route-map", options["route-map"]]
    return head


def _set(words: list[str]) -> list[str]:
    if len(words) < 3 or words[1] not in _SETS:
        return words
    return [*words[:2], *_SETS[words[1]](words[2:])]


def _set_as_path(words: list[str]) -> list[str]:
    # ``prepend last-as 3`` repeats a number so many times; all other words are AS numbers.
    if words[0] in ("prepend", "exclude") and words[1:2] != ["last-as"]:
        return [words[0], *map(as_number, words[1:])]
    return _signed_numbers(words)


def _set_aggregator(words: list[str]) -> list[str]:
    return [*words[:1], *map(as_number, words[1:2]), *words[2:]]


def _addresses(words: list[str]) -> list[str]:
    return [address(word) for word in words]


def _signed_numbers(words: list[str]) -> list[str]:
    return [_signed(word) for word in words]


def _signed(word: str) -> str:
    """Return a number without leading zeros; its sign stays, which raises or lowers a value by it."""
    if word[:1] in ("+", "-"):
        return word[0] + number(word[1:])
    return number(word)


def _match(words: list[str]) -> list[str]:
    if words[1:2] == ["peer"]:
        return [*words[:2], *map(address, words[2:])]
    if words[1:3] == ["evpn", "route-type"]:
        return [*words[:3], *(_ROUTE_TYPES.get(word, word) for word in words[3:])]
    if words[1:3] == ["ipv6", "next-hop"] and len(words) > 3 and ":" in words[-1]:
        return ["match", "ipv6", "next-hop", "address", address(words[-1])]
    if words[3:4] == ["prefix-len"]:
        return [*words[:4], *map(number, words[4:])]
    if words[1:2] in _NUMBERED_MATCHES:
        return [*words[:2], *map(number, words[2:])]
    return words


_NUMBERED_MATCHES = (["tag"], ["metric"], ["local-preference"])
_ROUTE_TYPES = {"1": "ead", "2": "macip", "3": "multicast", "4": "es", "5": "prefix"}


def _remote_as(words: list[str]) -> list[str]:
    return [*words[:3], *map(as_number, words[3:4]), *words[4:]]


def _interface(words: list[str]) -> list[str]:
    if "remote-as" in words[3:-1]:
        return [*words[:-1], as_number(words[-1])]
    return words


def _bfd(words: list[str]) -> list[str]:
    # bfdd keeps timers that are written here; bgpd prints none.
    if words[3:] and all(word.isdigit() for word in words[3:]):
        return words[:3]
    return words


def _multihop(words: list[str]) -> list[str]:
    if len(words) == 3:
        return [*words, "255"]
    return [*words[:3], *map(number, words[3:])]


def _allowas(words: list[str]) -> list[str]:
    count = [number(word) for word in words[3:]]
    # FRR's default is three occurrences.
    if count == ["3"]:
        return words[:3]
    return [*words[:3], *count]


def _maximum_prefix(words: list[str]) -> list[str]:
    values = [number(word) for word in words[3:]]
    # FRR warns at 75 percent by default.
    if values[1:2] == ["75"]:
        del values[1]
    return [*words[:3], *values]


def _send_community(words: list[str]) -> list[str]:
    if words[3:] == ["standard"]:
        return words[:3]
    return words


def _next_hop_self(words: list[str]) -> list[str]:
    if words[3:] == ["all"]:
        return [*words[:3], "force"]
    return words


def _attribute_unchanged(words: list[str]) -> list[str]:
    attributes: tuple[str, ...] = ("as-path", "next-hop", "med")
    if words[3:]:
        attributes = tuple(attribute for attribute in attributes if attribute in words[3:])
    return [*words[:3], *attributes]


def _shutdown(words: list[str]) -> list[str]:
    # ``shutdown rtt MS`` acts at the first measurement by default.
    if words[3:4] == ["rtt"] and len(words) == 5:
        return [*words, "count", "1"]
    return words


def _source(words: list[str]) -> list[str]:
    return [*words[:3], *map(address, words[3:])]


def _numbers(words: list[str]) -> list[str]:
    return [number(word) for word in words]


def _router(words: list[str]) -> list[str]:
    if words[1:2] != ["bgp"]:
        return words
    words = [*words[:2], *map(as_number, words[2:3]), *words[3:]]
    if words[3:] == ["vrf", "default"]:
        return words[:3]
    return words


def _route_map(words: list[str]) -> list[str]:
    return [*words[:3], *map(number, words[3:])]


def _continue(words: list[str]) -> list[str]:
    # FRR prints ``continue 20`` as ``on-match goto 20``; ``continue`` alone stays.
    if len(words) == 2:
        return ["on-match", "goto", number(words[1])]
    return words


def _family(words: list[str]) -> list[str]:
    if words[1:] in (["ipv4"], ["ipv6"]):
        return [*words, "unicast"]
    return words


_Write = Callable[[list[str]], list[str]]
_SETS: dict[str, _Write] = {
    "community": communities,
    "large-community": _large_communities,
    "as-path": _set_as_path,
    "aggregator": _set_aggregator,
    "ipv6": _addresses,
    "src": _addresses,
    **dict.fromkeys(("metric", "weight", "tag", "distance", "table", "label-index", "extcommunity"), _signed_numbers),
}
"""How the values of ``set`` are written, by its second word."""
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
