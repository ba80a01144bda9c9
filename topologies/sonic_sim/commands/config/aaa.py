"""``config aaa`` and ``config tacacs``."""

import ipaddress
from typing import Any

import click

from sonic_sim.commands.click7 import Choice, Integer, PlainGroup, Range, Run, argument, flag, option
from sonic_sim.commands.config.names import is_address
from sonic_sim.commands.config.root import config
from sonic_sim.shell.programs import ProgramError

_TYPES = Choice(["chap", "pap", "mschap", "login"])


aaa = config.branch("aaa", "AAA command line", cls=PlainGroup)


authentication = aaa.branch("authentication", "User authentication", cls=PlainGroup)


def _remove(one: Run, key: str, field: str) -> None:
    """Remove a field; a row that is empty afterwards stays."""
    if key in one.db.rows:
        one.db.put(key, {name: value for name, value in one.db.get(key).items() if name != field})


def _switch(name: str, text: str) -> None:
    @authentication.leaf(
        name, f"{text} [enable | disable | default]", argument("state", type=Choice(["enable", "disable", "default"]))
    )
    def command(one: Run, state: str) -> None:
        if state == "default":
            _remove(one, "AAA|authentication", name)
        else:
            one.db.set_fields("AAA|authentication", {name: str(state == "enable")})


for _name, _text in (("failthrough", "Allow AAA fail-through"), ("fallback", "Allow AAA fallback"),
                     ("debug", "AAA debug"), ("trace", "AAA packet trace")):  # fmt: skip
    _switch(_name, _text)


@authentication.leaf(
    "login",
    "Switch login authentication [ {ldap, radius, tacacs+, local} | default ]",
    argument("auth_protocol", nargs=-1, type=Choice(["ldap", "radius", "tacacs+", "local", "default"])),
)
def login(one: Run, auth_protocol: tuple[str, ...]) -> None:
    if not auth_protocol:
        one.stop('Argument "auth_protocol" is required', 0)
    if len(auth_protocol) > 2:
        one.stop("Not a valid command.", 0)
    if auth_protocol == ("default",):
        _remove(one, "AAA|authentication", "login")
        return
    remote = [word for word in auth_protocol if word not in ("local", "default")]
    if len(auth_protocol) == 2 and (len(remote) != 1 or "local" not in auth_protocol):
        one.stop("Not a valid command", 0)
    one.db.set_fields("AAA|authentication", {"login": ",".join(auth_protocol)})


def _method(name: str, words: list[str], text: str) -> None:
    @aaa.leaf(name, text, argument("protocol", nargs=-1, type=Choice(words)))
    def command(one: Run, protocol: tuple[str, ...]) -> None:
        if not protocol:
            one.stop('Argument "protocol" is required', 0)
        if len(protocol) > 1:
            one.stop("Not a valid command", 0)
        if protocol[0] == "disable":
            _remove(one, f"AAA|{name}", "login")
        else:
            one.db.set_fields(f"AAA|{name}", {"login": protocol[0].replace(" ", ",")})


_method("authorization", ["tacacs+", "local", "tacacs+ local"],
        "Switch AAA authorization [tacacs+ | local | '\"tacacs+ local\"']")  # fmt: skip
_method("accounting", ["disable", "tacacs+", "local", "tacacs+ local"],
        "Switch AAA accounting [disable | tacacs+ | local | '\"tacacs+ local\"']")  # fmt: skip


tacacs = config.branch("tacacs", "TACACS+ server configuration", cls=PlainGroup)


default = tacacs.branch("default", "set its default configuration", cls=PlainGroup)


def _global(name: str, field: str, word: str, text: str, metavar: str, kind: Any = None) -> None:
    """Add a command for a field of all servers, once to set it and once to take it back to its default."""

    @tacacs.leaf(name, text, argument(word, metavar=metavar, required=False, type=kind))
    def command(one: Run, **values: Any) -> None:
        parent = click.get_current_context().parent
        if parent is not None and parent.command is default:
            _remove(one, "TACPLUS|global", field)
        elif values[word]:
            one.db.set_fields("TACPLUS|global", {field: str(values[word])})
        else:
            one.say(f'Argument "{word}" is required')

    default.add_command(command)


