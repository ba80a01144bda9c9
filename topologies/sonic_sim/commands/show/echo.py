"""What `show` says of the program that it runs, with ``--verbose``, and names of ports by alias.

Most commands of ``show`` hand their words to another program (sonic-utilities: intfutil, portstat, ecnconfig, …).
"""

from collections.abc import Callable
from typing import Any

import click

from sonic_sim.commands.click7 import Group, Run
from sonic_sim.commands.config.names import by_alias, meant

_RUNNING, _PLAIN = "Running command: ", "Command: "
_PROGRAMS: dict[str, tuple[str, str, str]] = {
    # command of show: what is said, the option before a name (or all), the option without a name
    "interfaces status": (f"{_RUNNING}intfutil -c status", "-i", "-d all"),
    "interfaces description": (f"{_RUNNING}intfutil -c description", "-i", "-d all"),
    "interfaces tpid": (f"{_RUNNING}intfutil -c tpid", "-i", "-d all"),
    "interfaces autoneg status": (f"{_RUNNING}intfutil -c autoneg", "-i", "-d all"),
    "interfaces link-training status": (f"{_RUNNING}intfutil -c link_training", "-i", "-d all"),
    "interfaces fec status": (f"{_RUNNING}intfutil -c fec", "-i", "-d all"),
    "interfaces counters rif": (f"{_RUNNING}intfstat", "-i", ""),
    "acl rule": (f"{_RUNNING}acl-loader show rule", "", ""),
    "acl table": (f"{_RUNNING}acl-loader show table", "", ""),
    "ecn": (f"{_PLAIN}ecnconfig -l", "", ""),
    "lldp neighbors": (f"{_PLAIN}sudo lldpshow -d", "-p", ""),
    "lldp table": (f"{_PLAIN}sudo lldpshow", "", ""),
    "mirror_session": (f"{_PLAIN}acl-loader show session", "", ""),
    "pfc counters": (f"{_PLAIN}pfcstat -s all", "", ""),
    "pfcwd config": (f"{_PLAIN}pfcwd show config -d all", "", ""),
    "pfcwd stats": (f"{_PLAIN}pfcwd show stats -d all", "", ""),
    "queue counters": (f"{_PLAIN}queuestat", "-p", ""),
    "runningconfiguration acl": (f"{_PLAIN}sonic-cfggen -d --var-json ACL_RULE", "", ""),
    "runningconfiguration interfaces": (f"{_PLAIN}sonic-cfggen -d --var-json INTERFACE", "--key", ""),
    "runningconfiguration ports": (f"{_PLAIN}sonic-cfggen -d --var-json PORT", "--key", ""),
    "subinterfaces status": (f"{_PLAIN}intfutil -c status -i subport", "", ""),
    "uptime": (f"{_PLAIN}uptime -p", "", ""),
}
_BY_ALIAS = ("status", "description", "tpid", "autoneg status", "link-training status", "fec status", "alias")


def install(show: Group) -> None:
    """Let the commands of ``show`` name the programs that they run."""
    for path, said in _PROGRAMS.items():
        command: click.Command = show
        for word in path.split():
            command = command.commands[word]  # type: ignore[attr-defined]
        command.callback = _saying(command.callback, *said)
    interfaces = show.commands["interfaces"]
    for path in _BY_ALIAS:
        command = interfaces
        for word in path.split():
            command = command.commands[word]  # type: ignore[attr-defined]
        command.callback = _naming(command.callback)


def _run() -> Run:
    found: Run = click.get_current_context().find_root().obj
    return found


def _saying(inner: Callable[..., None] | None, program: str, option: str, without: str) -> Callable[..., None]:
    def callback(**values: Any) -> None:
        names = [value for name, value in values.items() if name not in _SETTINGS and isinstance(value, str)]
        if values.get("verbose"):
            said = " ".join(word for word in (program, *((option, names[0]) if names else (without,))) if word)
            asic = values.get("namespace")
            _run().say(said if asic is None else f"{said} -n {asic}")
        if inner is not None:
            inner(**values)

    return callback


_SETTINGS = ("namespace", "display", "verbose")


def _naming(inner: Callable[..., None] | None) -> Callable[..., None]:
    """Take the name of a port by its alias (try_convert_interfacename_from_alias)."""

    def callback(**values: Any) -> None:
        one, text = _run(), values.get("interfacename")
        if text is not None and by_alias(one):
            values["interfacename"] = meant(one, text) if one.db.table("PORT") else text
            if values["interfacename"] == text:
                one.fail(f"cannot find interface name for alias {text}")
        if inner is not None:
            inner(**values)

    return callback
