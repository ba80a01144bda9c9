"""``config vlan`` and its members."""

from collections.abc import Container, Iterable

from sonic_sim.commands.click7 import Choice, Integer, Run, argument, flag
from sonic_sim.commands.config.names import interface_table, port_channel_of, vlans_of
from sonic_sim.commands.config.root import config

# Twelve bits less the reserved 0 and 4095 (IEEE 802.1Q).
_HIGHEST = 4094

_vid = argument("vid", metavar="<vid>")
_multiple = flag("-m", "--multiple", help="Add Multiple Vlan(s) in Range or in Comma separated list")
_except = flag("-e", "--except_flag", help="Skips the given vlans and adds all other existing vlans")


vlan = config.branch("vlan", "VLAN-related configuration tasks")


@vlan.leaf("add", "Add VLAN", _vid, _multiple)
def vlan_add(run: Run, vid: str, multiple: bool) -> None:
    for number in _numbers(run, vid, multiple=multiple):
        name = f"Vlan{number}"
        _check_range(run, number)
        if number == 1:
            run.fail(f"{name} is default VLAN")
        if f"VLAN|{name}" in run.db.rows:
            run.fail(f"{name} already exists.")
        if f"DHCP_RELAY|{name}" in run.db.rows:
            run.fail(f"DHCPv6 relay config for {name} already exists")
        run.db.put(f"VLAN|{name}", {"vlanid": str(number)})


def _numbers(run: Run, text: str, *, multiple: bool) -> list[int]:
    """Return the VLAN numbers of a word: a single number, or with ``multiple`` a list of numbers and ranges."""
    if not multiple:
        if not text.isdigit():
            run.fail(f"{text} is not integer")
        return [int(text)]
    numbers: set[int] = set()
    for part in text.replace(" ", "").split(","):
        numbers.update(_range(run, part))
    return sorted(numbers)


def _range(run: Run, part: str) -> Iterable[int]:
    """Return the numbers of ``10`` or ``10-12``. Only those of a range are checked here."""
    first, dash, last = part.partition("-")
    if not first.isdigit() or (dash and not last.isdigit()):
        run.fail(f"{part} is not integer")
    if not dash:
        return (int(first),)
    low = int(first)
    high = int(last)
    if 1 in (low, high):
        run.fail("Vlan1 is default vlan")
    if low >= high:
        run.fail(f"{low} is greater than {high}. List cannot be generated")
    if low < 1 or high > _HIGHEST:
        run.fail("Invalid VLAN ID must be in (2-4094)")
    return range(low, high + 1)


def _check_range(run: Run, number: int) -> None:
    if not 1 <= number <= _HIGHEST:
        run.fail(f"Invalid VLAN ID {number} (2-4094)")


@vlan.leaf(
    "del",
    "Delete VLAN",
    _vid,
    _multiple,
    flag(
        "--no_restart_dhcp_relay",
        help="If no_restart_dhcp_relay is True, do not restart dhcp_relay while del vlan and require dhcpv6 relay of "
        "this is empty",
    ),
)
def vlan_del(run: Run, vid: str, multiple: bool, no_restart_dhcp_relay: bool) -> None:
    db = run.db
    for number in _numbers(run, vid, multiple=multiple):
        name = f"Vlan{number}"
        _check_range(run, number)
        relay = db.rows.get(f"DHCP_RELAY|{name}", {}).get("dhcpv6_servers@")
        if no_restart_dhcp_relay and relay:
            run.fail(f"Can't delete {name} because related DHCPv6 Relay config is exist")
        _must_exist(run, name)
        if any(key.partition("|")[0] == name for key in db.table("VLAN_INTERFACE")):
            run.fail(f"{name} can not be removed. First remove IP addresses assigned to this VLAN")
        if any(key.partition("|")[0] == name for key in db.table("VLAN_MEMBER")):
            run.fail(f"VLAN ID {number} can not be removed. First remove all members assigned to this VLAN.")
        for key, row in db.table("VXLAN_TUNNEL_MAP").items():
            if row.get("vlan") == name:
                remedy = f"First remove vxlan mapping '{key}' assigned to VLAN"
                run.fail(f"vlan: {number} can not be removed. {remedy}")
        db.delete(f"VLAN|{name}")
        if relay:
            db.delete(f"DHCP_RELAY|{name}")


def _must_exist(run: Run, name: str) -> None:
    if f"VLAN|{name}" not in run.db.rows:
        run.fail(f"{name} does not exist")


@vlan.leaf(
    "proxy_arp",
    "Configure proxy ARP for a VLAN",
    argument("vid", metavar="<vid>", type=Integer()),
    argument("mode", metavar="<mode>", type=Choice(["enabled", "disabled"])),
)
def proxy_arp(run: Run, vid: int, mode: str) -> None:
    key = f"VLAN_INTERFACE|Vlan{vid}"
    if key not in run.db.rows:
        run.fail(f"Interface Vlan{vid} does not exist")
    run.db.set_fields(key, {"proxy_arp": mode})
    run.say("Proxy ARP setting saved to ConfigDB\nStarting ndppd service")


member = vlan.branch("member", "")


def _vlans_named(run: Run, vid: str, existing: list[str], *, multiple: bool, except_flag: bool) -> list[int]:
    """Return the numbers of the VLANs that ``vid`` names, or with ``except_flag`` those of all others.

    ``existing`` are the VLANs that ``all`` stands for.
    """
    all_numbers = sorted(int(name.removeprefix("Vlan")) for name in existing)
    if vid == "all":
        return all_numbers
    if not multiple and not vid.isdigit():
        run.fail("Vlan is not integer.")
    numbers = _numbers(run, vid, multiple=multiple)
    if except_flag:
        return [number for number in all_numbers if number not in numbers]
    return numbers


