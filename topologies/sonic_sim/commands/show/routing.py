"""``show ip``, ``show ipv6`` and ``show bgp``: interfaces from the kernel, the rest from FRR."""

import ipaddress
import json
from collections.abc import Callable, Iterable
from typing import Any

import click

from sonic_sim.bgp.views import view
from sonic_sim.commands.click7 import Choice, Group, Run, argument, flag
from sonic_sim.commands.config.root import not_simulated
from sonic_sim.commands.show.root import NAMESPACE, VERBOSE, show
from sonic_sim.commands.tables import table
from sonic_sim.configdb import natural_key, to_json
from sonic_sim.interfaces import kernel_interfaces
from sonic_sim.shell.programs import ProgramError

_words = argument("args", metavar="[IPADDRESS] [vrf <vrf_name>] [...]", nargs=-1)
_address = argument("ipaddress", required=False)
_info = argument("info_type", type=Choice(["routes", "advertised-routes", "received-routes"]), required=False)


class _NeedsFrr(Group):
    """A group that has ``bgp`` only if the containers of the switch include FRR's."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command with a name; None if there is none."""
        command = super().get_command(ctx, cmd_name)
        if command is not None and command.name == "bgp" and not _has_frr(ctx):
            return None
        return command

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return [name for name in super().list_commands(ctx) if name != "bgp" or _has_frr(ctx)]


def _has_frr(context: click.Context) -> bool:
    run: Run = context.find_root().obj
    return "bgp" in run.device.containers()


ip = show.branch("ip", "Show IP (IPv4) commands", cls=_NeedsFrr)
ipv6 = show.branch("ipv6", "Show IPv6 commands", cls=_NeedsFrr)


not_simulated(ip, "fib  Show IP FIB table")
not_simulated(
    ipv6,
    """
    fib              Show IP FIB table
    link-local-mode  show ipv6 link-local-mode
""",
)


def _ask(run: Run, *words: str | None) -> None:
    """Print FRR's answer to a command, of which the words that are None or empty are left out."""
    command = " ".join(word for word in words if word)
    if not run.device.frr_answers():
        run.leave("Exiting: failed to connect to any daemons.")
    text = view(run.device, command)
    if text is None:
        run.stop(f"% Unknown command: {command}")
    run.say(text, end="")


bgp = ip.branch("bgp", "Show IPv4 BGP (Border Gateway Protocol) information", cls=Group)
bgp6 = ipv6.branch("bgp", "Show IPv6 BGP (Border Gateway Protocol) information", cls=Group)
_SUMMARY = ("version", "remoteAs", "msgRcvd", "msgSent", "tableVersion", "inq", "outq", "peerUptime")
# The titles of SONiC's own table, with its spelling (utilities_common/bgp_util.py).
_TITLES = ["Neighbhor", "V", "AS", "MsgRcvd", "MsgSent", "TblVer", "InQ", "OutQ", "Up/Down", "State/PfxRcd",
           "NeighborName"]  # fmt: skip


@bgp.leaf("summary", "Show summarized information of IPv4 BGP state", *NAMESPACE)
def summary(run: Run, **others: Any) -> None:
    _summary(run, "ipv4")


@bgp6.leaf("summary", "Show summarized information of IPv6 BGP state", *NAMESPACE)
def summary6(run: Run, **others: Any) -> None:
    _summary(run, "ipv6")


def _summary(run: Run, family: str) -> None:
    """Print SONiC's own table of the sessions of a family, ``ipv4`` or ``ipv6``, from FRR's JSON."""
    if not run.device.frr_answers():
        run.leave("Exiting: failed to connect to any daemons.")
    document = json.loads(view(run.device, "show bgp summary json") or "{}").get(f"{family}Unicast")
    if document is None:
        run.stop("% BGP instance not found", 0)
    names = {key: row.get("name", "") for key, row in run.db.table("BGP_NEIGHBOR").items()}
    rows = []
    for peer in sorted(document["peers"], key=natural_key):
        values = document["peers"][peer]
        state = values["state"]
        if state == "Established":
            state = values["pfxRcd"]
        cells = [str(values[field]) for field in _SUMMARY]
        rows.append([peer, *cells, str(state), names.get(peer, "NotAvailable")])
    instance = f"BGP router identifier {document['routerId']}, local AS number {document['as']} vrf-id 0"
    run.say(f"\nIP{family[2:]} Unicast Summary:\n{instance}\nBGP table version {document['tableVersion']}")
    run.say(f"RIB entries {document['ribCount']}, using {document['ribMemory']} bytes of memory")
    run.say(f"Peers {document['peerCount']}, using {document['peerMemory']} KiB of memory")
    # FRR leaves both out where there are no peer groups.
    count = document.get("peerGroupCount", 0)
    memory_bytes = document.get("peerGroupMemory", 0)
    run.say(f"Peer groups {count}, using {memory_bytes} bytes of memory\n\n")
    run.say(f"{table(_TITLES, rows)}\n\nTotal number of neighbors {len(rows)}")