_global("timeout", "timeout", "second", "Specify TACACS+ server global timeout <0 - 60>", "<time_second>", Range(0, 60))
_global("authtype", "auth_type", "type", "Specify TACACS+ server global auth_type [chap | pap | mschap | login]",
        "<type>", _TYPES)  # fmt: skip
_global("passkey", "passkey", "secret", "Specify TACACS+ server global passkey <STRING>", "<secret_string>")


@tacacs.leaf(
    "add",
    "Specify a TACACS+ server",
    argument("address", metavar="<ip_address>"),
    option("-t", "--timeout", help="Transmission timeout interval, default 5", type=Integer()),
    option("-k", "--key", help="Shared secret"),
    option("-a", "--auth_type", help="Authentication type, default pap", type=_TYPES),
    option("-o", "--port", help="TCP port range is 1 to 65535, default 49", type=Range(1, 65535), default=49),
    option("-p", "--pri", help="Priority, default 1", type=Range(1, 64), default=1),
    flag("-m", "--use-mgmt-vrf", help="Management vrf, default is no vrf"),
)
def add(one: Run, address: str, port: int, pri: int, use_mgmt_vrf: bool, **others: Any) -> None:
    if not is_address(address):
        one.stop("Invalid ip address", 0)
    if one.db.get(f"TACPLUS_SERVER|{address}"):
        one.stop(f"server {address} already exists", 0)
    named = {"auth_type": others["auth_type"], "timeout": others["timeout"], "passkey": others["key"],
             "vrf": "mgmt" if use_mgmt_vrf else None}  # fmt: skip
    row = {name: str(value) for name, value in named.items() if value is not None}
    one.db.put(f"TACPLUS_SERVER|{address}", {"tcp_port": str(port), "priority": str(pri), **row})


@tacacs.leaf("delete", "Delete a TACACS+ server", argument("address", metavar="<ip_address>"))
def delete(one: Run, address: str) -> None:
    if not is_address(address):
        one.stop("Invalid ip address", 0)
    one.db.delete(f"TACPLUS_SERVER|{address}")


radius = config.branch("radius", "RADIUS server configuration", cls=PlainGroup)
radius_default = radius.branch("default", "set its default configuration", cls=PlainGroup)
_RADIUS_TYPES = Choice(["chap", "pap", "mschapv2"])
_SECRET_MAX, _SERVERS_MAX = 65, 8
_BARRED = "Valid chars are ASCII printable except SPACE, '#', and ','"


def _radius_global(name: str, field: str, word: str, text: str, metavar: str, kind: Any = None) -> None:
    """Add a command for a field of all RADIUS servers, once to set it and once to take it back to its default."""

    @radius.leaf(name, text, argument(word, metavar=metavar, required=False, type=kind))
    def command(one: Run, **values: Any) -> None:
        parent, value = click.get_current_context().parent, values[word]
        if parent is not None and parent.command is radius_default:
            _remove(one, "RADIUS|global", field)
        elif value is None or value == "":
            one.say("Not support empty argument")
        else:
            problem = _problem(field, str(value))
            if problem:
                one.stop(problem, 0)
            one.db.set_fields("RADIUS|global", {field: str(value)})

    radius_default.add_command(command)


def _problem(field: str, value: str) -> str:
    """Return what is wrong with a value, empty where nothing is."""
    if field == "passkey":
        good = not set(value) & set(" #,")
        return (
            f"Maximum of {_SECRET_MAX} chars can be configured" if len(value) > _SECRET_MAX else "" if good else _BARRED
        )
    if field not in ("src_ip", "nas_ip"):
        return ""
    if not is_address(value):
        return "Invalid ip address"
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        wrong = f"ValueError: {value!r} does not appear to be an IPv4 or IPv6 network"
        raise ProgramError(wrong) from None
    checks = {
        "enter non-zero ip address": address.version == 4 and address.is_unspecified,
        "Reserved ip is not valid": address.version == 4 and address.is_reserved,
        "Multicast ip is not valid": address.is_multicast,
        "Invalid ip address": value in ("::", "::1"),
    }
    return next((text for text, wrong in checks.items() if wrong), "")


