"""``show interfaces``, ``show lldp``, ``show vlan``, ``show ip interfaces``."""

import json

from sonic_sim.commands.clicklike import Argument, Option, Parsed, leaf
from sonic_sim.commands.table import grid_table, simple_table
from sonic_sim.configdb import Hash, natural_key
from sonic_sim.databases import APPL, COUNTERS, rows_of_database
from sonic_sim.device import Device
from sonic_sim.interfaces import kernel_interfaces
from sonic_sim.shell.programs import Result

_NAME = (Argument("interfacename", required=False),)
_OPTIONS = (Option(("--verbose",)), Option(("-n", "--namespace"), value=True), Option(("-d", "--display"), value=True))
_MBPS_A_GBPS = 1000


def _port_table(device: Device, wanted: str | None) -> dict[str, Hash]:
    """Return the rows of APPL_DB's PORT_TABLE by port, in natural order."""
    rows = rows_of_database(device, APPL, "PORT_TABLE:*")
    names = {key.removeprefix("PORT_TABLE:"): row for key, row in rows.items() if key.startswith("PORT_TABLE:Ethernet")}
    return {name: names[name] for name in sorted(names, key=natural_key) if wanted in (None, name)}


@leaf("show interfaces status", "[OPTIONS] [INTERFACENAME]", options=_OPTIONS, arguments=_NAME)
def status(parsed: Parsed) -> Result:
    """Print speed, MTU, FEC and state of the ports."""
    device = parsed.call.device
    members = {key.split("|")[1]: key.split("|")[0] for key in device.db.table("VLAN_MEMBER")}
    rows = []
    for name, row in _port_table(device, parsed.values.get("interfacename")).items():
        rows.append([
            name, row.get("lanes", "N/A"), speed_text(row.get("speed", "")), row.get("mtu", "N/A"),
            row.get("fec", "N/A"), row.get("alias", "N/A"), "trunk" if name in members else "routed",
            row.get("oper_status", "N/A"), row.get("admin_status", "N/A"), "N/A", row.get("pfc_asym", "N/A"),
        ])  # fmt: skip
    headers = ["Interface", "Lanes", "Speed", "MTU", "FEC", "Alias", "Vlan", "Oper", "Admin", "Type", "Asym PFC"]
    return Result(out=simple_table(headers, rows, right=True) + "\n", seconds=0.3)


def speed_text(mbps: str) -> str:
    """Return a speed as the tables show it: ``400G``, ``2.5G``, ``100M``."""
    if not mbps.isdigit():
        return "N/A"
    if int(mbps) < _MBPS_A_GBPS:
        return f"{mbps}M"
    return f"{int(mbps) / _MBPS_A_GBPS:g}G"


@leaf("show interfaces description", "[OPTIONS] [INTERFACENAME]", options=_OPTIONS, arguments=_NAME)
def description(parsed: Parsed) -> Result:
    """Print the descriptions of the ports."""
    ports = _port_table(parsed.call.device, parsed.values.get("interfacename"))
    rows = [
        [name, row.get("oper_status", "N/A"), row.get("admin_status", "N/A"), row.get("alias", "N/A"),
         row.get("description", "N/A")]
        for name, row in ports.items()
    ]  # fmt: skip
    return Result(out=simple_table(["Interface", "Oper", "Admin", "Alias", "Description"], rows, right=True) + "\n")


@leaf("show interfaces naming_mode", options=(Option(("--verbose",)),))
def naming_mode(parsed: Parsed) -> Result:
    """Print how ports are named."""
    return Result(out="default\n")


@leaf(
    "show interfaces counters", options=(*_OPTIONS, Option(("-j", "--json")), Option(("-i", "--interface"), value=True))
)
def counters(parsed: Parsed) -> Result:
    """Print the counters of the ports."""
    device = parsed.call.device
    values = rows_of_database(device, COUNTERS, "COUNTERS*")
    names = values.get("COUNTERS_PORT_NAME_MAP", {})
    ports = _port_table(device, parsed.values.get("interface"))
    rows = {name: _counter_row(ports[name], values.get(f"COUNTERS:{names.get(name, '')}", {})) for name in ports}
    headers = [
        "STATE",
        *(f"{way}_{what}" for way in ("RX", "TX") for what in ("OK", "BPS", "UTIL", "ERR", "DRP", "OVR")),
    ]
    if "json" in parsed.flags:
        document = {name: dict(zip(headers, row, strict=True)) for name, row in rows.items()}
        return Result(out=json.dumps(document, indent=4) + "\n")
    table = [[name, *row] for name, row in rows.items()]
    return Result(out=simple_table(["IFACE", *headers], table, right=True) + "\n")


