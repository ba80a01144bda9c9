"""``config spanning-tree``: PVST of the switch, of VLANs, of ports, and of ports in a VLAN (config/stp.py).

The rows have no YANG model: a switch with them refuses every reload until spanning tree is disabled again.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from sonic_sim.commands.click7 import Choice, Group, Integer, PlainGroup, Run, argument, flag
from sonic_sim.commands.config.names import INVALID_NAME, is_interface, vlans_of
from sonic_sim.commands.config.root import config
from sonic_sim.configdb import ConfigDb, Hash, natural_key
from sonic_sim.shell.programs import ProgramError

_GLOBAL = "STP|GLOBAL"
_MOST_VLANS = 255
_DEFAULTS = {
    "mode": "pvst", "rootguard_timeout": "30", "forward_delay": "15", "hello_time": "2", "max_age": "20",
    "priority": "32768",
}  # fmt: skip
_OF_VLAN = ("forward_delay", "hello_time", "max_age", "priority")
_OF_PORT = {
    "enabled": "true", "root_guard": "false", "bpdu_guard": "false", "bpdu_guard_do_disable": "false",
    "portfast": "false", "uplink_fast": "false",
}  # fmt: skip
_TIMES = {
    # command: field, the least and the most, name of the value, what is out of range
    "forward_delay": ("forward_delay", 4, 30, "forward_delay", "STP forward delay value must be in range 4-30"),
    "hello": ("hello_time", 1, 10, "hello_interval", "STP hello timer must be in range 1-10"),
    "max_age": ("max_age", 6, 40, "max_age", "STP max age value must be in range 6-40"),
}

_mode = argument("mode", metavar="<pvst>", type=Choice(["pvst"]))
_vid = argument("vid", metavar="<Vlan>", type=Integer())
_name = argument("interface_name", metavar="<interface_name>")
_bridge_priority = argument("priority", metavar="<0-61440>", type=Integer())
_port_priority = argument("priority", metavar="<0-240>", type=Integer())
_cost = argument("cost", metavar="<1-200000000>", type=Integer())

spanning_tree = config.branch("spanning-tree", "STP command line", cls=PlainGroup)
of_vlan = spanning_tree.branch("vlan", "Configure STP for a VLAN")
of_port = spanning_tree.branch("interface", "Configure STP for interface")
of_vlan_port = of_vlan.branch("interface", "Configure STP parameters for interface per VLAN")


@spanning_tree.leaf("enable", "enable STP ", _mode)
def enable(one: Run, mode: str) -> None:
    db = one.db
    if db.get(_GLOBAL).get("mode") == mode:
        one.fail("PVST is already configured")
    db.put(_GLOBAL, _DEFAULTS)
    for table in ("PORT", "PORTCHANNEL"):
        for name in db.table(table):
            if vlans_of(db, name):
                db.put(f"STP_PORT|{name}", _OF_PORT)
    for vlan in sorted(db.table("VLAN"), key=natural_key)[:_MOST_VLANS]:
        db.put(f"STP_VLAN|{vlan}", _row_of_vlan(db))


def _row_of_vlan(db: ConfigDb) -> Hash:
    known = db.get(_GLOBAL)
    return {"enabled": "true"} | {field: known.get(field, "None") for field in _OF_VLAN}


@spanning_tree.leaf("disable", "disable STP ", _mode)
def disable(one: Run, mode: str) -> None:
    one.db.delete(_GLOBAL)
    for table in ("STP_VLAN", "STP_PORT", "STP_VLAN_PORT"):
        one.db.delete_table(table)


def follow_vlan(db: ConfigDb, name: str) -> None:
    """Let a VLAN that is made have spanning tree where the switch has it."""
    enabled = sum(row.get("enabled") == "true" for row in db.table("STP_VLAN").values())
    if db.get(_GLOBAL).get("mode") and enabled < _MOST_VLANS:
        db.put(f"STP_VLAN|{name}", _row_of_vlan(db))


def forget_vlan(db: ConfigDb, name: str) -> None:
    """Remove what a VLAN that is removed had of spanning tree."""
    db.delete(f"STP_VLAN|{name}")
    for key in list(db.table("STP_VLAN_PORT")):
        if key.partition("|")[0] == name:
            db.delete(f"STP_VLAN_PORT|{key}")


def follow_member(db: ConfigDb, port: str) -> None:
    """Let a port that becomes a member of its first VLAN have spanning tree where the switch has it."""
    if db.get(_GLOBAL).get("mode") and not vlans_of(db, port):
        db.put(f"STP_PORT|{port}", _OF_PORT)


def forget_member(db: ConfigDb, vlan: str, port: str) -> None:
    """Remove what a port that leaves a VLAN has of spanning tree there; while it is a member, its own row stays."""
    if db.get(_GLOBAL).get("mode"):
        db.delete(f"STP_VLAN_PORT|{vlan}|{port}")
        if not vlans_of(db, port):
            db.delete(f"STP_PORT|{port}")


def _check_enabled(one: Run) -> None:
    if not one.db.get(_GLOBAL).get("mode"):
        one.fail("Global STP is not enabled - first configure STP mode")


def _check_between(one: Run, value: int, low: int, high: int, text: str) -> None:
    if not low <= value <= high:
        one.fail(text)


def _check_times(one: Run, row: Mapping[str, str], changed: Mapping[str, int], where: str) -> None:
    """Refuse times that IEEE 802.1D does not allow together. Raises ProgramError where one is missing."""
    times: dict[str, str | int] = {**row, **changed}
    if any(name not in times for name in ("forward_delay", "max_age", "hello_time")):
        why = "int() argument must be a string, a bytes-like object or a real number, not 'NoneType'"
        raise ProgramError(f"TypeError: {why}")
    delay, age, hello = (int(times[name]) for name in ("forward_delay", "max_age", "hello_time"))
    if not 2 * (delay - 1) >= age >= 2 * (hello + 1):
        one.fail(f"2*(forward_delay-1) >= max_age >= 2*(hello_time +1 ) not met{where}")


@spanning_tree.leaf(
    "root_guard_timeout",
    "Configure STP global root guard timeout value",
    argument("root_guard_timeout", metavar="<5-600 seconds>", type=Integer()),
)
def root_guard_timeout(one: Run, root_guard_timeout: int) -> None:
    _check_enabled(one)
    _check_between(one, root_guard_timeout, 5, 600, "STP root guard timeout must be in range 5-600")
    one.db.set_fields(_GLOBAL, {"rootguard_timeout": str(root_guard_timeout)})


def _update_vlans(db: ConfigDb, field: str, value: str) -> None:
    """Change a field of the VLANs that have the switch's value, which SONiC compares with its forward delay."""
    common = db.get(_GLOBAL).get("forward_delay")
    for vlan, row in db.table("STP_VLAN").items():
        if row.get(field) == common:
            db.set_fields(f"STP_VLAN|{vlan}", {field: value})


