"""Whether SONiC's daemons outlast a change.

orchagent ends on some rows that the YANG models accept, such as a QoS map without an entry, and takes its container
with it: all ports go down (sonic-buildimage files/scripts/supervisor-proc-exit-listener). systemd starts the service
again after 30 s, and gives up after three starts in 20 minutes (files/build_templates, RestartSec and StartLimitBurst).
Nothing is started from here: what somebody stopped on purpose stays so, and a daemon that ends again and again does so
for a reason.
"""

from __future__ import annotations

from typing import Any

from railweave_switch.host import SwitchHost
from railweave_switch.restoring import settled
from railweave_switch.services import away, describe_away
from railweave_switch.state import State

ENDS_S = 2.0
"""How long a daemon may take to end on a row: orchagent takes rows in within a second."""
RETURNS_S, RETURNS_PAUSE_S = 120.0, 2.0
"""How long a service is waited for: 30 s until systemd starts it, and 64 ports settle in 6 s of a fast CPU. The switch
is locked meanwhile; a service that returns later is no longer reported as away from then on."""


def ended(host: SwitchHost, state: State) -> list[str]:
    """Return the daemons that ran when a transaction began and do not now, but for those of a disabled feature."""
    return away(host, state.daemons)


def ends_soon(host: SwitchHost, state: State) -> list[str]:
    """Return the daemons that end within the time that one takes to end on a row."""
    until_s = host.now_s() + ENDS_S
    while not (gone := ended(host, state)) and host.now_s() < until_s:
        host.sleep(0.5)
    return gone


def broken_after(host: SwitchHost, state: State) -> dict[str, Any]:
    """Wait for the daemons that ended; return what is to be said of those that stay away, empty where all are back.

    Daemons that were away before the transaction are named with them and not waited for.
    """
    gone = settled(host, lambda: ended(host, state), RETURNS_S, RETURNS_PAUSE_S)
    earlier = away(host, state.broken.get("daemons", ()))
    names = sorted({*gone, *earlier})
    return describe_away(host, names, RETURNS_S, state.broken) if names else {}
