"""FRR's configuration as an ordered set of lines in their contexts, the same for rendered files and for FRR's output.

FRR prints a configuration in its own order, adds lines, leaves out defaults and rewrites some forms, differently from
version to version. ``parse_frr`` removes these differences by the tables below.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from functools import lru_cache
from itertools import chain

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
"""Contexts that exist whether or not they have lines.

pathd prints ``segment-routing`` with ``traffic-eng`` in it as soon as it runs, and is the only daemon that prints
lines without any configuration (all daemons of FRR 8.4 and 10.3 run with an empty one).
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
"""Lines that belong to the context above even in a file without indentation."""

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
        if kind is _LineKind.COMPARED:
            entries.append(entry)
        elif kind is _LineKind.SYSTEM:
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
    """Return ``document`` after the lines of a difference are removed and added."""
    removed = frozenset(removed)
    return replace(document, entries=(*(entry for entry in document.entries if entry not in removed), *added))


def is_foreign(entry: FrrEntry) -> bool:
    """Tell whether a line is never compared: it is not about routing, or drains."""
    return _says_nothing(entry) or _is_system(entry) or is_drain_line(entry.context, entry.line)


def never_compared(running: FrrDocument | None, after: FrrDocument | None = None) -> str:
    """Return the pattern of what ``frr_difference`` never compares, for the program on the switch that runs this.

    It is matched against a line with its contexts before it, joined by ``JOIN``. Lines that drain are compared there: a
    drain is a transaction of its own. Those of TSA are not, whether or not it is on: it may be turned on and off while
    a change waits for its confirmation.
    """
    documents = [document for document in (running, after) if document is not None]
    entries = chain.from_iterable(document.entries for document in documents)
    version = running.version if running else ""
    # A pattern without alternatives would match everything; (?!) matches nothing.
    implied = "|".join(map(re.escape, sorted(_implied(version)))) or "(?!)"
    whole_blocks = SYSTEM.pattern.replace("$", f"(?:{JOIN}|$)")
    return (
        rf"(?:{whole_blocks})|(?:{maintenance_pattern(entries)})|(?:{_VRF_BLOCK.pattern}{JOIN})?(?:{implied})$"
        rf"|(?:.*{JOIN})?(?!.*{JOIN})(?:{OMITTED.pattern}|{IMPLICIT.pattern})"
    )


class _LineKind(Enum):
    """How a comparison treats a line."""

    COMPARED = auto()
    SYSTEM = auto()
    IGNORED = auto()


# The running and the intended configuration of a switch have nearly all of their lines in common.
@lru_cache(maxsize=8192)
def _kind(entry: FrrEntry) -> _LineKind:
    if _says_nothing(entry):
        return _LineKind.IGNORED
    if _is_system(entry):
        return _LineKind.SYSTEM
    if IMPLICIT.match(entry.line):
        return _LineKind.IGNORED
    return _LineKind.COMPARED


def _says_nothing(entry: FrrEntry) -> bool:
    # Most lines are of neighbors and all different; their first word spares them the patterns.
    if entry.line.startswith("neighbor ") and not entry.line.endswith(" (null)"):
        return False
    return OMITTED.match(entry.line) is not None


def _is_system(entry: FrrEntry) -> bool:
    return _is_system_block(entry.context.partition(JOIN)[0] or entry.line)


@lru_cache(maxsize=4096)
def _is_system_block(top: str) -> bool:
    return SYSTEM.match(top) is not None


def read_lines(text: str) -> Iterator[FrrEntry]:
    """Yield every line in its context and in the spelling of ``spelling``, without comments and exits.

    Indentation gives the context, and where there is none the words do, as in vtysh itself.
    """
    # The indentation and text of the lines that may be contexts of the next one, outermost first.
    stack: list[tuple[int, str]] = []
    context = ""
    for raw in text.splitlines():
        indent, line = _read(raw)
        if not line:
            continue
        # Two letters spare most lines the pattern: a fabric has a million of them.
        if line[0] in "eq" and _EXIT.match(line):
            _leave(stack, indent)
            context = _context(stack)
            continue
        if _is_beside_the_last(stack, indent):
            stack[-1] = (indent, line)
        else:
            _close(stack, indent, line)
            context = _context(stack)
            stack.append((indent, line))
        yield _entry(context, line)


def _context(stack: list[tuple[int, str]]) -> str:
    return JOIN.join(line for _, line in stack)


def _close(stack: list[tuple[int, str]], indent: int, line: str) -> None:
    """Remove the lines from the stack that are no context of ``line``."""
    while stack:
        last_indent, last = stack[-1]
        if last_indent < indent or (last_indent == indent and _inside(last, line)):
            return
        stack.pop()


# A switch's texts are read one after the other, and have most of their lines in common.
@lru_cache(maxsize=8192)
def _read(raw: str) -> tuple[int, str]:
    line = " ".join(raw.split())
    if not line or line[0] in "!#":
        return 0, ""
    return len(raw) - len(raw.lstrip()), spelled(line)


