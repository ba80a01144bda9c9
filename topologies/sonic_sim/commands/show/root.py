"""``show``: the root of its commands, and the names of those that are not simulated."""

from sonic_sim.commands.click7 import Choice, Group, flag, option, run
from sonic_sim.commands.config.root import not_simulated
from sonic_sim.shell.programs import Call, Result, program

VERBOSE = flag("--verbose", help="Enable verbose output")
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
    banner                 Show banner messages
    bfd                    Show details of the bfd sessions
    bmp                    Show details of the bmp dataset
    boot                   Show boot configuration
    chassis                Chassis commands group
    copp                   Show copp configuration
    dns                    Show details of the static DNS configuration
    dropcounters           Show drop counter related information
    environment            Show environmentals (voltages, fans, temps)
    event-counters         Show events counter
    fabric                 Show fabric information
    fgnhg                  Show FGNHG information
    flowcnt-route          Show route flow counter related information
    flowcnt-trap           Show trap flow counter related information
    kdump                  Show kdump configuration, dump files and dmesg logs
    kubernetes
    logging                Show system log
    mac                    Show MAC (FDB) entries
    muxcable               SONiC command line - 'show muxcable' command
    nat                    Show details of the nat
    ndp                    Show IPv6 Neighbor table
    ntp                    Show NTP information
    p4-table               Display all P4RT tables
    policer                Show existing policers
    processes              Show process information
    radius                 Show RADIUS configuration
    serial_console         Show serial_console configuration
    sflow                  Show sFlow related information
    snmpagentaddress       Show SNMP agent listening IP address configuration
    snmptrap               Show SNMP agent Trap server configuration
    spanning-tree          Show spanning_tree commands
    srv6                   Show SRv6 related information
    ssh                    Show ssh configuration
    storm-control          Show storm-control
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
    ztp                    Show Zero Touch Provisioning status
""",
)
