#!/usr/bin/env python3
"""Bring this GPU node in line with /etc/railweave/rails.json, and read every setting back.

    railweave-host check     print what differs; exit status 2 where something does
    railweave-host apply     set what differs and read it back; exit status 1 where it does not hold

``--json`` prints a document for programs, ``--document FILE`` reads another file, ``--root DIR`` looks for /sys below
DIR. Success is what is read back, never what a tool says. Standard library only; Python 3.9 and later.
"""

from __future__ import annotations

import argparse
import errno
import fcntl
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    Value = str | dict[str, str]

DOCUMENT = "/etc/railweave/rails.json"
LOCK = "/run/railweave-host.lock"
LOCK_TIMEOUT_S = 120
COMMAND_TIMEOUT_S = 60
ROUNDS = 3
"""A tool may undo what another one set (bnxt_setupcc.sh clears DCB application entries), so a second round mends."""


OTHER_FORM = (AttributeError, KeyError, TypeError, ValueError)
"""What reading raises where an answer is of another form: null, of another kind, or without a part."""

_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ENODEV, errno.ENXIO, errno.EOPNOTSUPP)
"""Why a kernel file cannot be read where the driver does not have it."""


class FaultError(Exception):
    """A setting that cannot be read or set."""


def other_form(error: Exception) -> str:
    """Return in words that an answer is of another form."""
    return f"what it is read from is of another form ({type(error).__name__}: {error})"


class Action(NamedTuple):
    """A command to run, or a text to write into a file; ``folder`` is a configfs folder that must exist for it."""

    command: list[str] | None = None
    path: str = ""
    text: str = ""
    folder: str = ""


class Difference(NamedTuple):
    """A setting that is not as wanted, and the actions that make it so."""

    subject: str
    what: str
    before: str
    after: str
    actions: tuple[Action, ...]


class Problem(NamedTuple):
    """A setting that could not be read, could not be set, or does not hold."""

    subject: str
    what: str
    message: str


