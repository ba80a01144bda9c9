"""The spelling of the lines of a BGP router that are not of a neighbor."""

from ipaddress import IPv4Address, ip_address

from railweave.sonic.frr.list_spelling import community_list, extended_list, path_list
from railweave.sonic.frr.words import (
    Respell,
    as_number,
    dscp,
    is_mask,
    masked_network,
    network,
    number,
    numbers,
    ordered_options,
)


def bgp_words(words: list[str]) -> list[str]:
    """Return a line that begins with ``bgp`` as FRR prints it."""
    if len(words) < 3 or words[1] not in _OF_BGP:
        return words
    return _OF_BGP[words[1]](words)


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
        return numbers(words[:3])
    return numbers(words)


def _confederation(words: list[str]) -> list[str]:
    return [*words[:3], *map(as_number, words[3:])]


def _session_dscp(words: list[str]) -> list[str]:
    return [*words[:2], dscp(words[2])]


_MOST_MED = "4294967294"


def announced_network(words: list[str]) -> list[str]:
    """Return a ``network`` with its prefix length, which may be given by a mask or by the address's class."""
    if len(words) > 3 and words[2] == "mask":
        return ["network", masked_network(words[1], words[3]), *_announced_as(words[4:])]
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
        first_byte = ip_address(word).packed[0]
    except ValueError:
        return word
    if first_byte < 128:
        return f"{word}/8"
    if first_byte < 192:
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


def aggregate_address(words: list[str]) -> list[str]:
    """Return an ``aggregate-address`` with its options in FRR's order."""
    prefix = words[1]
    rest = words[2:]
    if rest and is_mask(rest[0]):
        prefix = masked_network(prefix, rest[0])
        rest = rest[1:]
    options = ordered_options(rest, _AGGREGATE_OPTIONS)
    if options is None:
        return words
    return ["aggregate-address", network(prefix), *options]


def redistributed(words: list[str]) -> list[str]:
    """Return a ``redistribute`` with its metric before its route-map."""
    respelled = words[:2]
    rest = words[2:]
    # The source may have a number, as in ``table 5`` and ``ospf 1``.
    if rest and rest[0].isdigit():
        instance, *rest = rest
        respelled.append(number(instance))
    options = dict(zip(rest[::2], rest[1::2], strict=False))
    has_unknown_words = len(rest) % 2 == 1 or not options.keys() <= {"metric", "route-map"}
    if has_unknown_words:
        return words
    if "metric" in options:
        respelled += ["metric", number(options["metric"])]
    if "route-map" in options:
        respelled += ["route-map", options["route-map"]]
    return respelled


_OF_BGP: dict[str, Respell] = {
    "as-path": path_list,
    "community-list": community_list,
    "large-community-list": community_list,
    "extcommunity-list": extended_list,
    "listen": _listen,
    "cluster-id": _cluster_id,
    "bestpath": _best_path,
    "max-med": _max_med,
    "dampening": _dampening,
    "update-delay": _update_delay,
    "confederation": _confederation,
    "session-dscp": _session_dscp,
    "graceful-restart": numbers,
    "default": numbers,
    "tcp-keepalive": numbers,
}
"""How the lines of BGP are written that begin with ``bgp``, by their second word."""
