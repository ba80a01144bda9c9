"""``config portchannel`` and its members."""

from sonic_sim.commands.click7 import Choice, Range, Run, argument, option
from sonic_sim.commands.config.names import INVALID_NAME, NAME_MAX, is_interface, port_channel_of, vlans_of
from sonic_sim.commands.config.root import config, not_simulated

_FORM = "name should have prefix 'PortChannel' and suffix '<0-9999>'"
_channel = argument("portchannel_name", metavar="<portchannel_name>")
_port = argument("port_name", metavar="<port_name>")


_namespace = option("-n", "--namespace", help="Namespace name", type=Choice([""]))
portchannel = config.branch("portchannel", "", params=[_namespace])


def _is_valid(name: str) -> bool:
    """Tell whether a port channel may have this name."""
    if not name.startswith("PortChannel"):
        return False
    number = name.removeprefix("PortChannel")
    return number.isdigit() and int(number) <= 9999 and len(name) <= NAME_MAX


def _check_name(run: Run, name: str, more: str = "") -> None:
    """Refuse a name that no port channel may have; ``more`` is added to the message."""
    if not _is_valid(name):
        run.fail(f"{name} is invalid!, {_FORM}{more}")


def _must_exist(run: Run, name: str) -> None:
    if f"PORTCHANNEL|{name}" not in run.db.rows:
        run.fail(f"{name} is not present.")


@portchannel.leaf(
    "add",
    "Add port channel",
    _channel,
    option("--min-links", default=1, type=Range(1, 1024)),
    option("--fallback", default="false"),
    option("--fast-rate", default="false", type=Choice(["true", "false"], case_sensitive=False)),
)
def add(run: Run, portchannel_name: str, min_links: int, fallback: str, fast_rate: str) -> None:
    _check_name(run, portchannel_name, f" and its length should not exceed {NAME_MAX} characters")
    if f"PORTCHANNEL|{portchannel_name}" in run.db.rows:
        run.fail(f"{portchannel_name} already exists!")
    # config/main.py writes the defaults out, except for the fallback.
    row = {"admin_status": "up", "mtu": "9100", "lacp_key": "auto", "fast_rate": fast_rate, "min_links": str(min_links)}
    if fallback != "false":
        row["fallback"] = "true"
    run.db.put(f"PORTCHANNEL|{portchannel_name}", row)


@portchannel.leaf("del", "Remove port channel", _channel)
def remove(run: Run, portchannel_name: str) -> None:
    _check_name(run, portchannel_name)
    _must_exist(run, portchannel_name)
    vlans = vlans_of(run.db, portchannel_name)
    if vlans:
        run.fail(f"{portchannel_name} has vlan {vlans[0]} configured, remove vlan membership to proceed")
    if any(key.partition("|")[0] == portchannel_name for key in run.db.table("PORTCHANNEL_MEMBER")):
        todo = "Remove members before deleting Portchannel!"
        run.fail(f"Error: Portchannel {portchannel_name} contains members. {todo}")
    run.db.delete(f"PORTCHANNEL|{portchannel_name}")


member = portchannel.branch("member", "")


@member.leaf("add", "Add member to port channel", _channel, _port)
def member_add(run: Run, portchannel_name: str, port_name: str) -> None:
    db = run.db
    if any(row.get("dst_port") == port_name for row in db.table("MIRROR_SESSION").values()):
        run.fail(f"{port_name} is configured as mirror destination port")
    if not port_name.startswith("Ethernet") or not is_interface(run, port_name):
        run.fail(INVALID_NAME)
    _check_name(run, portchannel_name)
    _must_exist(run, portchannel_name)
    if f"INTERFACE|{port_name}" in db.rows:
        run.fail(f" {port_name} has ip address configured")
    if any(key.partition(".")[0] == port_name for key in db.table("VLAN_SUB_INTERFACE")):
        run.fail(f" {port_name} has subinterfaces configured")
    vlans = vlans_of(db, port_name)
    if vlans:
        run.fail(f"{port_name} Interface configured as VLAN_MEMBER under vlan : {vlans[0]}")
    parent = port_channel_of(db, port_name)
    if parent:
        run.fail(f"{port_name} Interface is already member of {parent} ")
    _check_settings(run, portchannel_name, port_name)
    tables = [name for name, row in db.table("ACL_TABLE").items() if port_name in row.get("ports@", "").split(",")]
    if tables:
        run.fail(f"Port {port_name} is already bound to following ACL_TABLES: {tables}")
    db.put(f"PORTCHANNEL_MEMBER|{portchannel_name}|{port_name}", {})


def _check_settings(run: Run, channel: str, port: str) -> None:
    """Refuse a port whose speed is not that of the other members, or whose MTU or TPID is not the port channel's."""
    db = run.db
    row = run.db.get(f"PORT|{port}")
    for key in db.table("PORTCHANNEL_MEMBER"):
        name, _, member_port = key.partition("|")
        if name == channel and db.get(f"PORT|{member_port}").get("speed") != row.get("speed"):
            run.fail(f"Port speed of {port} is different than the other members of the portchannel {channel}")
    mtu = db.get(f"PORTCHANNEL|{channel}").get("mtu")
    if mtu and row.get("mtu", mtu) != mtu:
        run.fail(f"Port MTU of {port} is different than the {channel} MTU size")
    # Members take the tag protocol of the port channel, which has the default.
    if row.get("tpid", "0x8100") != "0x8100":
        run.fail(f"Port TPID of {port}: {row['tpid']} is not at default 0x8100")


@member.leaf("del", "Remove member from portchannel", _channel, _port)
def member_del(run: Run, portchannel_name: str, port_name: str) -> None:
    _check_name(run, portchannel_name)
    if not is_interface(run, port_name):
        run.fail(INVALID_NAME)
    _must_exist(run, portchannel_name)
    if not run.db.delete(f"PORTCHANNEL_MEMBER|{portchannel_name}|{port_name}"):
        run.fail(f"{port_name} is not a member of portchannel {portchannel_name}")


not_simulated(portchannel, "retry-count")
