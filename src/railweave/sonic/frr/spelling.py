"""The spelling in which lines are compared: FRR accepts many spellings of a command and prints one.

Each family of commands has a function that writes it as FRR prints it: words in its order, networks without host bits,
addresses and numbers in their short form, defaults left out. They follow FRR's own output
(tests/conformance/frr_spellings, FRR 8.4.4 and 10.3) and otherwise its sources (staticd/static_vty.c, bgpd/bgp_vty.c,
bgpd/bgp_route.c, bgpd/bgp_community.c). Unknown commands are left as they are.
"""

import re
from functools import lru_cache

from railweave.sonic.frr.bgp_spelling import aggregate_address, announced_network, bgp_words, redistributed
from railweave.sonic.frr.lines import FrrEntry
from railweave.sonic.frr.list_spelling import access_list, route_words
from railweave.sonic.frr.neighbor_spelling import spelled_neighbor
from railweave.sonic.frr.words import (
    Respell,
    address,
    addresses,
    as_number,
    communities,
    large_communities,
    network,
    number,
    numbers,
    ordered_options,
    signed_numbers,
)

_DEFAULT_VALUES = re.compile(
    r"timers bgp 60 180$|bgp default local-preference 100$|bgp listen limit 100$|distance bgp 20 200 200$|"
    r"bgp graceful-restart (restart-time 120|stalepath-time 360|select-defer-time 360|rib-stale-time 500)$|"
    r"bgp (session-dscp 48|route-map delay-timer 5)$|neighbor \S+ (ebgp-multihop 1|port 179)$|"
    r"(transmit-interval|receive-interval) 300$|detect-multiplier 3$|minimum-ttl 254$|"
    r"no (echo-mode|passive-mode|shutdown)$|echo (transmit-interval|receive-interval) 50$|"
    r"coalesce-time 1000$|read-quanta 10$|write-quanta 64$|bgp default subgroup-pkt-queue-max 40$|"
    r"zebra (nexthop-group keep 180|route-map delay-timer 5)$|ipv6 nd ra-interval 600$"
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
    """Return the lines that FRR prints for a line, in the order in which it prints them; mostly the line itself."""
    line = entry.line
    if line.startswith("echo-interval "):
        return _both_echoes(entry)
    if line.startswith(("neighbor ", "no neighbor ")):
        return _beside_neighbor(entry)
    return (entry,)


def _both_echoes(entry: FrrEntry) -> tuple[FrrEntry, ...]:
    """Return the lines of both directions that FRR prints for ``echo-interval``."""
    _, _, interval_text = entry.line.rpartition(" ")
    interval = number(interval_text)
    return (
        FrrEntry(entry.context, f"echo transmit-interval {interval}"),
        FrrEntry(entry.context, f"echo receive-interval {interval}"),
    )


def _beside_neighbor(entry: FrrEntry) -> tuple[FrrEntry, ...]:
    """Return the lines that FRR prints for a line of a neighbor."""
    line = entry.line
    with_bfd = _WITH_BFD.match(line)
    if with_bfd:
        # Before a profile of BFD FRR prints the neighbor's BFD itself.
        return FrrEntry(entry.context, with_bfd["bfd"]), entry
    if line.startswith("no neighbor ") and line.endswith((" send-community all", " send-community both")):
        head, _, communities_word = line.rpartition(" ")
        suffixes = ["", " extended"]
        if communities_word == "all":
            suffixes.append(" large")
        return tuple(FrrEntry(entry.context, f"{head}{suffix}") for suffix in suffixes)
    if line.endswith(" addpath-tx-bestpath-per-AS"):
        return FrrEntry(entry.path[0], "bgp deterministic-med"), entry
    if line.endswith(" route-server-client") and line.startswith("neighbor "):
        return entry, FrrEntry(entry.context, line.replace("route-server-client", "attribute-unchanged next-hop"))
    return (entry,)


# The running and the intended configuration of a switch have nearly all of their lines in common.
@lru_cache(maxsize=8192)
def spelled(line: str) -> str:
    """Return a line as FRR prints it."""
    if line.startswith("no "):
        return f"no {spelled(line.removeprefix('no '))}"
    words = line.split(" ")
    if words[0] == "neighbor":
        return spelled_neighbor(line, words)
    write = _WRITTEN.get(words[0])
    if write is None:
        return line
    return " ".join(write(words))


def _set(words: list[str]) -> list[str]:
    """Return a ``set`` of a route-map with its values as FRR prints them."""
    if len(words) < 3 or words[1] not in _SETS:
        return words
    return [*words[:2], *_SETS[words[1]](words[2:])]


def _set_as_path(words: list[str]) -> list[str]:
    # ``prepend last-as 3`` repeats a number so many times; all other words are AS numbers.
    if words[0] in ("prepend", "exclude") and words[1:2] != ["last-as"]:
        return [words[0], *map(as_number, words[1:])]
    return signed_numbers(words)


def _set_aggregator(words: list[str]) -> list[str]:
    return [*words[:1], *map(as_number, words[1:2]), *words[2:]]


def _match(words: list[str]) -> list[str]:
    """Return a ``match`` of a route-map with its values as FRR prints them."""
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


def _router(words: list[str]) -> list[str]:
    """Return a ``router bgp`` with a plain AS number and without the default VRF; another router as it is."""
    if words[1:2] != ["bgp"]:
        return words
    words = [*words[:2], *map(as_number, words[2:3]), *words[3:]]
    if words[3:] == ["vrf", "default"]:
        return words[:3]
    return words


# The options of a BFD session in FRR's order, and how many words each takes (bfdd/bfdd_cli.c).
_SESSION_OPTIONS = {"multihop": 1, "local-address": 2, "vrf": 2, "interface": 2}


def _bfd_peer(words: list[str]) -> list[str]:
    """Return a ``peer``, which opens a session of BFD, with its options in FRR's order and without the default VRF."""
    ordered = ordered_options(words[2:], _SESSION_OPTIONS)
    if ordered is None:
        return words
    if "vrf" in ordered:
        index = ordered.index("vrf")
        if ordered[index : index + 2] == ["vrf", "default"]:
            del ordered[index : index + 2]
    return ["peer", address(words[1]), *map(address, ordered)]


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


_SETS: dict[str, Respell] = {
    "community": communities,
    "large-community": large_communities,
    "as-path": _set_as_path,
    "aggregator": _set_aggregator,
    "ipv6": addresses,
    "src": addresses,
    **dict.fromkeys(("metric", "weight", "tag", "distance", "table", "label-index", "extcommunity"), signed_numbers),
}
"""How the values of ``set`` are written, by its second word."""
_WRITTEN: dict[str, Respell] = {
    "ip": route_words,
    "ipv6": lambda words: access_list(words) if words[1:2] == ["access-list"] else route_words(words),
    "access-list": access_list,
    "router-id": lambda words: ["ip", *words],
    "bgp": bgp_words,
    "network": announced_network,
    "aggregate-address": aggregate_address,
    "redistribute": redistributed,
    "set": _set,
    "match": _match,
    "timers": numbers,
    "maximum-paths": numbers,
    "distance": lambda words: [*map(network, numbers(words))],
    "on-match": numbers,
    "transmit-interval": numbers,
    "receive-interval": numbers,
    "detect-multiplier": numbers,
    "minimum-ttl": numbers,
    "echo": numbers,
    "coalesce-time": numbers,
    "read-quanta": numbers,
    "write-quanta": numbers,
    "peer": _bfd_peer,
    "router": _router,
    "route-map": _route_map,
    "continue": _continue,
    "address-family": _family,
}
"""How the lines of each family are written, by their first word."""
