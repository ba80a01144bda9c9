"""Unnumbered neighbors as FRR prints them: with their AS number or group in the line that defines them.

FRR takes ``neighbor Ethernet0 interface`` and ``neighbor Ethernet0 remote-as external`` one after the other and prints
``neighbor Ethernet0 interface remote-as external``; extended next hops are their default (bgpd/bgp_vty.c,
bgp_config_write_peer_global).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from railweave.sonic.frr.lines import FrrEntry

_DEFINITION = re.compile(
    r"(?P<defines>neighbor (?P<name>\S+) interface( v6only)?)( peer-group (?P<group>\S+)| remote-as (?P<asn>\S+))?$"
)
_SETTING = re.compile(
    r"neighbor (?P<name>\S+) (peer-group (?P<group>\S+)|remote-as (?P<asn>\S+)|capability extended-nexthop)$"
)


@dataclass(frozen=True, slots=True)
class _Peer:
    """What defines an unnumbered neighbor; ``group`` and ``asn`` are empty if it has none."""

    defines: str
    group: str = ""
    asn: str = ""

    def lines(self) -> Iterator[str]:
        """Yield the lines that FRR prints."""
        if self.group:
            yield f"{self.defines} peer-group {self.group}"
            if self.asn:
                neighbor = self.defines.removesuffix(" v6only").removesuffix(" interface")
                yield f"{neighbor} remote-as {self.asn}"
        elif self.asn:
            yield f"{self.defines} remote-as {self.asn}"
        else:
            yield self.defines


_Peers = Mapping[tuple[str, str], _Peer]
"""The unnumbered neighbors by their context and name."""


def with_whole_definitions(entries: Sequence[FrrEntry]) -> Sequence[FrrEntry]:
    """Return the lines with the definition of each unnumbered neighbor as FRR prints it, in one line if it can."""
    # Most switches have numbered links, and a substring is found faster than a pattern.
    if not any(" interface" in entry.line for entry in entries):
        return entries
    peers = _peers(entries)
    if not peers:
        return entries
    printed: list[FrrEntry] = []
    for entry in entries:
        printed += _printed(entry, peers)
    return printed


def _peers(entries: Sequence[FrrEntry]) -> _Peers:
    """Return the unnumbered neighbors, each with the group and the AS number that any of its lines states."""
    peers: dict[tuple[str, str], _Peer] = {}
    for entry in entries:
        match = _DEFINITION.match(entry.line)
        if match:
            peers[entry.context, match["name"]] = _Peer(match["defines"], match["group"] or "", match["asn"] or "")
    # A setting may come before the definition.
    for entry in entries:
        match = _SETTING.match(entry.line)
        if match is None:
            continue
        peer = peers.get((entry.context, match["name"]))
        if peer is not None:
            peers[entry.context, match["name"]] = _with_setting(peer, match)
    return peers


def _with_setting(peer: _Peer, setting: re.Match[str]) -> _Peer:
    """Return a neighbor with the group or AS number that a match of ``_SETTING`` has."""
    group = setting["group"] or peer.group
    asn = setting["asn"] or peer.asn
    return replace(peer, group=group, asn=asn)


def _printed(entry: FrrEntry, peers: _Peers) -> Iterator[FrrEntry]:
    """Yield the lines that FRR prints for a line; none if the definition of its neighbor says the same."""
    definition = _DEFINITION.match(entry.line)
    if definition:
        peer = peers[entry.context, definition["name"]]
        for line in peer.lines():
            yield FrrEntry(entry.context, line)
        return
    setting = _SETTING.match(entry.line)
    if setting is None or (entry.context, setting["name"]) not in peers:
        yield entry
