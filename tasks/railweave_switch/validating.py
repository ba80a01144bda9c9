"""Check a change against the switch's YANG models before anything is written, for a plan and for a transaction alike.

With an invalid row in CONFIG_DB, ``config apply-patch`` and ``config reload`` refuse every later change too, and
orchagent crashes on some (a WRED profile's ``ecn`` outside its words: sonic-swss orchagent/qosorch.cpp). If the models
cannot be loaded nothing is written: SONiC's own commands would fail as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from railweave_switch.answers import RequestRefusedError, listed
from railweave_switch.host import Hash, ModelsError, SwitchHost
from railweave_switch.rows import Part, tables_of, with_part

CHECK_S = 120.0
"""Time limit of the check: loading the models took 1.5 s, a whole configuration 1 s more (run)."""

Rejected = list[Sequence[str]]


def verdict(host: SwitchHost, request: Mapping[str, Any], rows: Mapping[str, Hash]) -> tuple[Rejected, str]:
    """Return the rows that the models reject, and the reason if they could not be asked, empty otherwise.

    ``request`` has either ``config_db``, the tables of a reload, or ``changes`` of the running ``rows``. Rows that the
    models reject before the changes too do not count. Without SONiC's management code nothing is rejected.
    """
    try:
        if "config_db" in request:
            return host.rejected_by_models(request["config_db"], None, CHECK_S) or [], ""
        before = tables_of(rows)
        part: Part = request["changes"]
        return host.rejected_by_models(with_part(part, before), before, CHECK_S) or [], ""
    except ModelsError as error:
        return [], str(error)


def _candidate_of(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration that a transaction writes, as in ``verdict``; empty if it changes FRR alone."""
    for step in request["steps"]:
        if step["kind"] == "reload":
            return {"config_db": step["config_db"]}
    if request["after"]:
        return {"changes": request["after"]}
    return {}


def refuse_invalid(host: SwitchHost, request: Mapping[str, Any], rows: Mapping[str, Hash]) -> None:
    """Raise RequestRefusedError if the models reject the rows after a transaction, or cannot be loaded.

    ``rows`` are the running ones. A transaction without ``check`` restores earlier rows and is not checked.
    """
    if not request.get("check"):
        return
    candidate = _candidate_of(request)
    if not candidate:
        return
    rejected, fault = verdict(host, candidate, rows)
    if fault:
        raise RequestRefusedError(fault, "unasked")
    if rejected:
        tables = list(dict.fromkeys(str(table) or "the configuration" for table, *_ in rejected))
        raise RequestRefusedError(f"the switch's YANG models refuse {listed(tables)}", "invalid", rejected)
