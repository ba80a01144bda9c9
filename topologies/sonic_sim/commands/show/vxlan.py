"""``show vxlan``: the tunnel's end, its VLANs, and the far ends learned by EVPN (show/vxlan.py)."""

from collections.abc import Mapping
from fnmatch import fnmatchcase

from sonic_sim.commands.click7 import Run, argument
from sonic_sim.commands.config.names import is_address
from sonic_sim.commands.config.root import not_simulated
from sonic_sim.commands.show.root import show
from sonic_sim.commands.tables import grid, table
from sonic_sim.configdb import natural_key
from sonic_sim.databases import APPL, STATE, rows_of_database
from sonic_sim.shell.programs import ProgramError

_TUNNEL = ["vxlan tunnel name", "source ip", "destination ip", "tunnel map name", "tunnel map mapping(vni -> vlan)"]
_ANY_ADDRESS = "0.0.0.0"
_count = argument("count", required=False)
_far_end = argument("remote_vtep_ip")

vxlan = show.branch("vxlan", "Show vxlan related information")

not_simulated(vxlan, "counters  Show VxLAN counters")


def _field(row: Mapping[str, str], name: str) -> str:
    """Return a field of a row. Raises ProgramError with Python's KeyError if it is missing."""
    if name not in row:
        raise ProgramError(f"KeyError: {name!r}")
    return row[name]


def _in_natural_order(rows: Mapping[str, Mapping[str, str]]) -> list[tuple[str, Mapping[str, str]]]:
    """Return the keys and rows in the natural order of the keys."""
    return sorted(rows.items(), key=lambda item: natural_key(item[0]))


@vxlan.leaf("name", "Show vxlan name <vxlan_name> information", argument("vxlan_name"))
def name(run: Run, vxlan_name: str) -> None:
    row = run.db.get(f"VXLAN_TUNNEL|{vxlan_name}")
    run.say(table(_TUNNEL, _tunnel_rows(run, vxlan_name, row) if row else []))


@vxlan.leaf("tunnel", "Show vxlan tunnel information")
def tunnel(run: Run) -> None:
    rows: list[list[str]] = []
    for name, fields in _in_natural_order(run.db.table("VXLAN_TUNNEL")):
        rows += _tunnel_rows(run, name, fields)
    run.say(table(_TUNNEL, rows))


def _tunnel_rows(run: Run, name: str, fields: Mapping[str, str]) -> list[list[str]]:
    """Return the rows of a tunnel's end: one for each map, with the fields of the tunnel in the first."""
    cells_of_tunnel = [name, fields.get("src_ip", ""), fields.get("dst_ip", "")]
    maps = {key: row for key, row in run.db.table("VXLAN_TUNNEL_MAP").items() if key.startswith(f"{name}|")}
    if not maps:
        return [cells_of_tunnel]
    rows = []
    for key, row in _in_natural_order(maps):
        rows.append([*cells_of_tunnel, key.partition("|")[2], f"{row.get('vni')} -> {row.get('vlan')}"])
        cells_of_tunnel = [" ", " ", " "]
    return rows


@vxlan.leaf("interface", "Show VXLAN VTEP Information")
def interface(run: Run) -> None:
    run.say("VTEP Information:\n")
    address = _ANY_ADDRESS
    for end, row in _in_natural_order(run.db.table("VXLAN_TUNNEL")):
        address = row.get("src_ip", address)
        source = ""
        # SONiC looks at the last address that it saw, so an end without one after another raises a KeyError.
        if address != _ANY_ADDRESS:
            source = f", SIP  : {_field(row, 'src_ip')}"
        run.say(f"\tVTEP Name : {end}{source}")
    if address == _ANY_ADDRESS:
        return
    for nvo, row in _in_natural_order(run.db.table("VXLAN_EVPN_NVO")):
        run.say(f"\tNVO Name  : {nvo},  VTEP : {_field(row, 'source_vtep')}")
    source = "Not Configured"
    for key in sorted(run.db.table("LOOPBACK_INTERFACE"), key=natural_key):
        name, _, prefix = key.partition("|")
        if prefix == f"{address}/32":
            source = name
            break
    run.say(f"\tSource interface  : {source}")


