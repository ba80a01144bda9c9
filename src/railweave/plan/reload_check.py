"""What a switch would refuse of a plan's reload, as blockers with the row, the reason and the fix."""

import shlex
from collections.abc import Iterator, Mapping, Sequence

from railweave.diagnostics import Blocker
from railweave.secrets import is_secret_key, secret_values, shown_key, shown_text
from railweave.sonic.delta.change import Delta, Method
from railweave.sonic.rows import ConfigDb, Fields
from railweave.wording import command_line, first_few

CODE = "RW527"
_LISTED = 3
"""Rows of a table that are named one by one."""


def reload_blockers(
    rejected: Sequence[tuple[str, str, str, str]], delta: Delta, candidate: ConfigDb, intended: ConfigDb
) -> Iterator[Blocker]:
    """Yield why the reload of ``delta`` would abort.

    ``rejected`` are table, key, field and SONiC's words, an empty key for a whole table and an empty table where the
    place is not known. ``candidate`` is what the reload would load.
    """
    causes = dict.fromkeys(
        f"{one.table}|{shown_key(one.table, one.key)}" for one in delta if one.method is Method.RELOAD
    )
    secrets = secret_values(candidate) if rejected else frozenset()
    for table, key, field, said in rejected:
        rows = candidate.get(table, {})
        place = table and (f"{table}|{shown_key(table, key)} {field}".rstrip() if key else f"table {table}")
        reason = shown_text(said, secrets)
        ours = intended.get(table, {}).get(key)
        if not table:
            remedy = "read the words of SONiC"
        elif ours is not None and (not field or field in ours):
            explain = command_line("explain", "DEVICE", f"{table}|{shown_key(table, key)}")
            remedy = f"correct it in the intent (`{explain}` shows what it follows from)"
        elif key and is_secret_key(table):
            remedy = f"remove it on the switch, where `{_command('KEYS', f'{table}|*')}` shows its key"
        else:
            remedy = f"remove it on the switch: `{_removal(table, key, field, rows)}`"
        yield Blocker(
            f"`config reload` would refuse {place or 'the configuration'}: {reason}",
            f"{remedy}; or leave out the changes that need the reload ({first_few(causes, most=_LISTED)})",
            CODE,
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
