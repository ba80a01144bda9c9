"""The spelling of static routes and of lists: prefixes, access, communities and AS paths."""

from itertools import chain

from railweave.sonic.frr.words import (
    address,
    communities,
    is_mask,
    masked_network,
    network,
    number,
    ordered_options,
    route_target,
)


def route_words(words: list[str]) -> list[str]:
    """Return a line that begins with ``ip`` or ``ipv6`` as FRR prints it.

    A static route has its tag before its distance, then the other options in FRR's order, and no defaults.
    """
    if words[1:2] not in (["route"], ["mroute"]) or len(words) < 4:
        return _prefix_list_entry(words)
    head = words[:2]
    prefix = network(words[2])
    rest = words[3:]
    if is_mask(rest[0]) and len(rest) > 1:
        prefix = masked_network(words[2], rest[0])
        rest = rest[1:]
    target, *rest = rest
    nexthop = [address(target)]
    if target in ("Null0", "null0"):
        nexthop = ["blackhole"]
    # An address may be followed by the interface that it is on.
    has_interface = bool(rest) and not rest[0].isdigit() and rest[0] not in _ROUTE_OPTIONS
    if has_interface:
        interface, *rest = rest
        nexthop.append(interface)
    return [*head, prefix, *nexthop, *_route_options(rest)]


_ROUTE_OPTIONS = ("tag", "distance", "nexthop-vrf", "vrf", "table", "onlink", "label", "color", "bfd")
_BFD_OPTIONS = {"multi-hop": 1, "source": 2, "profile": 2}
"""The words after ``bfd`` that belong to it, in FRR's order, and how many words each takes."""
_ROUTE_DEFAULTS = (["1"], ["nexthop-vrf", "default"], ["vrf", "default"])


def _route_options(words: list[str]) -> list[str]:
    """Return the options of a route in FRR's order, without defaults.

    From the first unknown word on all words stay as they are, at the end.
    """
    options: dict[str, list[str]] = {}
    rest = words
    while rest:
        # A distance has no keyword.
        name = "distance" if rest[0].isdigit() else rest[0]
        if name not in _ROUTE_OPTIONS:
            break
        length = _option_length(name, rest)
        options[name] = _option(name, rest[:length])
        rest = rest[length:]
    ordered: list[str] = []
    for name in _ROUTE_OPTIONS:
        if name in options and options[name] not in _ROUTE_DEFAULTS:
            ordered += options[name]
    return [*ordered, *rest]


def _option(name: str, words: list[str]) -> list[str]:
    """Return the words of an option of a route as FRR prints them."""
    if name != "bfd":
        return [number(word) for word in words]
    ordered = ordered_options(words[1:], _BFD_OPTIONS)
    if ordered is None:
        return words
    return ["bfd", *ordered]


def _option_length(name: str, words: list[str]) -> int:
    """Return how many of the words belong to the option of a route that they begin with."""
    if name in ("distance", "onlink"):
        return 1
    if name != "bfd":
        return 2
    length = 1
    while length < len(words) and words[length] in _BFD_OPTIONS:
        length += _BFD_OPTIONS[words[length]]
    return length


def _prefix_list_entry(words: list[str]) -> list[str]:
    """Return a line of a prefix list with its network masked, ``ge`` before ``le``, and all prefixes as ``any``.

    Other lines stay as they are.
    """
    if words[1:2] != ["prefix-list"] or len(words) < 5 or "description" in words[3:4]:
        return words
    head, rest = numbered_entry(words, 3)
    if rest[:1] not in (["permit"], ["deny"]) or len(rest) < 2:
        return words
    action, prefix_word, *bound_words = rest
    prefix = network(prefix_word)
    bounds = dict(zip(bound_words[::2], map(number, bound_words[1::2]), strict=False))
    matches_all = (prefix, bounds) in (("0.0.0.0/0", {"le": "32"}), ("::/0", {"le": "128"}))
    if matches_all:
        return [*head, action, "any"]
    ordered_bounds: list[str] = []
    for name in ("ge", "le"):
        if name in bounds:
            ordered_bounds += [name, bounds[name]]
    return [*head, action, prefix, *ordered_bounds]


def numbered_entry(words: list[str], name_end: int) -> tuple[list[str], list[str]]:
    """Return the words of a list's entry in two parts: up to its number, and the words after it.

    The number loses leading zeros; an entry may have none. The list's name ends before the index ``name_end``.
    """
    name = words[:name_end]
    rest = words[name_end:]
    if rest[:1] == ["seq"]:
        return [*name, "seq", number(rest[1])], rest[2:]
    return name, rest


def access_list(words: list[str]) -> list[str]:
    """Return a line of an access list: networks masked, without the word ``host``."""
    name_end = 3 if words[0] == "ipv6" else 2
    head, rest = numbered_entry(words, name_end)
    if len(rest) == 3 and rest[1] == "host":
        rest = [rest[0], rest[2]]
    return [*head, *map(network, rest)]


def community_list(words: list[str]) -> list[str]:
    """Return a line of a standard list of communities, in the order of their numbers."""
    # FRR prints the pattern of an expanded list as it was typed.
    if words[2] != "standard":
        return words
    head, rest = numbered_entry(words, 4)
    if len(rest) < 2:
        return words
    return [*head, rest[0], *communities(rest[1:])]


def extended_list(words: list[str]) -> list[str]:
    """Return a line of a standard list of extended communities, in FRR's order."""
    if words[2] != "standard":
        return words
    head, rest = numbered_entry(words, 4)
    if len(rest) < 3 or len(rest) % 2 == 0:
        return words
    # FRR sorts extended communities by their bytes: route targets (rt) come before origins (soo).
    pairs = sorted(zip(rest[1::2], map(route_target, rest[2::2]), strict=True))
    return [*head, rest[0], *chain.from_iterable(pairs)]


def path_list(words: list[str]) -> list[str]:
    """Return a line of a list of AS paths."""
    head, rest = numbered_entry(words, 4)
    return [*head, *rest]
