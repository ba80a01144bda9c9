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

    ``ignored`` is the pattern of the latter; it is matched against a line with its contexts before it, joined by
    `` / ``. The client sends it, so that both sides compare by one table. An empty pattern matches no line.
    """
    return dict.fromkeys(_lines_of(text, ignored))


def lines_from(lines: Iterable[Sequence[str]] | None) -> list[Line]:
    """Return lines that were read from JSON, which has lists in place of tuples; empty for None."""
    return [tuple(line) for line in lines or ()]


# An earlier text and the running one are compared often.
@functools.lru_cache(maxsize=4)
def _lines_of(text: str, ignored: str) -> tuple[Line, ...]:
    """Return the lines as ``lines_of`` does, in a form that can be cached."""
    ignored_pattern = re.compile(ignored or "(?!)")
    lines: list[Line] = []
    # The last line with its contexts, and the indentation of each: two lists of one length.
    line: list[str] = []
    depths: list[int] = []
    for raw in text.splitlines():
        words = raw.strip()
        if not _is_configuration(words):
            continue
        depth = len(raw) - len(raw.lstrip())
        # Lines that are indented as deep or deeper are no contexts of this one.
        while depths and depths[-1] >= depth:
            depths.pop()
            line.pop()
        depths.append(depth)
        line.append(words)
        if not ignored_pattern.match(JOIN.join(line)):
            lines.append(tuple(line))
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
    """Return the daemons that keep a line of the top level; ``version`` as in ``daemons_of``."""
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
    # The lines of such entries, by route map and entry.
    maps: dict[str, dict[str, str]] = {}
    for name, entry, lines in _OF_TSA.findall(text):
        maps.setdefault(name, {})[entry] = lines
    # Only a route map with all three entries is one of TSA; one entry alone may be an operator's.
    tsa_maps = {name for name, entries in maps.items() if len(entries) == 3 and "PL_Loopback" in entries["permit 20"]}

    def without_block(block: re.Match[str]) -> str:
        if block[1] in tsa_maps:
            return ""
        return block[0]

    return _OF_TSA.sub(without_block, text)


def shown(line: Iterable[str]) -> str:
    """Return a line for a person."""
    return "FRR " + JOIN.join(line)


def text_of(lines: Iterable[Line]) -> str:
    """Return the text for vtysh that adds these lines, each with its contexts."""
    output: list[str] = []
    for line in lines:
        output += [" " * depth + words for depth, words in enumerate(line)]
        # Leave the contexts of the line.
        output += ["exit"] * (len(line) - 1)
    return "\n".join([*output, ""])


def removal_of(lines: Iterable[Line]) -> str:
    """Return the text for vtysh that removes these lines, each in its contexts."""
    return text_of((*line[:-1], _negated(line[-1])) for line in lines)


def _negated(line: str) -> str:
    if line.startswith("no "):
        return line[3:]
    return f"no {line}"
