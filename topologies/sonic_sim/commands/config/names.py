"""Names of interfaces, as the commands of ``config`` check them (config/main.py, utilities_common/cli.py)."""

import ipaddress
import re
import socket
from collections.abc import Iterator
from dataclasses import replace

import click

from sonic_sim.commands.click7 import Run
from sonic_sim.configdb import ConfigDb, Hash
from sonic_sim.shell.programs import ProgramError, Result

INVALID_NAME = "Interface name is invalid. Please enter a valid interface name!!"
NAME_MAX = 15
VALID_KINDS = "'interface_name' is not valid. Valid names [Ethernet/PortChannel/Vlan/Loopback]"

Address = ipaddress.IPv4Interface | ipaddress.IPv6Interface


def interface_table(name: str) -> str:
    """Return the table of an interface's addresses, empty for a name of no kind."""
    if name.startswith(("Ethernet", "PortChannel", "Eth", "Po")) and "." in name:
        return "VLAN_SUB_INTERFACE"
    kinds = {"Ethernet": "INTERFACE", "PortChannel": "PORTCHANNEL_INTERFACE", "Vlan": "VLAN_INTERFACE",
             "Loopback": "LOOPBACK_INTERFACE"}  # fmt: skip
    return next((table for start, table in kinds.items() if name.startswith(start)), "")


def by_alias(run: Run) -> bool:
    """Tell whether the commands of this shell name ports by their aliases."""
    return (run.call.variables or {}).get("SONIC_CLI_IFACE_MODE") == "alias"


def ports_by_name(run: Run) -> dict[str, Hash]:
    """Return the rows of the ports, sorted as SONiC's library reads them; without any, every command aborts."""
    ports = dict(sorted(run.db.table("PORT").items()))
    if not ports:
        run.say("port_dict is None!")
        raise click.Abort
    return ports


def meant(run: Run, text: str) -> str:
    """Return the interface that a word means where ports are named by their aliases (interface_alias_to_name)."""
    if not by_alias(run):
        return text
    alias, dot, number = text.partition(".")
    for name, row in ports_by_name(run).items():
        if alias_of(row) == alias:
            return name + dot + number
    return text


def finish(run: Run, result: Result) -> None:
    """End as a program did that the command ran; ports in its lines get their aliases (run_command_in_alias_mode)."""
    lines = result.out.splitlines(keepends=True) if by_alias(run) else [result.out]
    run.finish(replace(result, out="".join(in_alias_words(run, line) if by_alias(run) else line for line in lines)))


def alias_of(row: Hash) -> str:
    """Return the alias of a port. Raises ProgramError where it has none."""
    if "alias" not in row:
        raise ProgramError("KeyError: 'alias'")
    return row["alias"]


def in_alias_words(run: Run, line: str) -> str:
    """Return a line with the names of ports replaced where they stand as words.

    Raises ProgramError where any port has no alias.
    """
    for name, row in sorted(run.db.table("PORT").items()):
        line = re.sub(rf"(^|\s){name}($|,?\s)", rf"\1{alias_of(row)}\2", line)
    return line


def is_interface(run: Run, text: str) -> bool:
    """Tell whether a name is that of a port, port channel, subinterface or loopback."""
    name = meant(run, text)
    ports_by_name(run)
    return any(
        f"{table}|{name}" in run.db.rows
        for table in ("PORT", "PORTCHANNEL", "VLAN_SUB_INTERFACE", "LOOPBACK_INTERFACE")
    )


def vlans_of(db: ConfigDb, name: str) -> list[str]:
    """Return the VLANs that an interface is a member of."""
    return [key.partition("|")[0] for key in db.table("VLAN_MEMBER") if key.partition("|")[2] == name]


def port_channel_of(db: ConfigDb, name: str) -> str:
    """Return the port channel that a port is a member of, empty where none."""
    members = (key.partition("|") for key in db.table("PORTCHANNEL_MEMBER"))
    return next((channel for channel, _, port in members if port == name), "")


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
    """Tell whether netaddr takes a text for an address, as ``clicommon.is_ipaddress`` asks it: ``10.1`` is one.

    Raises ProgramError for a prefix, which ends the command with netaddr's exception.
    """
    if "/" in text:
        why = "IPAddress() does not support netmasks or subnet prefixes! See documentation for details."
        raise ProgramError(f"ValueError: {why}")
    for read in (socket.inet_aton, lambda name: socket.inet_pton(socket.AF_INET6, name)):
        try:
            read(text)
        except OSError:
            continue
        return bool(text)
    return False


def expand_filter(text: str) -> Iterator[str]:
    """Yield the names of a filter (utilities_common/intf_filter.py): ``Ethernet0,Ethernet4-8``."""
    for part in text.split(","):
        start = next((kind for kind in ("Ethernet-BP", "Ethernet", "PortChannel") if part.startswith(kind)), "")
        first, dash, rest = part.removeprefix(start).partition("-")
        last = rest.partition("-")[0]
        if not dash:
            yield part
        elif start and first.isdigit() and last.isdigit():
            yield from (f"{start}{number}" for number in range(int(first), int(last) + 1))
