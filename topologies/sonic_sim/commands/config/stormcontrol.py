"""``config interface storm-control``: limits of broadcast and unknown traffic that a port takes in."""

from sonic_sim.commands.click7 import Choice, PlainGroup, Range, Run, argument, option
from sonic_sim.commands.config.interface import interface
from sonic_sim.commands.config.names import is_interface, meant

_MOST_KBPS = 100_000_000

_port_name = argument("port_name", metavar="<port_name>")
_storm_type = argument(
    "storm_type", metavar="<storm_type>", type=Choice(["broadcast", "unknown-unicast", "unknown-multicast"])
)
_namespace = option("--namespace", "-n", help="Namespace name or all")

storm = interface.branch("storm-control", " Configure storm-control", cls=PlainGroup)


@storm.leaf(
    "add", "", _port_name, _storm_type, argument("kbps", metavar="<kbps_value>", type=Range(0, _MOST_KBPS)), _namespace
)
def add(one: Run, port_name: str, storm_type: str, kbps: int, namespace: str | None) -> None:
    if not _is_port(one, port_name):
        one.fail(f"Unable to add {storm_type} storm-control to interface {port_name}")
    # the name as it was written, an alias too
    one.db.set_fields(f"PORT_STORM_CONTROL|{port_name}|{storm_type}", {"kbps": str(kbps)})


@storm.leaf("del", "", _port_name, _storm_type, _namespace)
def delete(one: Run, port_name: str, storm_type: str, namespace: str | None) -> None:
    key = f"PORT_STORM_CONTROL|{port_name}|{storm_type}"
    known = _is_port(one, port_name)
    if known and not one.db.get(key):
        one.say(f"{storm_type} storm-control not enabled on interface {port_name}")
        known = False
    if not known:
        one.fail(f"Unable to delete {storm_type} storm-control from interface {port_name}")
    one.db.delete(key)


def _is_port(one: Run, text: str) -> bool:
    """Tell whether a port has that name; say what else it is."""
    name = meant(one, text)
    if not name.startswith("Ethernet"):
        one.say(f"Storm-control is supported only on Ethernet interfaces. Not supported on {name}")
    elif not is_interface(one, name):
        one.say(f"Interface name {name} is invalid. Please enter a valid interface name")
    else:
        return True
    return False
