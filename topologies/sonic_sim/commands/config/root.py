"""``config``: the root of its commands, and the names of those that are not simulated."""

import click

from sonic_sim.commands.click7 import Group, GroupOfModules, Run, run, with_run
from sonic_sim.files import ROOT
from sonic_sim.shell.programs import Call, Result, program

NOT_SAVED = "Please note loaded setting will be lost after system reboot. To preserve setting, run `config save`."
_ASKING = ("save", "load", "reload", "breakout", "load_minigraph")


def _begin(run: Run) -> None:
    """Refuse all users but root. While the database is being filled the run never ends, as SONiC's programs do."""
    if run.call.user != ROOT:
        run.leave("Root privileges are required for this operation")
    if not run.device.initialized:
        run.wait_for_ever()


config = GroupOfModules("config", help="SONiC command line - 'config' command", callback=with_run(_begin))


def _reads(argv: list[str]) -> bool:
    """Tell whether a command line reads standard input, for an answer or a document."""
    words = argv[1:]
    if words[-1:] in (["/dev/stdin"], ["-"]):
        return True
    # A command may be abbreviated, and is the first word or, for breakout, the second one.
    asks = any(word and name.startswith(word) for word in words[:2] for name in _ASKING)
    return asks and {"-y", "--yes", "-h", "-?", "--help"}.isdisjoint(words)


@program("config", reads_stdin=_reads)
def run_config(call: Call) -> Result:
    """Run ``config``."""
    return run(config, call)


def _not_simulated(run: Run) -> None:
    run.leave(f"{click.get_current_context().command_path}: this command of SONiC is not simulated")


def not_simulated(group: Group, lines: str) -> None:
    """Add commands that have only a name and a help, one for each of ``lines``. They fail when they are called."""
    for line in lines.strip().splitlines():
        name, _, text = line.strip().partition("  ")
        settings = {"ignore_unknown_options": True, "allow_extra_args": True}
        group.leaf(name, text.strip(), context_settings=settings)(_not_simulated)


not_simulated(
    config,
    """
    aaa                       AAA command line
    asic-sdk-health-event     Configuring asic-sdk-health-event
    auto-techsupport          AUTO_TECHSUPPORT part of config_db.json
    auto-techsupport-feature  AUTO_TECHSUPPORT_FEATURE part of config_db.json
    banner                    Configuring system banner messages
    bmp                       BMP-related configuration
    cbf                       CBF-related configuration tasks
    chassis                   Configure chassis commands group
    clock                     Configuring system clock
    console                   Console-related configuration tasks
    dns                       Static DNS configuration
    dropcounters              Drop counter related configuration tasks
    fabric                    FABRIC-related configuration tasks
    fg-nhg                    FG_NHG part of config_db.json
    fg-nhg-member             FG_NHG_MEMBER part of config_db.json
    fg-nhg-prefix             FG_NHG_PREFIX part of config_db.json
    flowcnt-route             Route flow counter related configuration tasks
    ipv6                      IPv6 configuration
    interface_naming_mode     Modify interface naming mode for interacting with SONiC CLI
    kdump                     Configure the KDUMP mechanism
    kubernetes                kubernetes command line
    ldap
    ldap-server
    load_mgmt_config          Reconfigure hostname and mgmt interface based on device description file.
    load_minigraph            Reconfigure based on minigraph.
    mclag
    member
    muxcable                  Show muxcable information
    nat                       NAT-related configuration tasks
    ntp                       NTP server configuration tasks
    nvgre-tunnel              NVGRE_TUNNEL part of config_db.json
    nvgre-tunnel-map          NVGRE_TUNNEL_MAP part of config_db.json
    override-config-table     Override current configDB with input config.
    passw-hardening           PASSWORD HARDENING part of config_db.json
    pbh                       Configure PBH (Policy based hashing) feature
    platform                  Platform-related configuration tasks
    radius                    RADIUS server configuration
    rate                      Set port rates configuration.
    serial_console            Configuring system serial-console behavior
    sflow                     sFlow-related configuration tasks
    snmp                      SNMP configuration tasks
    snmpagentaddress          SNMP agent listening IP address, port, vrf configuration
    snmptrap                  SNMP Trap server configuration to send traps
    spanning-tree             STP command line
    subinterface              subinterface-related configuration tasks
    ssh                       Configuring system ssh behavior
    switch-trimming           Configure switch trimming feature
    syslog                    Configure syslog server
    tacacs                    TACACS+ server configuration
    unique-ip                 Configure Unique IP on MCLAG Vlan interface
    vnet                      VNET-related configuration tasks
    warm_restart              warm_restart-related configuration tasks
    ztp                       Configure Zero Touch Provisioning
""",
)
