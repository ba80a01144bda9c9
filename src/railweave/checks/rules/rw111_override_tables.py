"""Overrides are rows of CONFIG_DB that railweave does not know. Management access is how a switch is reached, sessions
are in the FRR file, what SONiC finds on the hardware is its own, and a switch without its core features forwards
nothing: none of it may be stated. Who can log in may be, with a warning. A reference to a secret
is the value of a field that is hidden wherever its row is shown; in a name or a key the secret would be shown."""

import re
from collections.abc import Mapping

from railweave.checks.registry import Breach, Breaches, rule
from railweave.diagnostics import Severity
from railweave.intent.model import Intent
from railweave.intent.paths import path_text
from railweave.secrets import is_misspelled_reference, is_secret, is_secret_key, references
from railweave.wording import command_line

_TABLE = re.compile(r"[A-Z][A-Z0-9_]*")
# The states of FEATURE in which SONiC runs a feature.
_ON = {"enabled", "always_enabled"}
_SESSIONS = ("it is kept empty, the sessions are in the FRR file", "change the FRR template of the project")
_MANAGEMENT = (
    "management access is how the switch is reached and is never configured",
    "take the table out; addresses of switches belong into inventory/",
)

RULE = rule(
    "RW111",
    "overrides do not touch what no intent may set",
    __doc__,
    "overrides: {leaf: {MGMT_INTERFACE: {eth0: {}}}}",
)


@RULE.on_intent
def check_tables(intent: Intent) -> Breaches:
    """Yield a breach for each table, key and field that overrides must not state."""
    for scope, by_table in intent.policies.overrides.rows.items():
        for table, rows in by_table.items():
            place = ("overrides", scope, table)
            yield from _table_breach(path_text(place), table)
            yield from _shown_references(place, rows)
            yield from _kept_fields(place, rows)


def _table_breach(path: str, table: str) -> Breaches:
    """Yield an error if a table cannot be overridden, or a warning if it decides who can log in."""
    # Late: most intents state no rows, and SONiC's tables take long to import.
    from railweave.sonic.delta.access import decides_access
    from railweave.sonic.ownership import KEPT_EMPTY

    if table.startswith("MGMT_"):
        reason, fix = _MANAGEMENT
        yield Breach(path, f"`{table}` cannot be overridden: {reason}", fix)
    elif table in KEPT_EMPTY:
        reason, fix = _SESSIONS
        yield Breach(path, f"`{table}` cannot be overridden: {reason}", fix)
    elif _TABLE.fullmatch(table) is None:
        fix = f"write it like {table.upper().replace('-', '_')}, as `show runningconfiguration all` prints it"
        yield Breach(path, f"invalid name of a CONFIG_DB table: `{table}`", fix)
    elif decides_access(table):
        message = f"`{table}` decides who can log in to a switch: a mistake locks everybody out, or lets anybody in"
        fix = f"have a console at hand; `{command_line('deploy')}` asks for --allow-lockout"
        yield Breach(path, message, fix, Severity.WARNING)


_WHOLE_VALUE = "write the value itself if it is not a secret"
_OTHER_TABLE = "use a table with the secret in a field, as SNMPv3 has it and SNMP communities have not"


def _shown_references(place: tuple[str, str, str], rows: Mapping[str, Mapping[str, object]]) -> Breaches:
    """Yield a breach for each reference to a secret in a name, key or field that railweave shows."""
    table = place[-1]
    if references(table):
        yield Breach(path_text(place), f"the name of table `{table}` cannot hold a secret", _WHOLE_VALUE)
    for key, fields in rows.items():
        if references(key):
            fix = _OTHER_TABLE if is_secret_key(table) else _WHOLE_VALUE
            message = f"key `{key}` of `{table}` cannot hold a secret: keys of rows are shown"
            yield Breach(path_text((*place, key)), message, fix)
        for field, value in fields.items():
            where = path_text((*place, key, field))
            yield from _field_references(where, table, field, value)


def _field_references(where: str, table: str, field: str, value: object) -> Breaches:
    """Yield an error if a reference to a secret in a field would be shown, or cannot be read."""
    if references(field):
        yield Breach(where, f"the name of field `{field}` of `{table}` cannot hold a secret", _WHOLE_VALUE)
    elif references(str(value)) and not is_secret(table, field):
        message = f"field `{field}` of `{table}` cannot hold a secret: railweave shows what is in it"
        yield Breach(where, message, _WHOLE_VALUE)
    elif references(str(value)) and not isinstance(value, str):
        message = f"field `{field}` of `{table}` cannot hold a secret in a list"
        yield Breach(where, message, "write `{secret: NAME}` as the field's only value")
    elif is_misspelled_reference(str(value)):
        message = f"field `{field}` of `{table}` begins a reference to a secret that cannot be read"
        yield Breach(where, message, "write `{secret: NAME}`, with a name of letters, digits, `_`, `-` and `.`")


def _kept_fields(place: tuple[str, str, str], rows: Mapping[str, Mapping[str, object]]) -> Breaches:
    """Yield a breach for each needed feature that is switched off, and each field that SONiC finds on the hardware."""
    from railweave.sonic.ownership import FEATURE, FEATURES_NEEDED, FOUND_ON_HARDWARE

    table = place[-1]
    for key, fields in rows.items():
        if table == FEATURE and key in FEATURES_NEEDED and fields.get("state", "enabled") not in _ON:
            message = f"feature `{key}` cannot be switched off: the switch would forward nothing"
            yield Breach(path_text((*place, key)), message, f"take `{key}` out of `overrides`")
        for field in fields:
            if (table, field) in FOUND_ON_HARDWARE:
                message = f"field `{field}` of `{table}` cannot be overridden: SONiC finds it on the hardware"
                yield Breach(path_text((*place, key, field)), message, f"take `{field}` out of `overrides`")
