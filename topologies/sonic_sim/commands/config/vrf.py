"""``config vrf`` and ``config loopback``."""

from sonic_sim.commands.click7 import PlainGroup, Run, argument, option
from sonic_sim.commands.config.names import (
    NAME_MAX,
    remove_addresses,
    vrf_exists,
)
from sonic_sim.commands.config.root import config

_TABLES = ("INTERFACE", "PORTCHANNEL_INTERFACE", "VLAN_INTERFACE", "LOOPBACK_INTERFACE")
_MANAGEMENT = ("mgmt", "management")
_vrf_name = argument("vrf_name", metavar="<vrf_name>")


vrf = config.branch("vrf", "VRF-related configuration tasks")


def _check_name(run: Run, name: str) -> None:
    """Refuse a name that no VRF may have."""
    if not name.startswith("Vrf") and name not in _MANAGEMENT:
        run.fail("'vrf_name' must begin with 'Vrf' or named 'mgmt'/'management' in case of ManagementVRF.")
    if len(name) > NAME_MAX:
        run.fail(f"'vrf_name' length should not exceed {NAME_MAX} characters")


@vrf.leaf("add", "Add vrf", _vrf_name)
def vrf_add(run: Run, vrf_name: str) -> None:
    _check_name(run, vrf_name)
    if vrf_exists(run.db, vrf_name):
        run.fail(f"VRF {vrf_name} already exists!")
    if vrf_name in _MANAGEMENT:
        # The management VRF has a table of its own: hostcfgd makes it in the kernel, the others vrfmgrd.
        run.db.set_fields("MGMT_VRF_CONFIG|vrf_global", {"mgmtVrfEnabled": "true"})
    else:
        run.db.put(f"VRF|{vrf_name}", {})


@vrf.leaf("del", "Del vrf", _vrf_name)
def vrf_del(run: Run, vrf_name: str) -> None:
    db = run.db
    _check_name(run, vrf_name)
    device = "mgmt" if vrf_name == "management" else vrf_name
    # The device would go while rsyslog sends through it.
    for server, row in db.table("SYSLOG_SERVER").items():
        if row.get("vrf") == device:
            run.fail(f"Failed to remove VRF device: {device} is in use by SYSLOG_SERVER|{server}")
    if not vrf_exists(db, vrf_name):
        run.fail(f"VRF {vrf_name} does not exist!")
    if vrf_name in _MANAGEMENT:
        db.set_fields("MGMT_VRF_CONFIG|vrf_global", {"mgmtVrfEnabled": "false"})
        return
    for table in _TABLES:
        for name in [key for key, row in db.table(table).items() if row.get("vrf_name") == vrf_name]:
            remove_addresses(db, name)
            db.delete(f"{table}|{name}")
    db.delete(f"VRF|{vrf_name}")
    run.say(f"VRF {vrf_name} deleted and all associated IP addresses removed.")


@vrf.leaf("add_vrf_vni_map", "", argument("vrfname", metavar="<vrf-name>"), argument("vni", metavar="<vni>"))
def add_vni(run: Run, vrfname: str, vni: str) -> None:
    db = run.db
    if f"VRF|{vrfname}" not in db.rows:
        run.fail(f"vrf {vrfname} doesnt exists")
    if not vni.isdigit():
        run.fail(f"Invalid VNI {vni}. Only valid VNI is accepted")
    # A VNI has 24 bits (RFC 7348).
    if not 1 <= int(vni) <= 16777215:
        run.fail(f"Invalid VNI {vni}. Valid range [1 to 16777215].")
    if all(row.get("vni") != vni for row in db.table("VXLAN_TUNNEL_MAP").values()):
        run.fail("VLAN VNI not mapped. Please create VLAN VNI map entry first")
    for name, row in db.table("VRF").items():
        if row.get("vni") == vni:
            run.fail(f"VNI already mapped to vrf {name}")
    db.set_fields(f"VRF|{vrfname}", {"vni": vni})


@vrf.leaf("del_vrf_vni_map", "", argument("vrfname", metavar="<vrf-name>"))
def del_vni(run: Run, vrfname: str) -> None:
    if f"VRF|{vrfname}" not in run.db.rows:
        run.fail(f"vrf {vrfname} doesnt exists")
    # The field stays: 0 is no VNI.
    run.db.set_fields(f"VRF|{vrfname}", {"vni": "0"})


_socket = option("-s", "--redis-unix-socket-path", help="unix socket path for redis connection")
loopback = config.branch("loopback", "Loopback-related configuration tasks", cls=PlainGroup, params=[_socket])


_loopback_name = argument("loopback_name", metavar="<loopback_name>")


def _check_loopback(run: Run, name: str, more: str = "") -> None:
    """Refuse a name that no loopback may have; ``more`` is added to the message."""
    number = name.removeprefix("Loopback")
    has_number = name.startswith("Loopback") and number.isdigit()
    if not has_number or int(number) > 999 or len(name) > 11:
        run.fail(f"{name} is invalid, name should have prefix 'Loopback' and suffix '<0-999>' {more}")


@loopback.leaf("add", "", _loopback_name)
def loopback_add(run: Run, loopback_name: str) -> None:
    _check_loopback(run, loopback_name, f"and should not exceed {NAME_MAX} characters")
    if f"LOOPBACK_INTERFACE|{loopback_name}" in run.db.rows:
        run.fail(f"{loopback_name} already exists")
    run.db.put(f"LOOPBACK_INTERFACE|{loopback_name}", {})


@loopback.leaf("del", "", _loopback_name)
def loopback_del(run: Run, loopback_name: str) -> None:
    _check_loopback(run, loopback_name)
    if f"LOOPBACK_INTERFACE|{loopback_name}" not in run.db.rows:
        run.fail(f"{loopback_name} does not exist")
    remove_addresses(run.db, loopback_name)
    run.db.delete(f"LOOPBACK_INTERFACE|{loopback_name}")
