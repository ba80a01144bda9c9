"""What lldpd announces: the name of the switch and the aliases of its ports.

lldpd (1.0.16) keeps the settings of a port only as long as the interface exists. When a cable replaces the tap of a
port, lldpd announces the MAC address of the new interface. `lldpcli configure ports` also succeeds, without any effect,
for an interface that lldpd does not know. Therefore the aliases are compared with what lldpd announces.
"""

import json
import subprocess
from collections.abc import Mapping
from typing import Any

from lab_node import state


def lldpcli(*words: str) -> str | None:
    """Run lldpcli and return its output, None if lldpd does not answer."""
    done = subprocess.run(["lldpcli", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    return done.stdout


def asked(*words: str) -> Any:
    """Return the JSON of ``lldpcli show``, ``{}`` if lldpd does not answer."""
    return json.loads(lldpcli("-f", "json0", "show", *words) or "{}")


def take_name(name: str) -> bool:
    """Set the system name now, which lldpd itself reads only from time to time; return whether lldpd accepted it."""
    if lldpcli("configure", "system", "hostname", name) is None:
        return False
    lldpcli("update")
    return True


def name_ports(rows: Mapping[str, Mapping[str, str]]) -> bool:
    """Set the alias of every port whose announced ID differs; return whether lldpd announces any port.

    ``rows`` are those of CONFIG_DB.
    """
    announced = state.lldp_port_ids(asked("interfaces"))
    for name, row in state.ports_by_name(rows).items():
        alias = row.get("alias", name)
        if announced.get(name, alias) != alias:
            lldpcli("configure", "ports", name, "lldp", "portidsubtype", "local", alias, "description", name)
    return bool(announced)
