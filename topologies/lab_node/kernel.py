"""From CONFIG_DB rows to the kernel: the ``ip`` commands that turn the interfaces as they are into what is wanted.

A port of the SKU is the netdev of its name, as on a switch: Containerlab's ``ethN`` is renamed when it appears, and a
port without a cable is a tap nobody holds, which never has a carrier. This kernel may lack dummy devices, so Loopback0
is one end of a veth pair whose other end (``Loopback0-far``) nobody uses.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Rows = Mapping[str, Mapping[str, str]]
Interface = Mapping[str, Any]
"""An entry of ``ip -j addr show``."""

FAR = "-far"
_DEFAULT_MTU = "9100"


def port_commands(ports: Mapping[str, str], present: Sequence[Interface]) -> list[str]:
    """Return the commands that create the ports; ``ports`` maps ``Ethernet0`` to Containerlab's ``eth1``.

    Cables come and go while the switch runs: a new cable replaces the port's tap, and a tap replaces a cable that was
    removed.
    """
    names = {interface["ifname"] for interface in present}
    # Containerlab sets a cable up when all else is done.
    ready_cables = {interface["ifname"] for interface in present if "UP" in interface["flags"]}
    commands = []
    for port, cable in ports.items():
        if cable in ready_cables:
            if port in names:
                commands.append(f"link del dev {port}")
            commands += [f"link set dev {cable} down", f"link set dev {cable} name {port}"]
        elif port not in names:
            commands.append(f"tuntap add dev {port} mode tap")
    return commands


def changes(rows: Rows, present: Sequence[Interface]) -> list[str]:
    """Return the commands that apply the ports, loopbacks and addresses of CONFIG_DB to the interfaces ``present``."""
    interface_of = {interface["ifname"]: interface for interface in present}
    addresses_of = wanted_addresses(rows)
    commands: list[str] = []
    loopbacks = {key.split("|")[1] for key in rows if key.startswith("LOOPBACK_INTERFACE|")}
    for name in sorted(loopbacks - interface_of.keys()):
        commands += [f"link add {name} type veth peer name {name}{FAR}", f"link set dev {name}{FAR} up"]
        commands.append(f"link set dev {name} up")
    # Addresses are removed before others are added: one may move from port to port.
    for name, interface in interface_of.items():
        if name.startswith(("Ethernet", "Loopback")) and not name.endswith(FAR):
            commands += _removed_addresses(name, interface, addresses_of.get(name, []))
    for key, row in rows.items():
        table, _, name = key.partition("|")
        if table == "PORT" and name in interface_of:
            commands += _port_changes(interface_of[name], row)
    for name, addresses in addresses_of.items():
        commands += _added_addresses(name, interface_of.get(name), addresses)
    return commands


def _added_addresses(name: str, interface: Interface | None, wanted: Sequence[str]) -> Iterator[str]:
    """Yield a command for each missing address of an interface; ``interface`` is None if it does not exist yet."""
    present: list[str] = []
    if interface is not None:
        present = _addresses(interface)
    # A loopback that does not exist is created by the commands before; a port is not.
    elif not name.startswith("Loopback"):
        return
    for address in wanted:
        if address not in present:
            yield f"addr add {address} dev {name}"


def wanted_addresses(rows: Rows) -> dict[str, list[str]]:
    """Return the addresses of each interface by CONFIG_DB."""
    wanted: dict[str, list[str]] = {}
    for key in rows:
        table, _, rest = key.partition("|")
        name, _, address = rest.partition("|")
        if table in ("INTERFACE", "LOOPBACK_INTERFACE") and address:
            wanted.setdefault(name, []).append(address)
    return wanted


def has_addresses(rows: Rows, present: Sequence[Interface]) -> bool:
    """Tell whether the kernel has every address of CONFIG_DB."""
    kernel_addresses: set[str] = set()
    for interface in present:
        kernel_addresses.update(_addresses(interface))
    return all(kernel_addresses.issuperset(addresses) for addresses in wanted_addresses(rows).values())


def routed_ports(rows: Rows) -> list[str]:
    """Return the ports that carry IP."""
    return sorted({key.split("|")[1] for key in rows if key.startswith("INTERFACE|")})


def _port_changes(interface: Interface, row: Mapping[str, str]) -> Iterator[str]:
    """Yield the commands that set the MTU and the state of a port as in its row of CONFIG_DB."""
    name = interface["ifname"]
    mtu = row.get("mtu", _DEFAULT_MTU)
    if str(interface["mtu"]) != mtu:
        yield f"link set dev {name} mtu {mtu}"
    is_up = "UP" in interface["flags"]
    should_be_up = row.get("admin_status", "down") == "up"
    if is_up and not should_be_up:
        yield f"link set dev {name} down"
    elif should_be_up and not is_up:
        yield f"link set dev {name} up"


def _removed_addresses(name: str, interface: Interface, wanted: Sequence[str]) -> Iterator[str]:
    """Yield a command for each address of an interface that is not wanted."""
    for address in _addresses(interface):
        if address not in wanted:
            yield f"addr del {address} dev {name}"


def _addresses(interface: Interface) -> list[str]:
    """Return the configured addresses of an interface with their prefix lengths."""
    # Link-local addresses are the kernel's own.
    addresses = [address for address in interface["addr_info"] if address["scope"] == "global"]
    return [f"{address['local']}/{address['prefixlen']}" for address in addresses]
