"""``config interface``: state, MTU, speed, FEC, addresses; ``config hostname``."""

import ipaddress

from sonic_sim.commands.clicklike import Argument, Option, Parsed, leaf
from sonic_sim.databases import STATE, rows_of_database
from sonic_sim.device import Device
from sonic_sim.shell.programs import Result

NOT_SAVED = "Please note loaded setting will be lost after system reboot. To preserve setting, run `config save`.\n"
_NAME = Argument("<interface_name>")
_INVALID_NAME = "Interface name is invalid. Please enter a valid interface name!!"
_MTU_LOW, _MTU_HIGH = 68, 9216
_FECS = "rs,fc,none"


@leaf("config hostname", "[OPTIONS] <new_hostname>", arguments=(Argument("<new_hostname>"),))
def hostname(parsed: Parsed) -> Result:
    """Change the host's name."""
    parsed.call.device.db.set_fields("DEVICE_METADATA|localhost", {"hostname": parsed.values["<new_hostname>"]})
    return Result(out=NOT_SAVED)


@leaf("config interface shutdown", "[OPTIONS] <interface_name>", arguments=(_NAME,))
def shutdown(parsed: Parsed) -> Result:
    """Shut ports."""
    return _set_admin(parsed, "down")


@leaf("config interface startup", "[OPTIONS] <interface_name>", arguments=(_NAME,))
def startup(parsed: Parsed) -> Result:
    """Bring ports up."""
    return _set_admin(parsed, "up")


def _set_admin(parsed: Parsed, state: str) -> Result:
    db, text = parsed.call.device.db, parsed.values["<interface_name>"]
    if "[" not in text:
        names = text.split(",")
        if any(_table_of(parsed.call.device, name) is None for name in names):
            return parsed.fail(_INVALID_NAME)
    else:
        # brackets are no range for this command: it finds no interface and says nothing (recorded)
        names = []
    for name in names:
        key = f"{_table_of(parsed.call.device, name)}|{name}"
        if db.get(key).get("admin_status") != state:
            db.set_fields(key, {"admin_status": state})
    return Result()


def _table_of(device: Device, name: str) -> str | None:
    """Return the table in which an interface has its administrative state."""
    for table in ("PORT", "PORTCHANNEL", "VLAN_SUB_INTERFACE", "LOOPBACK_INTERFACE"):
        if f"{table}|{name}" in device.db.rows:
            return table
    return None


_MTU_USAGE = "[OPTIONS] <interface_name> <interface_mtu>"


@leaf(
    "config interface mtu",
    _MTU_USAGE,
    options=(Option(("-v", "--verbose")),),
    arguments=(_NAME, Argument("<interface_mtu>")),
)
def mtu(parsed: Parsed) -> Result:
    """Set a port's MTU."""
    text = parsed.values["<interface_mtu>"]
    if not text.isdigit():
        return parsed.fail(f'Invalid value for "<interface_mtu>": {text} is not a valid integer')
    if not _MTU_LOW <= int(text) <= _MTU_HIGH:
        limits = f"the valid range of {_MTU_LOW} to {_MTU_HIGH}"
        return parsed.fail(f'Invalid value for "<interface_mtu>": {text} is not in {limits}.')
    return _set_port(parsed, {"mtu": text})


@leaf(
    "config interface speed",
    "[OPTIONS] <interface_name> <interface_speed>",
    options=(Option(("-v", "--verbose")),),
    arguments=(_NAME, Argument("<interface_speed>")),
)
def speed(parsed: Parsed) -> Result:
    """Set a port's speed in Mb/s; it must be one that the port supports."""
    name, wanted = parsed.values["<interface_name>"], parsed.values["<interface_speed>"]
    supported = _state(parsed.call.device, name).get("supported_speeds", "")
    if supported and wanted not in supported.split(","):
        return Result(1, out=f"Invalid speed specified: {wanted}\nValid speeds:{supported}\n")
    return _set_port(parsed, {"speed": wanted})