class Machine:
    """The node: commands, kernel files below ``root``, and what one look at them found."""

    def __init__(self, root: str = "") -> None:
        self.root = root.rstrip("/")
        self._seen: dict[tuple[str, ...], str] = {}

    def look_again(self) -> None:
        """Forget what was read."""
        self._seen.clear()

    def run(self, command: Sequence[str]) -> str:
        """Return what a command prints."""
        try:
            done = subprocess.run(list(command), capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S, check=False)
        except FileNotFoundError:
            raise FaultError(f"{command[0]} is not installed") from None
        except subprocess.TimeoutExpired:
            raise FaultError(f"`{' '.join(command)}` did not end within {COMMAND_TIMEOUT_S} s") from None
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines()
            raise FaultError(f"`{' '.join(command)}`: {said[-1] if said else f'status {done.returncode}'}")
        return done.stdout

    def ask(self, command: Sequence[str]) -> str:
        """Return what a command that changes nothing prints; asked once until ``look_again``."""
        key = tuple(command)
        if key not in self._seen:
            self._seen[key] = self.run(command)
        return self._seen[key]

    def ip(self, *words: str) -> list[dict[str, Any]]:
        """Return the answer of ``ip -j``."""
        found = json.loads(self.ask(("ip", "-j", "-N", *words)) or "[]")
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            raise FaultError(f"`ip {' '.join(words)}` printed no list of objects")
        return found

    def read(self, path: str, made: str = "") -> str:
        """Return a kernel file's text, empty where there is none. ``made`` is a configfs folder that must exist."""
        try:
            return self.setting(path, made)
        except FaultError:
            return ""

    def setting(self, path: str, made: str = "") -> str:
        """Return a kernel file's text, empty where the driver does not have it; raises FaultError where it cannot be
        read."""
        try:
            with self._folder(made), open(self._place(path), encoding="utf-8") as file:
                return file.read()
        except OSError as fault:
            if fault.errno in _NOT_THERE:
                return ""
            raise FaultError(f"{path}: {fault.strerror}") from None

    def act(self, action: Action) -> None:
        """Carry out an action."""
        if action.command is not None:
            self.run(action.command)
            return
        try:
            with self._folder(action.folder), open(self._place(action.path), "w", encoding="utf-8") as file:
                file.write(action.text)
        except OSError as fault:
            raise FaultError(f"{action.path}: {fault.strerror}") from None

    def rdma_device(self, interface: str) -> str:
        """Return the RDMA device of an interface, such as ``mlx5_0``."""
        try:
            return min(os.listdir(self._place(f"/sys/class/net/{interface}/device/infiniband")))
        except (OSError, ValueError):
            raise FaultError(f"{interface} has no RDMA device; is the NIC's driver loaded?") from None

    def pci_address(self, interface: str) -> str:
        """Return the PCI address of an interface, such as ``0000:1a:00.0``; empty where it has none."""
        place = os.path.basename(os.path.realpath(self._place(f"/sys/class/net/{interface}/device")))
        return place if place.count(":") == 2 else ""

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep the unit, a person and a change through the network apart; raises FaultError where it takes too long."""
        place = self._place(LOCK)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        deadline = time.monotonic() + LOCK_TIMEOUT_S
        with open(place, "a", encoding="utf-8") as file:
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise FaultError(f"another run holds {LOCK} for more than {LOCK_TIMEOUT_S} s") from None
                    time.sleep(0.2)
            yield

    @contextmanager
    def _folder(self, path: str) -> Iterator[None]:
        """Make a configfs folder for a while, where it is not there."""
        folder = self._place(path) if path else ""
        make = bool(folder) and not os.path.isdir(folder)
        if make:
            os.mkdir(folder)
        try:
            yield
        finally:
            if make:
                os.rmdir(folder)

    def _place(self, path: str) -> str:
        # /proc/sys/net belongs to the network namespace, which a folder cannot stand for.
        return path if path.startswith("/proc/") else self.root + path


def differences(machine: Machine, document: Mapping[str, Any]) -> tuple[list[Difference], list[Problem]]:
    """Return what differs from the document, in the order in which it is set, and what could not be read."""
    found: list[Difference] = []
    problems: list[Problem] = []
    for port in document["interfaces"]:
        for what, look in (("network", _network), ("nic", _nic)):
            try:
                found.extend(look(machine, document, port))
            except FaultError as fault:
                problems.append(Problem(port["name"], what, str(fault)))
            except OTHER_FORM as error:
                problems.append(Problem(port["name"], what, other_form(error)))
    try:
        found.extend(_sysctl(machine, document))
    except FaultError as fault:
        problems.append(Problem("sysctl", "sysctl", str(fault)))
    return found, problems


def _network(machine: Machine, document: Mapping[str, Any], port: Mapping[str, Any]) -> Iterator[Difference]:
    name = port["name"]
    link = next((one for one in machine.ip("address", "show") if one.get("ifname") == name), None)
    if link is None:
        raise FaultError(f"there is no interface {name}; pin its name by nics.pci_addresses of the intent")
    set_link = ["ip", "link", "set", "dev", name]
    if link["mtu"] != port["mtu"]:
        actions = (Action([*set_link, "mtu", str(port["mtu"])]),)
        yield Difference(name, "mtu", str(link["mtu"]), str(port["mtu"]), actions)
    held, wanted = "up" if "UP" in link["flags"] else "down", port.get("state", "up")
    if held != wanted:
        yield Difference(name, "state", held, wanted, (Action([*set_link, wanted]),))
    for part in families(port):
        yield from _addresses(link, part)
        yield from _routes(machine, part)
        yield from _rules(machine, part)


OF_A_FAMILY = ("address", "addresses", "rules", "routes", "gone")
"""What a port has of each family: of IPv4 as its own keys, of IPv6 below ``ipv6``."""


def families(port: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a port once for each family of addresses that it has, each with that family's address and routes."""
    shared = {key: value for key, value in port.items() if key not in OF_A_FAMILY and key != "ipv6"}
    held = {4: port if port.get("address") else {}, 6: port.get("ipv6") or {}}
    return [
        {**shared, **{key: values[key] for key in OF_A_FAMILY if key in values}, "family": family}
        for family, values in held.items()
        if values
    ]


def _what(part: Mapping[str, Any], what: str) -> str:
    return what if part["family"] == 4 else f"IPv6 {what}"


def _ip(part: Mapping[str, Any]) -> list[str]:
    return ["ip"] if part["family"] == 4 else ["ip", "-6"]