def _total(run: Run, number: int) -> None:
    run.say(f"Total count : {number}\n")


@vxlan.leaf("vlanvnimap", "Show VLAN VNI Mapping Information", _count)
def vlan_map(run: Run, count: str | None) -> None:
    maps = _in_natural_order(run.db.table("VXLAN_TUNNEL_MAP"))
    if count is None:
        run.say(grid(["VLAN", "VNI"], [[_field(row, "vlan"), _field(row, "vni")] for _, row in maps]))
    _total(run, len(maps))


@vxlan.leaf("vrfvnimap", "Show VRF VNI Mapping Information")
def vrf_map(run: Run) -> None:
    rows = [[vrf, row["vni"]] for vrf, row in _in_natural_order(run.db.table("VRF")) if "vni" in row]
    run.say(grid(["VRF", "VNI"], rows))
    _total(run, len(rows))


def _matching_rows(run: Run, database: int, pattern: str) -> list[tuple[str, Mapping[str, str]]]:
    """Return the keys and rows of a database whose keys match a pattern, in natural order."""
    rows = rows_of_database(run.device, database, pattern)
    return _in_natural_order({key: row for key, row in rows.items() if fnmatchcase(key, pattern)})


@vxlan.leaf("remotevtep", "Show All Remote VTEP Information", _count)
def far_ends(run: Run, count: str | None) -> None:
    if count not in (None, "count"):
        run.say(f"Unacceptable argument {count}")
        return
    tunnels = _matching_rows(run, STATE, "VXLAN_TUNNEL_TABLE|*")
    if count is None:
        rows = []
        for _, row in tunnels:
            ends = [_field(row, name) for name in ("src_ip", "dst_ip", "tnl_src")]
            rows.append([*ends, f"oper_{_field(row, 'operstatus')}"])
        run.say(grid(["SIP", "DIP", "Creation Source", "OperStatus"], rows))
    _total(run, len(tunnels))


def _is_far_end(run: Run, text: str) -> bool:
    """Tell whether a text is an address or ``all``; print the error if it is not."""
    if text == "all" or is_address(text):
        return True
    run.say(f"Remote VTEP IP {text} invalid format")
    return False


@vxlan.leaf("remotevni", "Show Vlans extended to the remote VTEP", _far_end, _count)
def far_vlans(run: Run, remote_vtep_ip: str, count: str | None) -> None:
    if not _is_far_end(run, remote_vtep_ip):
        return
    pattern = "*" if remote_vtep_ip == "all" else f"*{remote_vtep_ip}*"
    vlans = _matching_rows(run, APPL, f"VXLAN_REMOTE_VNI_TABLE:{pattern}")
    if count is None:
        rows = [[*key.split(":")[-2:], _field(row, "vni")] for key, row in vlans]
        run.say(grid(["VLAN", "RemoteVTEP", "VNI"], rows))
    _total(run, len(vlans))


@vxlan.leaf("remotemac", "Show MACs pointing to the remote VTEP", _far_end, _count)
def far_macs(run: Run, remote_vtep_ip: str, count: str | None) -> None:
    if not _is_far_end(run, remote_vtep_ip):
        return
    entries = _matching_rows(run, APPL, "VXLAN_FDB_TABLE:*")
    if remote_vtep_ip != "all":
        entries = [(key, row) for key, row in entries if row.get("remote_vtep") == remote_vtep_ip]
    elif count is None:
        # SONiC counts the rows without a far end too, but does not list them.
        entries = [(key, row) for key, row in entries if "remote_vtep" in row]
    if count is None:
        rows = []
        for key, row in entries:
            _, vlan, mac = key.split(":", 2)
            rows.append([vlan, mac, row["remote_vtep"], _field(row, "vni"), _field(row, "type")])
        run.say(grid(["VLAN", "MAC", "RemoteVTEP", "VNI", "Type"], rows))
    _total(run, len(entries))
