#!/usr/bin/env python3
"""Read what this GPU node is set to, and print it as one JSON object; nothing is changed.

    railweave_facts.py --document rails.json              everything
    railweave_facts.py --document rails.json --firmware   what of the NICs' firmware does not fit

Runs beside the node's own program, whose way of reading it uses. What cannot be read is left out, with the reason
under ``problems``. Standard library only; Python 3.9 and later.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import railweave_host as node

NCCL_FILE = "/etc/nccl.conf"


def facts(machine: node.Machine, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the interfaces of ``document``, their rules, the kernel's settings and NCCL's, as they are."""
    machine.look_again()
    problems: list[node.Problem] = []
    links = _asked(lambda: machine.ip("address", "show"), "ip address", problems) or []
    rules = {
        family: _asked(lambda family=family: machine.ip(f"-{family}", "rule", "show"), "ip rule", problems)
        for family in (4, 6)
    }
    routes = {
        family: _asked(lambda family=family: list(node.routes(machine, family)), "ip route", problems)
        for family in (4, 6)
    }
    interfaces = {}
    for port in document["interfaces"]:
        link = next((one for one in links if one.get("ifname") == port["name"]), None)
        if link is None:
            problems.append(node.Problem(port["name"], "network", f"there is no interface {port['name']}"))
        else:
            interfaces[port["name"]] = {
                **dict(_of_link(machine, link)),
                **{
                    _key(part, "rules"): [
                        _rule(one) for one in rules[part["family"]] if one["src"] in _sources(link, part)
                    ]
                    for part in node.families(port)
                    if rules[part["family"]] is not None
                },
                **{
                    _key(part, "routes"): list(_routes_of(port["name"], routes[part["family"]]))
                    for part in node.families(port)
                    if routes[part["family"]] is not None
                },
                **{_key(part, "addresses"): node.addresses(link, part["family"]) for part in node.families(port)},
                "settings": dict(_settings(machine, document, port, problems)),
            }
    kernel = {key: machine.read("/proc/sys/" + key.replace(".", "/")).strip() for key in document["sysctl"]}
    nccl = dict(_assignments(machine.read(NCCL_FILE)))
    return {
        "interfaces": interfaces,
        "sysctl": kernel,
        "nccl": nccl,
        "problems": [one._asdict() for one in problems],
    }


def _asked(ask: Any, what: str, problems: list[node.Problem]) -> Any:
    """Return an answer, None where there was none: nothing was read, which is not that there is nothing."""
    try:
        return ask()
    except node.FaultError as fault:
        problems.append(node.Problem("", what, str(fault)))
    except node.OTHER_FORM as error:
        problems.append(node.Problem("", what, node.other_form(error)))
    return None


def _key(part: Mapping[str, Any], name: str) -> str:
    return name if part["family"] == 4 else f"ipv6_{name}"


def _sources(link: Mapping[str, Any], part: Mapping[str, Any]) -> list[str]:
    return [one.split("/")[0] for one in node.addresses(link, part["family"])]


def _rule(rule: Mapping[str, Any]) -> dict[str, str]:
    table = str(rule.get("table", "254")).replace("main", "254")
    return {"from": str(rule["src"]), "table": table, "priority": str(rule["priority"])}


def _routes_of(interface: str, routes: Sequence[tuple[tuple[str, str, int], Mapping[str, Any]]]) -> Iterator[Any]:
    """Yield the routes that leave by an interface, without those that Linux itself adds for its addresses."""
    for (destination, table, metric), route in routes:
        if route.get("dev") == interface and route.get("gateway"):
            found = {"to": destination, "via": route["gateway"], "table": table, "metric": metric}
            size = node.route_mtu(route)
            if size is not None:
                found["mtu"] = size
            if route.get("prefsrc"):
                found["src"] = route["prefsrc"]
            yield found


