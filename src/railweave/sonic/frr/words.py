"""The words of FRR's lines as FRR prints them: numbers and addresses in their short form, communities by name."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from ipaddress import ip_address, ip_network

_LARGE_COMMUNITY = re.compile(r"\d+:\d+:\d+")
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


def is_mask(word: str) -> bool:
    """Tell whether a word is the mask of a network, such as 255.255.0.0."""
    return re.fullmatch(r"(255|0)(\.\d{1,3}){3}", word) is not None


def masked_network(first: str, mask: str) -> str:
    """Return a network, of an address and a mask, with its prefix length; other words as they are."""
    try:
        return str(ip_network(f"{first}/{mask}", strict=False))
    except ValueError:
        return f"{first} {mask}"


def route_target(word: str) -> str:
    """Return a route target with its AS number in plain digits; an address in its place stays."""
    administrator, colon, assigned = word.partition(":")
    return f"{as_number(administrator)}{colon}{number(assigned)}"


# The values of RFC 4594: class selectors in steps of 8, assured forwarding AFxy as 8x + 2y.
_CODE_POINTS = {"ef": 46, "default": 0}
_CODE_POINTS |= {f"cs{selector}": 8 * selector for selector in range(8)}
_CODE_POINTS |= {f"af{klass}{drop}": 8 * klass + 2 * drop for klass in range(1, 5) for drop in range(1, 4)}


def dscp(word: str) -> str:
    """Return a code point in digits, as FRR prints it."""
    if word.lower().startswith("0x"):
        return str(int(word, 16))
    return str(_CODE_POINTS.get(word.lower(), number(word)))


def communities(words: Sequence[str]) -> list[str]:
    """Return communities by name where they have one, each once, in the order of their numbers; ``additive`` last.

    Other words, such as ``none``, stay in front.
    """
    if any(word.count(":") == 2 for word in words):
        return large_communities(words)
    additive: list[str] = []
    # Each once, in their order.
    other_words: dict[str, None] = {}
    values: set[int] = set()
    for word in words:
        value = _community_value(word)
        if value is not None:
            values.add(value)
        elif word == "additive":
            additive.append(word)
        else:
            other_words[word] = None
    names = [_NAMES.get(value, f"{value >> 16}:{value & 0xFFFF}") for value in sorted(values)]
    return [*other_words, *names, *additive]


def _community_value(word: str) -> int | None:
    """Return a community as a 32-bit number; None for another word."""
    if word in WELL_KNOWN_COMMUNITIES:
        return WELL_KNOWN_COMMUNITIES[word]
    high, colon, low = word.partition(":")
    if not colon or not high.isdigit() or not low.isdigit():
        return None
    return int(high) << 16 | int(low)


def large_communities(words: Sequence[str]) -> list[str]:
    """Return large communities (RFC 8092), each once, in the order of their numbers, before all other words."""
    values: set[tuple[int, ...]] = set()
    other_words: list[str] = []
    for word in words:
        if _LARGE_COMMUNITY.fullmatch(word):
            values.add(tuple(map(int, word.split(":"))))
        else:
            other_words.append(word)
    texts = [":".join(map(str, value)) for value in sorted(values)]
    return [*texts, *other_words]


def addresses(words: list[str]) -> list[str]:
    """Return the words, IPv6 addresses in their short form."""
    return [address(word) for word in words]


def signed_numbers(words: list[str]) -> list[str]:
    """Return the words, numbers without leading zeros and with their sign."""
    return [_signed(word) for word in words]


def _signed(word: str) -> str:
    """Return a number without leading zeros; its sign stays, which raises or lowers a value by it."""
    if word[:1] in ("+", "-"):
        return word[0] + number(word[1:])
    return number(word)


def numbers(words: list[str]) -> list[str]:
    """Return the words, numbers without leading zeros."""
    return [number(word) for word in words]


Respell = Callable[[list[str]], list[str]]
"""How a line of one family of commands is written: from its words to those that FRR prints."""


def ordered_options(words: Sequence[str], option_lengths: Mapping[str, int]) -> list[str] | None:
    """Return the options of a command in the order in which FRR prints them; None if there are unknown words.

    ``option_lengths`` has the options in FRR's order, each with its number of words, the keyword included.
    """
    ordered: list[str] = []
    for option, length in option_lengths.items():
        if option in words:
            start = words.index(option)
            ordered += words[start : start + length]
    has_unknown_words = len(ordered) != len(words)
    if has_unknown_words:
        return None
    return ordered