@bgp.leaf("neighbors", "Show IP (IPv4) BGP neighbors", _address, _info)
def neighbors(run: Run, ipaddress: str | None, info_type: str | None) -> None:
    _ask(run, "show bgp neighbors", ipaddress, info_type)


@bgp.leaf(
    "network",
    "Show IP (IPv4) BGP network",
    argument("ipaddress", metavar="[<ipv4-address>|<ipv4-prefix>]", required=False),
    argument("info_type", metavar="[bestpath|json|longer-prefixes|multipath]", required=False),
)
def network(run: Run, ipaddress: str | None, info_type: str | None) -> None:
    _ask(run, "show ip bgp", ipaddress, info_type)


# The list of show/bgp_common.py, which is not that of the FRR that runs.
_ROUTE_CODES = """Codes: K - kernel route, C - connected, S - static, R - RIP,
       O - OSPF, I - IS-IS, B - BGP, E - EIGRP, N - NHRP,
       T - Table, v - VNC, V - VNC-Direct, A - Babel, D - SHARP,
       F - PBR, f - OpenFabric,
       > - selected route, * - FIB route, q - queued route, r - rejected route
"""


@ip.leaf("route", "Show IP (IPv4) routing table", _words, VERBOSE, context_settings={"ignore_unknown_options": True})
def ip_route(run: Run, args: tuple[str, ...], verbose: bool) -> None:
    _routes(run, "ip", args)


@ipv6.leaf("route", "Show IPv6 routing table", _words, VERBOSE, context_settings={"ignore_unknown_options": True})
def ipv6_route(run: Run, args: tuple[str, ...], verbose: bool) -> None:
    _routes(run, "ipv6", args)


def _routes_of_frr(run: Run, version: str, args: tuple[str, ...]) -> None:
    """Print FRR's own answer to ``show ip route`` with these words."""
    if view(run.device, " ".join((f"show {version} route", *args))) is None:
        run.stop(f"% Unknown command: show {version} route {' '.join(args)} ")
    run.say(":")
    _ask(run, f"show {version} route", *args)
    run.say()


def _routes(run: Run, version: str, args: tuple[str, ...]) -> None:
    """Print routes as SONiC shows FRR's JSON (show/bgp_common.py).

    That is for a network and ``json`` at most: with any other word FRR's own answer is printed.
    """
    networks = list(filter(_is_network, args))
    if set(args) - {"json", *networks}:
        _routes_of_frr(run, version, args)
        return
    if not run.device.frr_answers():
        run.leave("Exiting: failed to connect to any daemons.")
    routes = json.loads(view(run.device, f"show {version} route json") or "{}")
    if networks:
        routes = _matching(routes, networks[0])
    if not routes:
        return
    entries = [entry for entries in routes.values() for entry in entries]
    if "json" in args:
        run.say(to_json(routes))
    elif networks:
        # A route that was asked for is a paragraph; all of them are a list below the codes.
        _say_each(run, entries, _entry_text)
    else:
        run.say(f"{_ROUTE_CODES}\n", end="")
        _say_each(run, entries, _lines_text)


def _say_each(run: Run, entries: Iterable[dict[str, Any]], text_of: Callable[[dict[str, Any]], str]) -> None:
    """Print the text of each entry."""
    # Entry by entry: bgp_common.py raises KeyError at a route of a protocol that it has no code for, such as FRR's
    # local ones, and what it printed before stays.
    for entry in entries:
        run.say(text_of(entry), end="")


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        return False
    return True


def _matching(routes: dict[str, Any], text: str) -> dict[str, Any]:
    """Return the route of a prefix, or the route with the longest prefix that an address is in; empty without one."""
    if "/" in text:
        return {text: routes[text]} if text in routes else {}
    address = ipaddress.ip_address(text)
    matching = [prefix for prefix in routes if address in ipaddress.ip_network(prefix)]
    if not matching:
        return {}
    longest = max(matching, key=lambda prefix: ipaddress.ip_network(prefix).prefixlen)
    return {longest: routes[longest]}


# What SONiC knows, of what is simulated: FRR's ``local`` is missing in every release.
_LETTERS = {"kernel": "K", "connected": "C", "static": "S", "bgp": "B"}


def _lines_text(route: dict[str, Any]) -> str:
    """Return the lines of a route in a list, one for each hop. Raises ProgramError for an unknown protocol."""
    preference = f" [{route['distance']}/{route['metric']}]"
    if route["protocol"] == "connected" and not (route["distance"] or route["metric"]):
        preference = ""
    if route["protocol"] not in _LETTERS:
        raise ProgramError(f"KeyError: '{route['protocol']}'")
    mark = ">" if route.get("selected") else " "
    head = f"{_LETTERS[route['protocol']]}{mark}*{route['prefix']}{preference}"
    # Further hops are indented to where the first one stands.
    start = head
    text = ""
    for hop in route["nexthops"]:
        text += f"{start}{_hop_text(hop)} {route['uptime']}\n"
        start = "  *" + " " * (len(head) - 3)
    return text


