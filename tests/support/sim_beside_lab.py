"""The simulator judged by the lab: the same intent on both, and what FRR and LLDP show compared, switch by switch."""

import contextlib
import json
import time
from collections.abc import Iterator
from typing import Any

SETTLES_S = 20.0
LLDP_FIELDS = ("lldp_rem_sys_name", "lldp_rem_port_id", "lldp_rem_port_id_subtype", "lldp_rem_port_desc")


class Shown:
    """What one switch shows, reached by a function that runs a command on it."""

    def __init__(self, run: Any) -> None:
        self.run = run

    def sessions(self) -> dict[str, Any]:
        """Return state, AS number and prefixes both ways of every neighbor."""
        told = json.loads(self.run("sudo vtysh -c 'show bgp ipv4 unicast summary json'"))
        return {
            peer: {name: one.get(name) for name in ("remoteAs", "state", "pfxRcd", "pfxSnt")}
            for peer, one in told.get("peers", {}).items()
        }

    def neighbors(self) -> dict[str, Any]:
        """Return LLDP's rows of APPL_DB."""
        told = json.loads(self.run("sonic-db-dump -n APPL_DB -y -k 'LLDP_ENTRY_TABLE:*'"))
        return {key: {name: one["value"].get(name) for name in LLDP_FIELDS} for key, one in told.items()}

    def routes(self) -> dict[str, Any]:
        """Return the installed routes of BGP with interface and address family of their next hops."""
        told = json.loads(self.run("sudo vtysh -c 'show ip route json'"))
        return {
            prefix: sorted((hop["interfaceName"], hop["afi"]) for hop in one["nexthops"] if hop.get("active"))
            for prefix, entries in told.items()
            for one in entries
            if one.get("protocol") == "bgp" and one.get("selected")
        }


@contextlib.contextmanager
def beside(rig: Any) -> Iterator[Any]:
    """Deploy the lab's intent on the simulator as well, for a ``with`` block."""
    rig.run("sim", "up")
    try:
        rig.run("deploy", "--target", "sim", "--yes", "--provision")
        yield rig
    finally:
        rig.run("sim", "down", "--all", status=None)


def agreed(what: str, switch: str, real: Shown, simulated: Shown) -> int:
    """Return how many entries are the same; the lab has the time that LLDP and BGP take."""
    limit = time.monotonic() + SETTLES_S
    there, here = getattr(real, what)(), getattr(simulated, what)()
    while here != there and time.monotonic() < limit:
        time.sleep(1)
        there, here = getattr(real, what)(), getattr(simulated, what)()
    assert here == there, f"{switch}: {what} of the simulator are not the lab's"
    return len(there)


def compared(rig: Any) -> str:
    """Return how many entries of all switches are the same; fails at the first that differ."""
    rig.as_intended()
    counts = {"sessions": 0, "neighbors": 0, "routes": 0}
    for switch in [one["name"] for one in rig.fabric()["devices"] if one["role"] != "host"]:
        real = Shown(lambda command, switch=switch: rig.on(switch, command))
        simulated = Shown(lambda command, switch=switch: rig.run("sim", "ssh", switch, command).stdout)
        for what in counts:
            counts[what] += agreed(what, switch, real, simulated)
    assert all(counts.values())
    return ", ".join(f"{count} {what}" for what, count in counts.items()) + " are the same on simulator and lab"
