"""FRR's configuration as a set of lines in their contexts, which tells whether an earlier configuration is restored."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence

Line = tuple[str, ...]
"""A line with its contexts before it: ``("router bgp 65001", "address-family ipv4 unicast", "network …")``."""

JOIN = " / "
_EXIT = re.compile(r"(exit(-[a-z0-9-]+)?|quit)$")


def lines_of(text: str, ignored: str) -> dict[Line, None]:
    """Return the lines of a ``show running-config``, in order, without those that are never compared.

    ``ignored`` is a pattern of these, matched against a line with its contexts before it, joined by `` / ``. The client
    sends it, so that both sides compare by one table; an empty one matches no line.
    """
    return dict.fromkeys(_lines_of(text, ignored))


def lines_from(lines: Iterable[Sequence[str]] | None) -> list[Line]:
    """Return lines that were read from JSON, which has lists in place of tuples; None is no line."""
    return [tuple(line) for line in lines or ()]


# An earlier text and the running one are compared often.
@functools.lru_cache(maxsize=4)
def _lines_of(text: str, ignored: str) -> tuple[Line, ...]:
    pattern = re.compile(ignored or "(?!)")
    lines: list[Line] = []
    # Depth and text of the contexts of the next line, and of the last line.
    stack: list[tuple[int, str]] = []
    for raw in text.splitlines():
        text_of_line = raw.strip()
        if not _is_configuration(text_of_line):
            continue
        depth = len(raw) - len(raw.lstrip())
        while stack and stack[-1][0] >= depth:
            stack.pop()
        stack.append((depth, text_of_line))
        line = tuple(part for _, part in stack)
        if not pattern.match(JOIN.join(line)):
            lines.append(line)
    return tuple(lines)


def _is_configuration(line: str) -> bool:
    """Tell whether a line configures something: it is not empty, a comment or the end of a block."""
    return line != "" and not line.startswith("!") and not _EXIT.match(line)


# The daemon that keeps a block or a line of the top level, where that is not zebra (FRR, vtysh/vtysh.h).
_OWNERS = (
    (re.compile(r"router bgp |bgp |rpki$|bmp "), "bgpd"),
    (re.compile(r"bfd$"), "bfdd"),
    (re.compile(r"segment-routing / traffic-eng"), "pathd"),
    (re.compile(r"router ospf6( |$)"), "ospf6d"),
    (re.compile(r"router ospf( |$)"), "ospfd"),
    (re.compile(r"router isis "), "isisd"),
    (re.compile(r"router pim( |$)|ip (pim|igmp|msdp) "), "pimd"),
)

_STATIC_ROUTE = re.compile(r"(ip|ipv6) route ")
# From this version on mgmtd takes static routes for staticd (FRR, mgmtd/mgmt_vty.c).
_STATIC_ROUTES_BY_MGMTD = 10

_VERSION = re.compile(r"^frr version (\d+)", re.MULTILINE)
# Lines of which every daemon has its own copy: vtysh shows such a line once, even if only one daemon has it.
_SHARED = re.compile(r"route-map |(ip|ipv6) (prefix-list|access-list) |access-list ")


def daemons_of(lines: Iterable[Line], version: int = 0) -> frozenset[str]:
    """Return FRR's daemons that these lines belong to; ``version`` is FRR's major version, 0 if it is unknown."""
    daemons: set[str] = set()
    for top in {_top(line) for line in lines}:
        daemons.update(_daemons(top, version))
    return frozenset(daemons)


def _top(line: Line) -> str:
    """Return the line that determines to which daemon ``line`` belongs."""
    # zebra has segment-routing / srv6, pathd segment-routing / traffic-eng.
    if line[0] == "segment-routing":
        return JOIN.join(line[:2])
    top = line[0]
    if top.startswith("vrf "):
        # The lines of a VRF belong to the daemons of the same lines at the top level.
        top = line[-1]
    if top.startswith("no "):
        return top[3:]
    return top


def _daemons(top: str, version: int) -> tuple[str, ...]:
    if not _STATIC_ROUTE.match(top):
        return tuple(name for pattern, name in _OWNERS if pattern.match(top)) or ("zebra",)
    if version >= _STATIC_ROUTES_BY_MGMTD:
        return ("mgmtd", "staticd")
    return ("staticd",)


def version_of(text: str) -> int:
    """Return the major version of FRR in a ``show running-config``, 0 if it has none."""
    version = _VERSION.search(text)
    if version is None:
        return 0
    return int(version[1])


def shared_lines(text: str) -> dict[Line, None]:
    """Return the lines of which several daemons have their own copy, in order."""
    return {line: None for line in lines_of(text, "") if _SHARED.match(line[0])}


_OF_TSA = re.compile(
    r"^route-map (\S*V[46]\S*) (permit 20|permit 30|deny 40)\n((?: .*\n)*)(?:exit\n)?(?:!\n)?", re.MULTILINE
)


def without_tsa(text: str) -> str:
    """Return FRR's startup file without the lines of SONiC's TSA, whose state is in CONFIG_DB.

    While TSA is on, bgpcfgd writes them at each start; in the file they would block routes after TSB too.
    """
    maps: dict[str, dict[str, str]] = {}
    for name, entry, lines in _OF_TSA.findall(text):
        maps.setdefault(name, {})[entry] = lines
    # One of these entries alone may be anybody's.
    shifted = {name for name, entries in maps.items() if len(entries) == 3 and "PL_Loopback" in entries["permit 20"]}
    return _OF_TSA.sub(lambda block: "" if block[1] in shifted else block[0], text)


def shown(line: Iterable[str]) -> str:
    """Return a line for a person."""
    return "FRR " + JOIN.join(line)


def text_of(lines: Iterable[Line]) -> str:
    """Return the text for vtysh that adds these lines."""
    text: list[str] = []
    for line in lines:
        text += [" " * depth + word for depth, word in enumerate(line)]
        text += ["exit"] * (len(line) - 1)
    return "\n".join([*text, ""])


def removal_of(lines: Iterable[Line]) -> str:
    """Return the text for vtysh that removes these lines."""
    return text_of((*line[:-1], _negated(line[-1])) for line in lines)


def _negated(line: str) -> str:
    if line.startswith("no "):
        return line[3:]
    return f"no {line}"
