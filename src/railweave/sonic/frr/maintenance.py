"""SONiC's own maintenance mode: the lines of ``TSA`` (traffic shift away), operational state like a drain.

TSA sets ``BGP_DEVICE_GLOBAL|STATE.tsa_enabled``, and bgpcfgd puts three entries into every outbound route-map with V4
or V6 in its name: 20 lets the switch's own loopback pass, 30 what bears a tag of SONiC's, 40 denies all else. TSB
deletes them. (sonic-buildimage 202305 to master: dockers/docker-fpm-frr/base_image_files/TS,
src/sonic-bgpcfgd/bgpcfgd/managers_device_global.py, frr/bgpd/tsa/*.j2.)
"""

import re
from collections.abc import Iterable
from enum import StrEnum

from railweave.sonic.frr.lines import JOIN, FrrEntry

_ENTRY = re.compile(r"route-map (?P<name>\S*V[46]\S*) (?P<entry>permit 20|permit 30|deny 40)$")
_ENTRIES = frozenset({"permit 20", "permit 30", "deny 40"})
_LOOPBACK = re.compile(r"match (ip|ipv6) address prefix-list PL_LoopbackV[46]$")
_BOUND = re.compile(r"neighbor \S+ route-map (?P<name>\S*V[46]\S*) out$")
_INTERNAL = re.compile(r"_INTERNAL_|VOQ_")
"""TSA leaves the sessions inside a chassis alone."""


class Maintenance(StrEnum):
    """The maintenance mode of a switch, by CONFIG_DB and FRR together."""

    NONE = ""
    ON = "on"
    # CONFIG_DB says maintenance, but FRR announces routes: bgpcfgd read it before FRR's file was loaded.
    NOT_APPLIED = "not applied"
    # CONFIG_DB says normal, but FRR holds routes back: a file with TSA's lines was loaded.
    LEFT = "left behind"


def maintenance_of(entries: Iterable[FrrEntry], lines: Iterable[FrrEntry], *, tsa_enabled: bool) -> Maintenance:
    """Return the maintenance mode of a switch by its FRR and by CONFIG_DB.

    ``entries`` are the lines of FRR's configuration, ``lines`` those that TSA wrote, and ``tsa_enabled`` is the field
    of CONFIG_DB.
    """
    matches = [_ENTRY.match(entry.line) for entry in lines]
    maps_with_tsa = {match["name"] for match in matches if match}
    # The route-maps that TSA would change.
    outbound_maps = _shifted_maps(entries)
    if tsa_enabled:
        if outbound_maps and outbound_maps <= maps_with_tsa:
            return Maintenance.ON
        return Maintenance.NOT_APPLIED
    if outbound_maps & maps_with_tsa:
        return Maintenance.LEFT
    return Maintenance.NONE


def separate_maintenance(entries: list[FrrEntry]) -> tuple[list[FrrEntry], list[FrrEntry]]:
    """Return the lines without those that TSA wrote, and the lines that TSA wrote."""
    # Nearly no switch is in maintenance; every one is parsed.
    if not any(entry.line.endswith(" deny 40") for entry in entries):
        return entries, []
    isolated = _isolated_maps(entries)
    configuration: list[FrrEntry] = []
    written_by_tsa: list[FrrEntry] = []
    for entry in entries:
        match = _ENTRY.match(entry.context or entry.line)
        lines = written_by_tsa if match and match["name"] in isolated else configuration
        lines.append(entry)
    return configuration, written_by_tsa


def _isolated_maps(entries: Iterable[FrrEntry]) -> set[str]:
    """Return the names of the route-maps that have all of TSA's entries.

    A single one of these entries may be anybody's.
    """
    entries_found: dict[str, set[str]] = {}
    loopback_matched: set[str] = set()
    for entry in entries:
        match = _ENTRY.match(entry.context or entry.line)
        if match is None:
            continue
        name = match["name"]
        if not entry.context:
            entries_found.setdefault(name, set()).add(match["entry"])
        elif _LOOPBACK.match(entry.line):
            loopback_matched.add(name)
    return {name for name, found in entries_found.items() if found == _ENTRIES and name in loopback_matched}


def _shifted_maps(entries: Iterable[FrrEntry]) -> frozenset[str]:
    """Return the route-maps that TSA changes: outbound ones with V4 or V6 in their name."""
    matches = [_BOUND.match(entry.line) for entry in entries]
    outbound = {match["name"] for match in matches if match}
    return frozenset(name for name in outbound if not _INTERNAL.search(name))


def maintenance_pattern(entries: Iterable[FrrEntry]) -> str:
    """Return a regular expression for the lines that TSA may write or TSB delete, each with its contexts before it.

    ``entries`` are the lines of FRR's configuration, whose route-maps TSA would change.
    """
    # A pattern without alternatives would match every name; (?!) matches nothing.
    names = "|".join(map(re.escape, sorted(_shifted_maps(entries)))) or "(?!)"
    return rf"route-map (?:{names}) (?:{'|'.join(sorted(_ENTRIES))})(?:{JOIN}|$)"
