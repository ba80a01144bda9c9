"""Rows of overrides are written as they stand. A field or word that no release of SONiC takes is refused by every
switch; written all the same, it makes later changes fail, and orchagent may end, all ports with it (SW
orchagent/qosorch.cpp). What one release or the whole configuration decides is left to the models of the switch."""

from collections.abc import Mapping

from railweave.checks.registry import Breach, Breaches, rule
from railweave.intent.model import Intent
from railweave.intent.paths import path_text
from railweave.secrets import is_secret, references, shown_key
from railweave.wording import suggestion

RULE = rule(
    "RW131",
    "overrides state fields and words that a release of SONiC takes",
    __doc__,
    "overrides: {leaf: {WRED_PROFILE: {storage: {ecn: 'on'}}}}",
)

Place = tuple[str, str, str]
Rows = Mapping[str, Mapping[str, str | tuple[str, ...]]]


@RULE.on_intent
def words(intent: Intent) -> Breaches:
    """Yield a breach for each field, value and key that the YANG models of all releases refuse."""
    if not intent.policies.overrides.rows:
        return
    # Late: most intents state no rows.
    from railweave.sonic.delta.leaf_words import is_modeled
    from railweave.sonic.delta.spans import names_no_number

    for scope, by_table in intent.policies.overrides.rows.items():
        for table, rows in by_table.items():
            place = ("overrides", scope, table)
            if is_modeled(table):
                yield from _refused(place, rows)
            for key in rows:
                if names_no_number(table, key):
                    message = f"`{key}` of `{table}` names no priority group or queue"
                    yield Breach(path_text((*place, key)), message, "end it with a number or a range such as 3-4")


def _refused(place: Place, rows: Rows) -> Breaches:
    """Yield a breach for each field of a table that no release has, and for each value that none accepts."""
    from railweave.sonic.delta.leaf_words import accepted_words, field_names, has_field, is_accepted

    table = place[-1]
    for key, fields in rows.items():
        for field, value in fields.items():
            where = path_text((*place, key, field))
            if not has_field(table, field):
                message = f"`{table}` has no field `{field}` in any release of SONiC"
                yield Breach(where, message, f"{suggestion(field, field_names(table))}take it out of `overrides`")
            elif not references(str(value)) and not is_accepted(table, field, value):
                # A wrong word may be a mistyped secret.
                shown = "its value" if is_secret(table, field) else f"`{_text(value)}`"
                row = f"{table}|{shown_key(table, key)}"
                message = f"{shown} is not a valid value of `{field}` of `{row}` in any SONiC release"
                yield Breach(where, message, f"write one of {', '.join(accepted_words(table, field))}")


def _text(value: str | tuple[str, ...]) -> str:
    if isinstance(value, str):
        return value
    return ",".join(value)
