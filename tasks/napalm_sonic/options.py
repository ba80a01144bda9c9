"""The ``optional_args`` of the driver: its own options are checked, netmiko's passed on, all others refused.

NAPALM and netmiko silently ignore a misspelled option, which is dangerous for host keys and timeouts.
"""

import difflib
import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from napalm_sonic.jump import Jump, parse_jump

# Names that NAPALM users pass to any driver; those without a meaning here have no effect.
_NAPALM_CONVENTIONS = frozenset(
    {"config_lock", "dest_file_system", "force_no_enable", "inline_transfer", "lock_disable", "secret"}
)


SSH = "ssh"
DOCKER = "docker"
TRANSPORTS = (SSH, DOCKER)


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a driver."""

    transport: str = SSH
    # Run commands as root by sudo.
    sudo: bool = True
    # NAPALM's conventions: no lock at all, or one for the whole session.
    lock_disable: bool = False
    config_lock: bool = False
    # Refuse commits that need `config reload`.
    refuse_reload: bool = False
    # How long to wait for the switch's lock.
    lock_wait_s: float = 0.0
    # Time limit of commands that only read.
    command_timeout_s: float = 60.0
    # Time limit of commands that change the configuration: SONiC's updater needs many minutes for some patches.
    apply_timeout_s: float = 1800.0
    # Time limit of the reconnection after `config reload`, and the pause between its attempts.
    reload_timeout_s: float = 900.0
    reload_poll_s: float = 2.0
    jump: Jump | None = None
    # Arguments of netmiko's connection.
    netmiko: Mapping[str, Any] = field(default_factory=dict)


_KEEPALIVE_S = 15

# Name in ``optional_args`` (NAPALM's style, without a unit) -> field of :class:`Options`.
_SPELLED = {
    "transport": "transport",
    "sudo": "sudo",
    "lock_disable": "lock_disable",
    "config_lock": "config_lock",
    "refuse_reload": "refuse_reload",
    "lock_wait": "lock_wait_s",
    "command_timeout": "command_timeout_s",
    "apply_timeout": "apply_timeout_s",
    "reload_timeout": "reload_timeout_s",
    "reload_poll": "reload_poll_s",
}


def parse_options(optional_args: Mapping[str, Any] | None, timeout_s: float) -> Options:
    """Return the options in ``optional_args``.

    ``timeout_s`` is the constructor's timeout, the default for commands that only read. Raises ValueError for a wrong
    value, and for an unknown name, for which it suggests the nearest valid one.
    """
    arguments = dict(optional_args or {})
    jump = None
    if arguments.get("jump") is not None:
        jump = parse_jump(arguments.pop("jump"))
    netmiko_names = _netmiko_names()
    valid_names = netmiko_names | _SPELLED.keys() | _NAPALM_CONVENTIONS | {"jump"}
    for name in arguments:
        if name not in valid_names:
            raise ValueError(_unknown_key_text(name, sorted(valid_names)))
    driver_options = {
        _SPELLED[name]: _valid_value(name, value) for name, value in arguments.items() if name in _SPELLED
    }
    driver_options.setdefault("command_timeout_s", float(timeout_s))
    netmiko_arguments = {name: value for name, value in arguments.items() if name in netmiko_names}
    return Options(**driver_options, jump=jump, netmiko=_netmiko_arguments(netmiko_arguments))


def _unknown_key_text(name: str, valid_names: list[str]) -> str:
    text = f"unknown optional_args key {name!r}"
    similar_names = difflib.get_close_matches(name, valid_names, n=1)
    if similar_names:
        text += f"; did you mean {similar_names[0]!r}?"
    return text


def _valid_value(name: str, value: Any) -> Any:
    """Return the value of one of the driver's own options; raises ValueError, which names the valid values."""
    if name == "transport":
        if value not in TRANSPORTS:
            raise ValueError(f"optional_args 'transport' is one of {', '.join(TRANSPORTS)}, not {value!r}")
        return value
    types = {option.name: option.type for option in fields(Options)}
    if types[_SPELLED[name]] in (bool, "bool"):
        if not isinstance(value, bool):
            raise ValueError(f"optional_args {name!r} is true or false, not {value!r}")
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise ValueError(f"optional_args {name!r} is a number of seconds, not {value!r}")
    return float(value)


@functools.cache
def _netmiko_names() -> frozenset[str]:
    """Return the arguments of netmiko's constructor that NAPALM does not set itself."""
    import inspect

    from netmiko import BaseConnection

    names = set(inspect.signature(BaseConnection.__init__).parameters)
    return frozenset(names - {"self", "ip", "host", "username", "password", "device_type", "timeout"})


def _netmiko_arguments(stated: dict[str, Any]) -> dict[str, Any]:
    """Return netmiko's arguments with strict host keys and keepalives, unless the caller sets them.

    Netmiko's own defaults accept any host key, and send no keepalives, so the loss of a switch is never noticed. An
    ``alt_key_file`` needs no further option.
    """
    arguments = {"ssh_strict": True, "system_host_keys": True, "allow_agent": True, "keepalive": _KEEPALIVE_S, **stated}
    if arguments.get("key_file"):
        arguments.setdefault("use_keys", True)
    if arguments.get("alt_key_file"):
        arguments.setdefault("alt_host_keys", True)
    return arguments