@lru_cache(maxsize=8192)
def _entry(context: str, line: str) -> FrrEntry:
    """Return a line in the context in which FRR prints it."""
    if not context:
        in_vrf = _ROUTE_IN_VRF.match(line)
        if in_vrf:
            return FrrEntry(f"vrf {in_vrf['vrf']}", f"{in_vrf['route']}{in_vrf['rest']}")
    elif context.startswith("router bgp ") and JOIN not in context and _is_of_family(line):
        return FrrEntry(f"{context}{JOIN}{_FIRST_FAMILY}", line)
    return FrrEntry(context, line)


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
    """Tell whether a line is in the same context as the one before, as most lines are."""
    if len(stack) < 2 or stack[-1][0] != indent or stack[-2][0] >= indent:
        return False
    last = stack[-1][1]
    # Lines of neighbors open no context, and are most lines.
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
    """Return the lines as FRR would print them: lists numbered, defaults left out, each line once."""
    numbered = dict.fromkeys(_numbered(_complete(entries)))
    quiet = {entry.path[:1] for entry in numbered if entry.line == _NO_DEFAULT_ACTIVE}
    groups = _groups(numbered)
    numbers = _numbers_of_groups(numbered) if groups else {}
    printed: list[FrrEntry] = []
    for entry in without_implied(numbered, version):
        line = entry.line
        if _is_unsaid(line):
            continue
        # The last word and a cached look spare most lines the costlier questions.
        if line.endswith(" activate") and _is_default_activation(entry, quiet, groups, numbered):
            continue
        inheritable = _inheritable(line) if groups else None
        if inheritable is not None and _is_inherited(entry, *inheritable, groups, numbered, numbers):
            continue
        printed.append(entry)
    return tuple(printed)


@lru_cache(maxsize=8192)
def _is_unsaid(line: str) -> bool:
    return is_default_on(line) or is_default_value(line)


def _complete(entries: Iterable[FrrEntry]) -> Iterator[FrrEntry]:
    """Yield the lines with those that FRR prints beside one of them."""
    for entry in entries:
        if has_more_beside(entry.line):
            yield from beside(entry)
        else:
            yield entry


_Groups = Mapping[tuple[str, str], str]
"""The peer group of each member, by its router and name."""


def _groups(entries: Iterable[FrrEntry]) -> _Groups:
    groups: dict[tuple[str, str], str] = {}
    for entry in entries:
        if " peer-group " not in entry.line or not entry.context:
            continue
        group = membership(entry.line)
        if group is not None:
            groups[_router_of(entry), str(neighbor_of(entry.line))] = group
    return groups


def _router_of(entry: FrrEntry) -> str:
    """Return the outermost context of a line; ``path`` would split all of them."""
    return entry.context.partition(JOIN)[0]


def _numbers_of_groups(entries: Iterable[FrrEntry]) -> _Groups:
    """Return the AS number of each peer group that has one, by its router and name."""
    groups = {(_router_of(entry), str(neighbor_of(entry.line))) for entry in entries if is_group(entry.line)}
    numbers: dict[tuple[str, str], str] = {}
    for entry in entries:
        if " remote-as " not in entry.line:
            continue
        peer = (_router_of(entry), str(neighbor_of(entry.line)))
        if peer in groups:
            numbers[peer] = entry.line
    return numbers


_INHERITED = re.compile(
    r"neighbor (?P<peer>\S+) "
    r"(?P<setting>activate|local-as .+|ebgp-multihop \d+|remote-as \S+|(route-map|filter-list|unsuppress-map) .+)$"
)
"""Lines of a member that FRR does not print where its group has the same (run on FRR 8.4.4 and 10.3); an AS number is
the group's wherever it has one."""


@lru_cache(maxsize=8192)
def _inheritable(line: str) -> tuple[str, str] | None:
    """Return the peer and the setting of a line that a member may have from its group; None for other lines."""
    match = _INHERITED.match(line)
    if match is None:
        return None
    return match["peer"], match["setting"]


def _is_inherited(
    entry: FrrEntry, peer: str, setting: str, groups: _Groups, entries: Container[FrrEntry], numbers: _Groups
) -> bool:
    router = _router_of(entry)
    group = groups.get((router, peer), "")
    if setting.startswith("remote-as "):
        return (router, group) in numbers
    return bool(group) and FrrEntry(entry.context, f"neighbor {group} {setting}") in entries


def _is_default_activation(
    entry: FrrEntry, quiet: Container[tuple[str, ...]], groups: _Groups, entries: Container[FrrEntry]
) -> bool:
    """Tell whether FRR leaves out an (in)activation; ``quiet`` are the routers with ``_NO_DEFAULT_ACTIVE``."""
    path = entry.path
    if not path:
        return False
    active_by_default = path[-1] == _FIRST_FAMILY and path[:1] not in quiet
    if _ACTIVATE.match(entry.line):
        return active_by_default
    if active_by_default or len(path) < 2 or not entry.line.startswith("no neighbor "):
        return False
    # A member of a group that is active stays out of the family only by this line.
    group = groups.get((path[0], entry.line.split(" ")[2]))
    return group is None or FrrEntry(entry.context, f"neighbor {group} activate") not in entries


