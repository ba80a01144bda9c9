"""The form in which FRR keeps a line: networks masked, list entries numbered, communities named."""

import ipaddress
import re

from sonic_sim.frr.grammar import BGP_AF, CONFIG
from sonic_sim.frr.tree import Context

_COMMUNITIES = {
    "65535:0": "graceful-shutdown",
    "65535:65281": "no-export",
    "65535:65282": "no-advertise",
    "65535:65283": "local-AS",
    "65535:666": "blackhole",
}
LIST_ENTRY = re.compile(
    r"^((?:ip|ipv6) prefix-list \S+|bgp as-path access-list \S+|"
    r"bgp (?:large-)?community-list (?:standard|expanded) \S+)"
    r"(?: seq (\d+))? ((?:permit|deny) .+)$"
)


def normal_header(node: str, line: str) -> str:
    """Return the header as FRR shows it."""
    if node == BGP_AF and line.split()[1:] in (["ipv4"], ["ipv6"]):
        return line + " unicast"
    return line


def normal_line(context: Context, line: str) -> str:
    """Return a line as FRR will show it: networks masked, list entries numbered, communities named."""
    entry = LIST_ENTRY.match(line) if context.node == CONFIG else None
    if entry:
        name, sequence, rest = entry.groups()
        if name.startswith("ip"):
            rest = " ".join(_masked(word) for word in rest.split())
            # FRR shows ``ge`` before ``le`` whatever was typed.
            rest = re.sub(r" le (\d+) ge (\d+)$", r" ge \2 le \1", rest)
        if sequence is None:
            sequence = _next_sequence(context, name, rest)
        return f"{name} seq {sequence} {rest}"
    if line.startswith(("network ", "ip route ", "ipv6 route ", "aggregate-address ")):
        return " ".join(_masked(word) for word in line.split())
    if line.startswith("set community "):
        return " ".join(_COMMUNITIES.get(word, word) for word in line.split())
    return line


def _masked(word: str) -> str:
    if "/" not in word:
        return word
    try:
        return str(ipaddress.ip_network(word, strict=False))
    except ValueError:
        return word


def _next_sequence(context: Context, name: str, rest: str) -> str:
    numbers = []
    for key in context.starting(f"{name} seq"):
        number = key.split(" seq ")[1].split()[0]
        # The same entry again keeps its number.
        if context.lines[key] == f"{name} seq {number} {rest}":
            return number
        numbers.append(int(number))
    # The next multiple of five (lib/plist.c).
    return str(max(numbers, default=0) // 5 * 5 + 5)


def normal_spelling(line: str) -> str:
    """Mask the networks of a line that is to be removed."""
    if line.startswith(("network ", "ip route ", "ipv6 route ", "ip prefix-list ", "ipv6 prefix-list ")):
        return " ".join(_masked(word) for word in line.split())
    return line


def is_address(text: str) -> bool:
    """Tell whether a text is an IP address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
