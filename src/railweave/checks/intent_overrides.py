"""Overrides: rows of CONFIG_DB that the operator adds, and what is not theirs to add (design.md section 5).

Which rows and fields railweave renders depends on the device; an override that meets one is found when its
configuration is made. Here are the scopes, and the tables and fields that no intent may state.
"""

import re
from collections.abc import Iterator, Mapping

from railweave.diagnostics import Diagnostic, error, warning
from railweave.intent.model import Intent
from railweave.intent.paths import path_text
from railweave.wording import suggestion

_ROLES = ("leaf", "spine")
_TABLE = re.compile(r"[A-Z][A-Z0-9_]*")

_REFUSED: Mapping[str, tuple[str, str]] = {
    "BGP_NEIGHBOR": ("it is kept empty, the sessions are in the FRR file", "change the FRR template of the project"),
    "BGP_PEER_RANGE": ("it is kept empty, the sessions are in the FRR file", "change the FRR template of the project"),
}
"""Tables that are refused whole: the reason and the fix."""

_MANAGEMENT = (
    "management access is how the switch is reached and is never configured",
    "take the table out; addresses of switches belong into inventory/",
)
_FACTS = frozenset({"mac", "platform"})
"""Fields of DEVICE_METADATA that SONiC itself finds on the hardware."""


def override_findings(intent: Intent) -> Iterator[Diagnostic]:
    """Yield overrides for nobody, and overrides of what is not the operator's to say."""
    for scope, tables in intent.policies.overrides.rows.items():
        yield from _scope(intent, scope)
        for table, rows in tables.items():
            yield from _table(intent, (scope, table), rows)


def _scope(intent: Intent, scope: str) -> Iterator[Diagnostic]:
    where = intent.where(path_text(("overrides", scope)))
    device = re.fullmatch(rf"{re.escape(intent.fabric)}-(leaf|spine)([1-9][0-9]{{0,8}})", scope)
    if device is None:
        if scope in _ROLES:
            return
        names = [*_ROLES, f"{intent.fabric}-leaf1", f"{intent.fabric}-spine1"]
        yield error(
            "RW110",
            f"overrides for `{scope}`, which is no role and no device of fabric `{intent.fabric}`",
            where,
            fix=f"{suggestion(scope, names)}write leaf, spine or a device's name, like {intent.fabric}-leaf1",
        )
        return
    tier = intent.topology.leaf if device[1] == "leaf" else intent.topology.spine
    if tier.count is not None and int(device[2]) > tier.count * intent.topology.planes:
        yield warning(
            "RW110",
            f"overrides for `{scope}`, but there are {tier.count * intent.topology.planes} switches of that role",
            where,
            fix="take them out, or keep them for a fabric that has grown",
        )


def _table(intent: Intent, place: tuple[str, str], rows: Mapping[str, Mapping[str, object]]) -> Iterator[Diagnostic]:
    _, table = place
    where = intent.where(path_text(("overrides", *place)))
    reason, way_out = _MANAGEMENT if table.startswith("MGMT_") else _REFUSED.get(table, ("", ""))
    if reason:
        yield error("RW111", f"`{table}` cannot be overridden: {reason}", where, fix=way_out)
    elif table == "DEVICE_METADATA":
        yield from _metadata(intent, place, rows)
    elif _TABLE.fullmatch(table) is None:
        yield error(
            "RW111",
            f"`{table}` is no name of a CONFIG_DB table",
            where,
            fix=f"write it like {table.upper().replace('-', '_')}, as `show runningconfiguration all` prints it",
        )


def _metadata(intent: Intent, place: tuple[str, str], rows: Mapping[str, Mapping[str, object]]) -> Iterator[Diagnostic]:
    for key, fields in rows.items():
        for field in fields:
            if field in _FACTS:
                yield error(
                    "RW111",
                    f"field `{field}` of `DEVICE_METADATA` cannot be overridden: SONiC finds it on the hardware",
                    intent.where(path_text(("overrides", *place, key, field))),
                    fix=f"take `{field}` out of `overrides`",
                )
