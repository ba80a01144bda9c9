"""What the YANG models of switches refuse of a plan: whom to ask, and blockers with the row, the reason and the fix."""

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence

from railweave.diagnostics import Blocker
from railweave.fabric.model import Fabric
from railweave.plan.build import Reading
from railweave.secrets import is_secret_key, secret_values, shown_key, shown_text
from railweave.sonic.delta.change import Change, Delta, Method
from railweave.sonic.delta.rejected import Rejected, rejected_place
from railweave.sonic.rows import FRR_TABLE, ConfigDb, Fields, Value
from railweave.wording import command_line, first_few

RELOAD, WRITTEN = "RW527", "RW541"
_LISTED = 3
"""Rows of a table that are named one by one."""
_WITHOUT_DIGITS = str.maketrans("", "", "0123456789")


def to_be_asked(fabric: Fabric, readings: Mapping[str, Reading]) -> dict[str, Delta]:
    """Return the changes that a plan is to hold against the models of switches, by switch: one of a kind is asked.

    Switches of a model and a release that are changed alike, but for names, addresses and ports, are of a kind: what
    the models of one refuse, those of all do. Each asks its own models again before it writes. A plan without changed
    rows asks nobody, and reloads are asked for one by one.
    """
    kinds: dict[object, tuple[str, Delta]] = {}
    for switch in fabric.switches:
        reading = readings[switch.name]
        delta = None if reading.difference is None or reading.error else reading.difference.delta
        if delta and not delta.reloads and (changes := [one for one in delta if one.table != FRR_TABLE]):
            kind = (switch.panel.hwsku, reading.release, frozenset(map(_form, changes)))
            kinds.setdefault(kind, (switch.name, delta))
    return dict(kinds.values())


def _form(change: Change) -> tuple[object, ...]:
    """Return a change without what tells one switch or port from another."""
    key = change.key.translate(_WITHOUT_DIGITS)
    return change.table, key, change.op, change.field, _form_of_value(change.after)


def _form_of_value(value: Value | Fields | None) -> object:
    if value is None:
        return None
    if isinstance(value, str):
        return value if value.isdecimal() else value.translate(_WITHOUT_DIGITS)
    if isinstance(value, tuple):
        return tuple(map(_form_of_value, value))
    return frozenset((name, _form_of_value(inner)) for name, inner in value.items())


def invalid_blockers(
    rejected: Collection[Rejected], delta: Delta, candidate: ConfigDb, intended: ConfigDb
) -> Iterator[Blocker]:
    """Yield why ``delta`` would be refused by the models; ``candidate`` is what would be loaded or written."""
    # Of a delta that reloads all changes go with it, whatever they would take alone.
    causes = _names([one for one in delta if one.method is Method.RELOAD])
    secrets = secret_values(candidate) if rejected else frozenset()
    for one in rejected:
        reason = shown_text(one[3], secrets)
        remedy = _remedy(one, candidate, intended)
        if delta.reloads:
            yield Blocker(
                f"`config reload` would refuse {rejected_place(one)}: {reason}",
                f"{remedy}; or leave out the changes that need the reload ({causes})",
                RELOAD,
            )
        else:
            yield Blocker(
                f"the switch's YANG models refuse {rejected_place(one)} as it would be written: {reason}",
                remedy,
                WRITTEN,
            )


def _names(changes: Sequence[Change]) -> str:
    return first_few(dict.fromkeys(f"{one.table}|{shown_key(one.table, one.key)}" for one in changes), most=_LISTED)


def _remedy(one: Rejected, candidate: ConfigDb, intended: ConfigDb) -> str:
    table, key, field, _ = one
    ours = intended.get(table, {}).get(key)
    if not table:
        return "read the words of SONiC"
    if ours is not None and (not field or field in ours):
        explain = command_line("explain", "DEVICE", f"{table}|{shown_key(table, key)}")
        return f"correct it in the intent (`{explain}` shows what it follows from)"
    if key and is_secret_key(table):
        return f"remove it on the switch, where `{_command('KEYS', f'{table}|*')}` shows its key"
    return f"remove it on the switch: `{_removal(table, key, field, candidate.get(table, {}))}`"


def _removal(table: str, key: str, field: str, rows: Mapping[str, Fields]) -> str:
    """Return the command on the switch that removes a table, a row or a field."""
    if field:
        return _command("HDEL", f"{table}|{key}", field if isinstance(rows[key].get(field), str) else f"{field}@")
    keys = [key] if key else list(rows)
    if len(keys) <= _LISTED and not is_secret_key(table):
        return _command("DEL", *(f"{table}|{one}" for one in keys))
    return f"{_command('KEYS', f'{table}|*')} | xargs -d '\\n' {_command('DEL')}"


def _command(*words: str) -> str:
    return shlex.join(["sonic-db-cli", "CONFIG_DB", *words])
