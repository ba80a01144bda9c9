"""``config vxlan``: the tunnel's end, the VLANs that it carries, and EVPN (config/vxlan.py)."""

from sonic_sim.commands.click7 import Integer, PlainGroup, Run, argument
from sonic_sim.commands.config.names import NAME_MAX, is_address
from sonic_sim.commands.config.root import config
from sonic_sim.shell.programs import ProgramError

_MOST_VLAN, _MOST_VNI = 4094, 2**24 - 1
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
def add(one: Run, vxlan_name: str, src_ip: str) -> None:
    if not is_address(src_ip):
        one.fail(f"{src_ip} invalid src ip address")
    if not 0 < len(vxlan_name) <= NAME_MAX:
        one.fail(f"'vxlan_name' length should not exceed {NAME_MAX + 1} characters")
    if one.db.table("VXLAN_TUNNEL"):
        one.fail("VTEP already configured.")
    one.db.put(f"VXLAN_TUNNEL|{vxlan_name}", {"src_ip": src_ip})


@vxlan.leaf("del", "Del VXLAN", _vxlan_name)
def delete(one: Run, vxlan_name: str) -> None:
    db = one.db
    if f"VXLAN_TUNNEL|{vxlan_name}" not in db.rows:
        one.fail(f"Vxlan tunnel {vxlan_name} does not exist")
    if db.table("VXLAN_EVPN_NVO"):
        one.fail("Please delete the EVPN NVO configuration.")
    if any("|" in key for key in db.table("VXLAN_TUNNEL_MAP")):
        one.fail(_MAP_HELD)
    if any(row.get("vxlan_tunnel") == vxlan_name for row in db.table("VNET").values()):
        one.fail(f"Please delete all VNET configuration referencing the tunnel {vxlan_name}")
    db.delete(f"VXLAN_TUNNEL|{vxlan_name}")


@evpn.leaf("add", "Add NVO", _nvo_name, _vxlan_name)
def evpn_add(one: Run, nvo_name: str, vxlan_name: str) -> None:
    # the pattern that is asked for has one part more than the rows: a second one is not seen
    if any("|" in key for key in one.db.table("VXLAN_EVPN_NVO")):
        one.fail("EVPN NVO already configured")
    _check_end(one, vxlan_name)
    one.db.put(f"VXLAN_EVPN_NVO|{nvo_name}", {"source_vtep": vxlan_name})


@evpn.leaf("del", "Del NVO", _nvo_name)
def evpn_delete(one: Run, nvo_name: str) -> None:
    if one.db.table("VXLAN_TUNNEL_MAP"):
        one.fail(_MAP_HELD)
    one.db.delete(f"VXLAN_EVPN_NVO|{nvo_name}")


def _check_end(one: Run, name: str) -> None:
    if not one.db.get(f"VXLAN_TUNNEL|{name}"):
        one.fail(f"VTEP {name} not configured")


def _check_numbers(one: Run, vlan: str, vni: str) -> None:
    if not vlan.isdigit():
        one.fail(f"Invalid vlan {vni}. Only valid vlan is accepted")
    if not 1 <= int(vlan) <= _MOST_VLAN:
        one.fail(_VLAN_RANGE)
    if not vni.isdigit():
        one.fail(f"Invalid VNI {vni}. Only valid VNI is accepted")
    if not 1 <= int(vni) <= _MOST_VNI:
        one.fail(f"Invalid VNI {vni}. Valid range [1 to 16777215].")


def _mapped(one: Run) -> list[tuple[str, str]]:
    """Return the VLAN and VNI of each map. Raises ProgramError for a map without one."""
    rows = one.db.table("VXLAN_TUNNEL_MAP").values()
    for row in rows:
        if missing := next((name for name in ("vlan", "vni") if name not in row), None):
            raise ProgramError(f"KeyError: {missing!r}")
    return [(row["vlan"], row["vni"]) for row in rows]


