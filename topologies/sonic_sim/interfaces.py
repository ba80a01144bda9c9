"""The kernel's interfaces of a switch: loopback, management, front-panel netdevs with their addresses."""

from typing import Any

from sonic_sim.device import ByHand, Device, Link

_MANAGEMENT = "eth0"


def kernel_interfaces(device: Device) -> list[dict[str, Any]]:
    """Return what ``ip -j addr show`` prints."""
    network = device.network
    interfaces = [_entry("lo", 65536, "UNKNOWN", "00:00:00:00:00:00", ["LOOPBACK", "UP", "LOWER_UP"])]
    interfaces[0]["addr_info"].append(_address("127.0.0.1/8", "host"))
    management = _entry(_MANAGEMENT, 1500, "UP", device.spec.mac, _flags(True, True))
    interfaces.append(management)
    for key in device.db.table("MGMT_INTERFACE") if device.daemons else ():
        name, bar, prefix = key.partition("|")
        if bar and name == _MANAGEMENT:
            management["addr_info"].append(_address(prefix))
    management["addr_info"] += map(_address, device.links.get(_MANAGEMENT, Link()).addresses)
    by_name: dict[str, dict[str, Any]] = {}
    mac = device.db.get("DEVICE_METADATA|localhost").get("mac", device.spec.mac)
    made = {name: link for name, link in device.links.items() if name != _MANAGEMENT}
    for name, link in made.items():
        up = device.link_up(name)
        by_name[name] = _entry(name, 1500, "UP" if up else "DOWN", mac, _flags(link.up, up))
        by_name[name]["addr_info"] += map(_address, link.addresses)
    if not device.daemons:
        return _numbered([*interfaces, *by_name.values()])
    for port in network.ports(device).values():
        up = network.link_up(device, port.name)
        hand = device.by_hand.get(port.name, ByHand())
        mtu = port.mtu if hand.mtu is None or hand.mtu_over != port.mtu else hand.mtu
        by_name[port.name] = _entry(port.name, mtu, "UP" if up else "DOWN", mac, _flags(port.admin_up, up))
        by_name[port.name]["addr_info"] += map(_address, hand.addresses)
    for table, mtu in (("LOOPBACK_INTERFACE", 65536), ("VLAN", 9100), ("PORTCHANNEL", 9100)):
        for name in {key.partition("|")[0]: None for key in device.db.table(table)}:
            by_name.setdefault(name, _entry(name, mtu, "UNKNOWN", mac, ["BROADCAST", "NOARP", "UP", "LOWER_UP"]))
    for address in network.addresses(device):
        if address.interface in by_name:
            by_name[address.interface]["addr_info"].append(_address(f"{address.address}/{address.length}"))
    return _numbered([*interfaces, *by_name.values()])


def _entry(name: str, mtu: int, state: str, mac: str, flags: list[str]) -> dict[str, Any]:
    kind = "loopback" if name == "lo" else "ether"
    return {"ifindex": 0, "ifname": name, "flags": flags, "mtu": mtu, "qdisc": "noqueue", "operstate": state,
            "group": "default", "txqlen": 1000, "link_type": kind, "address": mac, "addr_info": []}  # fmt: skip


def _flags(admin_up: bool, up: bool) -> list[str]:
    flags = ["BROADCAST", "MULTICAST"]
    if admin_up and not up:
        return ["NO-CARRIER", *flags, "UP"]
    return [*flags, "UP", "LOWER_UP"] if up else flags


def _address(prefix: str, scope: str = "global") -> dict[str, Any]:
    address, _, length = prefix.partition("/")
    family = "inet6" if ":" in address else "inet"
    return {"family": family, "local": address, "prefixlen": int(length or 32), "scope": scope}


def _numbered(interfaces: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for number, interface in enumerate(interfaces, start=1):
        interface["ifindex"] = number
    return interfaces
