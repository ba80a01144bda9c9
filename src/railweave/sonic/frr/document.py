"""FRR's configuration as an ordered set of lines in their contexts, the same for rendered files and for FRR's output.

FRR prints a configuration in its own order, adds lines, leaves out defaults and rewrites some forms, differently from
version to version. ``parse_frr`` removes these differences by the tables below.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from functools import lru_cache
from typing import NamedTuple

from railweave.sonic.frr.drain_lines import is_drain_line, separate
from railweave.sonic.frr.lines import (
    JOIN,
    FrrEntry,
    is_default_on,
    is_group,
    membership,
    neighbor_of,
)
from railweave.sonic.frr.maintenance import maintenance_pattern, separate_maintenance
from railweave.sonic.frr.negation import without_negations
from railweave.sonic.frr.reading import FIRST_FAMILY, read_lines
from railweave.sonic.frr.spelling import beside, has_more_beside, is_default_value
from railweave.sonic.frr.unnumbered import with_whole_definitions


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
    compared: list[FrrEntry] = []
    version = ""
    for entry in read_lines(text):
        line_kind = _line_kind(entry)
        if line_kind is _LineKind.COMPARED:
            compared.append(entry)
        elif line_kind is _LineKind.SYSTEM:
            system.append(entry.line)
        elif entry.line.startswith("frr version "):
            version = entry.line.removeprefix("frr version ")
    without_drain, drain = separate(compared)
    configuration, maintenance = separate_maintenance(without_drain)
    return FrrDocument(
        entries=normalize(configuration, version),
        system=tuple(dict.fromkeys(system)),
        version=version,
        drain=tuple(dict.fromkeys(drain)),
        maintenance=tuple(dict.fromkeys(maintenance)),
    )


def with_lines(document: FrrDocument, removed: Iterable[FrrEntry], added: Iterable[FrrEntry]) -> FrrDocument:
    """Return ``document`` after the lines of a difference are removed and added."""
    removed = frozenset(removed)
    return replace(document, entries=(*(entry for entry in document.entries if entry not in removed), *added))


def is_foreign(entry: FrrEntry) -> bool:
    """Tell whether a line is never compared: it is not about routing, or drains."""
    return _says_nothing(entry) or _is_system(entry) or is_drain_line(entry.context, entry.line)


def never_compared(running: FrrDocument | None, after: FrrDocument | None = None) -> str:
    """Return a regular expression for the lines that the program on the switch does not compare.

    ``running`` and ``after`` are FRR's configurations before and after a change. The pattern is matched against a line
    with its contexts before it, joined by ``JOIN``. It matches what ``frr_difference`` never compares, except for drain
    lines: a drain is a transaction of its own. It matches TSA's lines whether or not TSA is on, because TSA may be
    turned on and off while a change waits for its confirmation.
    """
    entries: list[FrrEntry] = []
    version = ""
    if running is not None:
        entries += running.entries
        version = running.version
    if after is not None:
        entries += after.entries
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
def _line_kind(entry: FrrEntry) -> _LineKind:
    """Return how a comparison treats a line."""
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
    """Tell whether a line, or the block that it is in, is of the system around the routing."""
    return _is_system_block(entry.context.partition(JOIN)[0] or entry.line)


@lru_cache(maxsize=4096)
def _is_system_block(top: str) -> bool:
    return SYSTEM.match(top) is not None


def normalize(entries: Iterable[FrrEntry], version: str) -> tuple[FrrEntry, ...]:
    """Return the lines as FRR would print them: lists numbered, defaults left out, each line once.

    ``version`` is the text of ``frr version``, which decides what is a default; empty if it is unknown.
    """
    complete = _with_lines_beside(with_whole_definitions(tuple(entries)))
    numbered = without_negations(_numbered(complete))
    quiet_routers = _quiet_routers(numbered)
    groups = _groups(numbered)
    groups_with_asn = _groups_with_asn(numbered) if groups else set()
    printed: list[FrrEntry] = []
    for entry in without_implied(numbered, version):
        line = entry.line
        if _is_default(line):
            continue
        # For speed, the last word of a line and a cached match come before the costlier tests.
        if line.endswith(" activate") and _is_default_activation(entry, quiet_routers, groups, numbered):
            continue
        setting = _inheritable_setting(line) if groups else None
        if setting is not None and _is_inherited(entry, setting, groups, numbered, groups_with_asn):
            continue
        printed.append(entry)
    return tuple(printed)


def _quiet_routers(entries: Iterable[FrrEntry]) -> set[tuple[str, ...]]:
    """Return the paths of the routers whose neighbors are not active in IPv4 unicast by default."""
    return {entry.path[:1] for entry in entries if entry.line == _NO_DEFAULT_ACTIVE}


@lru_cache(maxsize=8192)
def _is_default(line: str) -> bool:
    return is_default_on(line) or is_default_value(line)


def _with_lines_beside(entries: Iterable[FrrEntry]) -> Iterator[FrrEntry]:
    """Yield the lines; where FRR prints several lines for one, yield these in its place."""
    for entry in entries:
        if has_more_beside(entry.line):
            yield from beside(entry)
        else:
            yield entry


_RouterPeer = tuple[str, str]
"""A router's line, and the name of a neighbor or peer group in it."""
_Groups = Mapping[_RouterPeer, str]
"""The peer group of each member."""


