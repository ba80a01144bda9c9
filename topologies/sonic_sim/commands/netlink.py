"""``ip``: the kernel's view of interfaces and neighbors."""

import json

from sonic_sim.device import ByHand, Link
from sonic_sim.files import ROOT
from sonic_sim.interfaces import kernel_interfaces
from sonic_sim.neighbors import neighbors
from sonic_sim.shell.programs import Call, Result, program


@program("ip")
def ip(call: Call) -> Result:
    """Answer ``ip [-j] addr|link [show [DEVICE]]`` and ``ip [-j] [-4] neigh [show] [vrf NAME]``."""
    words = [word for word in call.argv[1:] if not word.startswith("-")]
    object_word = words[0] if words else ""
    object_name = _object_named(object_word)
    if object_name == "neighbor":
        return _neighbors(call, words[1:])
    if not object_name:
        return Result(255, err=f'Object "{object_word}" is unknown, try "ip help".\n')
    if words[1:2] not in (["add"], ["set"], ["del"], ["delete"]):
        return _interfaces(call, [word for word in words[1:] if word not in ("show", "dev", "list", "ls")])
    port = _port_named(call, words[2:])
    if port:
        return _change_port(call, words, port)
    return _change(call, words)


def _object_named(word: str) -> str:
    """Return the object that a word names; empty if it names none. iproute2 takes any beginning of a name."""
    if not word or word == "n":
        return ""
    for name in ("neighbor", "address", "link"):
        if name.startswith(word):
            return name
    return ""


def _port_named(call: Call, words: list[str]) -> str:
    """Return the port of the switch that the words name; empty if they name none."""
    device = call.device
    if not device.daemons:
        # Without SONiC's daemons an interface is there only once somebody has made it.
        return ""
    ports = device.network.ports(device).keys() - device.links.keys()
    for word in words:
        if word in ports:
            return word
    return ""


def _as_json(call: Call) -> bool:
    return any(word in call.argv for word in ("-j", "-json"))


def _interfaces(call: Call, names: list[str]) -> Result:
    """Print the kernel's interfaces, or the one that is named."""
    links = kernel_interfaces(call.device)
    if names:
        links = [link for link in links if link["ifname"] == names[0]]
        if not links:
            return Result(1, err=f'Device "{names[0]}" does not exist.\n')
    if _as_json(call):
        return Result(out=json.dumps(links) + "\n")
    lines = []
    for link in links:
        flags = ",".join(link["flags"])
        lines.append(f"{link['ifindex']}: {link['ifname']}: <{flags}> mtu {link['mtu']} state {link['operstate']}")
        for address in link["addr_info"]:
            prefix = f"{address['local']}/{address['prefixlen']}"
            lines.append(f"    {address['family']} {prefix} scope {address['scope']}")
    return Result(out="\n".join(lines) + "\n")


def _change(call: Call, words: list[str]) -> Result:
    """Make, change or remove an interface that is not a port, or change its addresses."""
    if call.user != ROOT:
        return Result(2, err="RTNETLINK answers: Operation not permitted\n")
    kind, verb, *rest = words
    name = rest[0] if rest else ""
    if "dev" in words[:-1]:
        name = words[words.index("dev") + 1]
    is_link = "link".startswith(kind)
    # Of the management port only the addresses can be changed.
    has_interface = name in call.device.links or (name == "eth0" and not is_link)
    if is_link and verb == "add":
        # ``type veth peer name PEER``
        peer = words[words.index("peer") + 2] if "peer" in words[:-2] else ""
        result = _make_link(call, name, peer)
    elif not has_interface:
        result = Result(1, err=f'Cannot find device "{name}"\n')
    elif is_link:
        result = _change_link(call, verb, words, name)
    else:
        result = _change_address(call, verb, rest[0], name)
    if not result.exit:
        call.device.network.version += 1
    return result


def _change_link(call: Call, verb: str, words: list[str], name: str) -> Result:
    """Set an interface up or down, or remove it."""
    links = call.device.links
    if verb != "set":
        # Both ends of a veth pair go together.
        removed = links.pop(name)
        links.pop(removed.peer, None)
    elif "up" in words:
        links[name].up = True
    elif "down" in words:
        links[name].up = False
    return Result()


def _make_link(call: Call, name: str, peer: str) -> Result:
    """Make an interface, or both ends of a veth pair if ``peer`` names the other one."""
    if name in {link["ifname"] for link in kernel_interfaces(call.device)}:
        return Result(2, err="RTNETLINK answers: File exists\n")
    call.device.links[name] = Link(peer)
    if peer:
        call.device.links[peer] = Link(name)
    return Result()


def _change_address(call: Call, verb: str, prefix: str, name: str) -> Result:
    """Add an address to the interface ``name``, or remove it."""
    addresses = call.device.links.setdefault(name, Link()).addresses
    if verb == "add":
        # Whether zebra ran decides whether it shows the kernel's own route beside the connected one.
        addresses[prefix] = call.device.frr_answers()
    elif addresses.pop(prefix, None) is None:
        return Result(2, err="RTNETLINK answers: Cannot assign requested address\n")
    return Result()


def _change_port(call: Call, words: list[str], name: str) -> Result:
    """Change the addresses or the MTU of a port in the kernel. No daemon of SONiC notices it."""
    if call.user != ROOT:
        return Result(2, err="RTNETLINK answers: Operation not permitted\n")
    device = call.device
    by_hand = device.by_hand.setdefault(name, ByHand())
    kind, verb, *arguments = words
    # iproute2 takes any beginning of a word.
    is_address = "address".startswith(kind)
    is_link = "link".startswith(kind)
    if is_address and verb == "add":
        by_hand.addresses.append(arguments[0])
    elif is_address and arguments[0] in by_hand.addresses:
        by_hand.addresses.remove(arguments[0])
    elif is_link and "mtu" in arguments[:-1]:
        by_hand.mtu = int(arguments[arguments.index("mtu") + 1])
        by_hand.mtu_over = device.network.ports(device)[name].mtu
    else:
        return Result(2, err="RTNETLINK answers: Operation not supported\n")
    device.network.version += 1
    return Result()


def _neighbors(call: Call, words: list[str]) -> Result:
    """Print the kernel's neighbors; there is only the default VRF."""
    if "vrf" in words:
        return Result(1, err='Error: argument "vrf" is wrong: Not a valid VRF name\n')
    rows = []
    text = ""
    for neighbor in neighbors(call.device, call.device.network):
        text += f"{neighbor.address} dev {neighbor.interface} lladdr {neighbor.mac} REACHABLE\n"
        rows.append(
            {"dst": neighbor.address, "dev": neighbor.interface, "lladdr": neighbor.mac, "state": ["REACHABLE"]}
        )
    if _as_json(call):
        return Result(out=json.dumps(rows) + "\n")
    return Result(out=text)
