"""The steps that apply a delta to a switch, in a safe order, and the steps that revert it.

    clear      remove rows that exclude others: bgpcfgd's neighbors, foreign memberships, addresses that move
    configure  write rows before the rows that refer to them; ports come up last
    FRR        add neighbors after their addresses, and remove them before their addresses
    remove     shut ports, then remove rows before the rows that they refer to
    restore    put foreign rows back on their ports in a revert; set watchdogs again

A driver runs them one by one; each is complete in itself. Where one change needs a reload, the reload is the only step.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

from railweave.sonic.delta.change import Change, Delta, Edit, Method, Op
from railweave.sonic.delta.daemon_rows import left_behind, with_daemon_rows
from railweave.sonic.delta.delta import applied, inverse, judged, lines_of
from railweave.sonic.delta.lossless import lossless_change
from railweave.sonic.delta.order import ChangePhase, order_key, schedule, stage_of
from railweave.sonic.delta.recreate import Recreation, recreations
from railweave.sonic.delta.tables import Tables, tables_after
from railweave.sonic.document import PLACEHOLDER, DocumentError, RunningConfig, json_tables
from railweave.sonic.frr import delta_text, render_frr
from railweave.sonic.frr.reopening import OpenSession, sessions_to_open_again
from railweave.sonic.neutral import is_permanent
from railweave.sonic.ownership import is_made_by_sonic, port_of
from railweave.sonic.rows import FRR_TABLE, ConfigDb, Fields, Value
from railweave.wording import natural_key

RELOAD_NEEDS = ("hwsku", "mac", "platform")
"""Fields of DEVICE_METADATA|localhost without which ``config reload`` empties the database and hangs (run)."""


@dataclass(frozen=True, slots=True)
class PatchStep:
    """``config apply-patch`` with these RFC 6902 operations."""

    operations: tuple[Mapping[str, Any], ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class LoadStep:
    """``config load -y`` of a document: named fields are set, a row of None is deleted."""

    document: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class HdelStep:
    """``HDEL KEY FIELD…`` in CONFIG_DB; list fields carry their ``@``."""

    key: str = field(repr=False)
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VtyshStep:
    """``vtysh -f`` of this text."""

    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ClearStep:
    """``clear bgp PEER`` for sessions that keep what they agreed on with the neighbor before FRR's lines changed."""

    sessions: tuple[OpenSession, ...]


@dataclass(frozen=True, slots=True)
class ReloadStep:
    """``config reload -y -f`` of the whole CONFIG_DB, after the FRR file has been put in place."""

    config_db: Mapping[str, Any] = field(repr=False)
    frr: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class RecreateStep:
    """``DEL`` and ``HDEL`` in CONFIG_DB, a wait until the daemons processed them, then ``HSET`` of ``document``.

    ``removed`` are Redis keys with the fields to remove, none for the whole row.
    """

    removed: tuple[tuple[str, tuple[str, ...]], ...] = field(repr=False)
    document: Mapping[str, Any] = field(repr=False)


Step = PatchStep | LoadStep | HdelStep | RecreateStep | VtyshStep | ClearStep | ReloadStep


def steps_of(delta: Delta, running: RunningConfig) -> tuple[Step, ...]:
    """Return the steps that apply ``delta`` to a switch that runs ``running``; none if it changes nothing.

    Raises DocumentError if FRR's configuration is needed and unknown, or if a reload would hang the switch.
    """
    if delta.reloads:
        return (_reload(applied(delta, running)),)
    return _steps(delta, running)


def undo_steps_of(delta: Delta, running: RunningConfig, reverting: Delta | None = None) -> tuple[Step, ...]:
    """Return the steps that bring a switch back to ``running`` after ``delta``. None is a patch, which may be refused.

    ``reverting`` is the inverse of ``delta``, if the caller has it already. Raises DocumentError as ``steps_of`` does.
    """
    if delta.reloads:
        return (_reload(running),)
    reverting = reverting or inverse(delta)
    changed = applied(delta, running)
    # While the delta was applied, buffermgrd may have joined priority groups in rows that nobody else removes.
    tables = with_daemon_rows(changed.config_db)
    joined_rows = judged(tuple(left_behind(reverting, tables)), tables)
    return _steps(Delta((*joined_rows, *reverting)), changed.with_tables(tables))


def rollback_document(steps: Iterable[Step]) -> dict[str, Any]:
    """Return the rollback file of ``railweave-confirm`` with these steps.

    Its version is 1; the kinds of steps are load, hdel, recreate, vtysh, clear and reload.
    """
    return {"version": 1, "steps": [_json_step(step) for step in steps]}


