"""``show ip``, ``show ipv6`` and ``show bgp``: interfaces from the kernel, the rest from FRR."""

from typing import Any

import click

from sonic_sim.bgp.views import view
from sonic_sim.commands.click7 import Choice, Run, argument, flag
from sonic_sim.commands.config.root import not_simulated
from sonic_sim.commands.show.root import NAMESPACE, VERBOSE, show
from sonic_sim.commands.tables import table
from sonic_sim.configdb import natural_key, to_json
from sonic_sim.interfaces import kernel_interfaces

_words = argument("args", metavar="[IPADDRESS] [vrf <vrf_name>] [...]", nargs=-1)
_address = argument("ipaddress", required=False)
_info = argument("info_type", type=Choice(["routes", "advertised-routes", "received-routes"]), required=False)


ip = show.branch("ip", "Show IP (IPv4) commands")


ipv6 = show.branch("ipv6", "Show IPv6 commands")


not_simulated(
    ip,
    """
    fib          Show IP FIB table
    prefix-list  show ip prefix-list
    protocol     Show IPv4 protocol information
""",
)
not_simulated(
    ipv6,
    """
    bgp              Show IPv6 BGP (Border Gateway Protocol) information
    fib              Show IP FIB table
    link-local-mode  show ipv6 link-local-mode
    prefix-list      show ip prefix-list
    protocol         Show IPv6 protocol information
""",
)


def _ask(one: Run, *words: str | None) -> None:
    """Print what FRR answers."""
    command = " ".join(word for word in words if word)
    if not one.device.frr_answers():
        one.leave("Exiting: failed to connect to any daemons.")
    text = view(one.device, command)
    if text is None:
        one.stop(f"% Unknown command: {command}")
    one.say(text, end="")


bgp = ip.branch("bgp", "Show IPv4 BGP (Border Gateway Protocol) information")


@bgp.leaf("summary", "Show summarized information of IPv4 BGP state", *NAMESPACE)
def summary(one: Run, **others: Any) -> None:
    _ask(one, "show bgp summary")


@bgp.leaf("neighbors", "Show IP (IPv4) BGP neighbors", _address, _info)
def neighbors(one: Run, ipaddress: str | None, info_type: str | None) -> None:
    _ask(one, "show bgp neighbors", ipaddress, info_type)


@bgp.leaf(
    "network",
    "Show IP (IPv4) BGP network",
    argument("ipaddress", metavar="[<ipv4-address>|<ipv4-prefix>]", required=False),
    argument("info_type", metavar="[bestpath|json|longer-prefixes|multipath]", required=False),
)
def network(one: Run, ipaddress: str | None, info_type: str | None) -> None:
    _ask(one, "show ip bgp", ipaddress, info_type)


@ip.leaf("route", "Show IP (IPv4) routing table", _words, VERBOSE, context_settings={"ignore_unknown_options": True})
def ip_route(one: Run, args: tuple[str, ...], verbose: bool) -> None:
    _ask(one, "show ip route", *args)


@ipv6.leaf("route", "Show IPv6 routing table", _words, VERBOSE, context_settings={"ignore_unknown_options": True})
def ipv6_route(one: Run, args: tuple[str, ...], verbose: bool) -> None:
    _ask(one, "show ipv6 route", *args)


@ip.branching("interfaces", "Show interfaces IPv4 address", *NAMESPACE, invoke_without_command=True)
def ip_interfaces(one: Run, **others: Any) -> None:
    if click.get_current_context().invoked_subcommand is None:
        _interfaces(one, "inet", "IPv4")


@ip_interfaces.leaf("loopback-action", "show ip interfaces loopback-action")
def loopback_action(one: Run) -> None:
    tables = ("INTERFACE", "VLAN_INTERFACE", "PORTCHANNEL_INTERFACE", "VLAN_SUB_INTERFACE")
    rows = {key: row for name in tables for key, row in one.db.table(name).items() if "loopback_action" in row}
    body = [[key, rows[key]["loopback_action"]] for key in sorted(rows, key=natural_key)]
    one.say(table(["Interface", "Action"], body))


@ipv6.leaf("interfaces", "Show interfaces IPv6 address", *NAMESPACE, VERBOSE)
def ipv6_interfaces(one: Run, **others: Any) -> None:
    _interfaces(one, "inet6", "IPv6")


def _interfaces(one: Run, family: str, version: str) -> None:
    neighbors = {
        row.get("local_addr", ""): (row.get("name", ""), key) for key, row in one.db.table("BGP_NEIGHBOR").items()
    }
    rows = []
    for link in sorted(kernel_interfaces(one.device), key=lambda link: natural_key(link["ifname"])):
        # ipintutil takes an interface for up where it has carrier, which loopbacks made as dummies never say
        state = f"{'up' if 'UP' in link['flags'] else 'down'}/{'down' if link['operstate'] == 'DOWN' else 'up'}"
        found = [one_address for one_address in link["addr_info"] if one_address["family"] == family]
        for place, address in enumerate(found):
            name, neighbor = neighbors.get(address["local"], ("N/A", "N/A"))
            head = [link["ifname"], ""] if place == 0 else ["", ""]
            prefix = f"{address['local']}/{address['prefixlen']}"
            rows.append([*head, prefix, state if place == 0 else "", name, neighbor])
    headers = ["Interface", "Master", f"{version} address/mask", "Admin/Oper", "BGP Neighbor", "Neighbor IP"]
    one.say(table(headers, rows))
    one.seconds = 0.4


configuration = show.branch("bgp", "Show BGP configuration")


@configuration.leaf(
    "device-global", "Show BGP device global state", flag("-j", "--json", "json_format", help="Display in JSON format")
)
def device_global(one: Run, json_format: bool) -> None:
    row = one.db.get("BGP_DEVICE_GLOBAL|STATE")
    if not row:
        one.stop("No configuration is present in CONFIG DB", 0)
    words = {"true": "enabled", "false": "disabled"}
    shown = {
        name: words.get(row.get(field, ""), "N/A")
        for name, field in (("tsa", "tsa_enabled"), ("w-ecmp", "wcmp_enabled"))
    }
    if json_format:
        one.say(to_json(shown))
    else:
        one.say(table([name.upper() for name in shown], [list(shown.values())]))


@show.leaf("suppress-fib-pending", "Show the status of suppress pending FIB feature")
def suppress_fib_pending(one: Run) -> None:
    one.say(one.db.get("DEVICE_METADATA|localhost").get("suppress-fib-pending", "enabled").title())
