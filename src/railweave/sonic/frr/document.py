"""FRR's configuration as an ordered set of lines in their contexts, the same for what we render and what FRR prints.

FRR prints a configuration in its own order, adds lines, leaves out defaults and rewrites some forms, differently from
version to version. ``parse_frr`` removes these differences; the tables below are all that it knows about them.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from functools import lru_cache

from railweave.sonic.frr.drain_lines import binding, is_drain_line, separate
from railweave.sonic.frr.lines import (
    JOIN,
    FrrEntry,
    defined_neighbor,
    is_default_on,
    is_group,
    membership,
    neighbor_of,
    rank,
)
from railweave.sonic.frr.maintenance import maintenance_pattern, separate_maintenance
from railweave.sonic.frr.spelling import beside, has_more_beside, is_default_value, spelled
from railweave.wording import natural_key


def _any_of(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


OMITTED = _any_of(
    r"Building configuration|Current configuration",  # vtysh's heading
    r"frr version ",  # every version its own; it decides NEW_DEFAULTS
    r"frr defaults ",  # a build option; SONiC's is traditional
    r"hostname |domainname ",  # follows the system's name
    r"(no )?service integrated-vtysh-config$",  # vtysh.conf, set by SONiC's start script
    r"no neighbor \S+ capability link-local$",  # a default that 10.4 and 10.5 print of every unnumbered neighbor
    r"neighbor \S+ local-as \(null\)$",  # 10.3, of a member whose group has it
    r"end$",
)
"""Lines that say nothing about the configuration."""

SYSTEM = _any_of(
    r"(no )?log ",  # SONiC: log syslog informational; 8.x prints it, 10.x with `log facility`
    r"(no )?(password|enable password|service password-encryption)",  # vty access, a secret, not routing
    r"(no )?agentx$",  # the SNMP container
    r"(no )?fpm |(no )?zebra nexthop kernel enable$",  # appended by SONiC's docker_init.sh
    r"(no )?(ip|ipv6) forwarding$",  # the kernel's state, printed by zebra
    r"(no )?debug ",  # somebody's troubleshooting
    r"(no )?service ",
    r"line vty$|exec-timeout ",
    r"(no )?netns |(no )?mgmt ",  # 10.x
)
"""Lines of the system around the routing: never compared, kept where a whole file is written."""

NEW_DEFAULTS = (
    ((9, 1), "ip nht resolve-via-default"),  # FRR pull request 14162
    ((9, 1), "ipv6 nht resolve-via-default"),
)
"""Lines that need no configuration from a version on, at the top and in every VRF.

Older versions print such a line where it is configured, newer ones only its ``no`` form, and SONiC's builds of the
newer ones the plain form of both lines always, in the block of every VRF too (sonic-buildimage, src/sonic-frr/patch:
0057 in 202411, 0014 in 202505 and 202511). So from that version on the plain form is never a difference.
"""

_VERSION_NUMBER = re.compile(r"(\d+)\.(\d+)")
_VRF_BLOCK = re.compile(r"vrf \S+")

IMPLICIT = re.compile(r"(address-family|interface|vrf|line vty|segment-routing|traffic-eng)( |$)|bfd$")
"""Contexts that are there whether or not anything stands in them.