def _json_step(step: Step) -> dict[str, Any]:
    """Return a step as in the rollback file; raises ValueError for a patch, which no rollback has."""
    match step:
        case LoadStep(document):
            return {"kind": "load", "document": document}
        case HdelStep(key, fields):
            return {"kind": "hdel", "key": key, "fields": list(fields)}
        case RecreateStep(removed, document):
            return {"kind": "recreate", "removed": _lists(removed), "rows": document}
        case VtyshStep(text):
            return {"kind": "vtysh", "text": text}
        case ClearStep(sessions):
            return {"kind": "clear", "sessions": _lists(sessions)}
        case ReloadStep(config_db, frr):
            return {"kind": "reload", "config_db": config_db, "frr": frr}
        case PatchStep():
            raise ValueError("a rollback never patches")


def _lists(values: Any) -> Any:
    """Return nested tuples as lists, as JSON has them."""
    if isinstance(values, tuple):
        return [_lists(value) for value in values]
    return values


class _GroupKey(NamedTuple):
    """What the edits of one step have in common: their place within the phase (``order_key``), and their method."""

    place: tuple[int, str]
    method: Method


def _steps(delta: Delta, running: RunningConfig) -> tuple[Step, ...]:
    """Return the steps of a delta without a reload, phase by phase."""
    row_changes = [change for change in delta if change.table != FRR_TABLE]
    groups = _groups(row_changes, running.config_db)
    changes_frr = len(row_changes) < len(delta)
    tables = Tables(running.config_db)
    steps: list[Step] = []
    for phase in ChangePhase:
        # FRR needs the addresses of its neighbors: new ones are configured before, old ones are removed after it.
        if phase is ChangePhase.REMOVE and changes_frr:
            steps.extend(_frr_steps(delta, running))
        for key in sorted(groups[phase]):
            steps.extend(_group_steps(key.method, groups[phase][key], tables))
    return tuple(steps)


def _groups(
    changes: Sequence[Change], before: ConfigDb
) -> Mapping[ChangePhase, Mapping[_GroupKey, Sequence[Edit | Recreation]]]:
    """Return the edits and recreations of each phase, in groups that make one step."""
    after = tables_after(changes, before)
    lossless = lossless_change(before, after)
    needed_recreations = tuple(recreations(changes, before, after, lossless))
    groups: dict[ChangePhase, dict[_GroupKey, list[Edit | Recreation]]] = {phase: {} for phase in ChangePhase}
    recreated_rows = set(chain.from_iterable(recreation.covered for recreation in needed_recreations))
    for phase, edit in schedule(changes, lossless):
        if isinstance(edit, Change) and (edit.table, edit.key) not in recreated_rows:
            key = _GroupKey(order_key(edit, edit.method, phase), edit.method)
            groups[phase].setdefault(key, []).append(edit)
    for recreation in needed_recreations:
        key = _GroupKey(stage_of(recreation.table, recreation.phase), Method.WRITE)
        groups[recreation.phase].setdefault(key, []).append(recreation)
    return groups


def _frr_steps(delta: Delta, running: RunningConfig) -> Iterator[Step]:
    """Yield the step that changes FRR's lines, and the one that opens sessions again if some need it."""
    removed, added = lines_of(delta)
    yield VtyshStep(delta_text(removed, added))
    sessions = sessions_to_open_again(removed, added, running.frr_document)
    if sessions:
        yield ClearStep(sessions)


def _recreate_step(recreation: Recreation) -> RecreateStep:
    """Return the step that deletes rows and sets them again."""
    unbound_fields: dict[str, list[str]] = {}
    for reference in recreation.unbound:
        redis_key = f"{reference.table}|{reference.key}"
        unbound_fields.setdefault(redis_key, []).append(reference.field)
    # Fields that refer to a row are removed before it: orchagent keeps a row that is referred to.
    removed = [(redis_key, tuple(names)) for redis_key, names in unbound_fields.items()]
    removed += [(f"{recreation.table}|{key}", ()) for key in recreation.deleted]
    return RecreateStep(tuple(removed), json_tables(recreation.rows))


def _group_steps(method: Method, group: Sequence[Edit | Recreation], tables: Tables) -> Iterator[Step]:
    """Yield the steps of a group's edits, which are applied to ``tables``, then those of its recreations."""
    edits = [edit for edit in group if isinstance(edit, Edit)]
    edits.sort(key=lambda edit: (edit.table, natural_key(edit.key), edit.field or ""))
    if method is Method.PATCH:
        yield PatchStep(tuple(_operation(edit, tables) for edit in edits))
    else:
        yield from _write_steps(edits, tables)
    yield from (_recreate_step(recreation) for recreation in group if isinstance(recreation, Recreation))


