"""Whether SONiC's daemons outlast a change.

orchagent ends on some rows that the YANG models accept, such as a QoS map without an entry, and takes its container
with it: all ports go down (sonic-buildimage files/scripts/supervisor-proc-exit-listener). systemd starts the service
again after 30 s, and gives up after three starts in 20 minutes (files/build_templates, RestartSec and StartLimitBurst).
Nothing is started from here: what somebody stopped on purpose stays so, and a daemon that ends again and again does so
for a reason.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from railweave_switch.host import DatabaseError, Hash, Host
from railweave_switch.restoring import settled
from railweave_switch.state import State

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

ENDS_S = 2.0
"""How long a daemon may take to end on a row: orchagent takes rows in within a second."""
RETURNS_S, RETURNS_PAUSE_S = 300.0, 2.0
"""How long a service is waited for: 30 s until systemd starts it, and 64 ports settle in 6 s of a fast CPU."""
LOG = "/var/log/syslog"
LOG_BYTES, LOG_LINES = 256 * 1024, 5


def daemons_of(host: Host) -> list[str]:
    """Return the daemons that run; none where nobody can tell."""
    return sorted(host.daemons() & SERVICE_OF.keys())


def ended(host: Host, state: State) -> list[str]:
    """Return the daemons that ran when a transaction began and do not now, but for those of a disabled feature."""
    gone = sorted((SERVICE_OF.keys() & state.daemons) - host.daemons()) if state.daemons else []
    if not gone:
        return []
    rows: Mapping[str, Hash] = {}
    with contextlib.suppress(DatabaseError, OSError):
        rows = host.rows("CONFIG_DB", "FEATURE|*")
    return [name for name in gone if rows.get(f"FEATURE|{SERVICE_OF[name]}", {}).get("state") != "disabled"]


def ends_soon(host: Host, state: State) -> list[str]:
    """Return the daemons that end within the time that one takes to end on a row."""
    until_s = host.now_s() + ENDS_S
    while not (gone := ended(host, state)) and host.now_s() < until_s:
        host.sleep(0.5)
    return gone


def broken_after(host: Host, state: State) -> dict[str, Any]:
    """Wait for the daemons that ended; return what is to be said of those that stay away, empty where all are back."""
    gone = settled(host, lambda: ended(host, state), RETURNS_S, RETURNS_PAUSE_S)
    if not gone:
        return {}
    services = list(dict.fromkeys(SERVICE_OF[name] for name in gone))
    commands = [f"sudo systemctl reset-failed {one} && sudo systemctl restart {one}" for one in services]
    return {"daemons": gone, "lines": _last_lines(host, gone), "command": "; ".join(commands), "waited_s": RETURNS_S}


def _last_lines(host: Host, names: list[str]) -> list[str]:
    """Return what the log says last of daemons."""
    try:
        text = host.end_of_file(LOG, LOG_BYTES).decode("utf-8", "replace")
    except OSError:
        return []
    return [line for line in text.splitlines() if any(name in line for name in names)][-LOG_LINES:]
