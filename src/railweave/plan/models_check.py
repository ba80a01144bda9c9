"""What the YANG models of switches refuse of a plan: whom to ask, and blockers with the row, the reason and the fix."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from railweave.diagnostics import Blocker
from railweave.fabric.model import Fabric
from railweave.plan.build import Reading
from railweave.printable import printable
from railweave.secrets import is_secret, is_secret_key, secret_values, shown_key, shown_text
from railweave.sonic.delta.change import Change, Delta, Method
from railweave.sonic.delta.rejected import REMEDY, ModelsVerdict, Rejected, rejected_place, unasked
from railweave.sonic.resolved import plain_references
from railweave.sonic.rows import FRR_TABLE, ConfigDb, Fields, Value
from railweave.wording import command_line, first_few

RELOAD, WRITTEN = "RW527", "RW541"
NEEDED = "the row needs this field"
"""How the words on a field end that no row may lack (``railweave_switch.models_check``)."""
_LACKS = re.compile(r'(?:Missing required element|Mandatory node) "([^"]+)"')
_MOST_COMMANDS = 100
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
    verdict: ModelsVerdict, delta: Delta, candidate: ConfigDb, intended: ConfigDb
) -> Iterator[Blocker]:
    """Yield why ``delta`` would be refused by the models; ``candidate`` is what would be loaded or written.

    Models that cannot be asked are a reason as well: the switch refuses the change for it before it writes.
    """
    if verdict.fault:
        fault = shown_text(printable(verdict.fault), secret_values(candidate))
        yield Blocker(unasked(fault), REMEDY, RELOAD if delta.reloads else WRITTEN)
        return
    rejected = verdict.rejected
    # Of a delta that reloads all changes go with it, whatever they would take alone.
    causes = _names([one for one in delta if one.method is Method.RELOAD])
    secrets = secret_values(candidate) if rejected else frozenset()
    old_forms = [one for one in rejected if _is_old_reference(one, candidate)]
    refused = [
        (rejected_place(one), shown_text(one[3], secrets), _remedy(one, candidate, intended))
        for one in rejected
        if one not in old_forms
    ]
    if old_forms:
        refused.append(_old_references(candidate, shown_text(old_forms[0][3], secrets)))
    for place, reason, remedy in refused:
        if delta.reloads:
            yield Blocker(
                f"`config reload` would refuse {place}: {reason}",
                f"{remedy}; or leave out the changes that need the reload ({causes})",
                RELOAD,
            )
        else:
            yield Blocker(
                f"the switch's YANG models refuse {place} as it would be written: {reason}",
                remedy,
                WRITTEN,
            )


def _is_old_reference(one: Rejected, candidate: ConfigDb) -> bool:
    table, key, field, _ = one
    value = candidate.get(table, {}).get(key, {}).get(field)
    return value is not None and plain_references(value) != value


def _old_references(candidate: ConfigDb, reason: str) -> tuple[str, str, str]:
    """Return place, reason and remedy of all references of the form ``[TABLE|key]``.

    SONiC names the first few that fail, and their fields are needed: they are rewritten, all of them at once.
    """
    commands = [
        (f"{table}|{shown_key(table, key)} {field}", _setting(table, key, field, plain_references(value)))
        for table, rows in candidate.items()
        for key, fields in rows.items()
        for field, value in fields.items()
        if plain_references(value) != value and not is_secret(table, field) and not is_secret_key(table)
    ]
    places = first_few((place for place, _ in commands), most=_LISTED)
    left = len(commands) - _MOST_COMMANDS
    rest = f", then plan again for the other {left}" if left > 0 else ""
    written = " && ".join(command for _, command in commands[:_MOST_COMMANDS])
    return (
        f"references of the form `[TABLE|key]` ({places})",
        reason,
        f"write the keys alone, on the switch: `{written}`{rest}",
    )


def _setting(table: str, key: str, field: str, value: Value) -> str:
    """Return the command on the switch that sets a field."""
    if isinstance(value, str):
        return _command("HSET", f"{table}|{key}", field, value)
    return _command("HSET", f"{table}|{key}", f"{field}@", ",".join(value))


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
    lacks = _LACKS.search(one[3])
    if one[3].endswith(NEEDED) or (lacks and not field):
        right = _command("HSET", f"{table}|{key}", field or (lacks[1] if lacks else ""), "VALUE")
        return f"set it to a valid value on the switch: `{right}`"
    if key and not field and _is_referred_to(candidate, table, key):
        shows = _command("HGETALL", f"{table}|{key}")
        return f"correct it on the switch, where other rows refer to it (`{shows}` shows it)"
    return f"remove it on the switch: `{_removal(table, key, field, candidate.get(table, {}))}`"


def _is_referred_to(candidate: ConfigDb, table: str, key: str) -> bool:
    """Tell whether another row names this one, in its key or as a value. A bare number is no name of a row."""
    return not key.isdecimal() and any(
        key in other.split("|") or key in fields.values()
        for name, rows in candidate.items()
        for other, fields in rows.items()
        if (name, other) != (table, key)
    )


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