def _addresses(link: Mapping[str, Any], port: Mapping[str, Any]) -> Iterator[Difference]:
    name, held, wanted = port["name"], addresses(link, port["family"]), port.get("addresses", [port["address"]])
    if sorted(held) != sorted(wanted):
        actions = [Action(["ip", "address", "del", one, "dev", name]) for one in held if one not in wanted]
        actions += [Action(["ip", "address", "add", one, "dev", name]) for one in wanted if one not in held]
        yield Difference(name, _what(port, "address"), " ".join(held), " ".join(wanted), tuple(actions))


def addresses(link: Mapping[str, Any], family: int = 4) -> list[str]:
    """Return the addresses of an interface with their lengths; link-local ones are the kernel's own."""
    word = "inet" if family == 4 else "inet6"
    found = [f"{one['local']}/{one['prefixlen']}" for one in link["addr_info"] if one["family"] == word]
    return [one for one in found if not one.startswith("fe80:")]


def _routes(machine: Machine, port: Mapping[str, Any]) -> Iterator[Difference]:
    """A rail's own table holds nothing but its routes; of the main table only routes of the same metric are ours."""
    name, own = port["name"], str(port["table"])
    every = list(routes(machine, port["family"]))
    for wanted in port["routes"]:
        table, metric = str(wanted["table"]), wanted.get("metric", 0)
        held = [one for key, one in every if key == route_key(wanted) and _is_unicast(one)]
        hop = (wanted.get("via"), wanted.get("dev", name), wanted.get("mtu"), wanted.get("src"))
        if [_hop_of(one, "src" in wanted) for one in held] != [hop]:
            way = [*(["via", wanted["via"]] if wanted.get("via") else []), "dev", hop[1]]
            way += ["src", wanted["src"]] if wanted.get("src") else []
            way += ["mtu", str(wanted["mtu"])] if wanted.get("mtu") else []
            words = [wanted["to"], *way, "table", table]
            words += ["metric", str(metric)] if metric else []
            what, after = _what(port, f"route {wanted['to']} table {table}"), " ".join(way)
            replace = Action([*_ip(port), "route", "replace", *words])
            yield Difference(name, what, " ".join(map(_hop, held)), after, (replace,))
    ours, gone = {route_key(wanted) for wanted in port["routes"]}, {tuple(key) for key in port.get("gone", ())}
    for key, one in every:
        if key not in ours and (key[1] == own or (key in gone and one.get("dev") == name)):
            metric = ["metric", str(key[2])] if key[2] else []
            remove = Action([*_ip(port), "route", "del", one["dst"], "table", key[1], *metric])
            yield Difference(name, _what(port, f"route {one['dst']} table {key[1]}"), _hop(one), "", (remove,))


def routes(machine: Machine, family: int = 4) -> Iterator[tuple[tuple[str, str, int], dict[str, Any]]]:
    """Yield all routes of a family by destination, table and metric."""
    for one in machine.ip(f"-{family}", "route", "show", "table", "all"):
        yield (one["dst"], _table(one), one.get("metric", 0)), one


def route_key(wanted: Mapping[str, Any]) -> tuple[str, str, int]:
    """Return what a route of a document replaces: the destination, table and metric."""
    return wanted["to"], str(wanted["table"]), wanted.get("metric", 0)


def _hop_of(route: Mapping[str, Any], with_source: bool) -> tuple[Any, ...]:
    source = route.get("prefsrc") if with_source else None
    return route.get("gateway"), route.get("dev"), route_mtu(route), source


def _hop(route: Mapping[str, Any]) -> str:
    size, source = route_mtu(route), route.get("prefsrc")
    way = f"via {route.get('gateway')} dev {route.get('dev')}" + (f" src {source}" if source else "")
    return way + (f" mtu {size}" if size else "")


def route_mtu(route: Mapping[str, Any]) -> int | None:
    """Return the largest packet that a route lets through, None where its interface decides."""
    return next((one["mtu"] for one in route.get("metrics", ()) if one.get("mtu")), None)


def _is_unicast(route: Mapping[str, Any]) -> bool:
    return route.get("type", "unicast") in ("unicast", "1")


def _table(entry: Mapping[str, Any]) -> str:
    return str(entry.get("table", "254")).replace("main", "254")


