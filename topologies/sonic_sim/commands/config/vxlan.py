"""``config vxlan``: the tunnel's end, the VLANs that it carries, and EVPN (config/vxlan.py)."""

from typing import NamedTuple

from sonic_sim.commands.click7 import Integer, PlainGroup, Run, argument
from sonic_sim.commands.config.names import NAME_MAX, is_address
from sonic_sim.commands.config.root import config
from sonic_sim.shell.programs import ProgramError

# Twelve bits less the reserved 0 and 4095 (IEEE 802.1Q), and 24 bits (RFC 7348).
_MOST_VLAN = 4094
_MOST_VNI = 2**24 - 1
_VLAN_RANGE = " Invalid Vlan Id , Valid Range : 1 to 4094 "
_MAP_HELD = "Please delete all VLAN VNI mappings."

_vxlan_name = argument("vxlan_name", metavar="<vxlan_name>")
_nvo_name = argument("nvo_name", metavar="<nvo_name>")
_of_map = (argument("vlan", metavar="<vlan_id>"), argument("vni", metavar="<vni>"))
_of_range = tuple(
    argument(name, metavar=f"<{name}>", type=Integer()) for name in ("vlan_start", "vlan_end", "vni_start")
)

vxlan = config.branch("vxlan", "", cls=PlainGroup)
evpn = vxlan.branch("evpn_nvo", "", cls=PlainGroup)
mapping = vxlan.branch("map", "", cls=PlainGroup)
map_range = vxlan.branch("map_range", "", cls=PlainGroup)


@vxlan.leaf("add", "Add VXLAN", _vxlan_name, argument("src_ip", metavar="<src_ip>"))
def add(run: Run, vxlan_name: str, src_ip: str) -> None:
    if not is_address(src_ip):
        run.fail(f"{src_ip} invalid src ip address")
    if not 0 < len(vxlan_name) <= NAME_MAX:
        run.fail(f"'vxlan_name' length should not exceed {NAME_MAX + 1} characters")
    if run.db.table("VXLAN_TUNNEL"):
        run.fail("VTEP already configured.")
    run.db.put(f"VXLAN_TUNNEL|{vxlan_name}", {"src_ip": src_ip})


@vxlan.leaf("del", "Del VXLAN", _vxlan_name)
def delete(run: Run, vxlan_name: str) -> None:
    db = run.db
    if f"VXLAN_TUNNEL|{vxlan_name}" not in db.rows:
        run.fail(f"Vxlan tunnel {vxlan_name} does not exist")
    if db.table("VXLAN_EVPN_NVO"):
        run.fail("Please delete the EVPN NVO configuration.")
    if any("|" in key for key in db.table("VXLAN_TUNNEL_MAP")):
        run.fail(_MAP_HELD)
    if any(row.get("vxlan_tunnel") == vxlan_name for row in db.table("VNET").values()):
        run.fail(f"Please delete all VNET configuration referencing the tunnel {vxlan_name}")
    db.delete(f"VXLAN_TUNNEL|{vxlan_name}")


@evpn.leaf("add", "Add NVO", _nvo_name, _vxlan_name)
def evpn_add(run: Run, nvo_name: str, vxlan_name: str) -> None:
    # SONiC asks for a pattern with one part more than the rows have, so a second one is not seen.
    if any("|" in key for key in run.db.table("VXLAN_EVPN_NVO")):
        run.fail("EVPN NVO already configured")
    _check_end(run, vxlan_name)
    run.db.put(f"VXLAN_EVPN_NVO|{nvo_name}", {"source_vtep": vxlan_name})


@evpn.leaf("del", "Del NVO", _nvo_name)
def evpn_delete(run: Run, nvo_name: str) -> None:
    if run.db.table("VXLAN_TUNNEL_MAP"):
        run.fail(_MAP_HELD)
    run.db.delete(f"VXLAN_EVPN_NVO|{nvo_name}")


def _check_end(run: Run, name: str) -> None:
    """Refuse a tunnel's end that is not configured."""
    if not run.db.get(f"VXLAN_TUNNEL|{name}"):
        run.fail(f"VTEP {name} not configured")


def _check_numbers(run: Run, vlan: str, vni: str) -> None:
    """Refuse numbers that no VLAN or VNI has."""
    if not vlan.isdigit():
        # SONiC names the VNI where the VLAN is wrong (config/vxlan.py).
        run.fail(f"Invalid vlan {vni}. Only valid vlan is accepted")
    if not 1 <= int(vlan) <= _MOST_VLAN:
        run.fail(_VLAN_RANGE)
    if not vni.isdigit():
        run.fail(f"Invalid VNI {vni}. Only valid VNI is accepted")
    if not 1 <= int(vni) <= _MOST_VNI:
        run.fail(f"Invalid VNI {vni}. Valid range [1 to 16777215].")


class _VxlanMap(NamedTuple):
    """A map of a VLAN, by its name, to a VNI."""

    vlan: str
    vni: str


