"""``config aaa`` and ``config tacacs``."""

from typing import Any

import click

from sonic_sim.commands.click7 import Choice, Integer, PlainGroup, Range, Run, argument, flag, option
from sonic_sim.commands.config.root import config
from sonic_sim.commands.config.system import is_address

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
