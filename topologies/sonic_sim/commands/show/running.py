"""``show runningconfiguration`` and ``show startupconfiguration``."""

import click

from sonic_sim.commands.cfggen import table_text, with_tuples
from sonic_sim.commands.click7 import Argument, Run
from sonic_sim.commands.config.root import not_simulated
from sonic_sim.commands.show.root import VERBOSE, show
from sonic_sim.configdb import to_json
from sonic_sim.device import FRR_FILE
from sonic_sim.gcu.apply import running_document

runningconfiguration = show.branch("runningconfiguration", "Show current running configuration information")


not_simulated(
    runningconfiguration,
    """
    copp           Show copp running configuration
    ntp            Show NTP running configuration
    snmp           Show SNMP running configuration
    spanning-tree  Show spanning_tree running configuration
    syslog         Show Syslog running configuration
""",
)


@runningconfiguration.leaf("all", "Show full running configuration", VERBOSE)
def running_all(run: Run, verbose: bool) -> None:
    run.say(to_json(running_document(run.device, run.complain)))
    run.seconds = 0.5


@runningconfiguration.leaf(
    "bgp",
    """Show BGP running configuration
Note:
    multi-asic can run 'show run bgp' without -n to show all ASICs
""",
    VERBOSE,
)
def running_bgp(run: Run, verbose: bool) -> None:
    run.say(run.device.frr.show() if run.device.frr_answers() else "", end="")


def _add_table_command(name: str, config_table: str, *params: click.Argument) -> None:
    """Add a command that prints a table, or a row of it, as sonic-cfggen does."""

    def callback(run: Run, verbose: bool, name: str | None = None) -> None:
        run.say(table_text(with_tuples(run.db.document()), config_table, name), end="")

    runningconfiguration.leaf(name, f"Show {name} running configuration", *params, VERBOSE)(callback)


_add_table_command("acl", "ACL_RULE")
_add_table_command("ports", "PORT", Argument(["name"], metavar="[PORTNAME]", required=False))
_add_table_command("interfaces", "INTERFACE", Argument(["name"], metavar="[INTERFACENAME]", required=False))
startupconfiguration = show.branch("startupconfiguration", "Show startup configuration information")


@startupconfiguration.leaf("bgp", "Show BGP startup configuration", VERBOSE)
def startup_bgp(run: Run, verbose: bool) -> None:
    files = run.device.files
    text = files.read(FRR_FILE).decode(errors="replace") if files.exists(FRR_FILE) else ""
    run.say(f"Routing-Config Mode: {run.device.routing_mode()}\n{text}", end="")
