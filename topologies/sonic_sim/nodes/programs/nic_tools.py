#!/usr/bin/python3 -IS
"""The NIC tools of four vendors on a simulated node: they keep state, print it as the real ones do, and refuse wrong
calls.

Called under the name of a tool. What the NICs hold is in /run/nics, which a restart empties: ``state.json``, ``calls``
with the calls that changed something, and ``refuse``, the tool that fails. ``RECORDER`` names another folder for these,
which then has the node's /sys too.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

HOME = Path(os.environ.get("RECORDER", "/"))
HELD = HOME if "RECORDER" in os.environ else Path("/run/nics")
STATE = HELD / "state.json"
FACTORY = HELD / "factory.json"
"""What a port of its own differs in from NEW_PORT, by the name of the interface."""
BUFFERS: dict[str, Path] = {}
"""The driver's files of the receive buffers of the interface in question."""
NEW_PORT = {
    "dcbx": "Firmware controlled",
    "trust": "pcp",
    "dscp": {str(dscp): dscp // 8 for dscp in range(64)},
    "pfc": [0] * 8,
    "pause": "on",
    "app": {},
    "fec": "RS",
    "autoneg": "off",
    "cable": 7,
    "lldp": "on",
    "speed": 100000,
}


def refuse(text: str) -> NoReturn:
    """End with an error that says what the tool does not accept."""
    print(f"recorder: {text}: {' '.join(sys.argv[1:])}", file=sys.stderr)
    sys.exit(2)


def option(words: list[str], *names: str) -> str | None:
    """Remove an option, by any of its names, from ``words`` and return its value; None if it is not there."""
    for name in names:
        if name in words:
            index = words.index(name)
            if index + 1 >= len(words):
                refuse(f"{name} has no value")
            value = words[index + 1]
            del words[index : index + 2]
            return value
    return None


def needed(words: list[str], *names: str) -> str:
    """Remove an option from ``words`` and return its value; refuse a call without it."""
    value = option(words, *names)
    if value is None:
        refuse(f"needs {names[0]}")
    return value


class Nics:
    """What the NICs of the node hold."""

    def __init__(self) -> None:
        self.ports: dict[str, dict[str, Any]] = {}
        if STATE.exists():
            self.ports = json.loads(STATE.read_text())

    def name(self, name: str) -> str:
        """Return the name of an interface; refuse one that does not exist."""
        if not (HOME / "sys/class/net" / name).is_dir():
            refuse(f"no interface {name}")
        return name

    def port(self, name: str) -> dict[str, Any]:
        """Return the settings of an interface, which a call may change in place; at first those of a new port."""
        self.name(name)
        factory_settings: dict[str, Any] = {}
        if FACTORY.exists():
            factory_settings = json.loads(FACTORY.read_text()).get(name, {})
        if name not in self.ports:
            # A deep copy, as settings are changed in place.
            self.ports[name] = {**json.loads(json.dumps(NEW_PORT)), **factory_settings}
        return self.ports[name]

    def changed(self) -> None:
        """Store the state after a change, and add the call to those that changed something."""
        STATE.write_text(json.dumps(self.ports))
        with (HELD / "calls").open("a") as file:
            file.write(" ".join([Path(sys.argv[0]).name, *sys.argv[1:]]) + "\n")


def mlnx_qos(words: list[str], nics: "Nics") -> None:
    """NVIDIA: QoS of an interface."""
    name = needed(words, "-i", "--interface")
    port = nics.port(name)
    for file in ("prio2buffer", "buffer_size"):
        BUFFERS[file] = HOME / "sys/class/net" / name / "qos" / file
    settings = {
        set_dcbx: option(words, "-d", "--dcbx"),
        set_trust: option(words, "--trust"),
        set_dscp: option(words, "--dscp2prio"),
        set_pfc: option(words, "-f", "--pfc"),
        set_cable: option(words, "--cable_len"),
        set_prio2buffer: option(words, "--prio2buffer"),
        set_buffer_size: option(words, "--buffer_size"),
    }
    if words:
        refuse(f"unknown {words[0]}")
    for change, value in settings.items():
        if value is not None:
            change(port, value)
            nics.changed()
    show_mlnx_qos(port)


def set_dcbx(port: dict[str, Any], mode: str) -> None:
    """Set who manages DCB."""
    modes = {"os": "OS controlled", "fw": "Firmware controlled"}
    if mode not in modes:
        refuse("bad dcbx mode")
    port["dcbx"] = modes[mode]


def set_trust(port: dict[str, Any], trust: str) -> None:
    """Set by which field of a packet its priority is chosen."""
    if trust not in {"dscp", "pcp"}:
        refuse("bad trust")
    port["trust"] = trust


def set_dscp(port: dict[str, Any], mapping: str) -> None:
    """Map a DSCP to a priority."""
    verb, dscp, priority = mapping.split(",")
    is_valid = verb == "set" and 0 <= int(dscp) < 64 and 0 <= int(priority) < 8
    if not is_valid or port["trust"] != "dscp":
        refuse("dscp2prio needs trust dscp and set,DSCP,PRIORITY")
    port["dscp"][dscp] = int(priority)


def set_pfc(port: dict[str, Any], bits: str) -> None:
    """Set the priorities with PFC."""
    port["pfc"] = [int(bit) for bit in bits.split(",")]
    if len(port["pfc"]) != 8 or set(port["pfc"]) - {0, 1}:
        refuse("pfc needs eight bits")


def set_cable(port: dict[str, Any], metres: str) -> None:
    """Set the length of the cable."""
    port["cable"] = int(metres)


def set_prio2buffer(port: dict[str, Any], buffers: str) -> None:
    """Set the receive buffer of each priority."""
    rows = [f"{priority}\t{int(buffer)}\n" for priority, buffer in enumerate(buffers.split(","))]
    BUFFERS["prio2buffer"].write_text("Priority\tBuffer\n" + "".join(rows))


def set_buffer_size(port: dict[str, Any], sizes: str) -> None:
    """Set the sizes of the receive buffers."""
    # The hardware counts its buffers in cells of 128 bytes.
    buffer_bytes = [int(size) // 128 * 128 for size in sizes.split(",")]
    port_bytes = 524160
    spare_bytes = port_bytes - sum(buffer_bytes)
    if len(buffer_bytes) != 8 or spare_bytes < 0:
        refuse("more than the port has")
    rows = "".join(f"{buffer}\t{size}\n" for buffer, size in enumerate(buffer_bytes))
    text = f"Port buffer size = {port_bytes}\nSpare buffer size = {spare_bytes}\nBuffer\tSize\n{rows}"
    BUFFERS["buffer_size"].write_text(text)


def show_mlnx_qos(port: dict[str, Any]) -> None:
    """Print the QoS of an interface."""
    print(f"DCBX mode: {port['dcbx']}\nPriority trust state: {port['trust']}")
    if port["trust"] == "dscp":
        print("dscp2prio mapping:")
        for priority in range(8):
            members = [dscp for dscp in range(63, -1, -1) if port["dscp"][str(dscp)] == priority]
            if members:
                print(f"\tprio:{priority} dscp:{''.join(f'{dscp:02d},' for dscp in members)}")
    print(f"Cable len: {port['cable']}\nPFC configuration:\n\tpriority    0   1   2   3   4   5   6   7")
    print("\tenabled     " + "   ".join(map(str, port["pfc"])) + "   ")
    print("tc: 0 ratelimit: unlimited, tsa: vendor\n\t priority:  1")


def ethtool(words: list[str], nics: "Nics") -> None:
    """Every vendor: link, pause, FEC, private flags and counters of an interface."""
    if words[0] == "-a":
        pause = nics.port(words[1])["pause"]
        print(f"Pause parameters for {words[1]}:\nAutonegotiate:\toff\nRX:\t\t{pause}\nTX:\t\t{pause}")
    elif words[0] == "--show-fec":
        fec = nics.port(words[1])["fec"]
        print(f"FEC parameters for {words[1]}:\nSupported/Configured FEC encodings: {fec}\nActive FEC encoding: {fec}")
    elif len(words) == 1:
        port = nics.port(words[0])
        print(f"Settings for {words[0]}:\n\tSpeed: {port['speed']}Mb/s\n\tAuto-negotiation: {port['autoneg']}")
    elif words[0] == "-S":
        # Those of a node with a fabric are printed by `nic.py`.
        nics.name(words[1])
        print("NIC statistics:")
    elif words[0] == "--show-priv-flags":
        print(f"Private flags for {words[1]}:\nfw-lldp-agent      : {nics.port(words[1])['lldp']}")
    elif words[0] == "--set-priv-flags" and words[2] == "fw-lldp-agent" and words[3] in {"on", "off"}:
        nics.port(words[1])["lldp"] = words[3]
        nics.changed()
    elif words[0] == "-A" and words[2::2] == ["rx", "tx"] and words[3] == words[5]:
        nics.port(words[1])["pause"] = words[3]
        nics.changed()
    else:
        refuse("unknown call")


def cma(words: list[str], nics: "Nics", key: str, first: str, flag: str, shown: Callable[[str], str]) -> None:
    """NVIDIA: the mode or ToS of connections that programs open by rdma_cm.

    ``key`` names the setting in the state, and ``first`` is its value at first; ``flag`` is the option that sets it,
    and ``shown`` returns the text for a value.
    """
    device = option(words, "-d")
    ib_port = option(words, "-p")
    value = option(words, flag)
    if words or ib_port != "1" or not (HOME / "sys/class/infiniband" / (device or "-")).is_dir():
        refuse("needs -d DEVICE -p 1")
    held = nics.ports.setdefault(f"rdma {device}", {})
    if value is not None:
        held[key] = value
        nics.changed()
    print(shown(held.get(key, first)))


def bnxt_setupcc(words: list[str], nics: "Nics") -> None:
    """Broadcom: DCQCN, PFC and marking of an interface."""
    device = needed(words, "-d")
    interface = needed(words, "-i")
    mode = needed(words, "-m")
    roce_priority = needed(words, "-r")
    roce_dscp = needed(words, "-s")
    cnp_priority = needed(words, "-c")
    cnp_dscp = needed(words, "-p")
    bandwidth = needed(words, "-b")
    utility = needed(words, "-u")
    if words or mode not in ("2", "3") or utility != "4" or not 0 < int(bandwidth) < 100:
        refuse("needs -d -i -m 2|3 -r -s -c -p -b -u 4")
    port = nics.port(interface)
    # PFC and global pause exclude each other.
    port["pause"] = "off"
    port["app"] = {roce_dscp: roce_priority}
    # Mode 2 sets congestion control alone.
    port["pfc"] = [int(str(priority) == roce_priority and mode == "3") for priority in range(8)]
    kernel = HOME / "sys/kernel/config"
    values = {"roce_dscp": roce_dscp, "roce_prio": roce_priority, "cnp_dscp": cnp_dscp, "cnp_prio": cnp_priority}
    values |= {"ecn_marking": "1", "ecn_enable": "1", "disable_prio_vlan_tx": "1", "cc_mode": "1"}
    congestion_control = kernel / "bnxt_re" / device / "ports/1/cc"
    for name, value in values.items():
        (congestion_control / name).write_text(f"{int(value):#x}\n")
    connection_manager = kernel / "rdma_cm" / device / "ports/1"
    (connection_manager / "default_roce_mode").write_text("RoCE v2\n")
    (connection_manager / "default_roce_tos").write_text(f"{int(roce_dscp) << 2}\n")
    nics.changed()


def dcb(words: list[str], nics: "Nics") -> None:
    """Broadcom and Intel: iproute2's tool for DCB."""
    # `-N` asks for numbers in place of names, and there are only numbers here.
    words = [word for word in words if word != "-N"]
    what, verb, _, name, *rest = words
    port = nics.port(name)
    if (what, verb) == ("pfc", "show"):
        states = [f"{priority}:on" if bit else f"{priority}:off" for priority, bit in enumerate(port["pfc"])]
        print("pfc-cap 8 macsec-bypass off delay 0")
        print("prio-pfc " + " ".join(states))
    elif what == "app":
        dcb_app(port, verb, rest, nics)
    elif (what, verb, rest[0]) == ("pfc", "set", "prio-pfc"):
        for word in rest[1:]:
            which, state = word.split(":")
            priorities = range(8) if which == "all" else [int(which)]
            for priority in priorities:
                port["pfc"][priority] = int(state == "on")
        nics.changed()
    else:
        refuse("unknown call")


def dcb_app(port: dict[str, Any], verb: str, rest: list[str], nics: "Nics") -> None:
    """Print or change the map of code points."""
    if verb == "show":
        print("dscp-prio " + " ".join(f"{dscp}:{priority}" for dscp, priority in port["app"].items()))
        return
    dscp, priority = rest[1].split(":")
    if rest[0] != "dscp-prio" or (verb == "add" and (port["lldp"] == "on" or dscp in port["app"])):
        refuse("already mapped, or the firmware manages DCB")
    if verb == "del" and port["app"].pop(dscp, None) != priority:
        refuse("no such entry")
    if verb in {"add", "replace"}:
        port["app"][dscp] = priority
    nics.changed()


def devlink(words: list[str], nics: "Nics") -> None:
    """Intel: parameters of the driver."""
    _, _, verb, device, _, name, *rest = words
    held = nics.ports.setdefault(f"devlink {device}", {"enable_iwarp": "true", "enable_roce": "false"})
    if (words[:2], words[4]) != (["dev", "param"], "name") or name not in held:
        refuse("unknown parameter")
    if verb == "show":
        print(f"{device}:\n  name {name} type generic\n    values:\n      cmode runtime value {held[name]}")
        return
    sets_value = (rest[0], rest[2:]) == ("value", ["cmode", "runtime"])
    if not sets_value or [*held.values(), rest[1]].count("true") > 1:
        refuse("iWARP and RoCE exclude each other")
    held[name] = rest[1]
    nics.changed()


FIRMWARE = {
    "LINK_TYPE_P1": ["ETH(2)", "ETH(2)"],
    "ROCE_CC_PRIO_MASK_P1": ["255", "8"],
    "CNP_DSCP_P1": ["0", "0"],
    "CNP_802P_PRIO_P1": ["6", "6"],
}


ACCELERATIONS = ("roce_adp_retrans", "roce_tx_window", "roce_slow_restart")


def mlxreg(words: list[str], nics: "Nics") -> None:
    """NVIDIA: the register by which RoCE tolerates losses."""
    device = option(words, "-d")
    register = option(words, "--reg_name")
    setting = option(words, "--set")
    has_device = (HOME / "sys/devices" / (device or "-")).is_dir()
    other_words = ["--yes"]
    if setting is None:
        other_words.append("--get")
    if register != "ROCE_ACCL" or not has_device or words != other_words:
        refuse("needs -d DEVICE --yes --reg_name ROCE_ACCL and --get or --set")
    fields = nics.ports.setdefault(f"accelerations {device}", {f"{name}_en": 0 for name in ACCELERATIONS})
    if setting is not None:
        field, _, value = setting.partition("=")
        if field not in fields:
            refuse("unknown field")
        fields[field] = int(value, 16)
        nics.changed()
    print("Sending access register...\n\nField Name | Data\n============================")
    for name in ACCELERATIONS:
        print(f"{name}_field_select                          | 0x00000001")
    for field, number in fields.items():
        print(f"{field:<46} | {number:#010x}")


def mlxconfig(words: list[str], nics: "Nics") -> None:
    """NVIDIA: the settings of the firmware, which are only read."""
    device = option(words, "-d")
    if words != ["-e", "query"] or not (HOME / "sys/devices" / (device or "-")).is_dir():
        refuse("needs -d DEVICE -e query; nothing else may be called")
    print("\nDevice #1:\n----------\n\nDevice type:    ConnectX7\n")
    print("Configurations:                              Default         Current         Next Boot")
    for name, (current, next_boot) in nics.ports.get(f"firmware {device}", FIRMWARE).items():
        star = "*" if current != next_boot else " "
        print(f"{star}        {name:<36}{current:<16}{current:<16}{next_boot:<16}")
    print("The '*' shows parameters with next value different from default/current value.")


NEW_CARD = {"pause": False, "type": "PCP", "dscp": [0] * 64, "no_drop": [], "schedule": {"0": ["DWRR", "0", "N/A"]}}


class Cards:
    """AMD cards as nicctl shows them: every card of the node in one answer, its port named by a long id."""

    def __init__(self, nics: Nics) -> None:
        self.nics = nics
        self.names = {path.name: path for path in sorted((HOME / "sys/devices").iterdir())}

    def card(self, pci: str) -> dict[str, Any]:
        """Return what a card holds."""
        return self.nics.ports.setdefault(f"card {pci}", json.loads(json.dumps(NEW_CARD)))

    def of_port(self, port: str) -> dict[str, Any]:
        """Return the card with the port of an id."""
        for pci in self.names:
            if self.port_id(pci) == port:
                return self.card(pci)
        return refuse("Invalid UUID")

    @staticmethod
    def port_id(pci: str) -> str:
        """Return the long id of a card's port."""
        return f"04908130-{pci[5:7]}a0-4242-4242-000011010000"

    def head(self, pci: str) -> None:
        """Print the head of a card."""
        print(f"\nNIC  : 42424650-4c32-3531-3230-30344300000{pci[5]}  ({pci})\n")

    def show_port(self) -> None:
        """Print the ports."""
        for pci in self.names:
            card = self.card(pci)
            self.head(pci)
            print(f"Port : {self.port_id(pci)} (eth1/1)\n  Spec:")
            print(f"    Pause type                               : {'PFC' if card['pause'] else 'LINK'}")
            state = "enabled" if card["pause"] else "disabled"
            for direction in ("TX", "RX"):
                print(f"    {direction} pause                                 : {state}")
            print("-" * 80)

    def show_qos(self) -> None:
        """Print classification, PFC and scheduling."""
        for pci in self.names:
            card = self.card(pci)
            self.head(pci)
            print(
                f"Port : {self.port_id(pci)}\n\n  Classification type         : {card['type']}\n\n  DSCP-to-priority :"
            )
            for priority in sorted(set(card["dscp"])):
                members = [dscp for dscp in range(64) if card["dscp"][dscp] == priority]
                bitmap = sum(1 << dscp for dscp in members)
                print(f"    DSCP bitmap               : {bitmap:#018x} ==> priority : {priority}")
            for priority in sorted(set(card["dscp"])):
                members = [dscp for dscp in range(64) if card["dscp"][dscp] == priority]
                print(f"    DSCP                      : {spans(members)} ==> priority : {priority}")
            no_drop_bitmap = sum(1 << priority for priority in card["no_drop"])
            print(f"\n\n  PFC :\n    PFC priority bitmap       : {no_drop_bitmap:#x}")
            print(f"    PFC no-drop priorities    : {','.join(map(str, sorted(card['no_drop'])))}\n\n  Scheduling :")
            print("    Priority  Scheduling  Bandwidth Rate-limit\n              Type        (in %age) (in Gbps)")
            for priority, (kind, share, limit) in sorted(card["schedule"].items()):
                print(f"    {priority:<10}{kind:<12}{share:<10}{limit}")

    def update_qos(self, what: str, words: list[str]) -> None:
        """Change the QoS of a port."""
        card = self.of_port(needed(words, "-p"))
        values = {name: needed(words, f"--{name}") for name in QOS[what]}
        if words or card["type"] != "DSCP":
            refuse("needs -p PORT and every option, with classification by DSCP")
        if what == "dscp-to-priority":
            card["dscp"][int(values["dscp"])] = int(values["priority"])
        elif what == "pfc":
            no_drop = {*card["no_drop"], int(values["priority"])}
            if values["no-drop"] == "disable":
                no_drop.remove(int(values["priority"]))
            card["no_drop"] = sorted(no_drop)
        else:
            self.set_schedule(card, values)

    @staticmethod
    def set_schedule(card: dict[str, Any], values: dict[str, str]) -> None:
        """Schedule the listed priorities: strictly with a rate limit, or by a share of the bandwidth."""
        priorities = values["priority"].split(",")
        shares = values["dwrr"].split(",")
        limits = values["rate-limit"].split(",")
        card["schedule"] = {}
        for priority, share, limit in zip(priorities, shares, limits, strict=True):
            card["schedule"][priority] = ["DWRR", share, "N/A"]
            if limit != "0":
                card["schedule"][priority] = ["strict", "N/A", limit]
        if sum(int(share) for share in shares) != 100:
            refuse("bandwidth must be 100 together")


QOS = {
    "dscp-to-priority": ("dscp", "priority"),
    "pfc": ("priority", "no-drop"),
    "scheduling": ("priority", "dwrr", "rate-limit"),
}


def spans(numbers: list[int]) -> str:
    """Return numbers as runs: 0-2, 5."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    texts = []
    for run in runs:
        first = run[0]
        last = run[-1]
        texts.append(str(first) if first == last else f"{first}-{last}")
    return ", ".join(texts)


def nicctl(words: list[str], nics: "Nics") -> None:
    """AMD: ports and QoS of the cards."""
    cards = Cards(nics)
    verb, what, *rest = words
    if (verb, what, rest) == ("show", "port", []):
        cards.show_port()
    elif (verb, what, rest) == ("show", "qos", []):
        cards.show_qos()
    elif what == "dcqcn":
        nicctl_dcqcn(verb, rest, nics)
    elif verb == "update":
        nicctl_update(cards, what, rest)
    else:
        refuse("unknown call")
    if verb == "update":
        nics.changed()


def nicctl_update(cards: Cards, what: str, words: list[str]) -> None:
    """AMD: change the pauses of a port, the classification of all cards, or the QoS of a port."""
    if what == "port":
        card = cards.of_port(needed(words, "-p"))
        pause = [needed(words, f"--{name}") for name in ("pause-type", "rx-pause", "tx-pause")]
        if words or pause not in (["pfc", "enable", "enable"], ["link", "disable", "disable"]):
            refuse("needs all of the pause options")
        card["pause"] = pause[0] == "pfc"
    elif what == "qos" and words[:1] == ["--classification-type"]:
        types = {"dscp": "DSCP", "pcp": "PCP"}
        for pci in cards.names:
            if words[1] not in types:
                refuse("bad classification")
            cards.card(pci)["type"] = types[words[1]]
    elif what == "qos" and words and words[0] in QOS:
        cards.update_qos(words[0], words[1:])
    else:
        refuse("unknown call")


def nicctl_dcqcn(verb: str, words: list[str], nics: "Nics") -> None:
    """AMD: the DCQCN profile of an RDMA device."""
    profile = option(words, "-i")
    device = option(words, "-r")
    dscp = option(words, "--cnp-dscp")
    if words or profile != "1" or not (HOME / "sys/class/infiniband" / (device or "-")).is_dir():
        refuse("needs -r DEVICE -i 1")
    held = nics.ports.setdefault(f"dcqcn {device}", {"status": "Disabled", "cnp": "0"})
    if verb == "show":
        print(f"ROCE device                                : {device}\n DCQCN profile id                         : 1")
        print(f" Status                                   : {held['status']}")
        print(f" DSCP value used for CNP                  : {held['cnp']}")
    else:
        held |= {"status": "Enabled", "cnp": dscp}


def main() -> None:
    """Act as the tool by whose name this program was called."""
    tool = Path(sys.argv[0]).name
    refused = HELD / "refuse"
    if refused.exists() and refused.read_text().strip() == tool:
        refuse("out of order")
    words = sys.argv[1:]
    nics = Nics()
    if tool == "cma_roce_mode":
        cma(words, nics, "mode", "1", "-m", lambda mode: "RoCE v2" if mode == "2" else "IB/RoCE v1")
    elif tool == "cma_roce_tos":
        cma(words, nics, "tos", "0", "-t", str)
    else:
        tools = {"mlnx_qos": mlnx_qos, "ethtool": ethtool, "bnxt_setupcc.sh": bnxt_setupcc, "dcb": dcb}
        tools |= {"mlxconfig": mlxconfig, "mlxreg": mlxreg, "nicctl": nicctl, "devlink": devlink}
        tools[tool](words, nics)


if __name__ == "__main__":
    main()
