"""The kernel's interfaces of a switch: loopback, management, front-panel netdevs with their addresses."""

from typing import Any

from sonic_sim.device import ByHand, Device, Link

_MANAGEMENT = "eth0"


def kernel_interfaces(device: Device) -> list[dict[str, Any]]:
    """Return the interfaces as ``ip -j addr show`` prints them."""
    loopback = _entry("lo", 65536, "UNKNOWN", "00:00:00:00:00:00", ["LOOPBACK", "UP", "LOWER_UP"])
    loopback["addr_info"].append(_address("127.0.0.1/8", "host"))
    by_name = _made_links(device)
    if device.daemons:
        _add_links_of_daemons(device, by_name)
    links = [loopback, _management(device), *by_name.values()]
    for number, link in enumerate(links, start=1):
        link["ifindex"] = number
    return links


def _management(device: Device) -> dict[str, Any]:
    """Return the management interface with its addresses."""
    link = _entry(_MANAGEMENT, 1500, "UP", device.spec.mac, _flags(admin_up=True, up=True))
    if device.daemons:
        for key in device.db.table("MGMT_INTERFACE"):
            name, bar, prefix = key.partition("|")
            if bar and name == _MANAGEMENT:
                link["addr_info"].append(_address(prefix))
    link["addr_info"] += map(_address, device.links.get(_MANAGEMENT, Link()).addresses)
    return link


def _made_links(device: Device) -> dict[str, dict[str, Any]]:
    """Return the interfaces that were made by ``ip link add``, by name."""
    entries = {}
    for name, link in device.links.items():
        if name != _MANAGEMENT:
            up = device.link_up(name)
            entries[name] = _entry(name, 1500, _state(up), _mac(device), _flags(admin_up=link.up, up=up))
            entries[name]["addr_info"] += map(_address, link.addresses)
    return entries


def _add_ports(device: Device, links: dict[str, dict[str, Any]]) -> None:
    """Add the front-panel netdevs, with what somebody set on them by hand."""
    for port in device.network.ports(device).values():
        up = device.network.link_up(device, port.name)
        by_hand = device.by_hand.get(port.name, ByHand())
        mtu = port.mtu
        # An MTU set by hand holds until another one is configured.
        if by_hand.mtu is not None and by_hand.mtu_over == port.mtu:
            mtu = by_hand.mtu
        links[port.name] = _entry(port.name, mtu, _state(up), _mac(device), _flags(admin_up=port.admin_up, up=up))
        links[port.name]["addr_info"] += map(_address, by_hand.addresses)


def _add_links_of_daemons(device: Device, links: dict[str, dict[str, Any]]) -> None:
    """Add the interfaces that SONiC's daemons make: ports, loopbacks, VLANs and port channels."""
    net = device.network
    _add_ports(device, links)
    for table, mtu in (("LOOPBACK_INTERFACE", 65536), ("VLAN", 9100), ("PORTCHANNEL", 9100)):
        for key in device.db.table(table):
            name = key.partition("|")[0]
            links.setdefault(name, _entry(name, mtu, "UNKNOWN", _mac(device), ["BROADCAST", "NOARP", "UP", "LOWER_UP"]))
    for address in net.addresses(device):
        if address.interface in links:
            links[address.interface]["addr_info"].append(_address(f"{address.address}/{address.length}"))


def _mac(device: Device) -> str:
    return device.db.get("DEVICE_METADATA|localhost").get("mac", device.spec.mac)


def _state(up: bool) -> str:
    return "UP" if up else "DOWN"


def _entry(name: str, mtu: int, state: str, mac: str, flags: list[str]) -> dict[str, Any]:
    kind = "loopback" if name == "lo" else "ether"
    return {"ifindex": 0, "ifname": name, "flags": flags, "mtu": mtu, "qdisc": "noqueue", "operstate": state,
            "group": "default", "txqlen": 1000, "link_type": kind, "address": mac, "addr_info": []}  # fmt: skip


def _flags(*, admin_up: bool, up: bool) -> list[str]:
    flags = ["BROADCAST", "MULTICAST"]
    if up:
        return [*flags, "UP", "LOWER_UP"]
    if admin_up:
        return ["NO-CARRIER", *flags, "UP"]
    return flags


def _address(prefix: str, scope: str = "global") -> dict[str, Any]:
    address, _, length = prefix.partition("/")
    family = "inet6" if ":" in address else "inet"
    return {"family": family, "local": address, "prefixlen": int(length or 32), "scope": scope}