_radius_global("timeout", "timeout", "second", "Specify RADIUS server global timeout <1 - 60>", "<time_second>",
               Range(1, 60))  # fmt: skip
_radius_global("retransmit", "retransmit", "retries", "Specify RADIUS server global retry attempts <0 - 10>",
               "<retry_attempts>", Range(0, 10))  # fmt: skip
_radius_global("authtype", "auth_type", "type", "Specify RADIUS server global auth_type [chap | pap | mschapv2]",
               "<type>", _RADIUS_TYPES)  # fmt: skip
_radius_global("passkey", "passkey", "secret", "Specify RADIUS server global passkey <STRING>", "<secret_string>")
_radius_global("sourceip", "src_ip", "src_ip", "Specify RADIUS server global source ip <IPAddress>", "<source_ip>")
_radius_global("nasip", "nas_ip", "nas_ip", "Specify RADIUS server global NAS-IP|IPV6-Address <IPAddress>", "<nas_ip>")


@radius.leaf("statistics", "Specify RADIUS server global statistics [enable | disable | default]",
             argument("option", type=Choice(["enable", "disable", "default"])))  # fmt: skip
def statistics(one: Run, option: str) -> None:
    if option == "default":
        _remove(one, "RADIUS|global", "statistics")
    else:
        one.db.set_fields("RADIUS|global", {"statistics": str(option == "enable")})


_radius_address = argument("address", metavar="<ip_address_or_domain_name>")


@radius.leaf(
    "add", "Specify a RADIUS server", _radius_address,
    option("-r", "--retransmit", help="Retransmit attempts, default 3", type=Range(1, 10)),
    option("-t", "--timeout", help="Transmission timeout interval, default 5", type=Range(1, 60)),
    option("-k", "--key", "passkey", help="Shared secret"),
    option("-a", "--auth_type", help="Authentication type, default pap", type=_RADIUS_TYPES),
    option("-o", "--auth-port", help="UDP port range is 1 to 65535, default 1812", type=Range(1, 65535), default=1812),
    option("-p", "--pri", help="Priority, default 1", type=Range(1, 64), default=1),
    flag("-m", "--use-mgmt-vrf", help="Management vrf, default is no vrf"),
    option("-s", "--source-interface", help="Source Interface"),
)  # fmt: skip
def radius_add(
    one: Run, address: str, auth_port: int, pri: int, use_mgmt_vrf: bool, source_interface: str | None, **values: Any
) -> None:
    problem = _problem("passkey", values["passkey"] or "")
    if problem:
        one.stop(f"--key: {problem}", 0)
    servers = one.db.table("RADIUS_SERVER")
    if address in servers:
        one.stop(f"server {address} already exists", 0)
    if len(servers) == _SERVERS_MAX:
        one.stop(f"Maximum of {_SERVERS_MAX} can be configured", 0)
    row = {"auth_port": str(auth_port), "priority": str(pri)}
    row |= {
        name: str(values[name])
        for name in ("auth_type", "retransmit", "timeout", "passkey")
        if values[name] is not None
    }
    row |= {"vrf": "mgmt"} if use_mgmt_vrf else {}
    if source_interface and source_interface.startswith(("Ethernet", "PortChannel", "Vlan", "Loopback", "eth0")):
        row["src_intf"] = source_interface
    elif source_interface:
        one.say("Not supported interface name (valid interface name: "
                "Etherent<id>/PortChannel<id>/Vlan<id>/Loopback<id>/eth0)")  # fmt: skip
    one.db.put(f"RADIUS_SERVER|{address}", row)


@radius.leaf("delete", "Delete a RADIUS server", _radius_address)
def radius_delete(one: Run, address: str) -> None:
    one.db.delete(f"RADIUS_SERVER|{address}")
