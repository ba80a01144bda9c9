"""Intended against running on one switch: the changes, unmanaged rows, and conflicts."""

import hashlib
import hmac
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter

import orjson

from railweave.diagnostics import Blocker
from railweave.sonic.delta.change import Delta, Edit, Op
from railweave.sonic.delta.conflicts import Conflict, find_conflicts, find_frr_conflicts, planned_edits
from railweave.sonic.delta.delta import lines_of, treated
from railweave.sonic.delta.edits import frr_edits, row_edits
from railweave.sonic.delta.kept import Kept, unstated_rows
from railweave.sonic.delta.methods import RELOADED, Treatment, settle
from railweave.sonic.delta.spans import SPANNED, rows_by_port, span_edits
from railweave.sonic.document import RunningConfig, are_texts, canonical, same_value
from railweave.sonic.frr import frr_difference, with_lines
from railweave.sonic.frr.drain import drained_peers
from railweave.sonic.frr.maintenance import Maintenance, maintenance_of
from railweave.sonic.frr.ownership import FrrScope
from railweave.sonic.neutral import has_permanent_rows, is_as_good_as_none, is_permanent, neutral_fields
from railweave.sonic.ownership import (
    CABLE_LENGTH,
    PRIORITY_GROUPS,
    Scope,
    frr_scope,
    is_fieldwise,
    is_made_by_sonic,
    is_ours,
    port_of,
    scope_of,
    stands_over_others,
)
from railweave.sonic.reasons import field_reason, frr_reason
from railweave.sonic.rows import FRR_TABLE, ConfigDb, DeviceConfig, Fields, Table, Value
from railweave.wording import natural_key

NOT_IN_THE_INTENT = "not in the intent"
TAKEN = "the fabric takes the port (--remove-conflicting)"
ROUTING_MODE = "split-unified"


@dataclass(frozen=True, slots=True)
class DeviceDiff:
    """What a device needs. ``unmanaged`` counts the kept rows of each table. With blockers the delta is empty.

    ``drained`` names the BGP peers that are drained, ``("*",)`` for the whole switch: operational state, so neither a
    change nor part of ``running_sha256``; so is ``maintenance``, what SONiC's TSA made of the switch.
    ``lossless_removed`` are the code points of a provisioned switch that are lossless and no longer would be, or on
    another priority. ``kept`` is what would go and stays in force, because no step removes it.
    """

    delta: Delta
    unmanaged: Mapping[str, int]
    conflicts: tuple[Conflict, ...]
    unprovisioned: bool
    blockers: tuple[Blocker, ...] = ()
    drained: tuple[str, ...] = ()
    lossless_removed: tuple[int, ...] = ()
    maintenance: Maintenance = Maintenance.NONE
    kept: tuple[Kept, ...] = ()


def diff(
    device: str,
    running: RunningConfig,
    intended: DeviceConfig,
    *,
    platform: str | None = None,
    remove_conflicting: bool = False,
) -> DeviceDiff:
    """Return what turns ``running`` into ``intended``.

    ``platform`` is the platform string of the intended model; a device with another one or none is refused.
    ``remove_conflicting`` plans conflicting foreign rows away instead of naming them as conflicts.
    """
    blockers = tuple(_blockers(running, platform))
    unprovisioned = is_unprovisioned(device, running)
    found = running.frr_document
    if found is None or blockers:
        return DeviceDiff(
            Delta(),
            unmanaged_rows(running, intended),
            (),
            unprovisioned,
            blockers,
            drained=drained(running),
            maintenance=maintenance(running),
        )
    intended_db = intended.config_db()
    scope = scope_of(running.config_db, intended_db)
    edits = list(_edits(running.config_db, intended_db, scope))
    needed, lines = _needed(intended_db, edits, scope), frr_scope(running.config_db, found, intended.frr_document)
    conflicts = (*find_conflicts(running.config_db, scope, needed), *find_frr_conflicts(lines, needed))
    taken = planned_edits(conflicts) if remove_conflicting else ()
    target = with_lines(lines.beside(intended.frr_document), lines_of(taken)[0], ())
    everything = sorted(
        [*edits, *(edit for edit in taken if edit.table != FRR_TABLE), *frr_edits(*frr_difference(found, target))],
        key=sort_key,
    )
    return DeviceDiff(
        treated(everything, _treatments(everything, running, unprovisioned), _Reasons(intended, everything, taken)),
        _count_unmanaged(running.config_db, intended_db, scope, lines, taken),
        () if remove_conflicting else conflicts,
        unprovisioned,
        (),
        drained_peers(found),
        () if unprovisioned or not changes_lossless(edits) else lossless_removed(running.config_db, intended_db),
        maintenance(running),
        unstated_rows(running.config_db, intended_db),
    )