def _maps(run: Run) -> list[_VxlanMap]:
    """Return the maps of VLANs to VNIs. Raises ProgramError for a row without one of the two."""
    maps = []
    for row in run.db.table("VXLAN_TUNNEL_MAP").values():
        for field in ("vlan", "vni"):
            if field not in row:
                raise ProgramError(f"KeyError: {field!r}")
        maps.append(_VxlanMap(row["vlan"], row["vni"]))
    return maps


@mapping.leaf("add", "Add VLAN-VNI map entry", _vxlan_name, *_of_map)
def map_add(run: Run, vxlan_name: str, vlan: str, vni: str) -> None:
    _check_numbers(run, vlan, vni)
    name = f"Vlan{vlan}"
    _check_end(run, vxlan_name)
    if not run.db.get(f"VLAN|{name}"):
        run.fail(f"{name} not configured")
    for existing in _maps(run):
        if existing.vlan == name:
            run.fail(" Vlan Id already mapped ")
        if existing.vni == vni:
            run.fail(" VNI Id already mapped ")
    run.db.put(_map_key(vxlan_name, vni, name), {"vni": vni, "vlan": name})


def _map_key(vxlan_name: str, vni: str, vlan: str) -> str:
    return f"VXLAN_TUNNEL_MAP|{vxlan_name}|map_{vni}_{vlan}"


@mapping.leaf("del", "Del VLAN-VNI map entry", _vxlan_name, *_of_map)
def map_delete(run: Run, vxlan_name: str, vlan: str, vni: str) -> None:
    _check_numbers(run, vlan, vni)
    _check_end(run, vxlan_name)
    vrf = _vrf_of(run, vni)
    if vrf:
        run.fail(f"VNI mapped to vrf {vrf}, Please remove VRF VNI mapping")
    # SONiC deletes the row of the bare number as well (config/vxlan.py).
    for name in (vlan, f"Vlan{vlan}"):
        run.db.delete(_map_key(vxlan_name, vni, name))


def _vrf_of(run: Run, vni: str) -> str:
    """Return the VRF that a VNI is mapped to; empty if it is mapped to none."""
    for name, row in sorted(run.db.table("VRF").items()):
        if row.get("vni") == vni:
            return name
    return ""


def _check_range(run: Run, vxlan_name: str, vlan_start: int, vlan_end: int, vni_start: int) -> None:
    """Refuse a range of maps with numbers that no VLAN or VNI has, or of a tunnel's end that is not configured."""
    if not (1 <= vlan_start <= _MOST_VLAN and 1 <= vlan_end <= _MOST_VLAN):
        run.fail(_VLAN_RANGE)
    if vlan_start > vlan_end:
        run.fail("vlan_end should be greater or equal to vlan_start")
    if not 1 <= vni_start <= _MOST_VNI:
        run.fail(f"Invalid VNI {vni_start}. Valid range [1 to 16777215].")
    if vni_start + vlan_end - vlan_start > _MOST_VNI:
        run.fail(f"Invalid VNI End {vni_start}. Valid range [1 to 16777215].")
    _check_end(run, vxlan_name)


@map_range.leaf("add", "Add Range of vlan-vni mappings", _vxlan_name, *_of_range)
def range_add(run: Run, vxlan_name: str, vlan_start: int, vlan_end: int, vni_start: int) -> None:
    _check_range(run, vxlan_name, vlan_start, vlan_end, vni_start)
    vlans = range(vlan_start, vlan_end + 1)
    maps: list[_VxlanMap] = []
    # Without any VLAN of the range the command does not look at the maps, and so does not fail at a broken one.
    if any(run.db.get(f"VLAN|Vlan{vlan}") for vlan in vlans):
        maps = _maps(run)
    for vlan in vlans:
        name = f"Vlan{vlan}"
        vni = str(vni_start + vlan - vlan_start)
        conflicts = [existing for existing in maps if name == existing.vlan or vni == existing.vni]
        if not run.db.get(f"VLAN|{name}"):
            run.say(f"{name} not configured")
        elif not conflicts:
            run.db.put(_map_key(vxlan_name, vni, name), {"vni": vni, "vlan": name})
        elif conflicts[0].vlan == name:
            run.say(f"{name} already mapped")
        else:
            run.say(f"VNI:{vni} already mapped ")


@map_range.leaf("del", "Del Range of vlan-vni mappings", _vxlan_name, *_of_range)
def range_delete(run: Run, vxlan_name: str, vlan_start: int, vlan_end: int, vni_start: int) -> None:
    _check_range(run, vxlan_name, vlan_start, vlan_end, vni_start)
    for vlan in range(vlan_start, vlan_end + 1):
        name = f"Vlan{vlan}"
        vni = str(vni_start + vlan - vlan_start)
        vrf = _vrf_of(run, vni)
        if vrf:
            run.say(f"VNI {vni} mapped to Vrf {vrf}, Please remove VRF VNI mapping")
            run.say(f"Skipping Vlan {name} VNI {vni} mapped delete. ")
        else:
            run.db.delete(_map_key(vxlan_name, vni, name))
