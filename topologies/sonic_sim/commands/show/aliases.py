"""Names of ports by alias in what programs of ``show`` print (run_command_in_alias_mode of utilities_common/cli.py).

Some tables have the name in their first column, which gets as wide as the longest alias; in all other texts a name is
replaced wherever it stands as a word. The latter asks every port for its alias and fails where one has none.
"""

from collections.abc import Callable, Mapping
from typing import Any

import click

from sonic_sim.commands.click7 import Group, Run
from sonic_sim.commands.config.names import alias_of, by_alias, in_alias_words

_IN_COLUMN = {
    # command of show: the heading of the column with the names
    "interfaces counters": "IFACE", "interfaces counters errors": "IFACE", "interfaces counters rates": "IFACE",
    "interfaces counters rif": "IFACE", "ip interfaces": "Interface", "ipv6 interfaces": "Interface",
    "lldp table": "LocalPort", "queue counters": "Port",
}  # fmt: skip
_IN_WORDS = (
    "acl rule", "acl table", "buffer configuration", "buffer information", "buffer_pool persistent-watermark",
    "buffer_pool watermark", "clock", "ecn", "headroom-pool persistent-watermark", "headroom-pool watermark",
    "ip prefix-list", "ip protocol", "ipv6 prefix-list", "ipv6 protocol", "line", "mirror_session", "mmu",
    "pfc asymmetric", "pfc counters", "pfc priority", "pfcwd config", "pfcwd stats", "priority-group drop counters",
    "priority-group persistent-watermark headroom", "priority-group persistent-watermark shared",
    "priority-group watermark headroom", "priority-group watermark shared", "queue persistent-watermark all",
    "queue persistent-watermark multicast", "queue persistent-watermark unicast", "queue watermark all",
    "queue watermark multicast", "queue watermark unicast", "route-map", "runningconfiguration acl",
    "runningconfiguration interfaces", "runningconfiguration ports", "uptime",
    "watermark telemetry interval",
)  # fmt: skip


def install(show: Group) -> None:
    """Let commands of ``show`` print aliases where a shell asks for them."""
    for path in (*_IN_COLUMN, *_IN_WORDS):
        command: click.Command = show
        for word in path.split():
            command = command.commands[word]  # type: ignore[attr-defined]
        command.callback = _converting(command.callback, _IN_COLUMN.get(path))


def _converting(inner: Callable[..., None] | None, heading: str | None) -> Callable[..., None]:
    def callback(**values: Any) -> None:
        one: Run = click.get_current_context().find_root().obj
        start = len(one.out)
        try:
            if inner is not None:
                inner(**values)
        finally:
            if by_alias(one):
                lines = "".join(one.out[start:]).splitlines()
                del one.out[start:]
                for line in lines:
                    one.say(in_alias_words(one, line) if heading is None else _in_column(one, line, heading))

    return callback


def _in_column(run: Run, line: str, heading: str) -> str:
    """Return a line of a table whose first word may be a port."""
    ports = dict(sorted(run.db.table("PORT").items()))
    width = _width(ports)
    line = line.lstrip()
    if line.startswith(heading):
        line = line.replace(heading, heading.rjust(width))
    words = line.split()
    if line.startswith("---"):
        dashes = words[0][: len(words[0]) - width] if len(words[0]) > width else words[0]
        line = "  ".join([dashes.rjust(width, "-"), *words[1:]])
    name = words[0].replace(":", "") if words else ""
    if name in ports and (alias := alias_of(ports[name])):
        line = line.replace(name, alias.rjust(width), 1)
    return line.rstrip("\n")


def _width(ports: Mapping[str, Mapping[str, str]]) -> int:
    """Return the length of the longest alias, as far as the ports have one."""
    longest = 0
    for row in ports.values():
        if "alias" not in row:
            break
        longest = max(longest, len(row["alias"]))
    return longest
