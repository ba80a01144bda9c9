"""FRR's configuration as a set of lines in their contexts: enough to tell whether an earlier text is back."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

Line = tuple[str, ...]
"""A line after the lines that it stands under: ``("router bgp 65001", "address-family ipv4 unicast", "network …")``."""

JOIN = " / "
_EXIT = re.compile(r"(exit(-[a-z0-9-]+)?|quit)$")


def lines_of(text: str, ignored: str) -> dict[Line, None]:
    """Return the lines of a ``show running-config``, in order, but for those that are never compared.

    ``ignored`` is a pattern of these, matched against a line after all that it stands under, joined by `` / ``. The
    client sends it, so that one table says it for both; an empty one matches none.
    """
    return dict.fromkeys(_lines_of(text, ignored))


@functools.lru_cache(maxsize=4)
def _lines_of(text: str, ignored: str) -> tuple[Line, ...]:
    """Return the lines of a text; the last texts are kept: an earlier one and the running one are compared often."""
    pattern = re.compile(ignored or "(?!)")
    found: list[Line] = []
    above: list[tuple[int, str]] = []
    for raw in text.splitlines():
        line = raw.strip()
        if not line or line.startswith("!") or _EXIT.match(line):
            continue
        depth = len(raw) - len(raw.lstrip())
        while above and above[-1][0] >= depth:
            above.pop()
        above.append((depth, line))
        path = tuple(one for _, one in above)
        if not pattern.match(JOIN.join(path)):
            found.append(path)
    return tuple(found)


_OWNERS = (
    (re.compile(r"router bgp |bgp |rpki$|bmp "), "bgpd"),
    (re.compile(r"bfd$"), "bfdd"),
    (re.compile(r"segment-routing / traffic-eng"), "pathd"),
    (re.compile(r"router ospf6( |$)"), "ospf6d"),
    (re.compile(r"router ospf( |$)"), "ospfd"),
    (re.compile(r"router isis "), "isisd"),
    (re.compile(r"router pim( |$)|ip (pim|igmp|msdp) "), "pimd"),
)
"""Which daemon keeps a block or a line of the top level, where that is not zebra (FRR, vtysh/vtysh.h)."""

_STATIC_ROUTE = re.compile(r"(ip|ipv6) route ")
_STATIC_ROUTES_BY_MGMTD = 10
"""From this version on mgmtd takes static routes for staticd (FRR, mgmtd/mgmt_vty.c)."""

_VERSION = re.compile(r"^frr version (\d+)", re.MULTILINE)
_SHARED = re.compile(r"route-map |(ip|ipv6) (prefix-list|access-list) |access-list ")
"""What every daemon keeps for itself: vtysh shows such a line once, also where only one of them has it."""


def daemons_of(lines: Iterable[Line], version: int = 0) -> frozenset[str]:
    """Return the daemons of FRR that keep these lines; ``version`` is FRR's major one, 0 where it is not known."""
    tops = {_top(line) for line in lines}
    return frozenset(name for top in tops for name in _daemons(top, version))


def _top(line: Line) -> str:
    """Return the line that tells the daemon: the block, but inside a VRF the line itself, and of segment routing the
    part of it, since zebra has that of SRv6."""
    if line[0] == "segment-routing":
        return JOIN.join(line[:2])
    top = line[-1] if line[0].startswith("vrf ") else line[0]
    return top[3:] if top.startswith("no ") else top


def _daemons(top: str, version: int) -> tuple[str, ...]:
    if _STATIC_ROUTE.match(top):
        return ("mgmtd", "staticd") if version >= _STATIC_ROUTES_BY_MGMTD else ("staticd",)
    return tuple(name for pattern, name in _OWNERS if pattern.match(top)) or ("zebra",)


def version_of(text: str) -> int:
    """Return the major version of FRR that a ``show running-config`` names, 0 where it names none."""
    named = _VERSION.search(text)
    return int(named[1]) if named else 0


def shared_lines(text: str) -> dict[Line, None]:
    """Return the lines that several daemons keep, each for itself, in order."""
    return {line: None for line in lines_of(text, "") if _SHARED.match(line[0])}


_OF_TSA = re.compile(
    r"^route-map (\S*V[46]\S*) (permit 20|permit 30|deny 40)\n((?: .*\n)*)(?:exit\n)?(?:!\n)?", re.MULTILINE
)


def without_tsa(text: str) -> str:
    """Return a file of FRR's without the lines of SONiC's TSA, which holds its state in CONFIG_DB.

    bgpcfgd writes them at each start while TSA is on; a file that has them would hold routes back after TSB too.
    """
    found: dict[str, dict[str, str]] = {}
    for name, entry, lines in _OF_TSA.findall(text):
        found.setdefault(name, {})[entry] = lines
    shifted = {name for name, entries in found.items() if len(entries) == 3 and "PL_Loopback" in entries["permit 20"]}
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
    return text_of((*line[:-1], line[-1][3:] if line[-1].startswith("no ") else f"no {line[-1]}") for line in lines)
