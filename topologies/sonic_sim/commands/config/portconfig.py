"""``portconfig``, and the commands of ``config interface`` that call it (sonic-utilities, scripts/portconfig)."""

import argparse
from collections.abc import Callable
from typing import Any

from sonic_sim.commands.click7 import Choice, Range, Run, argument
from sonic_sim.commands.config.interface import interface, name_argument, verbose_flag
from sonic_sim.commands.config.names import port_channel_of
from sonic_sim.commands.parsing import Parser
from sonic_sim.databases import STATE, rows_of_database
from sonic_sim.shell.programs import Call, Result, program

_TYPES = ("CR", "CR2", "CR4", "CR8", "SR", "SR2", "SR4", "SR8", "LR", "LR4", "LR8", "KR", "KR4", "KR8", "CAUI", "GMII",
          "SFI", "XLAUI", "KR2", "CAUI4", "XAUI", "XFI", "XGMII", "none")  # fmt: skip
_FECS = "rs,fc,none,auto"


class _RefusedError(Exception):
    """The message with which the program ends, with 1; ``on_error`` tells whether it is on standard error."""

    def __init__(self, text: str, *, on_error: bool = True) -> None:
        super().__init__(text)
        self.on_error = on_error


def _parser() -> Parser:
    """Return the parser of the program's options."""
    parser = Parser("portconfig", description="Set SONiC port parameters")
    parser.add_argument("-p", "--port", required=True, help="port name (e.g. Ethernet0)")
    parser.add_argument("-l", "--list", action="store_true", help="list port parametars")
    parser.add_argument("-s", "--speed", type=int, help="port speed value in Mbit")
    parser.add_argument("-f", "--fec", help="port fec mode value (default is: none, rs, fc)")
    parser.add_argument("-m", "--mtu", type=int, help="port mtu value in bytes")
    parser.add_argument("-tp", "--tpid", help="port TPID value in hex (e.g. 0x8100)")
    parser.add_argument("-v", "--version", action="version", version="%(prog)s 1.0")
    parser.add_argument("-vv", "--verbose", action="store_true", help="Verbose output")
    parser.add_argument(
        "-n", "--namespace", metavar="namespace details", help="The asic namespace whose DB instance we need to connect"
    )
    parser.add_argument("-an", "--autoneg", help="port auto negotiation mode")
    parser.add_argument("-S", "--adv-speeds", help="port advertised speeds")
    parser.add_argument("-t", "--interface-type", help="port interface type")
    parser.add_argument("-T", "--adv-interface-types", help="port advertised interface types")
    parser.add_argument("-lt", "--link-training", help="port link training mode")
    parser.add_argument("-P", "--tx-power", type=float, help="Tx output power(dBm)")
    parser.add_argument("-F", "--laser-freq", type=int, help="Laser frequency(GHz)")
    return parser


_PARSER = _parser()


@program("portconfig")
def portconfig(call: Call) -> Result:
    """Set parameters of a port."""
    parsed = _PARSER.parse(call.argv[1:])
    if isinstance(parsed, Result):
        return parsed
    for option in ("tpid", "tx_power", "laser_freq"):
        if getattr(parsed, option):
            return Result(1, err=f"portconfig --{option.replace('_', '-')}: this option is not simulated\n")
    port = _Port(call, parsed)
    if not port.exists():
        return Result(1, err=f"Invalid port {port.name}\n")
    if not any(getattr(parsed, option) for option in _FIELDS):
        return Result(1, out=_PARSER.format_help())
    try:
        port.set_all()
    except _RefusedError as error:
        complaint = ""
        if error.on_error:
            complaint = f"{error}\n"
        else:
            port.say(str(error))
        return Result(1, port.printed, complaint)
    return Result(out=port.printed)


class _Port:
    """One run of the program: the port or port channel, the values to set, and what is printed."""

    def __init__(self, call: Call, parsed: argparse.Namespace) -> None:
        self.call = call
        self.parsed = parsed
        self.name: str = parsed.port
        self.db = call.device.db
        self.printed = ""
        self.is_lag = f"PORTCHANNEL|{self.name}" in self.db.rows and f"PORT|{self.name}" not in self.db.rows

    def exists(self) -> bool:
        """Tell whether there is such a port or port channel."""
        return self.is_lag or f"PORT|{self.name}" in self.db.rows

    def set_all(self) -> None:
        """Set the values of the command line, in the program's order. Raises _RefusedError."""
        for option, (field, check) in _FIELDS.items():
            value = getattr(self.parsed, option)
            if not value:
                continue
            if self.is_lag:
                raise _RefusedError(f"Invalid port {self.name}")
            if self.parsed.verbose:
                self.say(f"Setting {option.replace('link_training', 'link-training')} {value} on port {self.name}")
            self.db.set_fields(f"PORT|{self.name}", {field: check(self, str(value))})

    def say(self, text: str) -> None:
        """Print a line."""
        self.printed += f"{text}\n"

    def state(self, field: str) -> str:
        """Return a field of the port's row in STATE_DB."""
        return _state(self.call, f"PORT_TABLE|{self.name}").get(field, "")


