"""``show interfaces``."""

from typing import Any

import click

from sonic_sim.commands.click7 import Integer, PlainGroup, Run, argument, flag, option
from sonic_sim.commands.config.names import expand_filter
from sonic_sim.commands.config.root import not_simulated
from sonic_sim.commands.show.root import NAMESPACE, VERBOSE, show
from sonic_sim.commands.tables import grid, table
from sonic_sim.configdb import Hash, natural_key, to_json
from sonic_sim.databases import APPL, COUNTERS, STATE, rows_of_database
from sonic_sim.platform import cages
from sonic_sim.shell.programs import Call, Result, program

NOT_AVAILABLE = "N/A"
_name = argument("interfacename", required=False)
_MBPS_A_GBPS = 1000


interfaces = show.branch("interfaces", "Show details of the network interfaces")


not_simulated(
    interfaces,
    """
    dhcp-mitigation-rate  Show interface dhcp-mitigation-rate information
    errors                Show Interface Erorrs <interfacename>
    mpls                  Show Interface MPLS status
    tpid                  Show Interface tpid information
""",
)


def port_rows(run: Run, name_filter: str | None) -> dict[str, Hash]:
    """Return the rows of APPL_DB's PORT_TABLE by port, in natural order. A filter selects ports by their names."""
    rows = {}
    for key, row in rows_of_database(run.device, APPL, "PORT_TABLE:*").items():
        # The table also holds PortConfigDone and PortInitDone, by which daemons wait for each other.
        if key.startswith("PORT_TABLE:Ethernet"):
            rows[key.removeprefix("PORT_TABLE:")] = row
    names = set(rows)
    if name_filter is not None:
        names &= set(expand_filter(name_filter))
    return {name: rows[name] for name in sorted(names, key=natural_key)}


def _state(row: Hash) -> list[str]:
    """Return the operational and the administrative state of a port."""
    return [row.get("oper_status", NOT_AVAILABLE), row.get("admin_status", NOT_AVAILABLE)]


@interfaces.leaf("status", "Show Interface status information", _name, *NAMESPACE, VERBOSE)
def status(run: Run, interfacename: str | None, **others: Any) -> None:
    db = run.db
    vlan_members = {key.partition("|")[2] for key in db.table("VLAN_MEMBER")}
    channels = {}
    for key in db.table("PORTCHANNEL_MEMBER"):
        channel, _, port = key.partition("|")
        channels[port] = channel
    rows = []
    for name, row in port_rows(run, interfacename).items():
        # The column shows the port channel of a member in place of its VLANs.
        vlan = channels.get(name, "trunk" if name in vlan_members else "routed")
        settings = [row.get(field, NOT_AVAILABLE) for field in ("mtu", "fec", "alias")]
        rows.append([
            name, row.get("lanes", NOT_AVAILABLE), speed_text(row.get("speed", "")), *settings, vlan, *_state(row),
            NOT_AVAILABLE, row.get("pfc_asym", NOT_AVAILABLE),
        ])  # fmt: skip
    headers = ["Interface", "Lanes", "Speed", "MTU", "FEC", "Alias", "Vlan", "Oper", "Admin", "Type", "Asym PFC"]
    run.say(table(headers, rows, right=True))
    run.seconds = 0.3


def speed_text(mbps: str) -> str:
    """Return a speed as the tables show it: ``400G``, ``2.5G``, ``100M``."""
    if not mbps.isdigit():
        return NOT_AVAILABLE
    if int(mbps) < _MBPS_A_GBPS:
        return f"{mbps}M"
    return f"{int(mbps) / _MBPS_A_GBPS:g}G"


@interfaces.leaf("description", "Show interface status, protocol and description", _name, *NAMESPACE, VERBOSE)
def description(run: Run, interfacename: str | None, **others: Any) -> None:
    rows = [
        [name, *_state(row), row.get("alias", NOT_AVAILABLE), row.get("description", NOT_AVAILABLE)]
        for name, row in port_rows(run, interfacename).items()
    ]
    run.say(table(["Interface", "Oper", "Admin", "Alias", "Description"], rows, right=True))