def _set_time(command: str, one: Run, /, **values: int) -> None:
    field, low, high, name, text = _TIMES[command]
    _check_enabled(one)
    _check_between(one, values[name], low, high, text)
    _check_times(one, one.db.get(_GLOBAL), {field: values[name]}, "")
    _update_vlans(one.db, field, str(values[name]))
    one.db.set_fields(_GLOBAL, {field: str(values[name])})


def _check_priority(one: Run, priority: int) -> None:
    if priority % 4096:
        one.fail("STP bridge priority must be multiple of 4096")
    _check_between(one, priority, 0, 61440, "STP bridge priority must be in range 0-61440")


@spanning_tree.leaf("priority", "Configure STP global bridge priority", _bridge_priority)
def bridge_priority(one: Run, priority: int) -> None:
    _check_enabled(one)
    _check_priority(one, priority)
    _update_vlans(one.db, "priority", str(priority))
    one.db.set_fields(_GLOBAL, {"priority": str(priority)})


def _vlan(one: Run, vid: int) -> str:
    """Return the row of a VLAN. Fails where there is no such VLAN."""
    if not one.db.get(f"VLAN|Vlan{vid}"):
        one.fail(f"Vlan{vid} doesn't exist")
    return f"STP_VLAN|Vlan{vid}"