def drained(running: RunningConfig) -> tuple[str, ...]:
    """Return the BGP peers of a switch that are drained; ``("*",)`` where it is drained as a whole."""
    return () if running.frr_document is None else drained_peers(running.frr_document)


def maintenance(running: RunningConfig) -> Maintenance:
    """Return what SONiC's TSA made of a switch; nothing where FRR's configuration is unknown."""
    found = running.frr_document
    if found is None:
        return Maintenance.NONE
    state = running.config_db.get("BGP_DEVICE_GLOBAL", {}).get("STATE", {})
    return maintenance_of(found.entries, found.maintenance, tsa_enabled=state.get("tsa_enabled") == "true")


def is_unprovisioned(device: str, running: RunningConfig) -> bool:
    """Tell whether the switch has never been deployed: another host name, or FRR not from our file."""
    metadata = running.config_db.get("DEVICE_METADATA", {}).get("localhost", {})
    return metadata.get("hostname") != device or metadata.get("docker_routing_config_mode") != ROUTING_MODE


def _blockers(running: RunningConfig, platform: str | None) -> Iterator[Blocker]:
    if running.frr is None:
        yield Blocker(
            "FRR's running configuration is unknown: bgpraw is missing or empty",
            "wait until the bgp container answers (`vtysh -c 'show running-config'`), then plan again",
        )
    metadata = running.config_db.get("DEVICE_METADATA", {}).get("localhost", {})
    found = metadata.get("platform")
    if platform is not None and not metadata:
        yield Blocker(
            "CONFIG_DB is empty: it has no DEVICE_METADATA",
            "load its own file with `sudo config reload -y`, or a factory one with `sudo config-setup factory`",
        )
    elif platform is not None and found != platform:
        yield Blocker(
            f"the device is {found or 'of no stated platform'}, the intended model is {platform}",
            "correct the model in the intent, or the address in the inventory",
        )


def _edits(running: ConfigDb, intended: ConfigDb, scope: Scope) -> Iterator[Edit]:
    for table in sorted(SPANNED & (running.keys() | intended.keys())):
        if running.get(table) != intended.get(table):
            ours = partial(is_ours, scope, table)
            yield from span_edits(table, running.get(table, {}), intended.get(table, {}), ours)
    for table, rows in intended.items():
        if table in SPANNED:
            continue
        before = running.get(table, {})
        fieldwise = is_fieldwise(table)
        for key, fields in rows.items():
            present = before.get(key)
            if present is fields or present == fields:
                continue
            gone = _lengths_gone(present, scope) if table == CABLE_LENGTH else {}
            if fieldwise and not gone and present is not None and fields.items() <= present.items():
                continue
            yield from row_edits(table, key, present, {**gone, **_after(fields, None if fieldwise else present)})
    for table, key, fields in _unstated(running, intended):
        if table not in SPANNED and is_ours(scope, table, key):
            yield Edit(Op.REMOVE, table, key, None, fields, None)


def _unstated(running: ConfigDb, intended: ConfigDb) -> Iterator[tuple[str, str, Fields]]:
    """Yield the rows that run and that the intent does not state."""
    for table, rows in running.items():
        stated = intended.get(table, {})
        if not rows.keys() <= stated.keys():
            yield from ((table, key, fields) for key, fields in rows.items() if key not in stated)


def _lengths_gone(present: Fields | None, scope: Scope) -> dict[str, None]:
    """Return the cable lengths of ports that breakout removes; they may not stay behind (sonic-cable-length.yang)."""
    return {port: None for port in present or () if scope.buffers and port in scope.removed_ports}


def _after(intended: Fields, exact: Fields | None) -> Mapping[str, Value | None]:
    """Return what a row is to hold; where it is ours as a whole, fields that are not intended go."""
    if not exact:
        return intended
    return {**dict.fromkeys(exact, None), **intended}


