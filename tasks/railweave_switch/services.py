"""SONiC's daemons that carry changes out and forward packets: which of them are away, and the command that helps."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from typing import Any

from railweave_switch.host import DatabaseError, Hash, SwitchHost

SERVICE_OF = {
    "orchagent": "swss",
    "buffermgrd": "swss",
    "intfmgrd": "swss",
    "portmgrd": "swss",
    "syncd": "syncd",
    "bgpd": "bgp",
    "fpmsyncd": "bgp",
    "zebra": "bgp",
}
"""Daemons without which a change takes no effect or nothing is forwarded, with the service that systemd restarts."""

LOG = "/var/log/syslog"
LOG_BYTES, LOG_LINES = 256 * 1024, 5


def daemons_of(host: SwitchHost) -> list[str]:
    """Return the daemons that run; none where nobody can tell."""
    return sorted(host.daemons() & SERVICE_OF.keys())


def away(host: SwitchHost, names: Iterable[str]) -> list[str]:
    """Return those of ``names`` that do not run, but for the daemons of a disabled feature."""
    expected = SERVICE_OF.keys() & set(names)
    gone = sorted(expected - host.daemons()) if expected else []
    if not gone:
        return []
    rows: Mapping[str, Hash] = {}
    with contextlib.suppress(DatabaseError, OSError):
        rows = host.rows("CONFIG_DB", "FEATURE|*")
    return [name for name in gone if rows.get(f"FEATURE|{SERVICE_OF[name]}", {}).get("state") != "disabled"]


def describe_away(host: SwitchHost, names: list[str], waited_s: float, earlier: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a state and an answer say of daemons that are away: their last log lines, and the command.

    ``waited_s`` is how long they were waited for; ``earlier`` is the same of an earlier moment, empty where there is
    none: its lines count where the log has none left.
    """
    services = dict.fromkeys(SERVICE_OF[name] for name in names)
    commands = [f"sudo systemctl reset-failed {service} && sudo systemctl restart {service}" for service in services]
    lines = _last_lines(host, names) or earlier.get("lines", [])
    return {"daemons": names, "lines": lines, "command": "; ".join(commands), "waited_s": waited_s}


def _last_lines(host: SwitchHost, names: list[str]) -> list[str]:
    """Return what the log says last of daemons."""
    try:
        text = host.end_of_file(LOG, LOG_BYTES).decode("utf-8", "replace")
    except OSError:
        return []
    return [line for line in text.splitlines() if any(name in line for name in names)][-LOG_LINES:]
