"""Check that SONiC's daemons survive a change.

orchagent crashes on some rows that the YANG models accept, such as a QoS map without an entry, and stops its container:
all ports go down (sonic-buildimage files/scripts/supervisor-proc-exit-listener). systemd restarts the service after
30 s, and gives up after three starts in 20 minutes (files/build_templates, RestartSec and StartLimitBurst). This
program starts nothing: somebody may have stopped a service on purpose, and a daemon that crashes repeatedly needs a
repair first.
"""

from __future__ import annotations

from typing import Any

from railweave_switch.host import SwitchHost
from railweave_switch.restoring import settled
from railweave_switch.services import away, describe_away
from railweave_switch.state import State

ENDS_S = 2.0
"""The time in which a daemon crashes on a row: orchagent processes rows within a second."""
RETURNS_S = 120.0
"""Time limit for a service to return: systemd starts it after 30 s, and 64 ports need 6 s of a fast CPU. The switch is
locked meanwhile; a service that returns later is no longer reported from then on."""
RETURNS_PAUSE_S = 2.0


def ended(host: SwitchHost, state: State) -> list[str]:
    """Return the daemons that ran when a transaction began and do not run now, except those of a disabled feature."""
    return away(host, state.daemons)


def ends_soon(host: SwitchHost, state: State) -> list[str]:
    """Wait for the time in which a daemon crashes on a row; return the daemons that ended."""
    until_s = host.now_s() + ENDS_S
    while True:
        names = ended(host, state)
        if names or host.now_s() >= until_s:
            return names
        host.sleep(0.5)


def broken_after(host: SwitchHost, state: State) -> dict[str, Any]:
    """Wait for the daemons that ended; return the entry on those that stay away, empty if all are back.

    It also names daemons that were away before the transaction, without waiting for them.
    """
    stopped = settled(host, lambda: ended(host, state), RETURNS_S, RETURNS_PAUSE_S)
    stopped_before = away(host, state.broken.get("daemons", ()))
    names = sorted({*stopped, *stopped_before})
    if not names:
        return {}
    return describe_away(host, names, RETURNS_S, state.broken)