@interfaces.leaf("alias", "Show Interface Name/Alias Mapping", _name, *NAMESPACE)
def alias(run: Run, interfacename: str | None, **others: Any) -> None:
    ports = run.db.table("PORT")
    if interfacename is not None and interfacename not in ports:
        run.fail(f"Invalid interface name {interfacename}")
    names = [interfacename] if interfacename else sorted(ports, key=natural_key)
    rows = [[name, ports[name].get("alias", name)] for name in names]
    run.say(table(["Name", "Alias"], rows))


@interfaces.leaf("naming_mode", "Show interface naming_mode status", VERBOSE)
def naming_mode(run: Run, verbose: bool) -> None:
    run.say((run.call.variables or {}).get("SONIC_CLI_IFACE_MODE", "default"))


def _add_mode_group(name: str, text: str, headers: list[str], fields: tuple[str, ...]) -> None:
    """Add a group whose ``status`` shows ``fields`` of the ports under ``headers``; ``text`` is for its help."""
    group = interfaces.branch(name, f"Show interface {text} information")

    @group.leaf("status", f"Show interface {text} status", _name, *NAMESPACE, VERBOSE)
    def command(run: Run, interfacename: str | None, **others: Any) -> None:
        states = rows_of_database(run.device, STATE, "PORT_TABLE|*")
        rows = []
        for port, row in port_rows(run, interfacename).items():
            # Of the row in STATE_DB what APPL_DB does not have.
            values = {**states.get(f"PORT_TABLE|{port}", {}), **row, "speed": speed_text(row.get("speed", ""))}
            rows.append([port, *(values.get(field, NOT_AVAILABLE) for field in fields)])
        run.say(table(["Interface", *headers], rows, right=True))


_add_mode_group("autoneg", "autoneg", ["Auto-Neg Mode", "Speed", "Adv Speeds", "Rmt Adv Speeds", "Type", "Adv Types",
                                       "Oper", "Admin"],
                ("autoneg", "speed", "adv_speeds", "rmt_adv_speeds", "interface_type", "adv_interface_types",
                 "oper_status", "admin_status"))  # fmt: skip
_add_mode_group("link-training", "link-training", ["LT Oper", "LT Admin", "Oper", "Admin"],
                ("link_training_status", "link_training", "oper_status", "admin_status"))  # fmt: skip
_add_mode_group("fec", "fec", ["FEC Oper", "FEC Admin"], ("fec_oper", "fec"))


@interfaces.branching(
    "breakout", "Show Breakout Mode information by interfaces", cls=PlainGroup, invoke_without_command=True
)
def breakout(run: Run) -> None:
    if click.get_current_context().invoked_subcommand is None:
        run.say(to_json(_breakouts(run)))


def _breakouts(run: Run) -> dict[str, Any]:
    """Return the entries of platform.json and hwsku.json, with the current modes and ports of the cages."""
    modes = run.db.table("BREAKOUT_CFG")
    entries = {}
    for name, cage in cages(run.device.spec).items():
        current = modes.get(name, {}).get("brkout_mode", cage.default)
        speeds = {}
        for port in cage.children(current):
            mbps = run.db.get(f"PORT|{port}").get("speed")
            if mbps:
                speeds[port] = f"{int(mbps) // _MBPS_A_GBPS}G"
        entries[name] = {**cage.entry(), "default_brkout_mode": cage.default, "Current Breakout Mode": current,
                         "child ports": ",".join(speeds), "child port speeds": ",".join(speeds.values())}  # fmt: skip
    return entries


@breakout.leaf(
    "current-mode",
    "Show current Breakout mode Info by interface(s)",
    argument("interface", metavar="<interface_name>", required=False),
)
def current_mode(run: Run, interface: str | None) -> None:
    modes = run.db.table("BREAKOUT_CFG")
    names = sorted(modes, key=natural_key) if interface is None else [interface]
    rows = [[name, modes.get(name, {}).get("brkout_mode", "Not Available")] for name in names]
    run.say(grid(["Interface", "Current Breakout Mode"], rows))


