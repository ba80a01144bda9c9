"""``show``: the root of its commands, and the names of those that are not simulated."""

import click

from sonic_sim.commands.click7 import Choice, Group, flag, option, run
from sonic_sim.commands.config.root import not_simulated
from sonic_sim.shell.programs import Call, Result, program


def _refuse_verbose(context: click.Context, param: click.Parameter, value: bool) -> bool:
    """Return whether ``--verbose`` was given, which ends the run."""
    if value:
        # SONiC's commands then name the program that they start; here there is none.
        context.find_root().obj.leave(f"{context.command_path} --verbose: this option is not simulated")
    return value


VERBOSE = flag("--verbose", help="Enable verbose output", callback=_refuse_verbose)
NAMESPACE = (
    option(
        "--display", "-d", type=Choice(["all"]), default="all", show_default=True,
        help="Show internal interfaces",
    ),
    option("--namespace", "-n", type=Choice([""]), show_default=True, help="Namespace name or all"),
)  # fmt: skip

show = Group("show", help="SONiC command line - 'show' command")


@program("show")
def run_show(call: Call) -> Result:
    """Run ``show``."""
    return run(show, call)


not_simulated(
    show,
    """
    aaa                    Show AAA configuration
    arp                    Show IP ARP table
    asic-sdk-health-event
    auto-techsupport       AUTO_TECHSUPPORT part of config_db.json
    auto-techsupport-feature  [Callable command group]
    banner                 Show banner messages
    bfd                    Show details of the bfd sessions
    bmp                    Show details of the bmp dataset
    boot                   Show boot configuration
    chassis                Chassis commands group
    clock                  Show date and time
    copp                   Show copp configuration
    dns                    Show details of the static DNS configuration
    dropcounters           Show drop counter related information
    environment            Show environmentals (voltages, fans, temps)
    event-counters         Show events counter
    fabric                 Show fabric information
    fg-nhg                 [Callable command group]
    fg-nhg-member          [Callable command group]
    fg-nhg-prefix          [Callable command group]
    fgnhg                  Show FGNHG information
    flowcnt-route          Show route flow counter related information
    flowcnt-trap           Show trap flow counter related information
    kdump                  Show kdump configuration, dump files and dmesg logs
    kubernetes
    ldap
    ldap-server            [Callable command group]
    line                   Show all console lines and their info
    logging                Show system log
    mac                    Show MAC (FDB) entries
    management_interface   Show management interface parameters
    mgmt-vrf               Show management VRF attributes
    muxcable               SONiC command line - 'show muxcable' command
    nat                    Show details of the nat
    ndp                    Show IPv6 Neighbor table
    ntp                    Show NTP information
    nvgre-tunnel           [Callable command group]
    nvgre-tunnel-map       [Callable command group]
    p4-table               Display all P4RT tables
    passw-hardening        PASSWORD HARDENING part of config_db.json
    policer                Show existing policers
    processes              Show process information
    radius                 Show RADIUS configuration
    reboot-cause           Show cause of most recent reboot
    serial_console         Show serial_console configuration
    services               Show all daemon services
    sflow                  Show sFlow related information
    snmpagentaddress       Show SNMP agent listening IP address configuration
    snmptrap               Show SNMP agent Trap server configuration
    spanning-tree          Show spanning_tree commands
    srv6                   Show SRv6 related information
    ssh                    Show ssh configuration
    storm-control          Show storm-control
    subinterfaces          Show details of the sub port interfaces
    switch-trimming        Show switch trimming feature configuration
    switchport             Show details of the switchports
    syslog                 Show syslog server configuration
    system-health          Show system-health information
    system-memory          Show memory information
    tacacs                 Show TACACS+ configuration
    techsupport            Gather information for troubleshooting
    users                  Show users
    vnet                   Show vnet related information
    vrrp                   Show vrrp commands
    vrrp6                  Show vrrp6 commands
    warm_restart           Show warm restart configuration and state
    ztp                    Show Zero Touch Provisioning status
""",
)