def _hop_text(hop: dict[str, Any]) -> str:
    """Return a next hop as a route in a list shows it."""
    if "ip" in hop:
        interface = f" {hop['interfaceName']}," if "interfaceName" in hop else ""
        return f" via {hop['ip']},{interface}"
    if "directlyConnected" in hop:
        return f" is directly connected, {hop['interfaceName']},"
    return " (ICMP unreachable)" if "reject" in hop else " (blackhole)"


def _entry_text(route: dict[str, Any]) -> str:
    """Return the paragraph of a route that was asked for."""
    best = ", best" if route.get("selected") else ""
    source = f'  Known via "{route["protocol"]}", distance {route["distance"]}, metric {route["metric"]}{best}'
    text = f"Routing entry for {route['prefix']}\n{source}\n  Last update {route['uptime']} ago\n"
    for hop in route["nexthops"]:
        if "directlyConnected" in hop:
            text += f"  * directly connected, {hop['interfaceName']}\n\n"
        elif "ip" in hop:
            interface = f", via {hop['interfaceName']}" if "interfaceName" in hop else ""
            text += f"  * {hop['ip']}{interface}\n"
        else:
            text += f"{_hop_text(hop)}\n"
    return f"{text}\n"


@show.leaf("route-map", "show route-map", argument("route_map_name", required=False), VERBOSE)
def route_map(run: Run, route_map_name: str | None, verbose: bool) -> None:
    _ask(run, "show route-map", route_map_name)


def _add_filters(group: Group, word: str, version: str) -> None:
    """Add the commands that ask FRR for the filters of an IP version."""
    group.leaf("prefix-list", "show ip prefix-list", argument("prefix_list_name", required=False), VERBOSE)(
        lambda run, prefix_list_name, verbose: _ask(run, f"show {word} prefix-list", prefix_list_name)
    )
    group.leaf("protocol", f"Show {version} protocol information", VERBOSE)(
        lambda run, verbose: _ask(run, f"show {word} protocol")
    )


_add_filters(ip, "ip", "IPv4")
_add_filters(ipv6, "ipv6", "IPv6")


@ip.branching("interfaces", "Show interfaces IPv4 address", *NAMESPACE, invoke_without_command=True)
def ip_interfaces(run: Run, **others: Any) -> None:
    if click.get_current_context().invoked_subcommand is None:
        _interfaces(run, "inet", "IPv4")


not_simulated(ip_interfaces, "loopback-action  show ip interfaces loopback-action")


@ipv6.leaf("interfaces", "Show interfaces IPv6 address", *NAMESPACE)
def ipv6_interfaces(run: Run, **others: Any) -> None:
    _interfaces(run, "inet6", "IPv6")


def _interfaces(run: Run, family: str, version: str) -> None:
    """Print the addresses of a family, ``inet`` or ``inet6``, with the neighbors that are reached from them."""
    neighbors = {}
    for neighbor_address, row in run.db.table("BGP_NEIGHBOR").items():
        neighbors[row.get("local_addr", "")] = [row.get("name", ""), neighbor_address]
    rows = []
    for link in sorted(kernel_interfaces(run.device), key=lambda link: natural_key(link["ifname"])):
        name = link["ifname"]
        state = _link_state(link)
        for address in link["addr_info"]:
            if address["family"] != family:
                continue
            neighbor = neighbors.get(address["local"], ["N/A", "N/A"])
            rows.append([name, "", f"{address['local']}/{address['prefixlen']}", state, *neighbor])
            # Only the first row of an interface names it.
            name = ""
            state = ""
    headers = ["Interface", "Master", f"{version} address/mask", "Admin/Oper", "BGP Neighbor", "Neighbor IP"]
    run.say(table(headers, rows))
    run.seconds = 0.4


def _link_state(link: dict[str, Any]) -> str:
    """Return the administrative and the operational state of an interface."""
    admin = "up" if "UP" in link["flags"] else "down"
    # ipintutil takes an interface for up where it has carrier, which loopbacks made as dummies never say.
    oper = "down" if link["operstate"] == "DOWN" else "up"
    return f"{admin}/{oper}"


configuration = show.branch("bgp", "Show BGP configuration")


@configuration.leaf(
    "device-global", "Show BGP device global state", flag("-j", "--json", "json_format", help="Display in JSON format")
)
def device_global(run: Run, json_format: bool) -> None:
    row = run.db.get("BGP_DEVICE_GLOBAL|STATE")
    if not row:
        run.stop("No configuration is present in CONFIG DB", 0)
    words = {"true": "enabled", "false": "disabled"}
    states = {
        "tsa": words.get(row.get("tsa_enabled", ""), "N/A"),
        "w-ecmp": words.get(row.get("wcmp_enabled", ""), "N/A"),
    }
    if json_format:
        run.say(to_json(states))
    else:
        run.say(table([name.upper() for name in states], [list(states.values())]))


@show.leaf("suppress-fib-pending", "Show the status of suppress pending FIB feature")
def suppress_fib_pending(run: Run) -> None:
    run.say(run.db.get("DEVICE_METADATA|localhost").get("suppress-fib-pending", "disabled").title())
