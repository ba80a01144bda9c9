"""``config sflow``."""

from sonic_sim.commands.click7 import Integer, Run, argument, option
from sonic_sim.commands.config.names import is_address, is_interface
from sonic_sim.commands.config.root import config
from sonic_sim.databases import STATE, rows_of_database
from sonic_sim.interfaces import kernel_interfaces

_GLOBAL = "SFLOW|global"
_COLLECTORS = 2
_interface_name = argument("ifname", metavar="<interface_name>")


sflow = config.branch("sflow", "sFlow-related configuration tasks")


@sflow.leaf("enable", "Enable sFlow")
def enable(one: Run) -> None:
    one.db.set_fields(_GLOBAL, {"admin_state": "up"})


@sflow.leaf("disable", "Disable sFlow")
def disable(one: Run) -> None:
    one.db.set_fields(_GLOBAL, {"admin_state": "down"})


def _set_global(one: Run, field: str, value: str) -> None:
    first = {} if one.db.get(_GLOBAL) else {"admin_state": "down"}
    one.db.set_fields(_GLOBAL, {**first, field: value})


@sflow.leaf(
    "polling-interval",
    "Set polling-interval for counter-sampling (0 to disable)",
    argument("interval", metavar="<polling_interval>", type=Integer()),
)
def polling_interval(one: Run, interval: int) -> None:
    if not 5 <= interval <= 300 and interval != 0:
        one.fail("Polling interval must be between 5-300 (0 to disable)")
    _set_global(one, "polling_interval", str(interval))


@sflow.leaf("sample-direction", "Set sampling direction", argument("direction", metavar="<sample_direction>"))
def sample_direction(one: Run, direction: str) -> None:
    _check_direction(one, direction)
    _set_global(one, "sample_direction", direction)


def _check_direction(one: Run, direction: str) -> None:
    if not direction:
        return
    if direction not in ("rx", "tx", "both"):
        one.fail(f"Error: Direction {direction} is invalid")
    key = "SWITCH_CAPABILITY|switch"
    capable = rows_of_database(one.device, STATE, key).get(key, {}).get("PORT_EGRESS_SAMPLE_CAPABLE")
    if direction != "rx" and capable == "false":
        one.fail(f"Sample direction {direction} is not supported on this platform")


interface = sflow.branch("interface", "Configure sFlow settings for an interface")


def _session(one: Run, name: str) -> str:
    if not is_interface(one, name) and name != "all":
        one.stop("Invalid interface name", 0)
    return f"SFLOW_SESSION|{name}"


@interface.leaf("enable", "", _interface_name)
def enable_interface(one: Run, ifname: str) -> None:
    one.db.set_fields(_session(one, ifname), {"admin_state": "up"})


@interface.leaf("disable", "", _interface_name)
def disable_interface(one: Run, ifname: str) -> None:
    one.db.set_fields(_session(one, ifname), {"admin_state": "down"})


@interface.leaf("sample-rate", "", _interface_name, argument("rate", metavar="<sample_rate>"))
def sample_rate(one: Run, ifname: str, rate: str) -> None:
    key = _session(one, ifname)
    if rate != "default" and not (rate.isdigit() and 256 <= int(rate) <= 8388608):
        one.stop("Error: Sample rate must be between 256 and 8388608 or default", 0)
    if rate != "default":
        one.db.set_fields(key, {"sample_rate": rate})
    elif "sample_rate" in one.db.get(key):
        one.db.put(key, {name: value for name, value in one.db.get(key).items() if name != "sample_rate"})


@interface.leaf("sample-direction", "", _interface_name, argument("direction", metavar="<sample_direction>"))
def interface_direction(one: Run, ifname: str, direction: str) -> None:
    key = _session(one, ifname)
    _check_direction(one, direction)
    one.db.set_fields(key, {"sample_direction": direction})


collector = sflow.branch("collector", "Add/Delete a sFlow collector")


@collector.leaf(
    "add",
    "Add a sFlow collector",
    option("--port", type=Integer(), default=6343, help="Collector port number"),
    option("--vrf", default="default", help="Collector VRF"),
    argument("name", metavar="<collector_name>"),
    argument("ipaddr", metavar="<IPv4/v6_address>"),
)
def collector_add(one: Run, name: str, ipaddr: str, port: int, vrf: str) -> None:
    held = one.db.table("SFLOW_COLLECTOR")
    _refuse(
        one,
        (len(name) > 16, "Collector name must not exceed 16 characters"),
        (not 0 <= port <= 65535, "Collector port number must be between 0 and 65535"),
    )
    checks = (
        (not is_address(ipaddr), "Invalid IP address"),
        (vrf not in ("default", "mgmt"), "Only 'default' and 'mgmt' VRF are supported"),
        (name not in held and len(held) == _COLLECTORS, "Only 2 collectors can be configured, please delete one"),
    )
    _refuse(one, *checks)
    row = {"collector_ip": ipaddr.lower(), "collector_port": str(port), "collector_vrf": vrf}
    one.db.set_fields(f"SFLOW_COLLECTOR|{name}", row)


def _refuse(one: Run, *checks: tuple[bool, str]) -> None:
    for wrong, text in checks:
        if wrong:
            one.stop(text, 0)


@collector.leaf("del", "Delete a sFlow collector", argument("name", metavar="<collector_name>"))
def collector_del(one: Run, name: str) -> None:
    if not one.db.delete(f"SFLOW_COLLECTOR|{name}"):
        one.say(f"Collector: {name} not configured")


agent_id = sflow.branch("agent-id", "Add/Delete a sFlow agent")


@agent_id.leaf("add", "Add sFlow agent information", _interface_name)
def agent_add(one: Run, ifname: str) -> None:
    if ifname not in {link["ifname"] for link in kernel_interfaces(one.device)}:
        one.stop("Invalid interface name", 0)
    if "agent_id" in one.db.get(_GLOBAL):
        one.stop("Agent already configured. Please delete it first.", 0)
    _set_global(one, "agent_id", ifname)


@agent_id.leaf("del", "Delete sFlow agent information")
def agent_del(one: Run) -> None:
    row = one.db.get(_GLOBAL)
    if "agent_id" not in row:
        one.stop("sFlow agent not configured.", 0)
    one.db.put(_GLOBAL, {name: value for name, value in row.items() if name != "agent_id"})
