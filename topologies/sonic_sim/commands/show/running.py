"""``show runningconfiguration`` and ``show startupconfiguration``."""

from sonic_sim.commands.cfggen import table_text
from sonic_sim.commands.click7 import Run, argument, pass_run
from sonic_sim.commands.config.root import not_simulated
from sonic_sim.commands.show.root import show, verbose
from sonic_sim.commands.tables import table
from sonic_sim.configdb import to_json
from sonic_sim.device import FRR_FILE
from sonic_sim.gcu.apply import running_document


@show.group()
def runningconfiguration() -> None:
    """Show current running configuration information"""


not_simulated(
    runningconfiguration,
    """
    snmp           Show SNMP running configuration
    spanning-tree  Show spanning_tree running configuration
""",
)


@runningconfiguration.command("all")
@verbose
@pass_run
def running_all(one: Run, verbose: bool) -> None:
    """Show full running configuration"""
    one.say(to_json(running_document(one.device)))
    one.seconds = 0.5


@runningconfiguration.command("bgp")
@verbose
@pass_run
def running_bgp(one: Run, verbose: bool) -> None:
    """Show BGP running configuration
    Note:
        multi-asic can run 'show run bgp' without -n to show all ASICs
    """
    one.say(one.device.frr.show() if one.device.frr_answers() else "", end="")


def _table_command(name: str, config_table: str, text: str, word: str | None = None) -> None:
    """Add a command that prints a table as sonic-cfggen does, or a row of it."""

    @pass_run
    def callback(one: Run, verbose: bool, **values: str | None) -> None:
        one.say(table_text(one.db.document(), config_table, values[word] if word else None), end="")

    command = runningconfiguration.command(name, help=text)(verbose(callback))
    if word is not None:
        argument(word, required=False)(command)


_table_command("acl", "ACL_RULE", "Show acl running configuration")
_table_command("ports", "PORT", "Show ports running configuration", "portname")
_table_command("interfaces", "INTERFACE", "Show interfaces running configuration", "interfacename")
_table_command("copp", "COPP_TRAP", "Show copp running configuration")


def _servers(name: str, config_table: str, title: str, text: str) -> None:
    @runningconfiguration.command(name, help=text)
    @verbose
    @pass_run
    def command(one: Run, verbose: bool) -> None:
        one.say(
            table([title], [[f"[{key}]" if name == "syslog" else key] for key in sorted(one.db.table(config_table))])
        )


_servers("syslog", "SYSLOG_SERVER", "Syslog Servers", "Show Syslog running configuration")
_servers("ntp", "NTP_SERVER", "NTP Servers", "Show NTP running configuration")


@show.group()
def startupconfiguration() -> None:
    """Show startup configuration information"""


@startupconfiguration.command("bgp")
@verbose
@pass_run
def startup_bgp(one: Run, verbose: bool) -> None:
    """Show BGP startup configuration"""
    files = one.device.files
    text = files.read(FRR_FILE).decode(errors="replace") if files.exists(FRR_FILE) else ""
    one.say(f"Routing-Config Mode: {one.device.routing_mode()}\n{text}", end="")