pathd prints ``segment-routing`` with ``traffic-eng`` in it as soon as it runs, and is the only daemon that prints
something without being told (all daemons of FRR 8.4 and 10.3 run with an empty configuration).
"""

_OPENER = re.compile(r"(router|address-family|route-map|interface|vrf|bfd|line vty|key chain|segment-routing)( |$)")
_EXIT = re.compile(r"(exit(-[a-z0-9-]+)?|quit)$")
_ROUTER_WORDS = "neighbor|network|redistribute|maximum-paths|aggregate-address|distance|timers"
_TOP_BGP = r"bgp (as-path|community-list|large-community-list|extcommunity-list|community alias)"
_INSIDE = (
    (re.compile(r"router "), re.compile(rf"(no )?({_ROUTER_WORDS}|address-family|(?!{_TOP_BGP})bgp)( |$)")),
    (re.compile(r"address-family "), re.compile(rf"(no )?({_ROUTER_WORDS}|import|export|table-map)( |$)")),
    (re.compile(r"route-map "), re.compile(r"(no )?(match|set|call|on-match|continue|description)( |$)")),
)
"""What belongs to the context above even in a file without indentation."""

_LIST_LINE = re.compile(
    r"(?P<name>((ip|ipv6) prefix-list|(ip |ipv6 )?access-list|bgp as-path access-list"
    r"|bgp (large-|ext)?community-list (standard|expanded)|bgp (large-|ext)?community-list(?= \d)) \S+) "
    r"(seq (?P<seq>\d+) )?(?P<rest>(permit|deny) .+)$"
)
_NO_DEFAULT_ACTIVE = "no bgp default ipv4-unicast"
_ACTIVATE = re.compile(r"neighbor \S+ activate$")


@dataclass(frozen=True, slots=True)
class FrrDocument:
    """The lines of an FRR configuration, each once, in the order read.

    ``system`` holds the lines never compared, ``version`` the text of ``frr version``, empty where there is none.
    ``drain`` holds the lines that drain the switch or some of its links, ``maintenance`` those of SONiC's TSA:
    operational state, never compared either.
    """

    entries: tuple[FrrEntry, ...]
    system: tuple[str, ...] = field(default=(), repr=False)
    version: str = ""
    drain: tuple[FrrEntry, ...] = ()
    maintenance: tuple[FrrEntry, ...] = ()


def parse_frr(text: str) -> FrrDocument:
    """Return the normalized lines of FRR text: a ``show running-config`` or a file of ours."""
    system: list[str] = []
    entries: list[FrrEntry] = []
    version = ""
    for entry in read_lines(text):
        kind = _kind(entry)
        if kind is _Kind.COMPARED:
            entries.append(entry)
        elif kind is _Kind.SYSTEM:
            system.append(entry.line)
        elif entry.line.startswith("frr version "):
            version = entry.line.removeprefix("frr version ")
    undrained, drain = separate(entries)
    kept, maintenance = separate_maintenance(undrained)
    return FrrDocument(
        normalize(kept, version),
        tuple(dict.fromkeys(system)),
        version,
        tuple(dict.fromkeys(drain)),
        tuple(dict.fromkeys(maintenance)),
    )


def with_lines(document: FrrDocument, removed: Iterable[FrrEntry], added: Iterable[FrrEntry]) -> FrrDocument:
    """Return ``document`` after the lines of a difference went and came."""
    gone = frozenset(removed)
    return replace(document, entries=(*(entry for entry in document.entries if entry not in gone), *added))


def is_foreign(entry: FrrEntry) -> bool:
    """Tell whether a line is never compared: none of the routing's, or of a drain."""
    return _says_nothing(entry) or _is_system(entry) or is_drain_line(entry.context, entry.line)


def never_compared(running: FrrDocument | None, after: FrrDocument | None = None) -> str:
    """Return the pattern of what ``frr_difference`` never compares, for the program on the switch that runs this.

    It is matched against a line after all that it stands under, joined by ``JOIN``. Lines that drain are compared
    there: a drain is a transaction of its own. Those of TSA are not, whether or not it is on: it may be turned on and
    off while a change waits for its confirmation.
    """
    version = running.version if running else ""
    entries = (*(running.entries if running else ()), *(after.entries if after else ()))
    implied = "|".join(map(re.escape, sorted(_implied(version)))) or "(?!)"
    whole_blocks = SYSTEM.pattern.replace("$", f"(?:{JOIN}|$)")
    return (
        rf"(?:{whole_blocks})|(?:{maintenance_pattern(entries)})|(?:{_VRF_BLOCK.pattern}{JOIN})?(?:{implied})$"
        rf"|(?:.*{JOIN})?(?!.*{JOIN})(?:{OMITTED.pattern}|{IMPLICIT.pattern})"
    )


class _Kind(Enum):
    """What a line is to a comparison."""

    COMPARED = auto()
    SYSTEM = auto()
    IGNORED = auto()