neighbor = interfaces.branch("neighbor", "Show neighbor related information")


@neighbor.leaf("expected", "Show expected neighbor information by interfaces", _name, NAMESPACE[1])
def expected(run: Run, interfacename: str | None, namespace: str | None) -> None:
    neighbors = run.db.table("DEVICE_NEIGHBOR")
    metadata = run.db.table("DEVICE_NEIGHBOR_METADATA")
    if interfacename is not None and neighbors.get(interfacename, {}).get("name") not in metadata:
        run.stop(f"No neighbor information available for interface {interfacename}", 0)
    ports = [interfacename] if interfacename else sorted(neighbors, key=natural_key)
    rows = []
    for port in ports:
        row = neighbors[port]
        # A neighbor without metadata, or whose port is unknown, is not listed at all.
        if row.get("name") not in metadata or "port" not in row:
            continue
        fields = [metadata[row["name"]].get(field, "None") for field in ("lo_addr", "mgmt_addr", "type")]
        rows.append([port, row["name"], row["port"], *fields])
    headers = ["LocalPort", "Neighbor", "NeighborPort", "NeighborLoopback", "NeighborMgmt", "NeighborType"]
    run.say(table(headers, rows))


switchport = interfaces.branch("switchport", "Show interface switchport information")


def _switchports(run: Run) -> list[list[str]]:
    """Return name, mode, untagged and tagged VLANs of each port and port channel.

    One without a mode is a trunk if it is a member of VLANs. Members of port channels are left out.
    """
    db = run.db
    aggregated = {key.partition("|")[2] for key in db.table("PORTCHANNEL_MEMBER")}
    rows = []
    for name in sorted({**db.table("PORT"), **db.table("PORTCHANNEL")}, key=natural_key):
        if name in aggregated:
            continue
        untagged, tagged = _vlans_of_port(run, name)
        mode = db.get(f"PORT|{name}").get("mode") or db.get(f"PORTCHANNEL|{name}").get("mode")
        if not mode:
            mode = "trunk" if untagged or tagged else "routed"
        rows.append([name, mode, ",".join(untagged), ",".join(tagged)])
    return rows


def _vlans_of_port(run: Run, name: str) -> tuple[list[str], list[str]]:
    """Return the numbers of the VLANs that a port is an untagged member of, and of those that it is a tagged one of."""
    vlans: dict[str, list[str]] = {"untagged": [], "tagged": []}
    for key, row in run.db.table("VLAN_MEMBER").items():
        vlan, _, port = key.partition("|")
        if port == name:
            vlans.setdefault(row.get("tagging_mode", ""), []).append(vlan.removeprefix("Vlan"))
    return sorted(vlans["untagged"], key=int), sorted(vlans["tagged"], key=int)


@switchport.leaf("config", "Show interface switchport config information")
def switchport_config(run: Run) -> None:
    run.say(table(["Interface", "Mode", "Untagged", "Tagged"], _switchports(run), numbers="left"))


@switchport.leaf("status", "Show interface switchport status information")
def switchport_status(run: Run) -> None:
    run.say(table(["Interface", "Mode"], [row[:2] for row in _switchports(run)]))


@interfaces.leaf("portchannel", "Show PortChannel information", *NAMESPACE, VERBOSE)
def portchannel(run: Run, **others: Any) -> None:
    names = sorted(run.db.table("PORTCHANNEL"), key=natural_key)
    rows = [[name.removeprefix("PortChannel"), name, NOT_AVAILABLE, ""] for name in names]
    run.say("Flags: A - active, I - inactive, Up - up, Dw - Down, N/A - not available,")
    run.say("       S - selected, D - deselected, * - not synced")
    run.say(table(["No.", "Team Dev", "Protocol", "Ports"], rows))


