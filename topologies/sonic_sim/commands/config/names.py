"""Names of interfaces, as the commands of ``config`` check them (config/main.py, utilities_common/cli.py)."""

import ipaddress
import socket
from collections.abc import Iterator
from contextlib import suppress

import click

from sonic_sim.commands.click7 import Run
from sonic_sim.configdb import ConfigDb
from sonic_sim.shell.programs import ProgramError

INVALID_NAME = "Interface name is invalid. Please enter a valid interface name!!"
# Linux names an interface with at most 15 characters (IFNAMSIZ).
NAME_MAX = 15
VALID_KINDS = "'interface_name' is not valid. Valid names [Ethernet/PortChannel/Vlan/Loopback]"

Address = ipaddress.IPv4Interface | ipaddress.IPv6Interface


_TABLES = {
    "Ethernet": "INTERFACE",
    "PortChannel": "PORTCHANNEL_INTERFACE",
    "Vlan": "VLAN_INTERFACE",
    "Loopback": "LOOPBACK_INTERFACE",
}
"""The table of an interface's addresses by the beginning of its name."""


def interface_table(name: str) -> str:
    """Return the table of an interface's addresses; empty if the name is of no known kind."""
    for start, table in _TABLES.items():
        if name.startswith(start):
            return table
    return ""


def is_interface(run: Run, name: str) -> bool:
    """Tell whether a name is that of a port, port channel or loopback. On a switch without ports the run aborts."""
    if not run.db.table("PORT"):
        # SONiC's library reads the ports before it looks at the name.
        run.say("port_dict is None!")
        raise click.Abort
    return any(f"{table}|{name}" in run.db.rows for table in ("PORT", "PORTCHANNEL", "LOOPBACK_INTERFACE"))


def vlans_of(db: ConfigDb, name: str) -> list[str]:
    """Return the VLANs that an interface is a member of."""
    vlans = []
    for key in db.table("VLAN_MEMBER"):
        vlan, _, member = key.partition("|")
        if member == name:
            vlans.append(vlan)
    return vlans


def port_channel_of(db: ConfigDb, name: str) -> str:
    """Return the port channel that a port is a member of; empty if it is in none."""
    for key in db.table("PORTCHANNEL_MEMBER"):
        channel, _, port = key.partition("|")
        if port == name:
            return channel
    return ""


def addresses_of(db: ConfigDb, name: str) -> dict[str, Address]:
    """Return the addresses of an interface by the key of their row."""
    start = f"{interface_table(name)}|{name}|"
    return {key: ipaddress.ip_interface(key.removeprefix(start)) for key in db.rows if key.startswith(start)}


def remove_addresses(db: ConfigDb, name: str) -> None:
    """Remove the addresses of an interface."""
    for key in addresses_of(db, name):
        db.delete(key)


def vrf_exists(db: ConfigDb, name: str) -> bool:
    """Tell whether a VRF is configured."""
    if name in ("mgmt", "management"):
        return db.get("MGMT_VRF_CONFIG|vrf_global").get("mgmtVrfEnabled") == "true"
    return f"VRF|{name}" in db.rows


def is_address(text: str) -> bool:
    """Tell whether netaddr takes a text for an address, as ``clicommon.is_ipaddress`` does. ``10.1`` is one.

    Raises ProgramError for a prefix, for which netaddr raises an exception.
    """
    if "/" in text:
        reason = "IPAddress() does not support netmasks or subnet prefixes! See documentation for details."
        raise ProgramError(f"ValueError: {reason}")
    if not text:
        return False
    # netaddr reads IPv4 as inet_aton does, which takes fewer than four parts.
    with suppress(OSError):
        socket.inet_aton(text)
        return True
    with suppress(OSError):
        socket.inet_pton(socket.AF_INET6, text)
        return True
    return False


def expand_filter(text: str) -> Iterator[str]:
    """Yield the names of a filter (utilities_common/intf_filter.py): ``Ethernet0,Ethernet4-8``."""
    for part in text.split(","):
        start = _kind_of(part)
        first, dash, rest = part.removeprefix(start).partition("-")
        last = rest.partition("-")[0]
        if not dash:
            yield part
        elif start and first.isdigit() and last.isdigit():
            for number in range(int(first), int(last) + 1):
                yield f"{start}{number}"


def _kind_of(name: str) -> str:
    """Return the beginning of a name before its number; empty for any other kind of interface."""
    for kind in ("Ethernet-BP", "Ethernet", "PortChannel"):
        if name.startswith(kind):
            return kind
    return ""
