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
    if words and words[0] != "n" and "neighbor".startswith(words[0].replace("neighbor", "neighbor")):
        return _neighbors(call, words[1:])
    if not words or not any(kind.startswith(words[0]) for kind in ("address", "link")):
        return Result(255, err=f'Object "{words[0] if words else ""}" is unknown, try "ip help".\n')
    if words[1:] and words[1] in ("add", "set", "del", "delete"):
        # Without SONiC's daemons an interface is there only once somebody has made it.
        ports = call.device.network.ports(call.device).keys() - call.device.links.keys() if call.device.daemons else ()
        port = next((word for word in words[2:] if word in ports), "")
        return _change_port(call, words, port) if port else _change(call, words)
    names = [word for word in words[1:] if word not in ("show", "dev", "list", "ls")]
    shown = [one for one in kernel_interfaces(call.device) if not names or one["ifname"] == names[0]]
    if names and not shown:
        return Result(1, err=f'Device "{names[0]}" does not exist.\n')
    if any(word in call.argv for word in ("-j", "-json")):
        return Result(out=json.dumps(shown) + "\n")
    lines = []
    for one in shown:
        flags = ",".join(one["flags"])
        lines.append(f"{one['ifindex']}: {one['ifname']}: <{flags}> mtu {one['mtu']} state {one['operstate']}")
        lines += [f"    {a['family']} {a['local']}/{a['prefixlen']} scope {a['scope']}" for a in one["addr_info"]]
    return Result(out="\n".join(lines) + "\n")


def _change(call: Call, words: list[str]) -> Result:
    """Make, set up or remove an interface of one's own, or give it an address."""
    if call.user != ROOT:
        return Result(2, err="RTNETLINK answers: Operation not permitted\n")
    links = call.device.links
    verb = words[1]
    name = words[words.index("dev") + 1] if "dev" in words[:-1] else words[2] if words[2:] else ""
    if "link".startswith(words[0]) and verb == "add":
        if name in {one["ifname"] for one in kernel_interfaces(call.device)}:
            return Result(2, err="RTNETLINK answers: File exists\n")
        peer = words[words.index("peer") + 2] if "peer" in words[:-2] else ""
        links[name] = Link(peer)
        if peer:
            links[peer] = Link(name)
    elif name not in links and not (name == "eth0" and "address".startswith(words[0])):
        return Result(1, err=f'Cannot find device "{name}"\n')
    elif "address".startswith(words[0]):
        held = links.setdefault(name, Link()).addresses
        if verb == "add":
            held[words[2]] = call.device.frr_answers()
        elif held.pop(words[2], None) is None:
            return Result(2, err="RTNETLINK answers: Cannot assign requested address\n")
    elif verb == "set":
        links[name].up = "up" in words or (links[name].up and "down" not in words)
    else:
        links.pop(links.pop(name).peer, None)
    call.device.network.version += 1
    return Result()


def _change_port(call: Call, words: list[str], name: str) -> Result:
    """Change the interface of a port in the kernel alone; no daemon of SONiC hears of it."""
    if call.user != ROOT:
        return Result(2, err="RTNETLINK answers: Operation not permitted\n")
    device = call.device
    hand = device.by_hand.setdefault(name, ByHand())
    if "address".startswith(words[0]) and words[1] == "add":
        hand.addresses.append(words[2])
    elif "address".startswith(words[0]) and words[2] in hand.addresses:
        hand.addresses.remove(words[2])
    elif "link".startswith(words[0]) and "mtu" in words[:-1]:
        hand.mtu = int(words[words.index("mtu") + 1])
        hand.mtu_over = device.network.ports(device)[name].mtu
    else:
        return Result(2, err="RTNETLINK answers: Operation not supported\n")
    device.network.version += 1
    return Result()


def _neighbors(call: Call, words: list[str]) -> Result:
    """Print what the kernel has learned; there is no VRF but the default one."""
    if "vrf" in words:
        return Result(1, err='Error: argument "vrf" is wrong: Not a valid VRF name\n')
    net = call.device.network
    found = list(neighbors(call.device, net))
    if any(word in call.argv for word in ("-j", "-json")):
        shown = [{"dst": one.address, "dev": one.interface, "lladdr": one.mac, "state": ["REACHABLE"]} for one in found]
        return Result(out=json.dumps(shown) + "\n")
    return Result(out="".join(f"{one.address} dev {one.interface} lladdr {one.mac} REACHABLE\n" for one in found))