# What runs on a switch and what is intended have nearly all of their lines in common.
@lru_cache(maxsize=8192)
def _kind(entry: FrrEntry) -> _Kind:
    if _says_nothing(entry):
        return _Kind.IGNORED
    if _is_system(entry):
        return _Kind.SYSTEM
    return _Kind.IGNORED if IMPLICIT.match(entry.line) else _Kind.COMPARED


def _says_nothing(entry: FrrEntry) -> bool:
    # Most lines are a neighbor's, each of its own: a look at the first letters spares them the patterns.
    if entry.line.startswith("neighbor ") and not entry.line.endswith(" (null)"):
        return False
    return OMITTED.match(entry.line) is not None


def _is_system(entry: FrrEntry) -> bool:
    return _is_system_block(entry.context.partition(JOIN)[0] or entry.line)


@lru_cache(maxsize=4096)
def _is_system_block(top: str) -> bool:
    return SYSTEM.match(top) is not None


def read_lines(text: str) -> Iterator[FrrEntry]:
    """Yield every line in its context, comments and exits dropped, forms rewritten, nothing left out.

    Indentation gives the context, and where there is none the words do, as in vtysh itself.
    """
    stack: list[tuple[int, str]] = []
    context = ""
    for raw in text.splitlines():
        indent, line = _read(raw)
        if not line:
            continue
        if line[0] in "eq" and _EXIT.match(line):
            _leave(stack, indent)
            context = JOIN.join(opened for _, opened in stack)
            continue
        if _is_beside_the_last(stack, indent):
            stack[-1] = (indent, line)
        else:
            while stack and stack[-1][0] >= indent and not (stack[-1][0] == indent and _inside(stack[-1][1], line)):
                stack.pop()
            context = JOIN.join(opened for _, opened in stack)
            stack.append((indent, line))
        yield _entry(context, line)


# A switch's texts are read one after the other, and have most of their lines in common.
@lru_cache(maxsize=8192)
def _read(raw: str) -> tuple[int, str]:
    line = " ".join(raw.split())
    if not line or line[0] in "!#":
        return 0, ""
    return len(raw) - len(raw.lstrip()), spelled(line)


@lru_cache(maxsize=8192)
def _entry(context: str, line: str) -> FrrEntry:
    """Return a line where FRR keeps it: what is of an address family may stand in the router, a VRF behind a route."""
    if context.startswith("router bgp ") and JOIN not in context and _is_of_family(line):
        return FrrEntry(f"{context}{JOIN}{_FIRST_FAMILY}", line)
    in_vrf = None if context else _ROUTE_IN_VRF.match(line)
    return FrrEntry(f"vrf {in_vrf['vrf']}", f"{in_vrf['route']}{in_vrf['rest']}") if in_vrf else FrrEntry(context, line)


_FIRST_FAMILY = "address-family ipv4 unicast"
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


def _is_beside_the_last(stack: list[tuple[int, str]], indent: int) -> bool:
    """Tell whether a line stands in the same context as the one before, as most lines do."""
    if len(stack) < 2 or stack[-1][0] != indent or stack[-2][0] >= indent:
        return False
    last = stack[-1][1]
    return last.startswith("neighbor ") or _OPENER.match(last) is None


def _leave(stack: list[tuple[int, str]], indent: int) -> None:
    """Close the innermost open context at ``indent``."""
    while stack and (stack[-1][0] > indent or not _OPENER.match(stack[-1][1])):
        stack.pop()
    if stack and stack[-1][0] == indent:
        stack.pop()


def _inside(opened: str, line: str) -> bool:
    return any(opener.match(opened) and words.match(line) for opener, words in _INSIDE)


def normalize(entries: Iterable[FrrEntry], version: str) -> tuple[FrrEntry, ...]:
    """Return the lines as FRR would print them: numbered, without what is the default anyway, each once."""
    numbered = dict.fromkeys(_numbered(_whole(entries)))
    quiet = {entry.path[:1] for entry in numbered if entry.line == _NO_DEFAULT_ACTIVE}
    groups = _groups(numbered)
    numbers = _numbers_of_groups(numbered) if groups else {}
    return tuple(
        entry
        for entry in without_implied(numbered, version)
        if not (
            _is_unsaid(entry.line)
            or (
                entry.line.endswith(" activate")
                and (_is_active_anyway(entry, quiet) or _is_inactive_anyway(entry, quiet, groups, numbered))
            )
            or (groups and _may_be_inherited(entry.line) and _is_inherited(entry, groups, numbered, numbers))
        )
    )