@member.leaf(
    "add",
    "Add VLAN member",
    _vid,
    argument("port", metavar="port"),
    flag("-u", "--untagged", help="Untagged status"),
    _multiple,
    _except,
)
def member_add(run: Run, vid: str, port: str, untagged: bool, multiple: bool, except_flag: bool) -> None:
    existing = list(run.db.table("VLAN"))
    numbers = _vlans_named(run, vid, existing, multiple=multiple, except_flag=except_flag)
    may_be_several = multiple or except_flag or vid == "all"
    if untagged and may_be_several:
        run.fail(f"{port} cannot have more than one untagged Vlan.")
    for number in numbers:
        name = f"Vlan{number}"
        if number == 1:
            run.fail(f"{name} is default VLAN")
        _check_range(run, number)
        _must_exist(run, name)
        _check_member(run, name, port, untagged=untagged)
        run.db.put(f"VLAN_MEMBER|{name}|{port}", {"tagging_mode": "untagged" if untagged else "tagged"})


def _check_member(run: Run, name: str, port: str, *, untagged: bool) -> None:
    """Refuse a port that cannot be a member of the VLAN ``name``."""
    db = run.db
    _refuse_mirror_destination(run, port)
    if f"VLAN_MEMBER|{name}|{port}" in db.rows:
        run.fail(f"{port} is already a member of {name}")
    table = _table_of(run, port)
    if any(key.partition("|")[0] == port for key in db.table(_ROUTED[table])):
        run.fail(f"{port} is a router interface!")
    if table == "PORT" and port_channel_of(db, port):
        run.fail(f"{port} is part of portchannel!")
    # A frame without a tag belongs to one VLAN only.
    if untagged and "untagged" in _tagging(run, port):
        run.fail(f"{port} is already untagged member!")
    mode = db.get(f"{table}|{port}").get("mode")
    if mode == "routed":
        run.fail(f"{port} is in routed mode!\nUse switchport mode command to change port mode")
    if mode == "access" and not untagged:
        run.fail(f"{port} is in access mode! Tagged Members cannot be added")


# The table that makes ports, and port channels, routed ones.
_ROUTED = {"PORT": "INTERFACE", "PORTCHANNEL": "PORTCHANNEL_INTERFACE"}


def _refuse_mirror_destination(run: Run, port: str) -> None:
    if any(row.get("dst_port") == port for row in run.db.table("MIRROR_SESSION").values()):
        run.fail(f"{port} is configured as mirror destination port")


def _table_of(run: Run, port: str) -> str:
    """Return the table of a port or port channel; any other name is refused."""
    if f"PORT|{port}" in run.db.rows:
        return "PORT"
    if f"PORTCHANNEL|{port}" not in run.db.rows:
        run.fail(f"{port} does not exist")
    return "PORTCHANNEL"


def _tagging(run: Run, port: str) -> set[str]:
    """Return the tagging modes with which a port is a member of VLANs: ``tagged``, ``untagged``."""
    modes = set()
    for key, row in run.db.table("VLAN_MEMBER").items():
        _, _, member_port = key.partition("|")
        if member_port == port:
            modes.add(row.get("tagging_mode", ""))
    return modes


@member.leaf("del", "Delete VLAN member", _vid, argument("port", metavar="<port>"), _multiple, _except)
def member_del(run: Run, vid: str, port: str, multiple: bool, except_flag: bool) -> None:
    existing = vlans_of(run.db, port)
    for number in _vlans_named(run, vid, existing, multiple=multiple, except_flag=except_flag):
        _check_range(run, number)
        _must_exist(run, f"Vlan{number}")
        key = f"VLAN_MEMBER|Vlan{number}|{port}"
        if key not in run.db.rows:
            run.fail(f"{port} is not a member of Vlan{number}")
        run.db.delete(key)


switchport = config.branch("switchport", "Switchport mode configuration tasks")


def _refuse_members(run: Run, port: str, tagging: Container[str]) -> None:
    """Refuse a port that is a member of VLANs, as its tagging modes tell."""
    if "tagged" in tagging:
        run.fail(f"{port} has tagged member(s). \nRemove them to change mode to routed")
    if "untagged" in tagging:
        run.fail(f"{port} has untagged member. \nRemove it to change mode to routed")


@switchport.leaf(
    "mode", "switchport mode help commands.Mode_type can be access or trunk or routed",
    argument("kind", metavar="<mode_type>", type=Choice(["access", "trunk", "routed"])),
    argument("port", metavar="port"),
)  # fmt: skip
def switchport_mode(run: Run, kind: str, port: str) -> None:
    db = run.db
    _refuse_mirror_destination(run, port)
    table = _table_of(run, port)
    if table == "PORT" and port_channel_of(db, port):
        run.fail(f"{port} is part of portchannel!")
    current = db.get(f"{table}|{port}").get("mode")
    tagging = _tagging(run, port)
    if kind == "routed":
        _refuse_members(run, port, tagging)
    elif f"{interface_table(port)}|{port}" in db.rows:
        run.fail(f"Remove IP from {port} to change mode!")
    if current == kind:
        run.fail(f"{port} is already in {kind} mode")
    if current == "trunk" and kind == "access" and "tagged" in tagging:
        remedy = f"Remove tagged member(s) from {port} to switch to {kind} mode"
        run.fail(f"{port} is in {current} mode and have tagged member(s).\n{remedy}")
    db.set_fields(f"{table}|{port}", {"mode": kind})
    run.say(f"{port} switched to {kind} mode")