def _state(call: Call, key: str) -> dict[str, str]:
    """Return a row of STATE_DB; empty if it is not there."""
    return rows_of_database(call.device, STATE, key).get(key, {})


# The checks of the values: each returns what is written for a value, or raises _RefusedError.
def _any(port: _Port, value: str) -> str:
    return value


def _speed(port: _Port, value: str) -> str:
    supported = port.state("supported_speeds")
    if supported and int(value) not in map(int, supported.split(",")):
        raise _RefusedError(f"Invalid speed specified: {value}\nValid speeds:{supported}", on_error=False)
    return value


def _fec(port: _Port, value: str) -> str:
    supported = port.state("supported_fecs") or _FECS
    if supported == "N/A":
        raise _RefusedError(f"Setting fec is not supported on port {port.name}", on_error=False)
    modes = supported.split(",")
    if value not in modes:
        raise _RefusedError(f"fec {value} is not in {modes}", on_error=False)
    return value


def _training(port: _Port, value: str) -> str:
    if value not in ("on", "off"):
        raise _RefusedError(f"Invalid mode specified: {value}\nValid modes: on,off", on_error=False)
    return value


def _autoneg(port: _Port, value: str) -> str:
    return "on" if value == "enabled" else "off"


def _speeds(port: _Port, value: str) -> str:
    supported = port.state("supported_speeds")
    if value == "all" or not supported:
        return value
    _check_list(value, supported.split(","), "speed", f"Valid speeds:{supported}")
    return value


def _check_list(value: str, allowed: "list[str] | tuple[str, ...]", noun: str, valid: str) -> None:
    """Raise _RefusedError for a list that has a word twice, or one that is not allowed.

    ``noun`` names a word in the message, and ``valid`` is the line with those that are allowed.
    """
    words = [word.strip() for word in value.split(",")]
    if len(set(words)) < len(words):
        raise _RefusedError(f"Invalid {noun} specified: {value}. Please remove duplicate {noun}", on_error=False)
    unknown = [word for word in words if word not in allowed]
    if unknown:
        raise _RefusedError(f"Invalid {noun} specified: {','.join(unknown)}\n{valid}", on_error=False)


def _type(port: _Port, value: str) -> str:
    if value not in _TYPES:
        valid = f"Valid interface types:{','.join(_TYPES)}"
        raise _RefusedError(f"Invalid interface type specified: {value}\n{valid}", on_error=False)
    return value


def _types(port: _Port, value: str) -> str:
    if value != "all":
        _check_list(value, _TYPES, "interface type", f"Valid interface types:{','.join(_TYPES)}")
    return value


_FIELDS: dict[str, tuple[str, Callable[[_Port, str], str]]] = {
    "speed": ("speed", _speed), "fec": ("fec", _fec), "mtu": ("mtu", _any),
    "link_training": ("link_training", _training),
    "autoneg": ("autoneg", _autoneg), "adv_speeds": ("adv_speeds", _speeds),
    "interface_type": ("interface_type", _type),
    "adv_interface_types": ("adv_interface_types", _types),
}  # fmt: skip
"""The field of PORT and the check of each option, in the order in which the program sets them."""


def _add_command(name: str, option: str, text: str, value: str, kind: Any = None) -> None:
    """Add a command that passes its value on to an option of portconfig; ``text`` is its help."""

    @interface.leaf(name, text, name_argument, argument(value, metavar=f"<{value}>", type=kind), verbose_flag)
    def command(run: Run, interface_name: str, verbose: bool, **values: Any) -> None:
        if option == "-m" and port_channel_of(run.db, interface_name):
            run.fail("'interface_name' is in portchannel!")
        words = ["portconfig", "-p", interface_name, option, str(values[value])]
        if verbose:
            words.append("-vv")
            run.say(f"Running command: {' '.join(words)}")
        run.finish(portconfig(Call(run.device, words)))
        if option == "-m" and interface_name in run.device.by_hand:
            # portmgrd sets the interface whenever the row is written (sonic-swss cfgmgr/portmgr.cpp).
            run.device.by_hand[interface_name].mtu = None


_add_command("speed", "-s", "Set interface speed", "interface_speed")
_add_command("link-training", "-lt", "Set interface link training mode", "mode", Choice(["on", "off"]))
_add_command("autoneg", "-an", "Set interface auto negotiation mode", "mode", Choice(["enabled", "disabled"]))
_add_command("advertised-speeds", "-S", "Set interface advertised speeds", "speed_list")
_add_command("type", "-t", "Set interface type", "interface_type_value")
_add_command("advertised-types", "-T", "Set interface advertised types", "interface_type_list")
_add_command("mtu", "-m", "Set interface mtu", "interface_mtu", Range(68, 9216))
_add_command("fec", "-f", "Set interface fec", "interface_fec")