@lru_cache(maxsize=8192)
def _is_unsaid(line: str) -> bool:
    return is_default_on(line) or is_default_value(line)


def _whole(entries: Iterable[FrrEntry]) -> Iterator[FrrEntry]:
    """Yield the lines with those that FRR prints beside one of them."""
    for entry in entries:
        if has_more_beside(entry.line):
            yield from beside(entry)
        else:
            yield entry


_Groups = Mapping[tuple[str, str], str]
"""The peer group of each member, by its router and name."""


def _groups(entries: Iterable[FrrEntry]) -> _Groups:
    found: dict[tuple[str, str], str] = {}
    for entry in entries:
        group = membership(entry.line) if " peer-group " in entry.line else None
        if group is not None and entry.context:
            found[entry.path[0], str(neighbor_of(entry.line))] = group
    return found


def _numbers_of_groups(entries: Iterable[FrrEntry]) -> _Groups:
    """Return the AS number of each peer group that has one, by its router and name."""
    entries = list(entries)
    names = {
        (entry.path[0], str(neighbor_of(entry.line))) for entry in entries if entry.context and is_group(entry.line)
    }
    found = ((entry, neighbor_of(entry.line)) for entry in entries if " remote-as " in entry.line and entry.context)
    return {(one.path[0], str(name)): one.line for one, name in found if (one.path[0], name) in names}


_INHERITED = re.compile(
    r"neighbor (?P<peer>\S+) "
    r"(?P<what>activate|local-as .+|ebgp-multihop \d+|remote-as \S+|(route-map|filter-list|unsuppress-map) .+)$"
)
"""Lines of a member that FRR does not print where its group has the same (run on FRR 8.4.4 and 10.3); an AS number is
the group's wherever it has one."""


@lru_cache(maxsize=8192)
def _may_be_inherited(line: str) -> bool:
    return _INHERITED.match(line) is not None


def _is_inherited(entry: FrrEntry, groups: _Groups, entries: Container[FrrEntry], numbers: _Groups) -> bool:
    match = _INHERITED.match(entry.line) if entry.context else None
    if match is None:
        return False
    group = groups.get((entry.path[0], match["peer"]), "")
    if match["what"].startswith("remote-as "):
        return (entry.path[0], group) in numbers
    return bool(group) and FrrEntry(entry.context, f"neighbor {group} {match['what']}") in entries


def _is_inactive_anyway(
    entry: FrrEntry, quiet: Container[tuple[str, ...]], groups: _Groups, entries: Container[FrrEntry]
) -> bool:
    """Tell whether a neighbor would not be active in its family without this line that says so."""
    if not entry.line.startswith("no neighbor ") or not entry.line.endswith(" activate") or len(entry.path) < 2:
        return False
    if entry.path[-1] == _FIRST_FAMILY and entry.path[:1] not in quiet:
        return False
    group = groups.get((entry.path[0], entry.line.split(" ")[2]))
    return group is None or FrrEntry(entry.context, f"neighbor {group} activate") not in entries


def without_implied(entries: Iterable[FrrEntry], version: str) -> tuple[FrrEntry, ...]:
    """Return the lines without those of ``NEW_DEFAULTS`` that ``version`` does anyway; all where it is unknown."""
    implied = _implied(version)
    return tuple(
        entry
        for entry in entries
        if entry.line not in implied or not (entry.context == "" or _VRF_BLOCK.match(entry.context))
    )


@lru_cache(maxsize=64)
def _implied(version: str) -> frozenset[str]:
    number = _VERSION_NUMBER.match(version)
    if number is None:
        return frozenset()
    running = (int(number[1]), int(number[2]))
    return frozenset(line if running >= since else f"no {line}" for since, line in NEW_DEFAULTS)


