"""``show ip``, ``show ipv6`` and ``show bgp``: interfaces from the kernel, the rest from FRR."""

from typing import Any

from sonic_sim.bgp.views import view
from sonic_sim.commands.click7 import Choice, Run, argument, flag, pass_run
from sonic_sim.commands.config.root import not_simulated
from sonic_sim.commands.show.root import namespace_options, show, verbose
from sonic_sim.commands.tables import table
from sonic_sim.configdb import natural_key, to_json
from sonic_sim.interfaces import kernel_interfaces

_words = argument("args", metavar="[IPADDRESS] [vrf <vrf_name>] [...]", nargs=-1)
_address = argument("ipaddress", required=False)
_info = argument("info_type", type=Choice(["routes", "advertised-routes", "received-routes"]), required=False)


@show.group()
def ip() -> None:
    """Show IP (IPv4) commands"""


@show.group()
def ipv6() -> None:
    """Show IPv6 commands"""


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


@ip.group()
def bgp() -> None:
    """Show IPv4 BGP (Border Gateway Protocol) information"""


@bgp.command(help="Show summarized information of IPv4 BGP state")
@namespace_options
@pass_run
def summary(one: Run, **others: Any) -> None:
    """Print the summary."""
    _ask(one, "show bgp summary")


@bgp.command()
@_address
@_info
@pass_run
def neighbors(one: Run, ipaddress: str | None, info_type: str | None) -> None:
    """Show IP (IPv4) BGP neighbors"""
    _ask(one, "show bgp neighbors", ipaddress, info_type)


@bgp.command()
@argument("ipaddress", metavar="[<ipv4-address>|<ipv4-prefix>]", required=False)
@argument("info_type", metavar="[bestpath|json|longer-prefixes|multipath]", required=False)
@pass_run
def network(one: Run, ipaddress: str | None, info_type: str | None) -> None:
    """Show IP (IPv4) BGP network"""
    _ask(one, "show ip bgp", ipaddress, info_type)


@ip.command("route", context_settings={"ignore_unknown_options": True})
@_words
@verbose
@pass_run
def ip_route(one: Run, args: tuple[str, ...], verbose: bool) -> None:
    """Show IP (IPv4) routing table"""
    _ask(one, "show ip route", *args)


@ipv6.command("route", context_settings={"ignore_unknown_options": True})
@_words
@verbose
@pass_run
def ipv6_route(one: Run, args: tuple[str, ...], verbose: bool) -> None:
    """Show IPv6 routing table"""
    _ask(one, "show ipv6 route", *args)


@ip.command("interfaces", help="Show interfaces IPv4 address")
@namespace_options
@verbose
@pass_run
def ip_interfaces(one: Run, **others: Any) -> None:
    """Print the interfaces that have an IPv4 address."""
    _interfaces(one, "inet", "IPv4")


@ipv6.command("interfaces", help="Show interfaces IPv6 address")
@namespace_options
@verbose
@pass_run
def ipv6_interfaces(one: Run, **others: Any) -> None:
    """Print the interfaces that have an IPv6 address."""
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


@show.group("bgp")
def configuration() -> None:
    """Show BGP configuration"""


@configuration.command("device-global")
@flag("-j", "--json", "json_format", help="Display in JSON format")
@pass_run
def device_global(one: Run, json_format: bool) -> None:
    """Show BGP device global state"""
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


@show.command("suppress-fib-pending")
@pass_run
def suppress_fib_pending(one: Run) -> None:
    """Show the status of suppress pending FIB feature"""
    one.say(one.db.get("DEVICE_METADATA|localhost").get("suppress-fib-pending", "enabled").title())
