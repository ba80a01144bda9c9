"""SONiC's daemons that apply changes and forward packets: which of them do not run, and the command that repairs it."""

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
"""Daemons without which changes have no effect or no packets are forwarded, with their systemd service."""

LOG = "/var/log/syslog"
LOG_BYTES = 256 * 1024
LOG_LINES = 5


def daemons_of(host: SwitchHost) -> list[str]:
    """Return the running daemons; none if that is unknown."""
    return sorted(host.daemons() & SERVICE_OF.keys())


def away(host: SwitchHost, names: Iterable[str]) -> list[str]:
    """Return the daemons of ``names`` that do not run, except those of a disabled feature."""
    expected = SERVICE_OF.keys() & set(names)
    if not expected:
        return []
    stopped = sorted(expected - host.daemons())
    if not stopped:
        return []
    features: Mapping[str, Hash] = {}
    with contextlib.suppress(DatabaseError, OSError):
        features = host.rows("CONFIG_DB", "FEATURE|*")
    return [name for name in stopped if features.get(f"FEATURE|{SERVICE_OF[name]}", {}).get("state") != "disabled"]


def describe_away(host: SwitchHost, names: list[str], waited_s: float, earlier: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry of a state and an answer on daemons that do not run: their last log lines, and the command.

    ``waited_s`` is the time that they were waited for; ``earlier`` is an earlier entry, whose lines are used if the log
    has none left.
    """
    services = dict.fromkeys(SERVICE_OF[name] for name in names)
    commands = [f"sudo systemctl reset-failed {service} && sudo systemctl restart {service}" for service in services]
    lines = _last_lines(host, names) or earlier.get("lines", [])
    return {"daemons": names, "lines": lines, "command": "; ".join(commands), "waited_s": waited_s}


def _last_lines(host: SwitchHost, names: list[str]) -> list[str]:
    """Return the last lines of the log that name a daemon."""
    try:
        text = host.end_of_file(LOG, LOG_BYTES).decode("utf-8", "replace")
    except OSError:
        return []
    return [line for line in text.splitlines() if any(name in line for name in names)][-LOG_LINES:]
