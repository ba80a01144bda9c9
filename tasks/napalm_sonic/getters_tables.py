"""NAPALM's getters of learned addresses: ARP from the kernel, MAC addresses from the state database."""

import shlex
from typing import TYPE_CHECKING, Any

from napalm_sonic.codec import database_rows, first_json, natural
from napalm_sonic.decoding import decodes

if TYPE_CHECKING:
    from napalm_sonic.session import Session

ARP = "ip -j -4 neigh show"
MACS = "sonic-db-dump -n STATE_DB -y -k 'FDB_TABLE|*'"

_FDB_PREFIX = "FDB_TABLE|Vlan"
# States of `ip neigh` in which the kernel has no MAC address of the neighbor.
_UNANSWERED = frozenset({"FAILED", "INCOMPLETE", "NOARP"})
# NAPALM's values for what a device does not report.
_UNKNOWN = -1
_UNKNOWN_S = -1.0


@decodes("its ARP table")
def get_arp_table(session: "Session", vrf: str) -> list[dict[str, Any]]:
    """Return ``[{interface, mac, ip, age}]`` of a VRF, ``""`` for the default one; the age is unknown (-1.0)."""
    command = ARP
    if vrf:
        command = f"{ARP} vrf {shlex.quote(vrf)}"
    neighbors = first_json(session.run_checked(command), command) or []
    entries = [
        {"interface": neighbor["dev"], "mac": neighbor["lladdr"], "ip": neighbor["dst"], "age": _UNKNOWN_S}
        for neighbor in neighbors
        if neighbor.get("lladdr") and not _UNANSWERED & set(neighbor.get("state", ()))
    ]
    return sorted(entries, key=lambda entry: (natural(entry["interface"]), natural(entry["ip"])))


@decodes("its MAC addresses")
def get_mac_address_table(session: "Session") -> list[dict[str, Any]]:
    """Return ``[{mac, interface, vlan, static, active, moves, last_move}]``; moves are unknown (-1)."""
    rows = database_rows(session.run_checked(MACS), MACS)
    entries = []
    for key, fields in rows.items():
        vlan, _, mac = key.removeprefix(_FDB_PREFIX).partition(":")
        if vlan.isdecimal() and mac:
            entries.append(
                {
                    "mac": mac.upper(),
                    "interface": fields.get("port", ""),
                    "vlan": int(vlan),
                    "static": fields.get("type") == "static",
                    "active": True,
                    "moves": _UNKNOWN,
                    "last_move": _UNKNOWN_S,
                }
            )
    return sorted(entries, key=lambda entry: (entry["vlan"], entry["mac"]))
