"""What the YANG models of switches refuse of a plan: whom to ask, and blockers with the row, the reason and the fix."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from railweave.diagnostics import Blocker
from railweave.fabric.model import Fabric
from railweave.plan.model import NOT_READ, Reading
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
    """Return the changes to check with the YANG models of switches, by switch: one switch of each kind is asked.

    Switches of a model and a release that are changed alike, but for names, addresses and ports, are of a kind: their
    models give the same answer. Each asks its own models again before it writes.
    """
    kinds: dict[object, tuple[str, Delta]] = {}
    for switch in fabric.switches:
        reading = readings.get(switch.name, NOT_READ)
        if reading.difference is None or reading.error:
            continue
        delta = reading.difference.delta
        changes = [change for change in delta if change.table != FRR_TABLE]
        # FRR's lines have no models, and reloads are asked about one by one.
        if changes and not delta.reloads:
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
        # A number alone may be out of a range of the models; digits in a name or address never are.
        return value if value.isdecimal() else value.translate(_WITHOUT_DIGITS)
    if isinstance(value, tuple):
        return tuple(map(_form_of_value, value))
    return frozenset((name, _form_of_value(inner)) for name, inner in value.items())


def invalid_blockers(
    verdict: ModelsVerdict, delta: Delta, candidate: ConfigDb, intended: ConfigDb
) -> Iterator[Blocker]:
    """Yield why the models would refuse ``delta``; ``candidate`` is what would be loaded or written.

    Models that cannot be asked are a reason as well: the switch then refuses the change before it writes.
    """
    if verdict.fault:
        fault = shown_text(printable(verdict.fault), secret_values(candidate))
        yield Blocker(unasked(fault), REMEDY, RELOAD if delta.reloads else WRITTEN)
        return
    for place, reason, remedy in _refused(verdict, candidate, intended):
        if delta.reloads:
            # One change that needs the reload takes all others of the delta with it.
            causes = _names([change for change in delta if change.method is Method.RELOAD])
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


def _refused(verdict: ModelsVerdict, candidate: ConfigDb, intended: ConfigDb) -> Iterator[tuple[str, str, str]]:
    """Yield place, reason and remedy of each rejection; old references are summed up in one."""
    rejected = verdict.rejected
    if not rejected:
        return
    secrets = secret_values(candidate)
    old_forms = [rejection for rejection in rejected if _is_old_reference(rejection, candidate)]
    for rejection in rejected:
        if rejection not in old_forms:
            reason = shown_text(rejection[3], secrets)
            yield rejected_place(rejection), reason, _remedy(rejection, candidate, intended)
    if old_forms:
        yield _old_references(candidate, shown_text(old_forms[0][3], secrets))


def _is_old_reference(rejection: Rejected, candidate: ConfigDb) -> bool:
    table, key, field, _ = rejection
    value = candidate.get(table, {}).get(key, {}).get(field)
    return value is not None and plain_references(value) != value


def _old_references(candidate: ConfigDb, reason: str) -> tuple[str, str, str]:
    """Return place, reason and remedy of all references of the form ``[TABLE|key]``.

    SONiC names only the first few that fail, and their fields are required: all of them are rewritten.
    """
    commands = list(_rewritten_references(candidate))
    places = first_few((place for place, _ in commands), most=_LISTED)
    written = " && ".join(command for _, command in commands[:_MOST_COMMANDS])
    remedy = f"write the keys alone, on the switch: `{written}`"
    left = len(commands) - _MOST_COMMANDS
    if left > 0:
        remedy += f", then plan again for the other {left}"
    return f"references of the form `[TABLE|key]` ({places})", reason, remedy


def _rewritten_references(candidate: ConfigDb) -> Iterator[tuple[str, str]]:
    """Yield place and command for each field whose references have the form of SONiC before 202106."""
    for table, rows in candidate.items():
        # A command with a secret would end up in a shell's history.
        if is_secret_key(table):
            continue
        for key, fields in rows.items():
            for field, value in fields.items():
                if plain_references(value) != value and not is_secret(table, field):
                    command = _setting(table, key, field, plain_references(value))
                    yield f"{table}|{shown_key(table, key)} {field}", command


def _setting(table: str, key: str, field: str, value: Value) -> str:
    """Return the command on the switch that sets a field."""
    if isinstance(value, str):
        return _command("HSET", f"{table}|{key}", field, value)
    # CONFIG_DB marks a list by an `@` after the field's name (ConfigDBConnector of sonic-py-swsssdk).
    return _command("HSET", f"{table}|{key}", f"{field}@", ",".join(value))


def _names(changes: Sequence[Change]) -> str:
    rows = dict.fromkeys(f"{change.table}|{shown_key(change.table, change.key)}" for change in changes)
    return first_few(rows, most=_LISTED)


def _remedy(rejection: Rejected, candidate: ConfigDb, intended: ConfigDb) -> str:
    table, key, field, reason = rejection
    if not table:
        return "read the words of SONiC"
    if _is_intended(rejection, intended):
        explain = command_line("explain", "DEVICE", f"{table}|{shown_key(table, key)}")
        return f"correct it in the intent (`{explain}` shows what it follows from)"
    if key and is_secret_key(table):
        return f"remove it on the switch, where `{_command('KEYS', f'{table}|*')}` shows its key"
    missing = _missing_field(field, reason)
    if missing is not None:
        right = _command("HSET", f"{table}|{key}", missing, "VALUE")
        return f"set it to a valid value on the switch: `{right}`"
    if key and not field and _is_referred_to(candidate, table, key):
        shows = _command("HGETALL", f"{table}|{key}")
        return f"correct it on the switch, where other rows refer to it (`{shows}` shows it)"
    return f"remove it on the switch: `{_removal(table, key, field, candidate.get(table, {}))}`"


def _is_intended(rejection: Rejected, intended: ConfigDb) -> bool:
    """Tell whether the rejected row, or field, follows from the intent."""
    table, key, field, _ = rejection
    row = intended.get(table, {}).get(key)
    return row is not None and (not field or field in row)


def _missing_field(field: str, reason: str) -> str | None:
    """Return the field that a row lacks or may not lack, "" if the words do not name it; None for another reason."""
    lacks = _LACKS.search(reason)
    if reason.endswith(NEEDED):
        return field or (lacks[1] if lacks else "")
    if lacks and not field:
        return lacks[1]
    return None


def _is_referred_to(candidate: ConfigDb, table: str, key: str) -> bool:
    """Tell whether another row names this one, in its key or as a value."""
    # A bare number is a priority or a code point, and no name of a row.
    if key.isdecimal():
        return False
    for name, rows in candidate.items():
        for other, fields in rows.items():
            if (name, other) != (table, key) and (key in other.split("|") or key in fields.values()):
                return True
    return False


def _removal(table: str, key: str, field: str, rows: Mapping[str, Fields]) -> str:
    """Return the command on the switch that removes a table, a row or a field."""
    if field:
        is_list = not isinstance(rows[key].get(field), str)
        return _command("HDEL", f"{table}|{key}", f"{field}@" if is_list else field)
    keys = [key] if key else list(rows)
    if len(keys) <= _LISTED and not is_secret_key(table):
        return _command("DEL", *(f"{table}|{key}" for key in keys))
    return f"{_command('KEYS', f'{table}|*')} | xargs -d '\\n' {_command('DEL')}"


def _command(*words: str) -> str:
    return shlex.join(["sonic-db-cli", "CONFIG_DB", *words])
