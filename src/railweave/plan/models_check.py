"""What the YANG models of switches refuse of a plan: whom to ask, and blockers with the row, the reason and the fix."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

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
    """Return the switches whose YANG models are to be asked about their changes, with these changes.

    Only one switch of each kind is asked. Switches of one model and release whose changes differ only in names,
    addresses and ports are of one kind: their models give the same answer. Each asks its own models again before it
    writes.
    """
    to_ask: dict[str, Delta] = {}
    kinds: set[object] = set()
    for switch in fabric.switches:
        reading = readings.get(switch.name, NOT_READ)
        if reading.difference is None or reading.error:
            continue
        delta = reading.difference.delta
        # FRR's lines have no models, and switches that reload are asked one by one.
        changes = [change for change in delta if change.table != FRR_TABLE]
        if not changes or delta.reloads:
            continue
        kind = (switch.panel.hwsku, reading.release, frozenset(map(_without_names, changes)))
        if kind not in kinds:
            kinds.add(kind)
            to_ask[switch.name] = delta
    return to_ask


def _without_names(change: Change) -> tuple[object, ...]:
    """Return a change as a key, without the numbers in names, addresses and ports."""
    key = change.key.translate(_WITHOUT_DIGITS)
    return change.table, key, change.op, change.field, _value_without_names(change.after)


def _value_without_names(value: Value | Fields | None) -> object:
    if value is None:
        return None
    if isinstance(value, str):
        # A number alone may be out of a range of the models; digits in a name or address never are.
        return value if value.isdecimal() else value.translate(_WITHOUT_DIGITS)
    if isinstance(value, tuple):
        return tuple(map(_value_without_names, value))
    return frozenset((name, _value_without_names(inner)) for name, inner in value.items())


def invalid_blockers(
    verdict: ModelsVerdict, delta: Delta, candidate: ConfigDb, intended: ConfigDb
) -> Iterator[Blocker]:
    """Yield a blocker for each place that the models would refuse of ``delta``.

    ``verdict`` is their answer for ``candidate``, the configuration that would be loaded or written. ``intended`` are
    the rows of the intent. Models that cannot be asked block as well: the switch would refuse the change then.
    """
    if verdict.fault:
        fault = shown_text(printable(verdict.fault), secret_values(candidate))
        yield Blocker(unasked(fault), REMEDY, RELOAD if delta.reloads else WRITTEN)
        return
    for refusal in _refusals(verdict, candidate, intended):
        if delta.reloads:
            # One change that needs the reload takes all others of the delta with it.
            causes = _row_names([change for change in delta if change.method is Method.RELOAD])
            yield Blocker(
                f"`config reload` would refuse {refusal.place}: {refusal.reason}",
                f"{refusal.remedy}; or leave out the changes that need the reload ({causes})",
                RELOAD,
            )
        else:
            yield Blocker(
                f"the switch's YANG models refuse {refusal.place} as it would be written: {refusal.reason}",
                refusal.remedy,
                WRITTEN,
            )


class _Refusal(NamedTuple):
    """What the models refuse, in words and without secrets."""

    place: str
    reason: str
    remedy: str


def _refusals(verdict: ModelsVerdict, candidate: ConfigDb, intended: ConfigDb) -> Iterator[_Refusal]:
    """Yield a refusal for each rejection, and a single one for all references of an old form."""
    if not verdict.rejected:
        return
    secrets = secret_values(candidate)
    old_reference_reasons = []
    for rejection in verdict.rejected:
        _, _, _, words = rejection
        reason = shown_text(words, secrets)
        if _is_old_reference(rejection, candidate):
            old_reference_reasons.append(reason)
        else:
            yield _Refusal(rejected_place(rejection), reason, _remedy(rejection, candidate, intended))
    if old_reference_reasons:
        yield _old_references(candidate, old_reference_reasons[0])


def _is_old_reference(rejection: Rejected, candidate: ConfigDb) -> bool:
    table, key, field, _ = rejection
    value = candidate.get(table, {}).get(key, {}).get(field)
    return value is not None and plain_references(value) != value


def _old_references(candidate: ConfigDb, reason: str) -> _Refusal:
    """Return one refusal for all references of the form ``[TABLE|key]``, with the commands that rewrite them.

    SONiC names only the first few that fail. Their fields are required, so they are rewritten and not removed.
    """
    rewrites = list(_rewritten_references(candidate))
    places = first_few((rewrite.place for rewrite in rewrites), most=_LISTED)
    commands = " && ".join(rewrite.command for rewrite in rewrites[:_MOST_COMMANDS])
    remedy = f"write the keys alone, on the switch: `{commands}`"
    remaining = len(rewrites) - _MOST_COMMANDS
    if remaining > 0:
        remedy += f", then plan again for the other {remaining}"
    return _Refusal(f"references of the form `[TABLE|key]` ({places})", reason, remedy)


class _Rewrite(NamedTuple):
    """A field whose references have an old form, and the command that rewrites them."""

    place: str
    command: str


def _rewritten_references(candidate: ConfigDb) -> Iterator[_Rewrite]:
    """Yield a rewrite for each field whose references have the form of SONiC before 202106."""
    for table, rows in candidate.items():
        # A command with a secret would end up in a shell's history.
        if is_secret_key(table):
            continue
        for key, fields in rows.items():
            for field, value in fields.items():
                new_value = plain_references(value)
                if new_value != value and not is_secret(table, field):
                    command = _set_command(table, key, field, new_value)
                    yield _Rewrite(f"{table}|{shown_key(table, key)} {field}", command)


def _set_command(table: str, key: str, field: str, value: Value) -> str:
    """Return the command on the switch that sets a field."""
    if isinstance(value, str):
        return _db_command("HSET", f"{table}|{key}", field, value)
    # CONFIG_DB marks a list by an `@` after the field's name (ConfigDBConnector of sonic-py-swsssdk).
    return _db_command("HSET", f"{table}|{key}", f"{field}@", ",".join(value))


def _row_names(changes: Sequence[Change]) -> str:
    """Return the first few rows that ``changes`` are about, without secrets."""
    rows = dict.fromkeys(f"{change.table}|{shown_key(change.table, change.key)}" for change in changes)
    return first_few(rows, most=_LISTED)


def _remedy(rejection: Rejected, candidate: ConfigDb, intended: ConfigDb) -> str:
    """Return what corrects a rejected row or field: a change of the intent, or a command on the switch."""
    table, key, field, reason = rejection
    # The models did not say which row they reject.
    if not table:
        return "read the words of SONiC"
    if _is_intended(rejection, intended):
        explain = command_line("explain", "DEVICE", f"{table}|{shown_key(table, key)}")
        return f"correct it in the intent (`{explain}` shows what it follows from)"
    if key and is_secret_key(table):
        show_keys = _db_command("KEYS", f"{table}|*")
        return f"remove it on the switch, where `{show_keys}` shows its key"
    missing_field = _missing_field(field, reason)
    if missing_field is not None:
        set_field = _db_command("HSET", f"{table}|{key}", missing_field, "VALUE")
        return f"set it to a valid value on the switch: `{set_field}`"
    is_whole_row = bool(key) and not field
    if is_whole_row and _is_referred_to(candidate, table, key):
        show_row = _db_command("HGETALL", f"{table}|{key}")
        return f"correct it on the switch, where other rows refer to it (`{show_row}` shows it)"
    remove = _remove_command(table, key, field, candidate.get(table, {}))
    return f"remove it on the switch: `{remove}`"


def _is_intended(rejection: Rejected, intended: ConfigDb) -> bool:
    """Tell whether the rejected row, or field, follows from the intent."""
    table, key, field, _ = rejection
    row = intended.get(table, {}).get(key)
    return row is not None and (not field or field in row)


def _missing_field(field: str, reason: str) -> str | None:
    """Return the required field that a row lacks, by the rejected ``field`` and by SONiC's words in ``reason``.

    Returns an empty text if SONiC does not name the field, and None if no field is missing.
    """
    match = _LACKS.search(reason)
    named_field = match[1] if match else ""
    if reason.endswith(NEEDED):
        return field or named_field
    if match and not field:
        return named_field
    return None


def _is_referred_to(candidate: ConfigDb, table: str, key: str) -> bool:
    """Tell whether another row names this one, in its key or as a value."""
    # A bare number is a priority or a code point, and no name of a row.
    if key.isdecimal():
        return False
    for other_table, rows in candidate.items():
        for other_key, fields in rows.items():
            if (other_table, other_key) == (table, key):
                continue
            if key in other_key.split("|") or key in fields.values():
                return True
    return False


def _remove_command(table: str, key: str, field: str, rows: Mapping[str, Fields]) -> str:
    """Return the command on the switch that removes a table, a row or a field."""
    if field:
        is_list = not isinstance(rows[key].get(field), str)
        return _db_command("HDEL", f"{table}|{key}", f"{field}@" if is_list else field)
    keys = [key] if key else list(rows)
    if len(keys) <= _LISTED and not is_secret_key(table):
        return _db_command("DEL", *(f"{table}|{key}" for key in keys))
    list_rows = _db_command("KEYS", f"{table}|*")
    remove_rows = _db_command("DEL")
    return f"{list_rows} | xargs -d '\\n' {remove_rows}"


def _db_command(*words: str) -> str:
    return shlex.join(["sonic-db-cli", "CONFIG_DB", *words])