_COLUMNS = {
    "": ("OK", "BPS", "UTIL", "ERR", "DRP", "OVR"),
    "errors": ("ERR", "DRP", "OVR"),
    "rates": ("OK", "BPS", "PPS", "UTIL"),
}
_SAI = {"OK": "UCAST_PKTS", "ERR": "ERRORS", "DRP": "DISCARDS"}
_period = option("-p", "--period", type=Integer(), help="Display statistics over a specified period (in seconds)")
_json = flag("-j", "--json", "json_fmt", help="Print in JSON format")


@interfaces.branching(
    "counters",
    "Show interface counters",
    *NAMESPACE,
    option("-i", "--interface", help="Filter by interface name"),
    flag("-a", "--printall", help="Show all counters"),
    _period,
    _json,
    VERBOSE,
    cls=PlainGroup,
    invoke_without_command=True,
)
def counters(run: Run, interface: str | None, json_fmt: bool, **others: Any) -> None:
    if click.get_current_context().invoked_subcommand is None:
        _show_counters(run, interface, _COLUMNS[""], as_json=json_fmt)


def _add_counters_command(name: str) -> None:
    """Add a command that shows some of the counters."""

    @counters.leaf(name, f"Show interface counters {name}", *NAMESPACE, _period, _json, VERBOSE)
    def command(run: Run, json_fmt: bool, **others: Any) -> None:
        _show_counters(run, None, _COLUMNS[name], as_json=json_fmt)


_add_counters_command("errors")
_add_counters_command("rates")


@counters.leaf(
    "rif",
    "Show interface counters rif",
    argument("interface", metavar="[INTERFACE_NAME]", required=False),
    _period,
    _json,
    VERBOSE,
)
def rif(run: Run, **others: Any) -> None:
    headers = [f"{direction}_{column}" for direction in ("RX", "TX") for column in ("OK", "BPS", "PPS", "ERR")]
    run.say(table(["IFACE", *headers], [], right=True))


not_simulated(
    counters,
    """
    detailed       Show interface counters detailed
    trim           Show interface counters trim
""",
)


def _show_counters(run: Run, name_filter: str | None, columns: tuple[str, ...], *, as_json: bool) -> None:
    """Print counters of the ports, as a table or as JSON."""
    values = rows_of_database(run.device, COUNTERS, "COUNTERS*")
    oids = values.get("COUNTERS_PORT_NAME_MAP", {})
    rows = {}
    for name, port_row in port_rows(run, name_filter).items():
        if name in oids:
            rows[name] = _counter_row(port_row, values.get(f"COUNTERS:{oids[name]}", {}), columns)
    headers = ["STATE", *(f"RX_{column}" for column in columns), *(f"TX_{column}" for column in columns)]
    if as_json:
        document = {name: dict(sorted(zip(headers, rows[name], strict=True))) for name in sorted(rows)}
        run.say(to_json(document))
    else:
        run.say(table(["IFACE", *headers], [[name, *row] for name, row in rows.items()], right=True))


def _counter_row(port: Hash, values: Hash, columns: tuple[str, ...]) -> list[str]:
    """Return the cells of a port: its state, then its counters, received ones first."""
    row = [_counter_state(port)]
    for direction in ("IN", "OUT"):
        for column in columns:
            # Rates are N/A, as where nothing fills the table of rates; overruns are not simulated.
            count = values.get(f"SAI_PORT_STAT_IF_{direction}_{_SAI.get(column, '')}", "")
            if column == "OVR" and values:
                count = "0"
            row.append(f"{int(count):,}" if count else NOT_AVAILABLE)
    return row


def _counter_state(port: Hash) -> str:
    """Return the state of a port as portstat shows it: U for up, D for down, X for disabled."""
    if port.get("admin_status") != "up":
        return "X"
    return "U" if port.get("oper_status") == "up" else "D"


@program("portstat")
def portstat(call: Call) -> Result:
    """Run ``portstat [-j] [-i PORTS]``."""
    run = Run(call)
    words = call.argv[1:]
    name_filter = words[words.index("-i") + 1] if "-i" in words[:-1] else None
    _show_counters(run, name_filter, _COLUMNS[""], as_json="-j" in words)
    return run.result()
