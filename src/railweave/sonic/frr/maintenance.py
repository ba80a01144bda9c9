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
    """What TSA made of a switch."""

    NONE = ""
    ON = "on"
    NOT_APPLIED = "not applied"
    """CONFIG_DB says maintenance, and FRR announces routes all the same: bgpcfgd read it before its file was loaded."""
    LEFT = "left behind"
    """CONFIG_DB says normal, and FRR holds routes back all the same: a file with these lines was loaded."""


def maintenance_of(entries: Iterable[FrrEntry], lines: Iterable[FrrEntry], *, tsa_enabled: bool) -> Maintenance:
    """Return the state of a switch whose FRR holds ``entries`` and ``lines`` of TSA's."""
    isolated = {match["name"] for entry in lines if (match := _ENTRY.match(entry.line))}
    shifted = _shifted_maps(entries)
    if tsa_enabled:
        return Maintenance.ON if shifted and shifted <= isolated else Maintenance.NOT_APPLIED
    return Maintenance.LEFT if shifted & isolated else Maintenance.NONE


def separate_maintenance(entries: list[FrrEntry]) -> tuple[list[FrrEntry], list[FrrEntry]]:
    """Return the configuration, and the lines that TSA wrote: of route-maps that have all its entries."""
    if not any(entry.line.endswith(" deny 40") for entry in entries):
        return entries, []
    found: dict[str, set[str]] = {}
    for entry in entries:
        match = _ENTRY.match(entry.context or entry.line)
        if match and (not entry.context or _LOOPBACK.match(entry.line)):
            found.setdefault(match["name"], set()).add("loopback" if entry.context else match["entry"])
    isolated = {name for name, parts in found.items() if parts == {*_ENTRIES, "loopback"}}
    of_tsa = [_is_of(entry, isolated) for entry in entries]
    pairs = list(zip(entries, of_tsa, strict=True))
    return [entry for entry, taken in pairs if not taken], [entry for entry, taken in pairs if taken]


def _is_of(entry: FrrEntry, names: set[str]) -> bool:
    match = _ENTRY.match(entry.context or entry.line)
    return match is not None and match["name"] in names


def _shifted_maps(entries: Iterable[FrrEntry]) -> frozenset[str]:
    bound = {match["name"] for entry in entries if (match := _BOUND.match(entry.line))}
    return frozenset(name for name in bound if not _INTERNAL.search(name))


def maintenance_pattern(entries: Iterable[FrrEntry]) -> str:
    """Return a pattern of the lines that TSA may write or TSB delete, each after those that it is under."""
    names = "|".join(map(re.escape, sorted(_shifted_maps(entries)))) or "(?!)"
    return rf"route-map (?:{names}) (?:{'|'.join(sorted(_ENTRIES))})(?:{JOIN}|$)"