def _numbered(entries: Iterable[FrrEntry]) -> Iterator[FrrEntry]:
    """Give each line of a list without a number the one FRR would: five more than the highest so far."""
    highest: dict[str, int] = {}
    for entry in entries:
        match = _LIST_LINE.match(entry.line) if not entry.context else None
        if match is None:
            yield entry
            continue
        last = highest.get(match["name"], 0)
        number = int(match["seq"]) if match["seq"] else last + 5 - last % 5
        highest[match["name"]] = max(last, number)
        yield entry if match["seq"] else FrrEntry("", f"{match['name']} seq {number} {match['rest']}")


def _is_active_anyway(entry: FrrEntry, quiet: Container[tuple[str, ...]]) -> bool:
    return (
        entry.line.endswith(" activate")
        and _ACTIVATE.match(entry.line) is not None
        and entry.path[-1:] == (_FIRST_FAMILY,)
        and entry.path[:1] not in quiet
    )


def render_frr(document: FrrDocument) -> str:
    """Return a configuration file: what is referred to before what refers to it, contexts closed, FRR's own layout."""
    version = [f"frr version {document.version}"] if document.version else []
    system = [line for line in document.system if not _is_kernel_state(line)]
    ordered = sorted([*_without_held_maps(document), *_standing(document)], key=_place)
    return "\n".join([*version, "frr defaults traditional", *system, "!", *write_lines(ordered), "end"]) + "\n"


def _without_held_maps(document: FrrDocument) -> Iterator[FrrEntry]:
    """Yield the lines but for the route-maps of neighbors that a drain holds the place of."""
    held = {(one.context, one.peer, one.way) for one in map(binding, document.drain) if one is not None}
    for entry in document.entries:
        words = entry.line.split()
        is_map = len(words) == 5 and words[0] == "neighbor" and words[2] == "route-map"
        if not (is_map and (entry.context, words[1], words[4]) in held):
            yield entry


def _standing(document: FrrDocument) -> Iterator[FrrEntry]:
    """Yield the lines that drain, and those of TSA, but for routers, neighbors and route-maps that are gone."""
    maps = {entry.line.split()[1] for entry in document.entries if entry.line.startswith("route-map ")}
    yield from (entry for entry in document.maintenance if (entry.context or entry.line).split()[1] in maps)
    routers = {entry.line for entry in document.entries if entry.line.startswith("router ")}
    neighbors = {(entry.context, defined_neighbor(entry.line)) for entry in document.entries}
    for entry in document.drain:
        bound = binding(entry)
        router = entry.path[0] if entry.context else ""
        if router.startswith("router ") and router not in routers:
            continue
        if bound is None or (router, bound.peer) in neighbors:
            yield entry


def _is_kernel_state(line: str) -> bool:
    return line.endswith("forwarding")


def _place(entry: FrrEntry) -> tuple[object, ...]:
    """Order whole top-level blocks, then inside each the plain lines before the inner contexts."""
    path = (*entry.path, entry.line)
    top = rank(FrrEntry("", path[0]))[0]
    header = natural_key(path[0]) if top in _BLOCKS else ()
    return (top, header, natural_key(entry.context) if len(path) > 1 else (), *rank(entry)[1:])


_BLOCKS = (0, 1, 2, 4)
"""Ranks of the top-level kinds whose blocks are kept together by name: lists, route maps, interfaces, routers."""


def write_lines(entries: Iterable[FrrEntry]) -> Iterator[str]:
    """Yield text that enters and leaves the contexts of ``entries`` in the order given."""
    open_path: tuple[str, ...] = ()
    for entry in entries:
        path = entry.path
        shared = _shared(open_path, path)
        yield from _exits(open_path, shared)
        for depth in range(shared, len(path)):
            yield " " * depth + path[depth]
        yield " " * len(path) + entry.line
        open_path = (*path, entry.line) if _OPENER.match(entry.line) else path
    yield from _exits(open_path, 0)


def _shared(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _exits(path: tuple[str, ...], depth: int) -> Iterator[str]:
    for level in range(len(path) - 1, depth - 1, -1):
        word = "exit-address-family" if path[level].startswith("address-family") else "exit"
        yield " " * level + word
