"""``show storm-control``: the limits of all ports; asked for one port it ends in an exception (show/main.py)."""

import click

from sonic_sim.commands.click7 import Run, argument, option
from sonic_sim.commands.show.root import show
from sonic_sim.commands.tables import grid
from sonic_sim.configdb import natural_key
from sonic_sim.shell.programs import ProgramError

_HEADERS = ["Interface Name", "Storm Type", "Rate (kbps)"]


@show.branching(
    "storm-control",
    "Show storm-control",
    option("--namespace", "-n", help="Namespace name or all"),
    option("--display", "-d", help="all|frontend"),
    invoke_without_command=True,
)
def storm_control(one: Run, namespace: str | None, display: str | None) -> None:
    if click.get_current_context().invoked_subcommand is not None:
        return
    if namespace is not None:
        why = "module 'sonic_py_common.multi_asic' has no attribute 'multi_asic_get_ip_intf_from_ns'"
        raise ProgramError(f"AttributeError: {why}")
    rows = one.db.table("PORT_STORM_CONTROL")
    if not rows or not all(rows.values()):
        return
    keys = sorted(rows, key=lambda key: [natural_key(part) for part in key.split("|")])
    one.say(grid(_HEADERS, [[*key.split("|")[:2], _rate(rows[key])] for key in keys]))


def _rate(row: dict[str, str]) -> str:
    if "kbps" not in row:
        raise ProgramError("KeyError: 'kbps'")
    return row["kbps"]


@storm_control.leaf("interface", "", argument("interface", metavar="<interface>"))
def of_interface(one: Run, interface: str) -> None:
    missing = "'namespace' and 'display'"
    raise ProgramError(f"TypeError: interface() missing 2 required positional arguments: {missing}")