def _operation(edit: Edit, tables: Tables) -> Mapping[str, Any]:
    """Return the RFC 6902 operation of an edit and apply the edit to ``tables``.

    A table is added with its first row and removed with its last, because GCU refuses empty tables.
    """
    rows = tables.rows.get(edit.table)
    tables.apply(edit)
    path = _pointer(edit.table, edit.key)
    if edit.field is not None:
        path = _pointer(edit.table, edit.key, edit.field)
    if edit.op is Op.REMOVE:
        if edit.table not in tables.rows:
            path = _pointer(edit.table)
        return {"op": "remove", "path": path}
    value = _json(edit.after)
    if rows is None:
        return {"op": "add", "path": _pointer(edit.table), "value": {edit.key: value}}
    if edit.op is Op.ADD:
        return {"op": "add", "path": path, "value": value}
    return {"op": "replace", "path": path, "value": value}


def _pointer(*parts: str) -> str:
    # Escapes of a JSON pointer: RFC 6901, section 3.
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)


def _json(value: Value | Fields | None) -> Any:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return list(value)
    return {name: _json(inner) for name, inner in value.items()}


def _write_steps(group: Sequence[Edit], tables: Tables) -> Iterator[Step]:
    """Yield the steps that write edits to CONFIG_DB; the edits are applied to ``tables`` as well.

    ``config load`` sets fields and removes rows; an HDEL then removes the fields that it leaves behind.
    """
    document: dict[str, dict[str, Any]] = {}
    stale_fields: dict[tuple[str, str], list[str]] = {}
    for edit in group:
        stale_field = _stale_field(edit, tables.row(edit))
        if stale_field:
            stale_fields.setdefault((edit.table, edit.key), []).append(stale_field)
        _add_to_document(edit, document)
        tables.apply(edit)
    for table, key in stale_fields:
        if not tables.rows[table][key]:
            # A Redis hash is deleted with its last field; loading an empty row writes SONiC's placeholder first.
            document.setdefault(table, {})[key] = {}
    if document:
        yield LoadStep(document)
    for (table, key), names in stale_fields.items():
        yield HdelStep(f"{table}|{key}", tuple(names))


def _add_to_document(edit: Edit, document: dict[str, dict[str, Any]]) -> None:
    """Add an edit to a document for ``config load``, which can remove a row but no field."""
    removes = edit.op is Op.REMOVE
    if edit.field is None:
        document.setdefault(edit.table, {})[edit.key] = None if removes else _json(edit.after)
    elif not removes:
        document.setdefault(edit.table, {}).setdefault(edit.key, {})[edit.field] = _json(edit.after)


def _stale_field(edit: Edit, row: Mapping[str, Value] | None) -> str | None:
    """Return the Redis field of ``row`` that ``config load`` would leave behind; None if it leaves none.

    ``config load`` only sets fields. So these stay: a removed field, the other form of a field that was or becomes a
    list, and the placeholder of an empty row.
    """
    if edit.field is None or row is None:
        return None
    if not row:
        return PLACEHOLDER
    if edit.field not in row:
        return None
    was_text = isinstance(row[edit.field], str)
    if edit.op is not Op.REMOVE and isinstance(edit.after, str) == was_text:
        return None
    return edit.field if was_text else f"{edit.field}@"


def _reload(running: RunningConfig) -> ReloadStep:
    """Return the reload after which a switch runs ``running``.

    Raises DocumentError if the reload would hang the switch, or if FRR's configuration is unknown.
    """
    metadata = running.config_db.get("DEVICE_METADATA", {}).get("localhost", {})
    missing = [name for name in RELOAD_NEEDS if not metadata.get(name)]
    if missing:
        raise DocumentError(
            f"DEVICE_METADATA|localhost has no {', '.join(missing)}; a reload would empty the database and hang"
        )
    frr = running.known_frr("the reload could not keep or restore it")
    return ReloadStep(json_tables(without_orphans(running.config_db)), render_frr(frr))


def without_orphans(config_db: ConfigDb) -> ConfigDb:
    """Return tables without rows whose port does not exist and that must be removed together with their port.

    These are SONiC's own priority groups and the PFC watchdogs.
    """
    ports = config_db.get("PORT", {})
    remaining: dict[str, Mapping[str, Fields]] = dict(config_db)
    for table in ("BUFFER_PG", "PFC_WD"):
        if table in config_db:
            remaining[table] = {
                key: fields
                for key, fields in config_db[table].items()
                if port_of(key) in ports or not _goes_with_port(table, key, fields)
            }
    return remaining


def _goes_with_port(table: str, key: str, fields: Fields) -> bool:
    """Tell whether a row must be removed together with its port."""
    if table == "PFC_WD":
        # orchagent crashes where a watchdog's row is deleted after its port (run on 202505; SW pfcwdorch.cpp).
        return not is_permanent(table, key)
    return is_made_by_sonic(table, key, fields)
