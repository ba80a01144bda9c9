"""Read the running and the startup configuration."""

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
    """Return tables and ``bgpraw`` as one JSON object; ``bgpraw`` is None if FRR does not answer."""
    document, _ = _read_running(session)
    return document


def running_text(session: "Session") -> str:
    """Return the running document as text."""
    document, printed = _read_running(session)
    if printed is None:
        return as_text(document)
    # The switch's own text saves 30 ms a switch for writing it again.
    return printed


def _read_running(session: "Session") -> tuple[dict[str, Any], str | None]:
    """Return the document, and the switch's output if the output is exactly the document, None otherwise.

    One command prints everything on 202405 and later. If it prints no FRR text, FRR is read separately: on 202305, or
    if FRR does not answer but the exit status is 0. Raises CommandErrorException.
    """
    printed = session.run_checked(RUNNING)
    document = first_json(printed, RUNNING)
    if not isinstance(document, dict) or not document:
        raise CommandErrorException(f"{session.hostname}: {RUNNING!r} printed no configuration")
    refuse_long_frr(document.get(BGPRAW))
    if not document.get(BGPRAW):
        document[BGPRAW] = _read_frr(session)
        return document, None
    # Warnings may come before or after the document.
    is_document_alone = printed.startswith("{") and printed.rstrip().endswith("}")
    if not is_document_alone:
        return document, None
    return document, printed


def _read_frr(session: "Session") -> str | None:
    """Return FRR's running configuration; None if FRR does not answer."""
    done = session.run_root(FRR_RUNNING)
    refuse_long_frr(done.stdout)
    if done.exit_status == 0 and done.stdout.strip():
        return done.stdout
    return None


def startup_document(session: "Session") -> dict[str, Any]:
    """Return the startup configuration: CONFIG_DB's file and FRR's, each empty if it does not exist."""
    document: dict[str, Any] = {}
    tables = session.run_root(f"cat {STARTUP_CONFIG_DB}")
    if tables.exit_status == 0:
        document = first_json(tables.stdout, STARTUP_CONFIG_DB)
    frr_text = None
    frr = session.run_root(f"cat {STARTUP_FRR}")
    if frr.exit_status == 0:
        frr_text = frr.stdout
    return {**document, BGPRAW: frr_text}


def as_text(document: dict[str, Any]) -> str:
    """Return the document as SONiC prints it."""
    return json.dumps(document, indent=4) + "\n"
