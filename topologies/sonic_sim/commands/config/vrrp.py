"""``config interface vrrp`` and ``vrrp6``: virtual addresses that routers of a segment share (config/main.py)."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

import click

from sonic_sim.commands.click7 import Choice, Group, Range, Run, argument
from sonic_sim.commands.config.interface import interface, name_argument, table_of
from sonic_sim.commands.config.names import interface_table, meant

_KINDS = "[Ethernet/PortChannel/Vlan]"
_MOST, _MOST_OF_INTERFACE, _MOST_ADDRESSES, _MOST_TRACKED = 254, 16, 4, 8


@dataclass(frozen=True, slots=True)
class _Version:
    """VRRP of one version of IP: its table, and how its messages name an instance and an address."""

    table: str
    word: str
    tracked: str
    counted: str
    ip: str
    example: str
    full: str
    """What ends the refusal of one instance more where an address is added."""
    interval: int
    """The default of its interval; that of version 6 is out of range, so it has to be stated."""

    @property
    def family(self) -> str:
        """The version of IP as help names it."""
        return self.ip if self.ip == "IPv6" else "IPv4"

    def key(self, name: str, number: int) -> str:
        """Return the row of an instance."""
        return f"{self.table}|{name}|{number}"


_V4 = _Version("VRRP", "vrrp", "vrrp", "Vrrpv", "IP", "xx.xx.xx.xx/yy or xx:xx::xx/yy", "", 1)
_V6 = _Version("VRRP6", "Vrrpv6", "vrrp6", "Vrrpv6", "IPv6", "xx:xx::xx/yy", ".", 1000)

_number = argument("vrrp_id", metavar="<vrrp_id>", type=Range(1, 255))
_tracked = argument("track_interface", metavar="<track_interface>")


def _routed(one: Run, name: str, *, what: str = "interface_name", known: bool = True) -> None:
    """Refuse what is no interface that routes."""
    # get_interface_table_name gives None for a foreign name with a dot, which is not the empty text that is refused
    table = table_of(name, "get_table") if known else interface_table(name) or ("None" if "." in name else "")
    if table in ("", "LOOPBACK_INTERFACE"):
        one.fail(f"'{what}' is not valid. Valid names {_KINDS}")
    if known and f"{table}|{name}" not in one.db.rows:
        one.fail(f"Router Interface '{name}' not found")


def _check_address(one: Run, text: str) -> None:
    """Abort for an address that no interface can have, or that an instance has."""
    try:
        address = ipaddress.ip_interface(text)
    except ValueError as error:
        _abort(one, f"IP address {text} is not valid: {error}")
    if address.ip == ipaddress.IPv4Address(0):
        _abort(one, f"IPv4 address {address} is Zero")
    if address.version == 6 and address.is_unspecified:
        _abort(one, f"IPv6 address {address} is unspecified")
    if address.is_multicast:
        _abort(one, f"IP address {address} is multicast")
    if address.ip.is_loopback:
        _abort(one, f"IP address {address} is loopback address")
    table = (_V4 if address.version == 4 else _V6).table
    for key in one.db.table(table):
        if text in _addresses(one.db.get(f"{table}|{key}")):
            name, _, number = key.partition("|")
            _abort(one, f"{text} has already configured on the {name} vrrp instance {number}!")


def _abort(one: Run, text: str) -> NoReturn:
    one.say(text)
    raise click.Abort


def _addresses(row: Mapping[str, str]) -> list[str]:
    return [text for text in row.get("vip@", "").split(",") if text]


def _check_room(one: Run, version: _Version, name: str, number: int, end: str) -> None:
    """Refuse an instance whose number is taken, or one more than there may be."""
    keys = [key.split("|") for key in one.db.table(version.table)]
    if len(keys) >= _MOST:
        one.fail(f"Has already configured {_MOST} {version.word} instances{end}")
    held = 0
    for key in keys:
        if key[1] == str(number):
            one.fail(f"The {version.word} instance {number} has already configured!")
        held += key[0] == name
        if held >= _MOST_OF_INTERFACE:
            one.fail(f"{name} has already configured {_MOST_OF_INTERFACE} {version.word} instances!")


def _add(version: _Version, one: Run, interface_name: str, vrrp_id: int) -> None:
    _routed(one, interface_name)
    key = version.key(interface_name, vrrp_id)
    if one.db.get(key):
        one.fail(f"{interface_name} has already configured the {version.word} instance {vrrp_id}!")
    _check_room(one, version, interface_name, vrrp_id, "!")
    one.db.put(key, {"vid": str(vrrp_id)})


def _remove(version: _Version, one: Run, interface_name: str, vrrp_id: int) -> None:
    _routed(one, interface_name)
    key = version.key(interface_name, vrrp_id)
    if not one.db.get(key):
        one.fail(f"{interface_name} dose not configured the {version.word} instance {vrrp_id}!")
    one.db.delete(key)


def _add_address(version: _Version, one: Run, interface_name: str, vrrp_id: int, address: str) -> None:
    _routed(one, interface_name)
    _check_address(one, address)
    if "/" not in address:
        one.fail(f"{version.ip} address {address} is missing a mask. Such as {version.example}")
    key = version.key(interface_name, vrrp_id)
    row = one.db.get(key)
    held = _addresses(row)
    if len(held) >= _MOST_ADDRESSES:
        one.fail(f"The vrrp instance {vrrp_id} has already configured {_MOST_ADDRESSES} {version.ip} addresses")
    if not row:
        _check_room(one, version, interface_name, vrrp_id, version.full)
    one.db.put(key, {**(row or {"vid": str(vrrp_id)}), "vip@": ",".join([*held, address])})


def _remove_address(version: _Version, one: Run, interface_name: str, vrrp_id: int, address: str) -> None:
    _routed(one, interface_name)
    try:
        ipaddress.ip_interface(address)
    except ValueError as error:
        one.fail(f"{version.ip} address is not valid: {error}")
    key = version.key(interface_name, vrrp_id)
    row = one.db.get(key)
    held = _addresses(row)
    if address not in held:
        one.fail(f"{address} is not configured on the {version.word} instance {vrrp_id}!")
    held.remove(address)
    one.db.put(key, {**row, "vip@": ",".join(held)})


def _track(
    version: _Version, one: Run, interface_name: str, vrrp_id: int, track_interface: str, priority_increment: int
) -> None:
    other = meant(one, track_interface)
    _routed(one, interface_name)
    _routed(one, other, what="track_interface")
    _check_tracking(one, version, interface_name, vrrp_id)
    start = f"{version.table}_TRACK|{interface_name}|{vrrp_id}|"
    if sum(key.startswith(start) for key in one.db.rows) >= _MOST_TRACKED:
        one.fail(f"The {version.counted} instance {vrrp_id} has already configured {_MOST_TRACKED} track interfaces")
    kept = one.db.get(start + other) if version is _V4 else {}
    one.db.put(start + other, {**kept, "priority_increment": str(priority_increment)})


def _untrack(version: _Version, one: Run, interface_name: str, vrrp_id: int, track_interface: str) -> None:
    other = meant(one, track_interface)
    _routed(one, interface_name)
    _routed(one, other, what="track_interface", known=False)
    _check_tracking(one, version, interface_name, vrrp_id)
    key = f"{version.table}_TRACK|{interface_name}|{vrrp_id}|{other}"
    if not one.db.get(key):
        one.fail(f"{other} is not configured on the {version.tracked} instance {vrrp_id}!")
    one.db.delete(key)


def _check_tracking(one: Run, version: _Version, name: str, number: int) -> None:
    if not one.db.get(version.key(name, number)):
        one.fail(f"{version.tracked} instance {number} not found on interface {name}")


def _set(own: _Version, field: str, one: Run, /, interface_name: str, vrrp_id: int, **value: Any) -> None:
    """Set the one field that a command takes."""
    _routed(one, interface_name)
    key = own.key(interface_name, vrrp_id)
    if not one.db.get(key):
        one.fail(f"{own.word} instance {vrrp_id} not found on interface {interface_name}")
    one.db.set_fields(key, {field: str(next(iter(value.values())))})


def _add_commands(version: _Version, group: Group, name: str, addressing: Group) -> None:
    """Add the commands that both versions of IP have."""
    of_instance = (name_argument, _number)
    address = argument("address", metavar=f"<{addressing.name}_addr>")
    group.leaf("add", f"Add {name} instance to the interface", *of_instance)(partial(_add, version))
    group.leaf("remove", f"Remove {name} instance to the interface", *of_instance)(partial(_remove, version))
    of_address = f"{version.family} address to the {name} instance"
    addressing.leaf("add", f"Add {of_address}", *of_instance, address)(partial(_add_address, version))
    addressing.leaf("remove", f"Remove {of_address}", *of_instance, address)(partial(_remove_address, version))
    tracking = group.branch("track_interface", f" {name} track_interface configuration ")
    increment = argument("priority_increment", metavar="<priority_increment>", type=Range(10, 50), default=20)
    to_instance = "track_interface to the vrrp instance"
    tracking.leaf("add", f"add {to_instance}", *of_instance, _tracked, increment)(partial(_track, version))
    tracking.leaf("remove", f"Remove {to_instance}", *of_instance, _tracked)(partial(_untrack, version))
    for command, text, field, value in (
        ("priority", "config priority", "priority", _value("priority", Range(1, 254), 100)),
        ("adv_interval", "config adv_interval", "adv_interval", _value("interval", Range(1, 255), version.interval)),
        ("pre_empt", "Config pre_empt mode", "preempt", _value("mode", Choice(["enabled", "disabled"]))),
    ):
        set_field = partial(_set, version, field)
        group.leaf(command, f"{text} to the {name} instance", *of_instance, value)(set_field)


def _value(name: str, kind: Range | Choice, default: int | None = None) -> click.Argument:
    settings = {} if default is None else {"default": default}
    return argument(name, metavar=f"<{name}>", type=kind, required=True, **settings)


vrrp = interface.branch("vrrp", "Vrrp configuration")
vrrp6 = interface.branch("vrrp6", "Vrrpv6 configuration")
_add_commands(_V4, vrrp, "vrrp", vrrp.branch("ip", "vrrp ip configuration "))
_add_commands(_V6, vrrp6, "Vrrpv6", vrrp6.branch("ipv6", "Vrrpv6 ipv6 configuration "))
vrrp.leaf(
    "version",
    "Config vrrp packet version to the vrrp instance",
    name_argument,
    _number,
    _value("version", Choice(["2", "3"]), 3),
)(partial(_set, _V4, "version"))
