"""Compares the intended with the running configuration of one switch: changes, unmanaged rows and conflicts."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from railweave.diagnostics import Blocker
from railweave.sonic.delta.change import Delta, Edit, Op
from railweave.sonic.delta.conflicts import Conflict, find_conflicts, find_frr_conflicts, planned_edits
from railweave.sonic.delta.delta import Sharing, lines_of, treated
from railweave.sonic.delta.digest import running_sha256
from railweave.sonic.delta.edits import frr_edits, row_edits
from railweave.sonic.delta.kept import Kept, unstated_rows
from railweave.sonic.delta.methods import RELOADED, treatments
from railweave.sonic.delta.rules import Treatment
from railweave.sonic.delta.spans import SPANNED, span_edits
from railweave.sonic.document import RunningConfig
from railweave.sonic.frr import FrrDocument, frr_difference, with_lines
from railweave.sonic.frr.drain import drained_peers
from railweave.sonic.frr.maintenance import Maintenance, maintenance_of
from railweave.sonic.frr.ownership import FrrScope
from railweave.sonic.neutral import is_permanent
from railweave.sonic.ownership import (
    CABLE_LENGTH,
    Scope,
    frr_scope,
    is_fieldwise,
    is_made_by_sonic,
    is_ours,
    scope_of,
)
from railweave.sonic.reasons import field_reason, frr_reason
from railweave.sonic.rows import FRR_TABLE, ConfigDb, DeviceConfig, Fields, Table
from railweave.wording import natural_key

NOT_IN_THE_INTENT = "not in the intent"
TAKEN = "removed to free the port (--remove-conflicting)"
ROUTING_MODE = "split-unified"


@dataclass(frozen=True, slots=True)
class DeviceDiff:
    """The changes that a device needs; with blockers there are none.

    ``drained`` and ``maintenance`` are operational state: they are neither changes nor part of ``running_sha256``.
    """

    delta: Delta = field(default_factory=Delta)
    # The number of unmanaged rows of each table, which stay.
    unmanaged: Mapping[str, int] = field(default_factory=dict)
    conflicts: tuple[Conflict, ...] = ()
    unprovisioned: bool = False
    blockers: tuple[Blocker, ...] = ()
    # The drained BGP peers, ``("*",)`` for the whole switch.
    drained: tuple[str, ...] = ()
    # Code points of a provisioned switch that would no longer be lossless, or on another priority.
    lossless_removed: tuple[int, ...] = ()
    # The state of SONiC's TSA.
    maintenance: Maintenance = Maintenance.NONE
    # Rows and fields that the intent does not state and no step removes.
    kept: tuple[Kept, ...] = ()


NO_DIFFERENCE = DeviceDiff()


def diff(
    device: str,
    running: RunningConfig,
    intended: DeviceConfig,
    *,
    platform: str | None = None,
    remove_conflicting: bool = False,
) -> DeviceDiff:
    """Return the changes that turn ``running`` into ``intended``; with blockers there are none.

    ``platform`` is the platform string of the intended model; a device with another one or none gets a blocker.
    ``remove_conflicting`` plans the removal of conflicting unmanaged rows instead of reporting them as conflicts.
    """
    blockers = tuple(_blockers(running, platform))
    unprovisioned = is_unprovisioned(device, running)
    frr = running.frr_document
    if frr is not None and not blockers:
        return _difference(running, frr, intended, unprovisioned, remove_conflicting)
    return DeviceDiff(
        Delta(),
        unmanaged_rows(running, intended),
        conflicts=(),
        unprovisioned=unprovisioned,
        blockers=blockers,
        drained=drained(running),
        maintenance=maintenance(running),
    )


@dataclass(frozen=True, slots=True)
class ConfigComparison:
    """What runs, its digest over what we own, and how it differs from what is intended."""

    running: RunningConfig
    sha256: str
    difference: DeviceDiff


def compare(
    device: str,
    running: RunningConfig,
    intended: DeviceConfig,
    *,
    platform: str | None = None,
    remove_conflicting: bool = False,
    sharing: Sharing | None = None,
) -> ConfigComparison:
    """Return the result of `diff` for these values, with the digest of the running configuration.

    ``running`` keeps the result of its last comparison. ``sharing`` returns one object for equal deltas: every open
    session keeps its last reading, and a fabric of a thousand switches has few different deltas.
    """
    options = (device, platform, remove_conflicting)
    # The whole ConfigComparison is not kept, because it would refer back to ``running``.
    kept: tuple[str, DeviceDiff] | None = running.last_comparison(intended, options)
    if kept is not None:
        sha256, difference = kept
        return ConfigComparison(running, sha256, difference)
    difference = diff(device, running, intended, platform=platform, remove_conflicting=remove_conflicting)
    if sharing is not None:
        difference = replace(difference, delta=sharing(difference.delta))
    sha256 = running_sha256(running, intended)
    running.keep_comparison(intended, options, (sha256, difference))
    return ConfigComparison(running, sha256, difference)


def _difference(
    running: RunningConfig, frr: FrrDocument, intended: DeviceConfig, unprovisioned: bool, remove_conflicting: bool
) -> DeviceDiff:
    """Return the difference of a device without blockers; ``frr`` is its running FRR configuration."""
    config_db = running.config_db
    intended_db = intended.config_db()
    scope = scope_of(config_db, intended_db)
    edits_of_rows = list(_row_edits(config_db, intended_db, scope))
    line_scope = frr_scope(config_db, frr, intended.frr_document)
    needed_ports = _needed_ports(intended_db, edits_of_rows, scope)
    conflicts = (*find_conflicts(config_db, scope, needed_ports), *find_frr_conflicts(line_scope, needed_ports))
    removals: tuple[Edit, ...] = ()
    if remove_conflicting:
        removals = planned_edits(conflicts)
        conflicts = ()
    edits = [*edits_of_rows, *(edit for edit in removals if edit.table != FRR_TABLE)]
    conflicting_lines, _ = lines_of(removals)
    # Unmanaged lines stay, except for those in the way.
    intended_frr = with_lines(line_scope.beside(intended.frr_document), conflicting_lines, ())
    edits += frr_edits(*frr_difference(frr, intended_frr))
    edits.sort(key=sort_key)
    reasons = _Reasons(intended, edits, removals)
    return DeviceDiff(
        treated(edits, _treatments(edits, running, unprovisioned), map(reasons.of, edits)),
        _count_unmanaged(config_db, intended_db, scope, line_scope, removals),
        conflicts=conflicts,
        unprovisioned=unprovisioned,
        drained=drained_peers(frr),
        lossless_removed=_lossless_removed(edits_of_rows, config_db, intended_db, unprovisioned),
        maintenance=maintenance(running),
        kept=unstated_rows(config_db, intended_db),
    )


def drained(running: RunningConfig) -> tuple[str, ...]:
    """Return the drained BGP peers of a switch; ``("*",)`` if it is drained as a whole."""
    if running.frr_document is None:
        return ()
    return drained_peers(running.frr_document)


def maintenance(running: RunningConfig) -> Maintenance:
    """Return the state of SONiC's TSA on a switch; NONE if FRR's configuration is unknown."""
    frr = running.frr_document
    if frr is None:
        return Maintenance.NONE
    state = running.config_db.get("BGP_DEVICE_GLOBAL", {}).get("STATE", {})
    return maintenance_of(frr.entries, frr.maintenance, tsa_enabled=state.get("tsa_enabled") == "true")


def is_unprovisioned(device: str, running: RunningConfig) -> bool:
    """Tell whether the switch has never been deployed: another host name, or FRR not from our file."""
    metadata = running.config_db.get("DEVICE_METADATA", {}).get("localhost", {})
    return metadata.get("hostname") != device or metadata.get("docker_routing_config_mode") != ROUTING_MODE


def _blockers(running: RunningConfig, platform: str | None) -> Iterator[Blocker]:
    """Yield why no change may be planned: FRR's configuration is unknown, or the device is of another platform."""
    if running.frr is None:
        yield Blocker(
            "FRR's running configuration is unknown: bgpraw is missing or empty",
            "wait until the bgp container answers (`vtysh -c 'show running-config'`), then plan again",
        )
    metadata = running.config_db.get("DEVICE_METADATA", {}).get("localhost", {})
    running_platform = metadata.get("platform")
    if platform is not None and not metadata:
        yield Blocker(
            "CONFIG_DB is empty: it has no DEVICE_METADATA",
            "load its own file with `sudo config reload -y`, or a factory one with `sudo config-setup factory`",
        )
    elif platform is not None and running_platform != platform:
        yield Blocker(
            f"the device is {running_platform or 'of no stated platform'}, the intended model is {platform}",
            "correct the model in the intent, or the address in the inventory",
        )