def _check_vlan_enabled(one: Run, key: str) -> None:
    if one.db.get(key).get("enabled") != "true":
        one.fail("STP is not enabled for VLAN")


@of_vlan.leaf("enable", "Enable STP for a VLAN", _vid)
def enable_vlan(one: Run, vid: int) -> None:
    db, key = one.db, _vlan(one, vid)
    if db.get(key).get("enabled") == "true":
        one.fail(f"STP is already enabled for Vlan{vid}")
    if sum(row.get("enabled") == "true" for row in db.table("STP_VLAN").values()) >= _MOST_VLANS:
        one.fail("Exceeded maximum STP configurable VLAN instances")
    _check_enabled(one)
    if db.get(key):
        db.set_fields(key, {"enabled": "true"})
    else:
        db.put(key, _row_of_vlan(db))


@of_vlan.leaf("disable", "Disable STP for a VLAN", _vid)
def disable_vlan(one: Run, vid: int) -> None:
    one.db.set_fields(_vlan(one, vid), {"enabled": "false"})


def _set_vlan_time(command: str, one: Run, /, vid: int, **values: int) -> None:
    field, low, high, name, text = _TIMES[command]
    key = _vlan(one, vid)
    _check_vlan_enabled(one, key)
    _check_between(one, values[name], low, high, text)
    _check_times(one, one.db.get(key), {field: values[name]}, " for VLAN")
    one.db.set_fields(key, {field: str(values[name])})


@of_vlan.leaf("priority", "Configure STP bridge priority for VLAN", _vid, _bridge_priority)
def vlan_priority(one: Run, vid: int, priority: int) -> None:
    key = _vlan(one, vid)
    _check_vlan_enabled(one, key)
    _check_priority(one, priority)
    one.db.set_fields(key, {"priority": str(priority)})


def _add_times() -> None:
    texts = {"forward_delay": "forward delay", "hello": "hello interval", "max_age": "max_age"}
    for command, (_, low, high, name, _) in _TIMES.items():
        value = argument(name, metavar=f"<{low}-{high} seconds>", type=Integer())
        spanning_tree.leaf(command, f"Configure STP global {texts[command]}", value)(partial(_set_time, command))
        text = f"Configure STP {texts[command].replace('_', ' ')} for VLAN"
        of_vlan.leaf(command, text, _vid, value)(partial(_set_vlan_time, command))


_add_times()


def _check_port_enabled(one: Run, name: str) -> None:
    if one.db.get(f"STP_PORT|{name}").get("enabled") != "true":
        one.fail(f"STP is not enabled for interface {name}")


def _check_port(one: Run, name: str) -> None:
    """Refuse what is no interface of a VLAN."""
    db = one.db
    if not is_interface(one, name):
        one.fail(INVALID_NAME)
    for key in db.table("INTERFACE"):
        if key.startswith(f"{name}|"):
            address = key.split("|")[1]
            one.fail(f" {name} has ip address {address} configured - It's not a L2 interface")
    if any(key.partition("|")[2] == name for key in db.table("PORTCHANNEL_MEMBER")):
        one.fail(f" {name} is a portchannel member port - STP can't be configured")
    if not vlans_of(db, name):
        one.fail(f" {name} has no VLAN configured - It's not a L2 interface")


@of_port.leaf("enable", "Enable STP for interface", _name)
def enable_port(one: Run, interface_name: str) -> None:
    _check_enabled(one)
    key = f"STP_PORT|{interface_name}"
    if one.db.get(key).get("enabled") == "true":
        one.fail(f"STP is already enabled for {interface_name}")
    _check_port(one, interface_name)
    if one.db.get(key):
        one.db.set_fields(key, {"enabled": "true"})
    else:
        one.db.put(key, _OF_PORT)