def _counter_row(port: Hash, values: Hash) -> list[str]:
    state = "X" if port.get("admin_status") != "up" else "U" if port.get("oper_status") == "up" else "D"
    row = [state]
    for way in ("IN", "OUT"):
        packets = int(values.get(f"SAI_PORT_STAT_IF_{way}_UCAST_PKTS", "0"))
        errors = int(values.get(f"SAI_PORT_STAT_IF_{way}_ERRORS", "0"))
        drops = int(values.get(f"SAI_PORT_STAT_IF_{way}_DISCARDS", "0"))
        row += [f"{packets:,}", "0.00 B/s", "0.00%", f"{errors:,}", f"{drops:,}", "0"]
    return row


@leaf("show lldp table", options=(Option(("--verbose",)),))
def lldp_table(parsed: Parsed) -> Result:
    """Print the LLDP neighbors."""
    rows = rows_of_database(parsed.call.device, APPL, "LLDP_ENTRY_TABLE:*")
    heard = {key.partition(":")[2]: row for key, row in rows.items() if key.startswith("LLDP_ENTRY_TABLE:")}
    table = [
        [port, heard[port]["lldp_rem_sys_name"], heard[port]["lldp_rem_port_id"],
         "BR" if heard[port]["lldp_rem_sys_cap_enabled"] == "28 00" else "O", heard[port]["lldp_rem_port_desc"]]
        for port in sorted(heard, key=natural_key)
    ]  # fmt: skip
    headers = ["LocalPort", "RemoteDevice", "RemotePortID", "Capability", "RemotePortDescr"]
    out = "Capability codes: (R) Router, (B) Bridge, (O) Other\n" + simple_table(headers, table)
    return Result(out=f"{out}\n{'-' * 50}\nTotal entries displayed:  {len(table)}\n")


@leaf("show vlan brief", options=(Option(("--verbose",)),))
def vlan_brief(parsed: Parsed) -> Result:
    """Print VLANs with addresses and members."""
    db = parsed.call.device.db
    rows = []
    for name in sorted(db.table("VLAN"), key=natural_key):
        addresses = [key.partition("|")[2] for key in db.table("VLAN_INTERFACE") if key.startswith(f"{name}|")]
        members = {
            key.partition("|")[2]: row for key, row in db.table("VLAN_MEMBER").items() if key.startswith(f"{name}|")
        }
        ports = sorted(members, key=natural_key)
        proxy = db.get(f"VLAN_INTERFACE|{name}").get("proxy_arp", "disabled")
        modes = [members[port].get("tagging_mode", "") for port in ports]
        rows.append([name.removeprefix("Vlan"), "\n".join(addresses), "\n".join(ports), "\n".join(modes), proxy])
    return Result(out=grid_table(["VLAN ID", "IP Address", "Ports", "Port Tagging", "Proxy ARP"], rows) + "\n")


@leaf("show vlan config")
def vlan_config(parsed: Parsed) -> Result:
    """Print VLANs with members, one a line."""
    db = parsed.call.device.db
    rows = []
    for name in sorted(db.table("VLAN"), key=natural_key):
        members = [key for key in db.table("VLAN_MEMBER") if key.startswith(f"{name}|")]
        vid = db.get(f"VLAN|{name}").get("vlanid", "")
        rows += [
            [name, vid, key.partition("|")[2], db.get(f"VLAN_MEMBER|{key}").get("tagging_mode", "")]
            for key in sorted(members, key=natural_key)
        ]
        if not members:
            rows.append([name, vid, "", ""])
    return Result(out=simple_table(["Name", "VID", "Member", "Mode"], rows) + "\n")


@leaf("show ip interfaces", options=(Option(("--verbose",)), Option(("-n", "--namespace"), value=True)))
def ip_interfaces(parsed: Parsed) -> Result:
    """Print the interfaces that have an IPv4 address."""
    rows = []
    for one in sorted(kernel_interfaces(parsed.call.device), key=lambda one: natural_key(one["ifname"])):
        state = f"{'up' if 'UP' in one['flags'] else 'down'}/{'down' if one['operstate'] == 'DOWN' else 'up'}"
        addresses = [f"{a['local']}/{a['prefixlen']}" for a in one["addr_info"] if a["family"] == "inet"]
        for place, address in enumerate(addresses):
            rows.append([one["ifname"] if place == 0 else "", "", address, state if place == 0 else "", "N/A", "N/A"])
    headers = ["Interface", "Master", "IPv4 address/mask", "Admin/Oper", "BGP Neighbor", "Neighbor IP"]
    return Result(out=simple_table(headers, rows) + "\n", seconds=0.4)
