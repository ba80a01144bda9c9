"""The spelling of the lines of a BGP neighbor."""

from railweave.sonic.frr.words import Respell, address, as_number, number, numbers


def spelled_neighbor(line: str, words: list[str]) -> str:
    """Return a line of a neighbor as FRR prints it; ``words`` are the words of ``line``."""
    match words:
        case [_, name, command, *_]:
            respell = _NEIGHBOR.get(command)
        case [_, name]:
            respell = None
        case _:
            return line
    has_ipv6_address = ":" in name
    if respell is None and not has_ipv6_address:
        # Most lines need no change.
        return line
    if has_ipv6_address:
        words[1] = address(name)
    if respell is not None:
        words = respell(words)
    return " ".join(words)


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


_NEIGHBOR: dict[str, Respell] = {
    "remote-as": _remote_as,
    "local-as": _remote_as,
    "interface": _interface,
    "timers": lambda words: [*words[:3], *numbers(words[3:])],
    "advertisement-interval": lambda words: [*words[:3], *numbers(words[3:])],
    "ttl-security": lambda words: [*words[:3], *numbers(words[3:])],
    "weight": lambda words: [*words[:3], *numbers(words[3:])],
    "ebgp-multihop": _multihop,
    "bfd": _bfd,
    "allowas-in": _allowas,
    "maximum-prefix": _maximum_prefix,
    "maximum-prefix-out": lambda words: [*words[:3], *numbers(words[3:])],
    "addpath-tx-best-selected": lambda words: [*words[:3], *numbers(words[3:])],
    "send-community": _send_community,
    "next-hop-self": _next_hop_self,
    "attribute-unchanged": _attribute_unchanged,
    "shutdown": _shutdown,
    "update-source": _source,
}
"""How the lines of a neighbor are written, by their third word."""