def _row_edits(running: ConfigDb, intended: ConfigDb, scope: Scope) -> Iterator[Edit]:
    """Yield the edits of rows, in no particular order; unmanaged rows get none."""
    for table in sorted(SPANNED & (running.keys() | intended.keys())):
        before = running.get(table, {})
        after = intended.get(table, {})
        if before != after:
            yield from span_edits(table, before, after, partial(is_ours, scope, table))
    for table, rows in intended.items():
        if table not in SPANNED:
            yield from _table_edits(table, running.get(table, {}), rows, scope)
    for table, key, fields in _unstated(running, intended):
        if table not in SPANNED and is_ours(scope, table, key):
            yield Edit(op=Op.REMOVE, table=table, key=key, field=None, before=fields, after=None)


def _table_edits(table: str, running: Table, intended: Table, scope: Scope) -> Iterator[Edit]:
    """Yield the edits that bring the running rows of a table to those that the intent states; no row is removed."""
    fieldwise = is_fieldwise(table)
    for key, fields in intended.items():
        present = running.get(key)
        # Nearly all rows of a deployed switch are equal, so this is tested first.
        if present is fields or present == fields:
            continue
        if present is None:
            yield from row_edits(table, key, None, fields)
            continue
        removed: Mapping[str, None] = {}
        if not fieldwise:
            # All fields of the row are ours, so those that the intent does not state are removed.
            removed = dict.fromkeys(present)
        elif table == CABLE_LENGTH:
            removed = _removed_lengths(present, scope)
        # SONiC adds fields of its own to the rows of ports.
        if not removed and fields.items() <= present.items():
            continue
        yield from row_edits(table, key, present, {**removed, **fields})