def _rules(machine: Machine, port: Mapping[str, Any]) -> Iterator[Difference]:
    """Exactly one rule sends what leaves with the rail's address to the rail's table."""
    source, table = port["address"].split("/")[0], str(port["table"])
    held = rules(machine, port)
    wanted = [tuple(one) for one in port.get("rules", [(port["rule_priority"], source, table)])]
    if held != wanted:
        actions = [
            Action([*_ip(port), "rule", verb, "priority", str(at), "from", origin, "table", target])
            for verb, those in (("del", held), ("add", wanted))
            for at, origin, target in those
        ]
        before, after = (" ".join(f"{at}: from {a} table {b}" for at, a, b in those) for those in (held, wanted))
        yield Difference(port["name"], _what(port, "rule"), before, after, tuple(actions))


def rules(machine: Machine, port: Mapping[str, Any]) -> list[tuple[int, str, str]]:
    """Return the rules of a rail's address or table, of the port's family: priority, source, table."""
    source, table = port["address"].split("/")[0], str(port["table"])
    return [
        (one["priority"], f"{one['src']}/{one['srclen']}" if one.get("srclen") else one["src"], _table(one))
        for one in machine.ip(f"-{port['family']}", "rule", "show")
        if one["src"] == source or _table(one) == table
    ]


def _sysctl(machine: Machine, document: Mapping[str, Any]) -> Iterator[Difference]:
    for key, wanted in document["sysctl"].items():
        path = "/proc/sys/" + key.replace(".", "/")
        held = machine.setting(path).strip()
        if held != wanted:
            yield Difference("sysctl", key, held, wanted, (Action(path=path, text=wanted),))


def _nic(machine: Machine, document: Mapping[str, Any], port: Mapping[str, Any]) -> Iterator[Difference]:
    steps = port.get("steps", document["nic"]["steps"])  # those of a snapshot are a port's own
    if not steps:
        return
    device = machine.rdma_device(port["name"])
    if port["rdma"] and device != port["rdma"]:
        raise FaultError(
            f"the RDMA device of {port['name']} is {device}, and NCCL_IB_HCA names {port['rdma']};"
            " state nics.rdma_devices in the intent"
        )
    names = nic_names(machine, document, port["name"], device)
    for step in steps:
        yield from _step(machine, step, names)


def nic_names(machine: Machine, document: Mapping[str, Any], interface: str, device: str) -> dict[str, str]:
    """Return what the names in a NIC's steps stand for on this node; raises FaultError where one is not found."""
    names = {"{interface}": interface, "{rdma}": device, "{pci}": machine.pci_address(interface)}
    for name, read in document["nic"].get("names", {}).items():
        found = read_setting(machine, read, names)
        if not isinstance(found, str) or not found:
            raise FaultError(f"`{' '.join(read['command'])}` does not show {interface} ({names['{pci}']})")
        names[name] = found
    return names


