"""Asking the switch's YANG models before anything is written.

What they refuse, ``config apply-patch`` and ``config reload`` refuse from then on, whatever else they are to do; and
orchagent ends on some of it (a WRED profile's ``ecn`` outside its words: sonic-swss orchagent/qosorch.cpp).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from railweave_switch.answers import RefusedError, listed
from railweave_switch.host import Hash, Host
from railweave_switch.rows import Part, tables_of, with_part

CHECK_S = 120.0
"""How long the check may take: loading the models took 1.5 s, a whole configuration 1 s more (run)."""


def refuse_invalid(host: Host, asked: Mapping[str, Any], rows: Mapping[str, Hash]) -> None:
    """Raise RefusedError where the models refuse what a transaction would leave; ``rows`` are those that run.

    A transaction without ``check`` restores what was there before and is not asked about.
    """
    if not asked.get("check"):
        return
    reload = next((step for step in asked["steps"] if step["kind"] == "reload"), None)
    if reload is not None:
        rejected = host.rejected_by_models(reload["config_db"], None, CHECK_S)
    elif asked["after"]:
        rejected = rejected_changes(host, asked["after"], rows)
    else:
        rejected = None
    if rejected:
        tables = list(dict.fromkeys(str(table) or "the configuration" for table, *_ in rejected))
        raise RefusedError(f"the switch's YANG models refuse {listed(tables)}", "invalid", rejected)


def rejected_changes(host: Host, part: Part, rows: Mapping[str, Hash]) -> list[Sequence[str]] | None:
    """Return what the models refuse of ``rows`` with ``part`` written and accept without it, None where none tell."""
    before = tables_of(rows)
    return host.rejected_by_models(with_part(part, before), before, CHECK_S)