def _unstated(running: ConfigDb, intended: ConfigDb) -> Iterator[tuple[str, str, Fields]]:
    """Yield the running rows that the intent does not state."""
    for table, rows in running.items():
        stated = intended.get(table, {})
        if not rows.keys() <= stated.keys():
            yield from ((table, key, fields) for key, fields in rows.items() if key not in stated)


def _removed_lengths(present: Fields, scope: Scope) -> dict[str, None]:
    """Return the cable lengths of ports that breakout removes; they may not stay behind (sonic-cable-length.yang)."""
    if not scope.buffers:
        return {}
    return {port: None for port in present if port in scope.removed_ports}


def _needed_ports(intended: ConfigDb, edits: Iterable[Edit], scope: Scope) -> set[str]:
    """Return the ports that the fabric routes on, shuts or removes."""
    routed = {key for key in intended.get("INTERFACE", {}) if "|" not in key}
    shut = {edit.key for edit in edits if _shuts_port(edit)}
    return routed | shut | scope.removed_ports


def _shuts_port(edit: Edit) -> bool:
    return edit.table == "PORT" and edit.field == "admin_status" and edit.before == "up" and edit.after != "up"


def _treatments(edits: Sequence[Edit], running: RunningConfig, unprovisioned: bool) -> tuple[Treatment, ...]:
    """Return the treatment of each edit: first provisioning is one reload."""
    if unprovisioned:
        return (RELOADED,) * len(edits)
    return treatments(edits, running.config_db)


class _Reasons:
    """Finds the reasons of one device's edits. A row's sentence is formatted once, for all edits of its fields."""

    def __init__(self, intended: DeviceConfig, edits: Iterable[Edit], removals: Iterable[Edit]) -> None:
        """Take all edits of the device; ``removals`` are the edits that remove conflicting rows."""
        tables = {edit.table for edit in edits}
        self._rows = {(row.table, row.key): row for row in intended.rows if row.table in tables}
        self._removed = {(edit.table, edit.key) for edit in removals}
        self._sentences: dict[tuple[str, str], str] = {}

    def of(self, edit: Edit) -> str:
        """Return why an edit is made."""
        if edit.table == FRR_TABLE:
            return _reason_of_line(edit)
        row_name = (edit.table, edit.key)
        if row_name in self._removed:
            return TAKEN
        row = self._rows.get(row_name)
        if row is None:
            return NOT_IN_THE_INTENT
        reason_of_field = field_reason(edit.table, edit.field or "")
        if reason_of_field:
            return reason_of_field
        if row_name not in self._sentences:
            self._sentences[row_name] = row.reason
        return self._sentences[row_name]