def _needed(intended: ConfigDb, edits: Iterable[Edit], scope: Scope) -> set[str]:
    """Return the ports that the fabric routes on, shuts or removes."""
    routed = {key for key in intended.get("INTERFACE", {}) if "|" not in key}
    shut = {
        edit.key
        for edit in edits
        if edit.table == "PORT" and edit.field == "admin_status" and edit.before == "up" and edit.after != "up"
    }
    return routed | shut | scope.removed_ports


def _treatments(edits: Sequence[Edit], running: RunningConfig, unprovisioned: bool) -> tuple[Treatment, ...]:
    if unprovisioned:
        return (RELOADED,) * len(edits)
    return settle(edits, running.config_db)


class _Reasons:
    """Why the edits of one device are made. The sentence of a row is made where it is asked for, once for all its
    fields."""

    def __init__(self, intended: DeviceConfig, edits: Iterable[Edit], taken: Iterable[Edit]) -> None:
        tables = {edit.table for edit in edits}
        self._rows = {(row.table, row.key): row for row in intended.rows if row.table in tables}
        self._taken = {(edit.table, edit.key) for edit in taken}
        self._told: dict[tuple[str, str], str] = {}

    def __call__(self, edit: Edit) -> str:
        if edit.table == FRR_TABLE:
            return NOT_IN_THE_INTENT if edit.op is Op.REMOVE else frr_reason(edit.field or "", edit.key)
        place = (edit.table, edit.key)
        if place in self._taken:
            return TAKEN
        row = self._rows.get(place)
        if row is None:
            return NOT_IN_THE_INTENT
        if own := field_reason(edit.table, edit.field or ""):
            return own
        if place not in self._told:
            self._told[place] = row.reason
        return self._told[place]


def sort_key(edit: Edit) -> tuple[object, ...]:
    """Order tables by name, rows and fields naturally, FRR last and there in the order of the file."""
    if edit.table == FRR_TABLE:
        return True, "", natural_key(edit.key), (), edit.op is not Op.REMOVE
    return False, edit.table, natural_key(edit.key), natural_key(edit.field or ""), True


def unmanaged_rows(running: RunningConfig, intended: DeviceConfig) -> dict[str, int]:
    """Return how many rows of each table, and lines of FRR, are nobody's of ours and stay."""
    intended_db, found = intended.config_db(), running.frr_document
    lines = None if found is None else frr_scope(running.config_db, found, intended.frr_document)
    return _count_unmanaged(running.config_db, intended_db, scope_of(running.config_db, intended_db), lines, ())


def _count_unmanaged(
    running: ConfigDb, intended: ConfigDb, scope: Scope, lines: FrrScope | None, taken: Iterable[Edit]
) -> dict[str, int]:
    gone = {(edit.table, edit.key, edit.field) for edit in taken}
    counts = Counter(
        table
        for table, key, fields in _unstated(running, intended)
        if not is_ours(scope, table, key)
        and not is_made_by_sonic(table, key, fields)
        and not is_permanent(table, key)
        and (table, key, None) not in gone
    )
    unmanaged = () if lines is None else lines.unmanaged
    counts[FRR_TABLE] = sum((FRR_TABLE, entry.context, entry.line) not in gone for entry in unmanaged)
    return dict(sorted((+counts).items()))


def running_sha256(running: RunningConfig, intended: DeviceConfig) -> str:
    """Return the hash of what runs of ours, with which a plan tells whether the device has moved since.

    It covers the owned rows and fields and our FRR lines, so foreign ones may change without any effect on it. Where
    the switch keeps a key it is an HMAC: who holds a plan or a journal and not that key cannot guess secrets by it.
    """
    intended_db = intended.config_db()
    scope = scope_of(running.config_db, intended_db)
    rows: list[HashedRow] = []
    for table, table_rows in running.config_db.items():
        rows += _hashed_rows(scope, table, table_rows, intended_db.get(table, {}))
    found = running.frr_document
    owned = () if found is None else frr_scope(running.config_db, found, intended.frr_document).owned
    lines = sorted([entry.context, entry.line] for entry in owned)
    rows.sort(key=itemgetter(0, 1))
    data = _digested([rows, lines, running.frr is None])
    if running.digest_key:
        return hmac.new(running.digest_key.encode(errors="replace"), data, hashlib.sha256).hexdigest()
    return hashlib.sha256(data).hexdigest()


