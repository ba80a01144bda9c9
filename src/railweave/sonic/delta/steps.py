"""The steps that put a merge on a switch, in a safe order, and the steps that take it back.

    clear      rows that stand in the way of others: bgpcfgd's neighbors, foreign memberships, addresses that move
    configure  what is referred to before what refers to it; ports come up last
    FRR        neighbors meet addresses that are there, and leave before their addresses go
    remove     ports go down, then what refers, then what is referred to
    restore    foreign rows that a take-back puts onto their ports again; watchdogs that are set anew

A driver runs them one by one; each is complete in itself. Where one change needs a reload, the reload is the only step.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from railweave.sonic.delta.change import Change, Delta, Edit, Method, Op
from railweave.sonic.delta.daemon_rows import left_behind, with_daemon_rows
from railweave.sonic.delta.delta import applied, inverse, judged, lines_of
from railweave.sonic.delta.lossless import lossless_change
from railweave.sonic.delta.order import Phase, order_key, schedule, stage_of
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
    """``DEL`` and ``HDEL`` in CONFIG_DB, a wait until the daemons took them, then ``HSET`` of ``document``.

    ``removed`` are Redis keys with the fields that go, none for the whole row.
    """

    removed: tuple[tuple[str, tuple[str, ...]], ...] = field(repr=False)
    document: Mapping[str, Any] = field(repr=False)


Step = PatchStep | LoadStep | HdelStep | RecreateStep | VtyshStep | ClearStep | ReloadStep


def steps_of(delta: Delta, running: RunningConfig) -> tuple[Step, ...]:
    """Return the steps that carry ``delta`` out on a switch that runs ``running``; none when it changes nothing.

    Nothing is compared or judged again. Raises DocumentError where FRR's configuration would be needed and is unknown,
    or a reload would hang the switch.
    """
    if delta.reloads:
        return (_reload(applied(delta, running)),)
    return _steps(delta, running)


def undo_steps_of(delta: Delta, running: RunningConfig, back: Delta | None = None) -> tuple[Step, ...]:
    """Return the steps that bring a switch back from ``delta`` to ``running``: never a patch, which may be refused.

    ``back`` is the inverse of ``delta``, where it is made already.
    """
    if delta.reloads:
        return (_reload(running),)
    changed, back = applied(delta, running), back or inverse(delta)
    made = with_daemon_rows(changed.config_db)
    left = judged(tuple(left_behind(back, made)), made)
    return _steps(Delta((*left, *back)), changed.with_tables(made))


def rollback_document(steps: Iterable[Step]) -> dict[str, Any]:
    """Return the rollback file of ``railweave-confirm``: version 1, kinds load, hdel, recreate, vtysh, clear and
    reload."""
    return {"version": 1, "steps": [_json_step(step) for step in steps]}


def _json_step(step: Step) -> dict[str, Any]:
    match step:
        case LoadStep(document):
            return {"kind": "load", "document": document}
        case HdelStep(key, fields):
            return {"kind": "hdel", "key": key, "fields": list(fields)}
        case RecreateStep(removed, document):
            return {"kind": "recreate", "removed": [[key, list(fields)] for key, fields in removed], "rows": document}
        case VtyshStep(text):
            return {"kind": "vtysh", "text": text}
        case ClearStep(sessions):
            return {"kind": "clear", "sessions": [list(session) for session in sessions]}
        case ReloadStep(config_db, frr):
            return {"kind": "reload", "config_db": config_db, "frr": frr}
        case PatchStep():
            raise ValueError("a rollback never patches")


def _steps(delta: Delta, running: RunningConfig) -> tuple[Step, ...]:
    rows = [change for change in delta if change.table != FRR_TABLE]
    before, after = running.config_db, tables_after(rows, running.config_db)
    lossless = lossless_change(before, after)
    again = tuple(recreations(rows, before, after, lossless))
    covered = {row for one in again for row in one.covered}
    planned = [
        (when, edit)
        for when, edit in schedule(rows, lossless)
        if isinstance(edit, Change) and (edit.table, edit.key) not in covered
    ]
    state = Tables(before)
    steps: list[Step] = []
    for now in Phase:
        if now is Phase.REMOVE and len(rows) < len(delta):
            steps.extend(_frr_steps(delta, running))
        groups: dict[tuple[tuple[int, str], Method], list[Edit | Recreation]] = {}
        for when, change in planned:
            if when is now:
                groups.setdefault((order_key(change, change.method, now), change.method), []).append(change)
        for one in again:
            if one.phase is now:
                groups.setdefault((stage_of(one.table, now), Method.WRITE), []).append(one)
        for (_, method), group in sorted(groups.items(), key=lambda item: item[0]):
            steps.extend(_group_steps(method, [one for one in group if isinstance(one, Edit)], state))
            steps.extend(_recreate_step(one) for one in group if isinstance(one, Recreation))
    return tuple(steps)


def _frr_steps(delta: Delta, running: RunningConfig) -> Iterator[Step]:
    removed, added = lines_of(delta)
    yield VtyshStep(delta_text(removed, added))
    sessions = sessions_to_open_again(removed, added, running.frr_document)
    if sessions:
        yield ClearStep(sessions)


def _recreate_step(one: Recreation) -> RecreateStep:
    """Return the step of a recreation; fields of other rows let go before what they refer to goes."""
    unbound: dict[str, list[str]] = {}
    for (table, key), name in one.unbound:
        unbound.setdefault(f"{table}|{key}", []).append(name)
    removed = [(key, tuple(names)) for key, names in unbound.items()]
    removed += [(f"{one.table}|{key}", ()) for key in one.deleted]
    return RecreateStep(tuple(removed), json_tables(one.rows))


def _group_steps(method: Method, group: Sequence[Edit], state: Tables) -> Iterator[Step]:
    if not group:
        return
    ordered = sorted(group, key=lambda edit: (edit.table, natural_key(edit.key), edit.field or ""))
    if method is Method.PATCH:
        yield PatchStep(tuple(operation for edit in ordered for operation in _operations(edit, state)))
        return
    yield from _write_steps(ordered, state)


def _operations(edit: Edit, state: Tables) -> Iterator[Mapping[str, Any]]:
    """Yield the RFC 6902 operations of an edit: a table comes with its first row and goes with its last."""
    rows = state.rows.get(edit.table)
    path = _pointer(edit.table, edit.key) if edit.field is None else _pointer(edit.table, edit.key, edit.field)
    if edit.op is Op.REMOVE:
        last = edit.field is None and rows is not None and set(rows) == {edit.key}
        yield {"op": "remove", "path": _pointer(edit.table) if last else path}
    elif rows is None:
        yield {"op": "add", "path": _pointer(edit.table), "value": {edit.key: _json(edit.after)}}
    else:
        yield {"op": "add" if edit.op is Op.ADD else "replace", "path": path, "value": _json(edit.after)}
    state.take(edit)


def _pointer(*parts: str) -> str:
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)


def _json(value: Value | Fields | None) -> Any:
    if value is None or isinstance(value, str):
        return value
    return list(value) if isinstance(value, tuple) else {name: _json(inner) for name, inner in value.items()}


def _write_steps(group: Sequence[Edit], state: Tables) -> Iterator[Step]:
    document: dict[str, dict[str, Any]] = {}
    dropped: dict[tuple[str, str], list[str]] = {}
    for edit in group:
        rows = document.setdefault(edit.table, {})
        row = state.row(edit)
        for name in _stale_fields(edit, row):
            dropped.setdefault((edit.table, edit.key), []).append(name)
        if edit.field is None:
            rows[edit.key] = None if edit.op is Op.REMOVE else _json(edit.after)
        elif edit.op is not Op.REMOVE:
            rows.setdefault(edit.key, {})[edit.field] = _json(edit.after)
        state.take(edit)
    # A hash that loses its last field vanishes, so the row is first given SONiC's placeholder (an empty row does that).
    for table, key in dropped:
        if not state.rows[table][key]:
            document[table][key] = {}
    document = {table: rows for table, rows in document.items() if rows}
    if document:
        yield LoadStep(document)
    for (table, key), fields in dropped.items():
        yield HdelStep(f"{table}|{key}", tuple(fields))


def _stale_fields(edit: Edit, row: Mapping[str, Value] | None) -> list[str]:
    """Return the Redis fields that ``config load`` would leave behind.

    These are removed ones, the other form of a field that was or becomes a list, and the placeholder of an empty row.
    """
    if edit.field is None or row is None:
        return []
    if edit.field not in row:
        return [] if row else [PLACEHOLDER]
    if edit.op is Op.REMOVE or isinstance(edit.after, str) != isinstance(row[edit.field], str):
        return [edit.field if isinstance(row[edit.field], str) else f"{edit.field}@"]
    return []


def _reload(running: RunningConfig) -> ReloadStep:
    metadata = running.config_db.get("DEVICE_METADATA", {}).get("localhost", {})
    missing = [name for name in RELOAD_NEEDS if not metadata.get(name)]
    if missing:
        raise DocumentError(
            f"DEVICE_METADATA|localhost has no {', '.join(missing)}; a reload would empty the database and hang"
        )
    frr = running.known_frr("the reload could not keep or restore it")
    return ReloadStep(json_tables(without_orphans(running.config_db)), render_frr(frr))


def without_orphans(config_db: ConfigDb) -> ConfigDb:
    """Return tables without rows that must not outlive their port: SONiC's own priority groups, PFC watchdogs.

    Deleting a watchdog's row later, when its port is not there any more, crashes orchagent.
    """
    ports = config_db.get("PORT", {})
    kept = {
        table: {
            key: fields
            for key, fields in config_db[table].items()
            if port_of(key) in ports or not _goes_with_port(table, key, fields)
        }
        for table in ("BUFFER_PG", "PFC_WD")
        if table in config_db
    }
    return {**config_db, **kept}


def _goes_with_port(table: str, key: str, fields: Fields) -> bool:
    return is_made_by_sonic(table, key, fields) if table == "BUFFER_PG" else not is_permanent(table, key)