def _groups(entries: Iterable[FrrEntry]) -> _Groups:
    """Return the peer group of each member."""
    groups: dict[_RouterPeer, str] = {}
    for entry in entries:
        # A substring spares most lines the pattern of `membership`.
        if " peer-group " not in entry.line or not entry.context:
            continue
        group = membership(entry.line)
        if group is not None:
            groups[_router_of(entry), str(neighbor_of(entry.line))] = group
    return groups


def _router_of(entry: FrrEntry) -> str:
    """Return the outermost context of a line; ``path`` would split all of them."""
    return entry.context.partition(JOIN)[0]


def _groups_with_asn(entries: Iterable[FrrEntry]) -> set[_RouterPeer]:
    """Return the peer groups that have an AS number."""
    groups = {(_router_of(entry), str(neighbor_of(entry.line))) for entry in entries if is_group(entry.line)}
    with_asn: set[_RouterPeer] = set()
    for entry in entries:
        # A substring spares most lines the pattern of `neighbor_of`.
        if " remote-as " in entry.line:
            peer = (_router_of(entry), str(neighbor_of(entry.line)))
            if peer in groups:
                with_asn.add(peer)
    return with_asn


_INHERITED = re.compile(
    r"neighbor (?P<peer>\S+) "
    r"(?P<setting>activate|solo|local-as .+|ebgp-multihop \d+|ttl-security hops \d+|remote-as \S+"
    r"|(route-map|filter-list|unsuppress-map) .+)$"
)
"""Lines of a member that FRR does not print where its group has the same (run on FRR 8.4.4 and 10.3); an AS number is
the group's wherever it has one."""


class _PeerSetting(NamedTuple):
    """A setting of a neighbor: what follows its name in the line."""

    peer: str
    setting: str


@lru_cache(maxsize=8192)
def _inheritable_setting(line: str) -> _PeerSetting | None:
    """Return the setting of a line that a member may have from its group; None for other lines."""
    match = _INHERITED.match(line)
    if match is None:
        return None
    return _PeerSetting(match["peer"], match["setting"])


def _is_inherited(
    entry: FrrEntry,
    peer_setting: _PeerSetting,
    groups: _Groups,
    entries: Container[FrrEntry],
    groups_with_asn: Container[_RouterPeer],
) -> bool:
    """Tell whether the group of a neighbor has the setting of ``entry`` too, so that FRR does not print it."""
    router = _router_of(entry)
    group = groups.get((router, peer_setting.peer), "")
    if not group:
        return False
    # A member has the AS number of its group, if that has one, whatever its own line states.
    if peer_setting.setting.startswith("remote-as "):
        return (router, group) in groups_with_asn
    return FrrEntry(entry.context, f"neighbor {group} {peer_setting.setting}") in entries


def _is_default_activation(
    entry: FrrEntry, quiet_routers: Container[tuple[str, ...]], groups: _Groups, entries: Container[FrrEntry]
) -> bool:
    """Tell whether a line that activates a neighbor, or its ``no`` form, states the default, which FRR does not print.

    ``quiet_routers`` are the paths of the routers with ``_NO_DEFAULT_ACTIVE``.
    """
    path = entry.path
    if not path:
        return False
    is_active_by_default = path[-1] == FIRST_FAMILY and path[:1] not in quiet_routers
    if _ACTIVATE.match(entry.line):
        return is_active_by_default
    is_inactivation_in_family = len(path) >= 2 and entry.line.startswith("no neighbor ")
    if is_active_by_default or not is_inactivation_in_family:
        return False
    # If the group of the neighbor is active in the family, this line alone keeps the neighbor out of it.
    name = entry.line.split(" ")[2]
    group = groups.get((path[0], name))
    return group is None or FrrEntry(entry.context, f"neighbor {group} activate") not in entries


def without_implied(entries: Iterable[FrrEntry], version: str) -> tuple[FrrEntry, ...]:
    """Return the lines without those of ``NEW_DEFAULTS`` for ``version``; all lines if it is unknown."""
    implied = _implied(version)
    return tuple(entry for entry in entries if entry.line not in implied or not _is_top_or_vrf(entry.context))


def _is_top_or_vrf(context: str) -> bool:
    return not context or _VRF_BLOCK.match(context) is not None


@lru_cache(maxsize=64)
def _implied(version: str) -> frozenset[str]:
    """Return the lines that are defaults in a version: plain forms from ``NEW_DEFAULTS`` on, before that ``no`` forms.

    Empty for an unknown version.
    """
    number = _VERSION_NUMBER.match(version)
    if number is None:
        return frozenset()
    running = (int(number[1]), int(number[2]))
    return frozenset(line if running >= since else f"no {line}" for since, line in NEW_DEFAULTS)


def _numbered(entries: Iterable[FrrEntry]) -> Iterator[FrrEntry]:
    """Yield the lines, those of lists with the number that FRR gives them."""
    highest_number: dict[str, int] = {}
    for entry in entries:
        match = None
        if not entry.context:
            match = _LIST_LINE.match(entry.line)
        if match is None:
            yield entry
            continue
        list_name = match["name"]
        highest = highest_number.get(list_name, 0)
        if match["seq"]:
            number = int(match["seq"])
            yield entry
        else:
            # FRR takes the next multiple of five after the highest number so far.
            number = highest + 5 - highest % 5
            yield FrrEntry("", f"{list_name} seq {number} {match['rest']}")
        highest_number[list_name] = max(highest, number)