_ESCAPED_BY_JSON = b"\x7f"


def _digested(value: object) -> bytes:
    """Return a value as ``json`` writes it with sorted keys and no spaces; of plain text orjson writes the same, in an
    eighth of the time."""
    try:
        data = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # halves of surrogate pairs
        data = _ESCAPED_BY_JSON
    if data.isascii() and _ESCAPED_BY_JSON not in data:
        return data
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


HashedRow = tuple[str, str, Fields]


def _hashed_rows(scope: Scope, table: str, rows: Table, stated: Table) -> Iterable[HashedRow]:
    """Return our rows of a table with what counts of their fields; ``stated`` are the intended ones."""
    if rows.keys() <= stated.keys():
        owned = rows
    else:
        beside = _beside_others(rows) if table == PRIORITY_GROUPS else frozenset()
        owned = {
            key: fields
            for key, fields in rows.items()
            if key in stated or (key not in beside and is_ours(scope, table, key))
        }
    whole = not (is_fieldwise(table) or has_permanent_rows(table) or neutral_fields(table))
    if whole and are_texts(owned.values()):
        return [(table, key, fields) for key, fields in owned.items()]
    return _with_what_counts(table, owned, stated)


def _with_what_counts(table: str, rows: Table, stated: Table) -> Iterator[HashedRow]:
    fieldwise, held, neutral = is_fieldwise(table), has_permanent_rows(table), neutral_fields(table)
    for key, fields in rows.items():
        if held:
            if is_as_good_as_none(table, key, fields):
                continue
            neutral = neutral_fields(table, key)
        yield table, key, _hashed(fields, stated.get(key) if fieldwise else None, neutral)


def _beside_others(rows: Table) -> frozenset[str]:
    """Return the priority groups that buffermgrd wrote beside those of their port, whenever it did so."""
    ranges = [key for key, fields in rows.items() if "-" in key and is_made_by_sonic(PRIORITY_GROUPS, key, fields)]
    if not ranges:
        return frozenset()
    ports = rows_by_port(rows)
    return frozenset(key for key in ranges if stands_over_others(key, ports[port_of(key)]))


_TEXT_ONLY = frozenset({str})


def _hashed(fields: Fields, stated: Fields | None, neutral: Fields) -> Fields:
    if not _TEXT_ONLY.issuperset(map(type, fields.values())):
        return {
            name: canonical(value)
            for name, value in fields.items()
            if (stated is None or name in stated) and not (name in neutral and same_value(neutral[name], value))
        }
    # Texts are the same where they are equal, so a row of many ports needs no call for each of its fields.
    if not neutral:
        if stated is None or fields.keys() <= stated.keys():
            return fields
        return {name: value for name, value in fields.items() if name in stated}
    of_ours = fields if stated is None else stated
    return {name: value for name, value in fields.items() if name in of_ours and value != neutral.get(name)}


_TABLES = ("PORT_QOS_MAP", "DSCP_TO_TC_MAP")


def lossless_code_points(tables: ConfigDb) -> Mapping[int, str]:
    """Return the priority of every code point that a port's map leads to a priority that the port pauses."""
    ports, maps = (tables.get(table, {}) for table in _TABLES)
    uses = {(str(port.get("dscp_to_tc_map", "")), str(port.get("pfc_enable", ""))) for port in ports.values()}
    return {
        int(dscp): str(priority)
        for name, paused in sorted(uses)
        for dscp, priority in maps.get(name, {}).items()
        if dscp.isdecimal() and priority in paused.split(",")
    }


def changes_lossless(edits: Iterable[Edit]) -> bool:
    """Tell whether ``edits`` touch what makes a code point lossless."""
    return any(edit.table in _TABLES for edit in edits)


def lossless_removed(running: ConfigDb, intended: ConfigDb) -> tuple[int, ...]:
    """Return the code points that are lossless in ``running`` and in ``intended`` are not, or on another priority."""
    after = lossless_code_points(intended)
    before = lossless_code_points(running)
    return tuple(sorted(dscp for dscp, priority in before.items() if after.get(dscp) != priority))
