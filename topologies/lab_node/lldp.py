"""What lldpd has to say of the switch: its name, and the aliases of its ports.

lldpd forgets what it was told of a port with the interface, for example when a cable takes the place of a port's tap,
and calls the port by its MAC address from then on. It also takes what it is told of a port that it does not have, and
drops it. So it is asked what it calls its ports.
"""

import json
import subprocess
from collections.abc import Mapping
from typing import Any

from lab_node import state


def lldpcli(*words: str) -> str | None:
    """Run lldpcli; None where lldpd does not answer."""
    done = subprocess.run(["lldpcli", *words], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def asked(*words: str) -> Any:
    """Return what lldpd shows, ``{}`` where it does not answer."""
    return json.loads(lldpcli("-f", "json0", "show", *words) or "{}")


def take_name(name: str) -> bool:
    """Tell lldpd the switch's name at once, it would look itself only now and then; tell whether it took it."""
    if lldpcli("configure", "system", "hostname", name) is None:
        return False
    lldpcli("update")
    return True


def name_ports(rows: Mapping[str, Mapping[str, str]]) -> bool:
    """Tell lldpd the aliases of those of its ports that it calls otherwise; tell whether it has any ports.

    ``rows`` are CONFIG_DB's.
    """
    called = state.lldp_port_ids(asked("interfaces"))
    for name, row in state.ports_by_name(rows).items():
        alias = row.get("alias", name)
        if called.get(name, alias) != alias:
            lldpcli("configure", "ports", name, "lldp", "portidsubtype", "local", alias, "description", name)
    return bool(called)
