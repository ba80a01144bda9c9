"""The ``optional_args`` of the driver: its own ones checked, netmiko's passed on, any other refused.

NAPALM and netmiko ignore a misspelt option without a word; with host keys or timeouts that is dangerous.
"""

import difflib
import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from napalm_sonic.jump import Jump, parse_jump

_NAPALM_CONVENTIONS = frozenset(
    {"config_lock", "dest_file_system", "force_no_enable", "inline_transfer", "lock_disable", "secret"}
)
"""Names that NAPALM users pass to any driver. Those without a meaning here are accepted and have no effect."""


SSH, DOCKER = "ssh", "docker"
TRANSPORTS = (SSH, DOCKER)


@dataclass(frozen=True, slots=True)
class Options:
    """What the caller may choose. Times are seconds.

    ``command_timeout_s`` bounds a reading command, ``apply_timeout_s`` one that changes the configuration (SONiC's
    generic updater needs many minutes for some patches), ``reload_timeout_s`` the reconnection after ``config reload``.
    ``refuse_reload`` refuses a commit that would need one.
    """

    transport: str = SSH
    sudo: bool = True
    lock_disable: bool = False
    config_lock: bool = False
    refuse_reload: bool = False
    lock_wait_s: float = 0.0
    command_timeout_s: float = 60.0
    apply_timeout_s: float = 1800.0
    reload_timeout_s: float = 900.0
    reload_poll_s: float = 2.0
    jump: Jump | None = None
    netmiko: Mapping[str, Any] = field(default_factory=dict)


_KEEPALIVE_S = 15

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
"""Name in ``optional_args`` (NAPALM's style, without a unit) -> field of :class:`Options`."""


def parse_options(optional_args: Mapping[str, Any] | None, timeout_s: float) -> Options:
    """Check ``optional_args``; raises ValueError that names the nearest right word for an unknown one.

    ``timeout_s`` is the constructor's timeout: the default for reading commands.
    """
    given = dict(optional_args or {})
    jump = parse_jump(given.pop("jump")) if given.get("jump") is not None else None
    netmiko_names = _netmiko_names()
    known = netmiko_names | _SPELLED.keys() | _NAPALM_CONVENTIONS | {"jump"}
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, sorted(known), n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"unknown optional_args key {name!r}{hint}")
    own = {_SPELLED[name]: _checked(name, value) for name, value in given.items() if name in _SPELLED}
    own.setdefault("command_timeout_s", float(timeout_s))
    return Options(**own, jump=jump, netmiko=_netmiko_arguments({k: v for k, v in given.items() if k in netmiko_names}))


def _checked(name: str, value: Any) -> Any:
    """Return the value of one of our own options, or raise ValueError with what is wanted."""
    if name == "transport":
        if value not in TRANSPORTS:
            raise ValueError(f"optional_args 'transport' is one of {', '.join(TRANSPORTS)}, not {value!r}")
        return value
    wanted = {f.name: f.type for f in fields(Options)}[_SPELLED[name]]
    if wanted in (bool, "bool"):
        if not isinstance(value, bool):
            raise ValueError(f"optional_args {name!r} is true or false, not {value!r}")
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise ValueError(f"optional_args {name!r} is a number of seconds, not {value!r}")
    return float(value)


@functools.cache
def _netmiko_names() -> frozenset[str]:
    """Return the names that netmiko's constructor takes and NAPALM does not set itself."""
    import inspect

    from netmiko import BaseConnection

    names = set(inspect.signature(BaseConnection.__init__).parameters)
    return frozenset(names - {"self", "ip", "host", "username", "password", "device_type", "timeout"})


def _netmiko_arguments(given: dict[str, Any]) -> dict[str, Any]:
    """Return netmiko's arguments with host keys strict and keepalives on, unless the caller says otherwise.

    Netmiko's own defaults accept any host key and send no keepalives, so that a vanished switch is never noticed.
    A given ``alt_key_file`` is used without a further switch.
    """
    arguments = {"ssh_strict": True, "system_host_keys": True, "allow_agent": True, "keepalive": _KEEPALIVE_S, **given}
    if arguments.get("key_file"):
        arguments.setdefault("use_keys", True)
    if arguments.get("alt_key_file"):
        arguments.setdefault("alt_host_keys", True)
    return arguments