def without_implied(entries: Iterable[FrrEntry], version: str) -> tuple[FrrEntry, ...]:
    """Return the lines without those of ``NEW_DEFAULTS`` for ``version``; all lines where it is unknown."""
    implied = _implied(version)
    return tuple(entry for entry in entries if entry.line not in implied or not _is_top_or_vrf(entry.context))


def _is_top_or_vrf(context: str) -> bool:
    return not context or _VRF_BLOCK.match(context) is not None


@lru_cache(maxsize=64)
def _implied(version: str) -> frozenset[str]:
    number = _VERSION_NUMBER.match(version)
    if number is None:
        return frozenset()
    running = (int(number[1]), int(number[2]))
    return frozenset(line if running >= since else f"no {line}" for since, line in NEW_DEFAULTS)


def _numbered(entries: Iterable[FrrEntry]) -> Iterator[FrrEntry]:
    """Yield the lines, those of lists with the number that FRR gives them."""
    highest: dict[str, int] = {}
    for entry in entries:
        match = None
        if not entry.context:
            match = _LIST_LINE.match(entry.line)
        if match is None:
            yield entry
            continue
        name = match["name"]
        last = highest.get(name, 0)
        if match["seq"]:
            number = int(match["seq"])
            yield entry
        else:
            # FRR takes the next multiple of five after the highest number so far.
            number = last + 5 - last % 5
            yield FrrEntry("", f"{name} seq {number} {match['rest']}")
        highest[name] = max(last, number)


def render_frr(document: FrrDocument) -> str:
    """Return a configuration file in FRR's layout: lines before the lines that refer to them, contexts closed."""
    header = ["frr defaults traditional"]
    if document.version:
        header.insert(0, f"frr version {document.version}")
    # zebra prints the kernel's forwarding as it is; a file with it would freeze that state.
    system = [line for line in document.system if not line.endswith("forwarding")]
    ordered = sorted([*_without_replaced_maps(document), *_operational_lines(document)], key=_place)
    return "\n".join([*header, *system, "!", *write_lines(ordered), "end"]) + "\n"


def _without_replaced_maps(document: FrrDocument) -> Iterator[FrrEntry]:
    """Yield the lines without the route-maps of neighbors that a drain replaces."""
    bindings = map(binding, document.drain)
    replaced = {(bound.context, bound.peer, bound.way) for bound in bindings if bound is not None}
    for entry in document.entries:
        words = entry.line.split()
        is_map = len(words) == 5 and words[0] == "neighbor" and words[2] == "route-map"
        if not (is_map and (entry.context, words[1], words[4]) in replaced):
            yield entry


def _operational_lines(document: FrrDocument) -> Iterator[FrrEntry]:
    """Yield the lines of drains and of TSA whose routers, neighbors and route-maps exist."""
    maps = {entry.line.split()[1] for entry in document.entries if entry.line.startswith("route-map ")}
    for entry in document.maintenance:
        if (entry.context or entry.line).split()[1] in maps:
            yield entry
    # Most switches are not drained.
    if document.drain:
        yield from _drain_lines(document)


def _drain_lines(document: FrrDocument) -> Iterator[FrrEntry]:
    """Yield the lines of drains whose routers and neighbors exist."""
    routers = {entry.line for entry in document.entries if entry.line.startswith("router ")}
    neighbors = {(entry.context, defined_neighbor(entry.line)) for entry in document.entries}
    for entry in document.drain:
        bound = binding(entry)
        router = entry.context.partition(JOIN)[0]
        if router.startswith("router ") and router not in routers:
            continue
        if bound is None or (router, bound.peer) in neighbors:
            yield entry


def _place(entry: FrrEntry) -> tuple[object, ...]:
    """Order whole top-level blocks, then inside each the plain lines before the inner contexts."""
    first = (*entry.path, entry.line)[0]
    top = rank(FrrEntry("", first))[0]
    block = natural_key(first) if top in _BLOCKS else ()
    context = natural_key(entry.context) if entry.context else ()
    return (top, block, context, *rank(entry)[1:])


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
        open_path = path
        if _OPENER.match(entry.line):
            open_path = (*path, entry.line)
    yield from _exits(open_path, 0)


def _shared(path: tuple[str, ...], other: tuple[str, ...]) -> int:
    """Return how many contexts two paths have in common."""
    count = 0
    for left, right in zip(path, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _exits(path: tuple[str, ...], depth: int) -> Iterator[str]:
    """Yield the commands that leave the contexts of ``path`` below ``depth``, innermost first."""
    for level in range(len(path) - 1, depth - 1, -1):
        # vtysh leaves a family by a command of its own.
        if path[level].startswith("address-family"):
            yield " " * level + "exit-address-family"
        else:
            yield " " * level + "exit"
