"""The lines of a configuration of FRR in their contexts, from its indentation or, without any, from its words."""

import re
from collections.abc import Iterator
from functools import lru_cache

from railweave.sonic.frr.lines import (
    JOIN,
    FrrEntry,
)
from railweave.sonic.frr.spelling import spelled

OPENER = re.compile(r"(router|address-family|route-map|interface|vrf|bfd|line vty|key chain|segment-routing)( |$)")
_EXIT = re.compile(r"(exit(-[a-z0-9-]+)?|quit)$")
_ROUTER_WORDS = "neighbor|network|redistribute|maximum-paths|aggregate-address|distance|timers"
_TOP_BGP = r"bgp (as-path|community-list|large-community-list|extcommunity-list|community alias)"
_INSIDE = (
    (re.compile(r"router "), re.compile(rf"(no )?({_ROUTER_WORDS}|address-family|(?!{_TOP_BGP})bgp)( |$)")),
    (re.compile(r"address-family "), re.compile(rf"(no )?({_ROUTER_WORDS}|import|export|table-map)( |$)")),
    (re.compile(r"route-map "), re.compile(r"(no )?(match|set|call|on-match|continue|description)( |$)")),
)
"""Lines that belong to the context above even in a file without indentation."""


def read_lines(text: str) -> Iterator[FrrEntry]:
    """Yield every line of FRR text in its context, spelled as FRR prints it, without comments and exits.

    Indentation gives the context; in text without indentation the words do, as in vtysh itself.
    """
    # The indentation and text of the lines that may be contexts of the next one, outermost first.
    stack: list[tuple[int, str]] = []
    context = ""
    for raw in text.splitlines():
        indent, line = _read(raw)
        if not line:
            continue
        # For speed the first letter is tested before the pattern: a fabric has a million lines.
        if line[0] in "eq" and _EXIT.match(line):
            _leave_context(stack, indent)
            context = _context(stack)
            continue
        if _is_in_same_context(stack, indent):
            stack[-1] = (indent, line)
        else:
            _drop_other_contexts(stack, indent, line)
            context = _context(stack)
            stack.append((indent, line))
        yield _entry(context, line)


def _context(stack: list[tuple[int, str]]) -> str:
    return JOIN.join(line for _, line in stack)


def _drop_other_contexts(stack: list[tuple[int, str]], indent: int, line: str) -> None:
    """Remove the lines from the stack that are not contexts of ``line``."""
    while stack:
        last_indent, last_line = stack[-1]
        is_outer = last_indent < indent
        if is_outer or (last_indent == indent and _belongs_to(line, last_line)):
            return
        stack.pop()


# A switch's texts are read one after the other, and have most of their lines in common.
@lru_cache(maxsize=8192)
def _read(raw: str) -> tuple[int, str]:
    """Return the indentation of a line and the line as FRR prints it; the line is empty for a comment."""
    line = " ".join(raw.split())
    if not line or line[0] in "!#":
        return 0, ""
    return len(raw) - len(raw.lstrip()), spelled(line)


@lru_cache(maxsize=8192)
def _entry(context: str, line: str) -> FrrEntry:
    """Return a line in the context in which FRR prints it.

    A route of a VRF is moved into the VRF's block, and a router's line of IPv4 unicast into that address family.
    """
    if not context:
        in_vrf = _ROUTE_IN_VRF.match(line)
        if in_vrf:
            return _entry(f"vrf {in_vrf['vrf']}", f"{in_vrf['route']}{in_vrf['rest']}")
    elif context.startswith("vrf "):
        return FrrEntry(context, _without_own_vrf(context, line))
    elif context.startswith("router bgp ") and JOIN not in context and _is_of_family(line):
        return FrrEntry(f"{context}{JOIN}{FIRST_FAMILY}", line)
    return FrrEntry(context, line)


def _without_own_vrf(vrf: str, line: str) -> str:
    """Return a route of ``vrf`` without the VRF of its next hop if that is the same, which FRR does not print."""
    own = f" nexthop-{vrf}"
    if line.endswith(own):
        return line.removesuffix(own)
    return line.replace(f"{own} ", " ")


FIRST_FAMILY = "address-family ipv4 unicast"
_OF_FAMILY = frozenset(
    ("network", "aggregate-address", "redistribute", "maximum-paths", "table-map", "distance", "bgp dampening")
)
_OF_FAMILY_PEER = frozenset(
    ("activate", "allowas-in", "as-override", "attribute-unchanged", "default-originate", "distribute-list",
     "filter-list", "maximum-prefix", "maximum-prefix-out", "next-hop-self", "prefix-list", "remove-private-AS",
     "route-map", "route-reflector-client", "route-server-client", "send-community", "soft-reconfiguration",
     "unsuppress-map", "weight", "addpath-tx-all-paths", "addpath-tx-bestpath-per-AS")
)  # fmt: skip
"""Lines that FRR takes in the router itself for IPv4 unicast, and prints in that family (bgpd/bgp_vty.c, the hidden
commands)."""


def _is_of_family(line: str) -> bool:
    words = line.removeprefix("no ").split(" ", 3)
    if words[0] == "neighbor":
        return len(words) > 2 and words[2] in _OF_FAMILY_PEER
    return words[0] in _OF_FAMILY or " ".join(words[:2]) in _OF_FAMILY


_ROUTE_IN_VRF = re.compile(r"(?P<route>(no )?(ip|ipv6) route .+?) vrf (?P<vrf>\S+)(?P<rest>( .*)?)$")


def _is_in_same_context(stack: list[tuple[int, str]], indent: int) -> bool:
    """Tell whether a line with this indentation is in the same context as the last one, as most lines are."""
    if len(stack) < 2:
        return False
    last_indent, last_line = stack[-1]
    outer_indent, _ = stack[-2]
    if last_indent != indent or outer_indent >= indent:
        return False
    # Lines of neighbors open no context, and are most lines.
    return last_line.startswith("neighbor ") or OPENER.match(last_line) is None


def _leave_context(stack: list[tuple[int, str]], indent: int) -> None:
    """Close the innermost open context; ``indent`` is the indentation of the line that leaves it."""
    while stack:
        last_indent, last_line = stack[-1]
        if last_indent <= indent and OPENER.match(last_line):
            break
        stack.pop()
    if stack and stack[-1][0] == indent:
        stack.pop()


def _belongs_to(line: str, header: str) -> bool:
    """Tell whether a line belongs to the context ``header`` even without indentation."""
    return any(opener.match(header) and words.match(line) for opener, words in _INSIDE)
