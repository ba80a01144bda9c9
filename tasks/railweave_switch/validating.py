"""Asking the switch's YANG models before anything is written: the same answer for a plan and for a transaction.

What they refuse, ``config apply-patch`` and ``config reload`` refuse from then on, whatever else they are to do; and
orchagent ends on some of it (a WRED profile's ``ecn`` outside its words: sonic-swss orchagent/qosorch.cpp). Where they
cannot be asked nothing is written: what is refused then is not known, and SONiC's own commands fail as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from railweave_switch.answers import RequestRefusedError, listed
from railweave_switch.host import Hash, ModelsError, SwitchHost
from railweave_switch.rows import Part, tables_of, with_part

CHECK_S = 120.0
"""How long the check may take: loading the models took 1.5 s, a whole configuration 1 s more (run)."""

Rejected = list[Sequence[str]]


def verdict(host: SwitchHost, asked: Mapping[str, Any], rows: Mapping[str, Hash]) -> tuple[Rejected, str]:
    """Return what the models refuse, and why they cannot be asked, empty where they can.

    ``asked`` has ``config_db``, the tables of a reload, or ``changes`` of ``rows``, which run: what the models refuse
    of these already does not count. Without SONiC's management code there is nobody to refuse anything.
    """
    try:
        if "config_db" in asked:
            return host.rejected_by_models(asked["config_db"], None, CHECK_S) or [], ""
        before = tables_of(rows)
        part: Part = asked["changes"]
        return host.rejected_by_models(with_part(part, before), before, CHECK_S) or [], ""
    except ModelsError as error:
        return [], str(error)


def refuse_invalid(host: SwitchHost, asked: Mapping[str, Any], rows: Mapping[str, Hash]) -> None:
    """Raise RequestRefusedError where the models refuse what a transaction would leave, or cannot be asked.

    ``rows`` are those that run. A transaction without ``check`` restores what was there before and is not asked about.
    """
    if not asked.get("check"):
        return
    reload = next((step for step in asked["steps"] if step["kind"] == "reload"), None)
    if reload is not None:
        rejected, fault = verdict(host, {"config_db": reload["config_db"]}, rows)
    elif asked["after"]:
        rejected, fault = verdict(host, {"changes": asked["after"]}, rows)
    else:
        return
    if fault:
        raise RequestRefusedError(fault, "unasked")
    if rejected:
        tables = list(dict.fromkeys(str(table) or "the configuration" for table, *_ in rejected))
        raise RequestRefusedError(f"the switch's YANG models refuse {listed(tables)}", "invalid", rejected)
