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
    r"^(?P<name>(?:ip|ipv6) prefix-list \S+|bgp as-path access-list \S+|"
    r"bgp (?:large-)?community-list (?:standard|expanded) \S+)"
    r"(?: seq (?P<number>\d+))? (?P<rule>(?:permit|deny) .+)$"
)


def normal_header(node: str, line: str) -> str:
    """Return a block's header as FRR shows it: ``address-family ipv4`` gets the word ``unicast``."""
    if node == BGP_AF and line.split()[1:] in (["ipv4"], ["ipv6"]):
        return line + " unicast"
    return line


def normal_line(context: Context, line: str) -> str:
    """Return a line as FRR will show it: networks masked, list entries numbered, communities named."""
    if context.node == CONFIG:
        entry = LIST_ENTRY.match(line)
        if entry:
            return _normal_entry(context, entry)
    if line.startswith(("network ", "ip route ", "ipv6 route ", "aggregate-address ")):
        return " ".join(_masked(word) for word in line.split())
    if line.startswith("set community "):
        return " ".join(_COMMUNITIES.get(word, word) for word in line.split())
    return line


def _normal_entry(context: Context, entry: re.Match[str]) -> str:
    """Return an entry of a list as FRR will show it."""
    name = entry["name"]
    rule = entry["rule"]
    if name.startswith("ip"):
        rule = " ".join(_masked(word) for word in rule.split())
        # FRR shows ``ge`` before ``le`` whatever was typed.
        rule = re.sub(r" le (\d+) ge (\d+)$", r" ge \2 le \1", rule)
    number = entry["number"]
    if number is None:
        number = _next_number(context, name, rule)
    return f"{name} seq {number} {rule}"


def _masked(word: str) -> str:
    """Return a network without its host bits; another word as it is."""
    if "/" not in word:
        return word
    try:
        return str(ipaddress.ip_network(word, strict=False))
    except ValueError:
        return word


def _next_number(context: Context, name: str, rule: str) -> str:
    """Return the number that FRR gives to an entry of the list ``name`` that is written without one."""
    numbers = []
    for key in context.starting(f"{name} seq"):
        number = key.split(" seq ")[1].split()[0]
        # The same entry again keeps its number.
        if context.lines[key] == f"{name} seq {number} {rule}":
            return number
        numbers.append(int(number))
    # The next multiple of five (lib/plist.c).
    return str(max(numbers, default=0) // 5 * 5 + 5)


def normal_spelling(line: str) -> str:
    """Return a line that is to be removed with its networks masked, as FRR has kept them."""
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