@mapping.leaf("add", "Add VLAN-VNI map entry", _vxlan_name, *_of_map)
def map_add(one: Run, vxlan_name: str, vlan: str, vni: str) -> None:
    _check_numbers(one, vlan, vni)
    name = f"Vlan{vlan}"
    _check_end(one, vxlan_name)
    if not one.db.get(f"VLAN|{name}"):
        one.fail(f"{name} not configured")
    for held_vlan, held_vni in _mapped(one):
        if held_vlan == name:
            one.fail(" Vlan Id already mapped ")
        if held_vni == vni:
            one.fail(" VNI Id already mapped ")
    one.db.put(_map_key(vxlan_name, vni, name), {"vni": vni, "vlan": name})


def _map_key(vxlan_name: str, vni: str, vlan: str) -> str:
    return f"VXLAN_TUNNEL_MAP|{vxlan_name}|map_{vni}_{vlan}"


@mapping.leaf("del", "Del VLAN-VNI map entry", _vxlan_name, *_of_map)
def map_delete(one: Run, vxlan_name: str, vlan: str, vni: str) -> None:
    _check_numbers(one, vlan, vni)
    _check_end(one, vxlan_name)
    if vrf := _vrf_of(one, vni):
        one.fail(f"VNI mapped to vrf {vrf}, Please remove VRF VNI mapping")
    for name in (vlan, f"Vlan{vlan}"):
        one.db.delete(_map_key(vxlan_name, vni, name))


def _vrf_of(one: Run, vni: str) -> str:
    """Return the VRF that a VNI is mapped to, empty where none."""
    return next((name for name, row in sorted(one.db.table("VRF").items()) if row.get("vni") == vni), "")


def _check_range(one: Run, vxlan_name: str, vlan_start: int, vlan_end: int, vni_start: int) -> None:
    if not (1 <= vlan_start <= _MOST_VLAN and 1 <= vlan_end <= _MOST_VLAN):
        one.fail(_VLAN_RANGE)
    if vlan_start > vlan_end:
        one.fail("vlan_end should be greater or equal to vlan_start")
    if not 1 <= vni_start <= _MOST_VNI:
        one.fail(f"Invalid VNI {vni_start}. Valid range [1 to 16777215].")
    if vni_start + vlan_end - vlan_start > _MOST_VNI:
        one.fail(f"Invalid VNI End {vni_start}. Valid range [1 to 16777215].")
    _check_end(one, vxlan_name)


@map_range.leaf("add", "Add Range of vlan-vni mappings", _vxlan_name, *_of_range)
def range_add(one: Run, vxlan_name: str, vlan_start: int, vlan_end: int, vni_start: int) -> None:
    _check_range(one, vxlan_name, vlan_start, vlan_end, vni_start)
    held = _mapped(one) if any(one.db.get(f"VLAN|Vlan{vlan}") for vlan in range(vlan_start, vlan_end + 1)) else []
    for vlan in range(vlan_start, vlan_end + 1):
        name, vni = f"Vlan{vlan}", str(vni_start + vlan - vlan_start)
        taken = next((pair for pair in held if name == pair[0] or vni == pair[1]), None)
        if not one.db.get(f"VLAN|{name}"):
            one.say(f"{name} not configured")
        elif taken:
            one.say(f"{name} already mapped" if taken[0] == name else f"VNI:{vni} already mapped ")
        else:
            one.db.put(_map_key(vxlan_name, vni, name), {"vni": vni, "vlan": name})


@map_range.leaf("del", "Del Range of vlan-vni mappings", _vxlan_name, *_of_range)
def range_delete(one: Run, vxlan_name: str, vlan_start: int, vlan_end: int, vni_start: int) -> None:
    _check_range(one, vxlan_name, vlan_start, vlan_end, vni_start)
    for vlan in range(vlan_start, vlan_end + 1):
        name, vni = f"Vlan{vlan}", str(vni_start + vlan - vlan_start)
        if vrf := _vrf_of(one, vni):
            one.say(f"VNI {vni} mapped to Vrf {vrf}, Please remove VRF VNI mapping")
            one.say(f"Skipping Vlan {name} VNI {vni} mapped delete. ")
        else:
            one.db.delete(_map_key(vxlan_name, vni, name))