@leaf(
    "config interface fec",
    "[OPTIONS] <interface_name> <interface_fec>",
    options=(Option(("-v", "--verbose")),),
    arguments=(_NAME, Argument("<interface_fec>")),
)
def fec(parsed: Parsed) -> Result:
    """Set a port's FEC mode."""
    name, wanted = parsed.values["<interface_name>"], parsed.values["<interface_fec>"]
    listed = _state(parsed.call.device, name).get("supported_fecs", _FECS)
    modes = [mode for mode in listed.split(",") if mode != "N/A"]
    if "auto" not in modes:
        modes.append("auto")
    if wanted not in modes:
        return Result(1, out=f"fec {wanted} is not in {modes}\n")
    return _set_port(parsed, {"fec": wanted})


def _state(device: Device, port: str) -> dict[str, str]:
    key = f"PORT_TABLE|{port}"
    return rows_of_database(device, STATE, key).get(key, {})


def _set_port(parsed: Parsed, fields: dict[str, str]) -> Result:
    name = parsed.values["<interface_name>"]
    if f"PORT|{name}" not in parsed.call.device.db.rows:
        return Result(1, out="Invalid port\n")
    parsed.call.device.db.set_fields(f"PORT|{name}", fields)
    return Result()


_IP_USAGE = "[OPTIONS] <interface_name> <ip_addr> <default\n                               gateway IP address>"
_IP_ARGUMENTS = (_NAME, Argument("<ip_addr>"), Argument("<default gateway IP address>", required=False))


@leaf("config interface ip add", _IP_USAGE, arguments=_IP_ARGUMENTS)
def ip_add(parsed: Parsed) -> Result:
    """Give an interface an address; nothing checks that it exists or that the prefix is used once."""
    name, text = parsed.values["<interface_name>"], parsed.values["<ip_addr>"]
    try:
        address = str(ipaddress.ip_interface(text))
    except ValueError as error:
        return parsed.fail(f"IP address is not valid: {error}")
    db = parsed.call.device.db
    if any(key.endswith(f"|{name}") for key in db.rows if key.startswith("VLAN_MEMBER|")):
        return Result(out=f"Interface {name} is a member of vlan\nAborting!\n")
    table = _address_table(name)
    for key in (f"{table}|{name}", f"{table}|{name}|{address}"):
        if key not in db.rows:
            db.put(key, {})
    return Result()


@leaf("config interface ip remove", "[OPTIONS] <interface_name> <ip_addr>", arguments=(_NAME, Argument("<ip_addr>")))
def ip_remove(parsed: Parsed) -> Result:
    """Take an address from an interface; the bare row goes with the last one."""
    name, db = parsed.values["<interface_name>"], parsed.call.device.db
    table = _address_table(name)
    if not db.delete(f"{table}|{name}|{parsed.values['<ip_addr>']}"):
        return Result()
    left = [key for key in db.rows if key.startswith(f"{table}|{name}|")]
    if not left and not db.get(f"{table}|{name}"):
        db.delete(f"{table}|{name}")
    return Result()


def _address_table(name: str) -> str:
    starts = {"Vlan": "VLAN_INTERFACE", "Loopback": "LOOPBACK_INTERFACE", "PortChannel": "PORTCHANNEL_INTERFACE"}
    return next((table for start, table in starts.items() if name.startswith(start)), "INTERFACE")


_BREAKOUT_OPTIONS = (
    Option(("-f", "--force-remove-dependencies")), Option(("-l", "--load-predefined-config")), Option(("-y", "--yes")),
    Option(("-v", "--verbose")),
)  # fmt: skip


@leaf(
    "config interface breakout",
    "[OPTIONS] <interface_name> MODE",
    options=_BREAKOUT_OPTIONS,
    arguments=(_NAME, Argument("MODE")),
)
def breakout(parsed: Parsed) -> Result:
    """Refuse a live breakout: the simulated image has no platform.json. A reload with the new ports does it."""
    return Result(1, out="[ERROR] Breakout feature is not available without platform.json file\n", err="Aborted!\n")