def _of_link(machine: node.Machine, link: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what Linux itself knows of an interface; tools that are missing leave their part out."""
    name = link["ifname"]
    yield "mtu", link["mtu"]
    yield "state", "up" if "UP" in link["flags"] else "down"
    base = f"/sys/class/net/{name}"
    for key, path in (
        ("speed_mbps", "speed"),
        ("pcie_speed", "device/current_link_speed"),
        ("pcie_width", "device/current_link_width"),
    ):
        text = machine.read(f"{base}/{path}").strip()
        if text and text != "-1":
            yield key, text
    for key, command, pattern in (
        ("autoneg", ("ethtool", name), r"^\s*Auto-negotiation:\s*(\w+)"),
        ("fec", ("ethtool", "--show-fec", name), r"^\s*Active FEC encodings?:\s*(\w+)"),
    ):
        found = re.search(pattern, _said(machine, command), re.MULTILINE)
        if found:
            yield key, found.group(1)


def _said(machine: node.Machine, command: Sequence[str]) -> str:
    try:
        return machine.ask(command)
    except node.FaultError:
        return ""


def _settings(
    machine: node.Machine, document: Mapping[str, Any], port: Mapping[str, Any], problems: list[node.Problem]
) -> Iterator[tuple[str, Any]]:
    """Yield what the vendor's tools tell of a NIC, by the names of the document's reads."""
    steps = document["nic"]["steps"]
    if not steps:
        return
    try:
        names = node.nic_names(machine, document, port["name"], machine.rdma_device(port["name"]))
    except node.FaultError as fault:
        problems.append(node.Problem(port["name"], "nic", str(fault)))
        return
    for read in (each for step in steps for each in step["reads"]):
        try:
            yield read["what"], node.read_setting(machine, read, names)
        except node.FaultError as fault:
            problems.append(node.Problem(port["name"], read["what"], str(fault)))


def firmware(machine: node.Machine, document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the firmware settings that do not fit. They take a restart, so a person makes them."""
    machine.look_again()
    query = document["nic"].get("firmware_query") or []
    for port in document["interfaces"] if query else ():
        name, pci = port["name"], machine.pci_address(port["name"])
        if not pci:
            continue
        try:
            held = _firmware_values(machine.ask([word.replace("{pci}", pci) for word in query]))
        except node.FaultError as fault:
            yield {"subject": name, "what": "firmware", "pending": False, "text": f"not read: {fault}"}
            continue
        for setting in document["nic"]["firmware"]:
            pattern, _, wanted = setting.partition("=")
            key = _of_port(pattern, pci, held)
            current, after_restart = held.get(key, ("", ""))
            if (current, after_restart) != (wanted, wanted):
                text = _firmware_text((current, after_restart), wanted, document["nic"]["firmware_set"], key)
                pending = after_restart == wanted
                yield {"subject": name, "what": key, "pending": pending, "text": text.replace("{pci}", pci)}


def _of_port(pattern: str, pci: str, held: Mapping[str, Any]) -> str:
    """Return the name of a setting of the port behind a PCI function: a card's second port is its second function, and
    a second function of a card with one port (socket direct) has that port's settings."""
    own = pattern.replace("{port}", str(int(pci.rpartition(".")[2], 16) + 1))
    return own if own in held else pattern.replace("{port}", "1")


def _firmware_values(text: str) -> dict[str, tuple[str, str]]:
    """Return the current value and that of the next start of each setting; of `ETH(2)` the number counts."""
    found = re.findall(r"^\*?[ \t]*([A-Z0-9_]+)[ \t]+\S+[ \t]+(\S+)[ \t]+(\S+)[ \t]*$", text, re.MULTILINE)
    return {name: (_value(current), _value(after_restart)) for name, current, after_restart in found}


def _value(text: str) -> str:
    number = re.search(r"\((\w+)\)$", text)
    return number.group(1) if number else text


def _firmware_text(held: tuple[str, str], wanted: str, command: str, key: str) -> str:
    current, after_restart = held
    if not current:
        return f"this firmware has no {key}"
    if after_restart == wanted:
        return f"{current} until the NIC restarts, {wanted} then: a restart is pending"
    return f"{current}, and {wanted} fits: `{command} {key}={wanted}`, then a restart"


def _assignments(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if equals and not key.lstrip().startswith("#"):
            yield key.strip(), value.strip()


def main(words: Sequence[str] | None = None) -> int:
    """Print the facts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--document", default=node.DOCUMENT, metavar="FILE")
    parser.add_argument("--root", default="", metavar="DIR")
    parser.add_argument("--firmware", action="store_true")
    chosen = parser.parse_args(words)
    with open(chosen.document, encoding="utf-8") as file:
        document = json.load(file)
    machine = node.Machine(chosen.root)
    print(json.dumps({"notes": list(firmware(machine, document))} if chosen.firmware else facts(machine, document)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