@of_port.leaf("disable", "Disable STP for interface", _name)
def disable_port(one: Run, interface_name: str) -> None:
    _check_enabled(one)
    _check_port(one, interface_name)
    one.db.set_fields(f"STP_PORT|{interface_name}", {"enabled": "false"})


def _set_port(one: Run, name: str, field: str, value: int, check: Callable[[], None]) -> None:
    """Set a field of a port, and in the VLANs where it had the port's value."""
    db = one.db
    _check_port_enabled(one, name)
    _check_port(one, name)
    check()
    before = db.get(f"STP_PORT|{name}").get(field)
    db.set_fields(f"STP_PORT|{name}", {field: str(value)})
    for key, row in db.table("STP_VLAN_PORT").items():
        if key.partition("|")[2] == name and row and row.get(field) == before:
            db.set_fields(f"STP_VLAN_PORT|{key}", {field: str(value)})


def _check_cost(one: Run, cost: int) -> None:
    _check_between(one, cost, 1, 200_000_000, "STP interface path cost must be in range 1-200000000")


@of_port.leaf("priority", "Configure STP port priority for interface", _name, _port_priority)
def port_priority(one: Run, interface_name: str, priority: int) -> None:
    text = "STP interface priority must be in range 0-240"
    _set_port(one, interface_name, "priority", priority, lambda: _check_between(one, priority, 0, 240, text))


@of_port.leaf("cost", "Configure STP path cost for interface", _name, _cost)
def port_cost(one: Run, interface_name: str, cost: int) -> None:
    _set_port(one, interface_name, "path_cost", cost, lambda: _check_cost(one, cost))


def _guard(fields: Mapping[str, str], one: Run, /, interface_name: str, **options: Any) -> None:
    _check_port_enabled(one, interface_name)
    _check_port(one, interface_name)
    shut = {"bpdu_guard_do_disable": "true" if options["shutdown"] else "false"} if "shutdown" in options else {}
    one.db.set_fields(f"STP_PORT|{interface_name}", {**fields, **shut})


def _add_guards(group: Group) -> None:
    for field in ("root_guard", "bpdu_guard", "portfast", "uplink_fast"):
        what = field.replace("_", " ")
        below = group.branch(field, f"Configure STP {what} for interface")
        for command, value in (("enable", "true"), ("disable", "false")):
            options = (flag("-s", "--shutdown"),) if (field, command) == ("bpdu_guard", "enable") else ()
            text = f"{command.capitalize()} STP {what} for interface"
            below.leaf(command, text, _name, *options)(partial(_guard, {field: value}))


_add_guards(of_port)


def _vlan_port(one: Run, vid: int, name: str) -> str:
    """Return the row of a port in a VLAN."""
    _check_vlan_enabled(one, f"STP_VLAN|Vlan{vid}")
    _check_port_enabled(one, name)
    _vlan(one, vid)
    if not one.db.get(f"VLAN_MEMBER|Vlan{vid}|{name}"):
        one.fail(f"{name} is not member of Vlan{vid}")
    return f"STP_VLAN_PORT|Vlan{vid}|{name}"


@of_vlan_port.leaf("priority", "Configure STP per vlan port priority for interface", _vid, _name, _port_priority)
def vlan_port_priority(one: Run, vid: int, interface_name: str, priority: int) -> None:
    key = _vlan_port(one, vid, interface_name)
    _check_between(one, priority, 0, 240, "STP per vlan port priority must be in range 0-240")
    one.db.set_fields(key, {"priority": str(priority)})


@of_vlan_port.leaf("cost", "Configure STP per vlan path cost for interface", _vid, _name, _cost)
def vlan_port_cost(one: Run, vid: int, interface_name: str, cost: int) -> None:
    key = _vlan_port(one, vid, interface_name)
    _check_cost(one, cost)
    one.db.set_fields(key, {"path_cost": str(cost)})