def _step(machine: Machine, step: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[Difference]:
    """Settings that one tool sets together: all are read, and where any differs the tool is called."""
    held = {read["what"]: read_setting(machine, read, names) for read in step["reads"]}
    off = [read for read in step["reads"] if not _holds(read, held[read["what"]])]
    for number, read in enumerate(off):
        own = held[read["what"]]
        actions = tuple(_actions(step, read, held, names)) if number == 0 or step.get("each") else ()
        before, after = _shown(own, _wanted(read, own))
        yield Difference(names["{interface}"], read["what"], before, after, actions)


def read_setting(machine: Machine, read: Mapping[str, Any], names: Mapping[str, str]) -> Value:
    """Return a setting as it is: a word, a number in decimal, or a map; raises FaultError."""
    if "file" in read:
        path = _filled(read["file"], names)
        text = machine.setting(path, _filled(read.get("folder", ""), names))
        found = _meant(read, text)
        if read.get("optional") and text.strip() and not found:
            raise FaultError(f"{path} holds `{text.strip().splitlines()[0]}`, which says nothing of the setting")
    else:
        found = _meant(read, _section(machine.ask([_filled(word, names) for word in read["command"]]), read, names))
    return found or read.get("default", found)


def _meant(read: Mapping[str, Any], text: str) -> Value:
    if read["kind"] == "map":
        return {_number(key): _number(value) for key, value in re.findall(read["pattern"], text, re.MULTILINE)}
    if read["kind"] == "ranges":
        # `0-23, 25 ==> priority : 0` becomes {0: 0, 1: 0, …}.
        found = re.findall(read["pattern"], text, re.MULTILINE)
        return {str(one): _number(group) for members, group in found for one in _members(members)}
    if read["kind"] == "members":
        return _membership(read, text)
    if read["kind"] == "groups":
        # `prio:3 dscp:31,30,…` becomes {31: 3, 30: 3, …}.
        return {
            _number(member): _number(group)
            for group, members in re.findall(read["pattern"], text)
            for member in re.findall(r"\d+", members)
        }
    match = re.search(read["pattern"], text, re.MULTILINE)
    if match is None:
        return ""
    return _number(match.group(1)) if read["kind"] == "number" else " ".join(match.group(1).split())


def _membership(read: Mapping[str, Any], text: str) -> dict[str, str]:
    """Return for each priority whether it is in the list; nothing where there is no list, which is not an empty one."""
    match = re.search(read["pattern"], text, re.MULTILINE)
    members = _members(match.group(1)) if match else ()
    return {str(one): read["words"][one in members] for one in range(8) if match}


def _section(text: str, read: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """Return the part of an answer that begins with the read's ``section`` and ends where the next one begins."""
    if "section" not in read:
        return text
    first = re.search(f"^{_filled(read['section'], names)}", text, re.MULTILINE)
    if first is None:
        return ""
    head = re.match(r"\w+", first.group(0))
    following = re.search(rf"^{head.group(0) if head else ''}\b", text[first.end() :], re.MULTILINE)
    return text[first.start() : first.end() + following.start()] if following else text[first.start() :]


def _members(text: str) -> list[int]:
    """Return the numbers of ``0-2, 5``."""
    found: list[int] = []
    for first, last in re.findall(r"(\d+)(?:\s*-\s*(\d+))?", text):
        found += range(int(first), int(last or first) + 1)
    return found


def _number(text: str) -> str:
    """Return a number in decimal, whether the tool writes 26, 026 or 0x1a; other words as they are."""
    try:
        return str(int(text, 16) if text.lower().startswith("0x") else int(text))
    except ValueError:
        return text


def _wanted(read: Mapping[str, Any], held: Value) -> Value:
    """Return what is wanted: of a map with ``clear``, that no further key has one of these values; of a map with
    ``at_least``, that its entries are no smaller."""
    want: Value = read.get("want", held)  # a read without it is there for the snapshot
    if isinstance(want, dict) and isinstance(held, dict):
        if read.get("at_least"):
            return {**held, **{key: one for key, one in want.items() if int(held.get(key, "0")) < int(one)}}
        if "clear" in read:
            off = {key: read["rest"] for key, one in held.items() if key not in want and one in read["clear"]}
            return {**want, **off}
    return want


def _holds(read: Mapping[str, Any], held: Value) -> bool:
    """Tell whether a setting is as wanted; a driver that does not have an ``optional`` one cannot be set."""
    want = _wanted(read, held)
    if read.get("optional") and not held:
        return True
    if isinstance(want, dict) and isinstance(held, dict) and "clear" in read:
        return all(held.get(key) == value for key, value in want.items())
    if read.get("is_tos") and isinstance(held, str) and held.isdigit() and isinstance(want, str):
        return int(held) // 4 == int(want) // 4  # the last two bits are ECN's
    return bool(held == want)


def _actions(
    step: Mapping[str, Any], read: Mapping[str, Any], held: Mapping[str, Value], names: Mapping[str, str]
) -> Iterator[Action]:
    """Yield what makes a step's settings as wanted, whatever that is: the intent's values, or those of a snapshot."""
    if not step.get("each"):
        values = {one["what"]: _wanted(one, held[one["what"]]) for one in step["reads"]}
        yield from _filled_actions(step["writes"], {**names, **dict(_written(step, values))})
        return
    own, want = held[read["what"]], _wanted(read, held[read["what"]])
    before = own if isinstance(own, dict) else {}
    for key, value in before.items():
        if isinstance(want, dict) and (want.get(key, value) != value or ("clear" not in read and key not in want)):
            yield from _filled_actions(step.get("removes", ()), {**names, "{key}": key, "{value}": value})
    for key, value in want.items() if isinstance(want, dict) else ():
        if before.get(key) != value:
            yield from _filled_actions(step["writes"], {**names, "{key}": key, "{value}": value})


def _written(step: Mapping[str, Any], values: Mapping[str, Value]) -> Iterator[tuple[str, str]]:
    """Yield ``{=WHAT}``, of a map ``{keys=WHAT}`` and ``{values=WHAT}``, with a value as the tool takes it."""
    for read in step["reads"]:
        what, value = read["what"], values[read["what"]]
        if isinstance(value, dict):
            yield "{keys=" + what + "}", _spelled(read, ",".join(value))
            yield "{values=" + what + "}", _spelled(read, ",".join(value.values()))
        else:
            yield "{=" + what + "}", _spelled(read, value)


def _spelled(read: Mapping[str, Any], text: str) -> str:
    for shown, taken in read.get("spelled", {}).items():
        text = text.replace(shown, taken)
    return text


def _filled_actions(writes: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> Iterator[Action]:
    for write in writes:
        if "{=" in _filled(" ".join(write.get("command", [write.get("text", "")])), names):
            continue  # a snapshot knows no value of a setting that could not be read
        if "file" in write:
            folder = _filled(write.get("folder", ""), names)
            yield Action(path=_filled(write["file"], names), text=_filled(write["text"], names), folder=folder)
        else:
            yield Action([_filled(word, names) for word in write["command"]])


def _filled(text: str, names: Mapping[str, str]) -> str:
    for name, value in names.items():
        text = text.replace(name, value)
    return text


def _shown(held: Value, want: Value) -> tuple[str, str]:
    """Return a setting as it is and as it should be, in a line; of a map only the keys that differ."""
    if not isinstance(want, dict):
        return str(held), want
    known = held if isinstance(held, dict) else {}
    off = [key for key in want if known.get(key) != want[key]]
    before = " ".join(f"{key}:{known[key]}" for key in off if key in known)
    return before, " ".join(f"{key}:{want[key]}" for key in off)


def check(machine: Machine, document: Mapping[str, Any]) -> tuple[list[Difference], list[Problem]]:
    """Return what differs, and what could not be read."""
    machine.look_again()
    return differences(machine, document)


def apply(machine: Machine, document: Mapping[str, Any]) -> tuple[list[Difference], list[Problem]]:
    """Set what differs until nothing does; return what was set, and what does not hold."""
    done: dict[tuple[str, str], Difference] = {}
    failed: dict[tuple[str, str], Problem] = {}
    found, problems = check(machine, document)
    for _ in range(ROUNDS):
        if not found:
            break
        for one in found:
            done.setdefault((one.subject, one.what), one)
            _carry_out(machine, one, failed)
        found, problems = check(machine, document)
    left = [
        failed.get((one.subject, one.what))
        or Problem(one.subject, one.what, f"is {one.before or 'nothing'} after it was set to {one.after}")
        for one in found
    ]
    held = {(one.subject, one.what) for one in found}
    return [one for key, one in done.items() if key not in held], [*problems, *left]


def _carry_out(machine: Machine, one: Difference, failed: dict[tuple[str, str], Problem]) -> None:
    try:
        for action in one.actions:
            machine.act(action)
    except FaultError as fault:
        failed[one.subject, one.what] = Problem(one.subject, one.what, str(fault))


def _print(changes: Sequence[Difference], problems: Sequence[Problem], *, as_json: bool, verb: str) -> None:
    if as_json:
        shown = [one._asdict() for one in changes]
        for each in shown:
            del each["actions"]
        print(json.dumps({"changes": shown, "problems": [one._asdict() for one in problems]}))
        return
    for one in changes:
        print(f"{verb} {one.subject} {one.what}: {one.before or 'nothing'} -> {one.after or 'nothing'}")
    for problem in problems:
        print(f"{problem.subject} {problem.what}: {problem.message}", file=sys.stderr)


def main(words: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=("check", "apply"))
    parser.add_argument("--document", default=DOCUMENT, metavar="FILE")
    parser.add_argument("--root", default="", metavar="DIR")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args(words)
    with open(chosen.document, encoding="utf-8") as file:
        document = json.load(file)
    machine = Machine(chosen.root)
    if chosen.verb == "check":
        changes, problems = check(machine, document)
    else:
        with machine.locked():
            changes, problems = apply(machine, document)
    _print(changes, problems, as_json=chosen.json, verb="differs" if chosen.verb == "check" else "set")
    if problems:
        return 1
    return 2 if chosen.verb == "check" and changes else 0


if __name__ == "__main__":
    sys.exit(main())