def _reason_of_line(edit: Edit) -> str:
    """Return why a line of FRR is added or removed."""
    if edit.op is Op.REMOVE:
        return NOT_IN_THE_INTENT
    return frr_reason(edit.field or "", edit.key)


def sort_key(edit: Edit) -> tuple[object, ...]:
    """Return the sort key of an edit: tables come by name, then FRR's lines, in each context removals first."""
    if edit.table == FRR_TABLE:
        return True, "", natural_key(edit.key), (), edit.op is not Op.REMOVE
    return False, edit.table, natural_key(edit.key), natural_key(edit.field or ""), True


def unmanaged_rows(running: RunningConfig, intended: DeviceConfig) -> dict[str, int]:
    """Return the number of unmanaged rows, which stay, by table; unmanaged lines count under ``FRR_TABLE``."""
    config_db = running.config_db
    intended_db = intended.config_db()
    scope = scope_of(config_db, intended_db)
    line_scope = None
    if running.frr_document is not None:
        line_scope = frr_scope(config_db, running.frr_document, intended.frr_document)
    return _count_unmanaged(config_db, intended_db, scope, line_scope, removals=())


def _count_unmanaged(
    running: ConfigDb, intended: ConfigDb, scope: Scope, line_scope: FrrScope | None, removals: Iterable[Edit]
) -> dict[str, int]:
    """Return the number of unmanaged rows by table, and of unmanaged lines of FRR if it is known.

    Rows and lines that the edits ``removals`` remove do not count.
    """
    removed = {(edit.table, edit.key, edit.field) for edit in removals}
    counts: Counter[str] = Counter()
    for table, key, fields in _unstated(running, intended):
        if (table, key, None) not in removed and _is_unmanaged(scope, table, key, fields):
            counts[table] += 1
    if line_scope is not None:
        for entry in line_scope.unmanaged:
            if (FRR_TABLE, entry.context, entry.line) not in removed:
                counts[FRR_TABLE] += 1
    return dict(sorted(counts.items()))


def _is_unmanaged(scope: Scope, table: str, key: str, fields: Fields) -> bool:
    """Tell whether a row that the intent does not state belongs to others: neither to us nor to SONiC itself."""
    return not (is_ours(scope, table, key) or is_permanent(table, key) or is_made_by_sonic(table, key, fields))


_LOSSLESS_TABLES = ("PORT_QOS_MAP", "DSCP_TO_TC_MAP")


def lossless_code_points(tables: ConfigDb) -> Mapping[int, str]:
    """Return the lossless code points with their priorities: those that a port maps to a priority that it pauses."""
    ports = tables.get("PORT_QOS_MAP", {})
    maps = tables.get("DSCP_TO_TC_MAP", {})
    # The ports of a switch have few combinations of map and paused priorities.
    uses = {(str(port.get("dscp_to_tc_map", "")), str(port.get("pfc_enable", ""))) for port in ports.values()}
    code_points: dict[int, str] = {}
    for name, pfc_enable in sorted(uses):
        paused = pfc_enable.split(",")
        for dscp, priority in maps.get(name, {}).items():
            if dscp.isdecimal() and priority in paused:
                code_points[int(dscp)] = str(priority)
    return code_points


def changes_lossless(edits: Iterable[Edit]) -> bool:
    """Tell whether ``edits`` touch the tables that make a code point lossless."""
    return any(edit.table in _LOSSLESS_TABLES for edit in edits)


def lossless_removed(running: ConfigDb, intended: ConfigDb) -> tuple[int, ...]:
    """Return the code points that are lossless in ``running``, and in ``intended`` lossy or on another priority."""
    after = lossless_code_points(intended)
    before = lossless_code_points(running)
    return tuple(sorted(dscp for dscp, priority in before.items() if after.get(dscp) != priority))


def _lossless_removed(
    edits: Iterable[Edit], running: ConfigDb, intended: ConfigDb, unprovisioned: bool
) -> tuple[int, ...]:
    # A switch that is not provisioned yet carries no traffic that could lose its class.
    if unprovisioned or not changes_lossless(edits):
        return ()
    return lossless_removed(running, intended)
