"""Reads what runs and what would boot."""

import json
from typing import TYPE_CHECKING, Any

from napalm.base.exceptions import CommandErrorException

from napalm_sonic.bounds import refuse_long_frr
from napalm_sonic.codec import first_json
from railweave.sonic.document import BGPRAW

if TYPE_CHECKING:
    from napalm_sonic.session import Session

STARTUP_CONFIG_DB = "/etc/sonic/config_db.json"
STARTUP_FRR = "/etc/sonic/frr/frr.conf"
RUNNING = "show runningconfiguration all"
FRR_RUNNING = "vtysh -c 'show running-config'"


def running_document(session: "Session") -> dict[str, Any]:
    """Return tables and ``bgpraw`` as one JSON object; ``bgpraw`` is None where FRR does not answer."""
    return _running(session)[0]


def running_text(session: "Session") -> str:
    """Return the same as text: the switch's own where it is whole, because writing it anew costs 30 ms a switch."""
    document, printed = _running(session)
    return as_text(document) if printed is None else printed


def _running(session: "Session") -> tuple[dict[str, Any], str | None]:
    """Return the document and, where nothing had to be added or left out, the text that the switch printed.

    The one command gives all on 202405 and later. Where it gives no FRR text (202305, or FRR silent with exit status
    0), FRR is asked itself.
    """
    printed = session.run_checked(RUNNING)
    document = first_json(printed, RUNNING)
    if not isinstance(document, dict) or not document:
        raise CommandErrorException(f"{session.hostname}: {RUNNING!r} printed no configuration")
    refuse_long_frr(document.get(BGPRAW))
    if document.get(BGPRAW):
        whole = printed.startswith("{") and printed.rstrip().endswith("}")
        return document, printed if whole else None
    document[BGPRAW] = _read_frr(session)
    return document, None


def _read_frr(session: "Session") -> str | None:
    """Return FRR's running configuration alone; None where FRR does not answer."""
    asked = session.run_root(FRR_RUNNING)
    refuse_long_frr(asked.stdout)
    return asked.stdout if asked.exit_status == 0 and asked.stdout.strip() else None


def startup_document(session: "Session") -> dict[str, Any]:
    """Return what the switch would boot: ``/etc/sonic/config_db.json`` and FRR's start-up file, empty where absent."""
    tables = session.run_root(f"cat {STARTUP_CONFIG_DB}")
    document = first_json(tables.stdout, STARTUP_CONFIG_DB) if tables.exit_status == 0 else {}
    frr = session.run_root(f"cat {STARTUP_FRR}")
    return {**document, BGPRAW: frr.stdout if frr.exit_status == 0 else None}


def as_text(document: dict[str, Any]) -> str:
    """Return the document as SONiC prints it."""
    return json.dumps(document, indent=4) + "\n"
