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
    """Return what makes the netdevs of the ports; ``ports`` maps ``Ethernet0`` to Containerlab's ``eth1``.

    Cables come and go while the switch runs: one that came takes the place of the port's tap, and a tap that of one
    that went. Containerlab sets a cable up last.
    """
    names = {one["ifname"] for one in present}
    ready = {one["ifname"] for one in present if "UP" in one["flags"]}
    commands = []
    for port, cable in ports.items():
        if cable in ready:
            commands += [f"link del dev {port}"] if port in names else []
            commands += [f"link set dev {cable} down", f"link set dev {cable} name {port}"]
        elif port not in names:
            commands.append(f"tuntap add dev {port} mode tap")
    return commands


def changes(rows: Rows, present: Sequence[Interface]) -> list[str]:
    """Return the commands that bring ports, loopbacks and addresses to what CONFIG_DB says."""
    known = {one["ifname"]: one for one in present}
    commands: list[str] = []
    wanted = wanted_addresses(rows)
    for name in sorted({key.split("|")[1] for key in rows if key.startswith("LOOPBACK_INTERFACE|")}):
        if name not in known:
            commands += [f"link add {name} type veth peer name {name}{FAR}", f"link set dev {name}{FAR} up"]
            commands.append(f"link set dev {name} up")
    for name, interface in known.items():
        if name.startswith(("Ethernet", "Loopback")) and not name.endswith(FAR):
            commands += _fewer_addresses(name, interface, wanted.get(name, []))
    for key, row in rows.items():
        if key.startswith("PORT|") and (port := known.get(key[5:])) is not None:
            commands += _port(port, row)
    for name, addresses in wanted.items():
        held = set(_addresses(known[name])) if name in known else set()
        if name in known or name.startswith("Loopback"):
            commands += [f"addr add {address} dev {name}" for address in addresses if address not in held]
    return commands


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
    """Tell whether the kernel holds every address of CONFIG_DB."""
    held = {address for one in present for address in _addresses(one)}
    return all(held.issuperset(addresses) for addresses in wanted_addresses(rows).values())


def routed_ports(rows: Rows) -> list[str]:
    """Return the ports that carry IP."""
    return sorted({key.split("|")[1] for key in rows if key.startswith("INTERFACE|")})


def _port(interface: Interface, row: Mapping[str, str]) -> Iterator[str]:
    name = interface["ifname"]
    up = row.get("admin_status", "down") == "up"
    mtu = row.get("mtu", _DEFAULT_MTU)
    if str(interface["mtu"]) != mtu:
        yield f"link set dev {name} mtu {mtu}"
    if ("UP" in interface["flags"]) != up:
        yield f"link set dev {name} {'up' if up else 'down'}"


def _fewer_addresses(name: str, interface: Interface, wanted: Sequence[str]) -> Iterator[str]:
    for address in _addresses(interface):
        if address not in wanted:
            yield f"addr del {address} dev {name}"


def _addresses(interface: Interface) -> list[str]:
    return [f"{one['local']}/{one['prefixlen']}" for one in interface["addr_info"] if one["scope"] == "global"]
