"""``config bgp``: sessions of BGP_NEIGHBOR, and settings of the whole switch."""

from sonic_sim.commands.click7 import Choice, Run, argument, flag
from sonic_sim.commands.config.root import config

_neighbor = argument("ipaddr_or_hostname", metavar="<ipaddr_or_hostname>")
_verbose = flag("-v", "--verbose", help="Enable verbose output")


bgp = config.branch("bgp", "BGP-related configuration tasks")


shutdown = bgp.branch("shutdown", "Shut down BGP session(s)")


startup = bgp.branch("startup", "Start up BGP session(s)")


@shutdown.leaf(
    "all",
    """Shut down all BGP sessions

In the case of Multi-Asic platform, we shut only the EBGP sessions with external neighbors.
""",
    _verbose,
)
def shutdown_all(run: Run, verbose: bool) -> None:
    _set_status(run, sorted(run.db.table("BGP_NEIGHBOR")), "down")


@startup.leaf(
    "all",
    """Start up all BGP sessions

In the case of Multi-Asic platform, we startup only the EBGP sessions with external neighbors.
""",
    _verbose,
)
def startup_all(run: Run, verbose: bool) -> None:
    _set_status(run, sorted(run.db.table("BGP_NEIGHBOR")), "up")


def _set_status(run: Run, addresses: list[str], status: str) -> None:
    """Set the sessions with these neighbors ``up`` or ``down``."""
    verb = "Starting" if status == "up" else "Shutting"
    for address in addresses:
        # ConfigDBConnector returns a key of several parts as a tuple, which the program prints as it is.
        shown = tuple(address.split("|")) if "|" in address else address
        run.say(f"{verb} {status} BGP session with neighbor {shown}...")
        run.db.set_fields(f"BGP_NEIGHBOR|{address}", {"admin_status": status})


def _addresses_of(run: Run, text: str, name: str) -> list[str]:
    """Return the addresses of a neighbor: ``text`` itself if it is an address, else those of the neighbor ``name``."""
    rows = run.db.table("BGP_NEIGHBOR")
    if text.lower() in rows:
        return [text.lower()]
    addresses = [key for key in sorted(rows) if rows[key].get("name") == name]
    if not addresses:
        run.fail(f"Could not locate neighbor '{text}'")
    return addresses


@shutdown.leaf(
    "neighbor",
    """Shut down BGP session by neighbor IP address or hostname.
User can specify either internal or external BGP neighbor to shutdown
""",
    _neighbor,
    _verbose,
)
def shutdown_neighbor(run: Run, ipaddr_or_hostname: str, verbose: bool) -> None:
    _set_status(run, _addresses_of(run, ipaddr_or_hostname, ipaddr_or_hostname), "down")


@startup.leaf("neighbor", "", _neighbor, _verbose)
def startup_neighbor(run: Run, ipaddr_or_hostname: str, verbose: bool) -> None:
    _set_status(run, _addresses_of(run, ipaddr_or_hostname, ipaddr_or_hostname), "up")


remove = bgp.branch("remove", "Remove BGP neighbor configuration from the device")


@remove.leaf(
    "neighbor",
    """Deletes BGP neighbor configuration of given hostname or ip from devices
User can specify either internal or external BGP neighbor to remove
""",
    argument("neighbor_ip_or_hostname", metavar="<neighbor_ip_or_hostname>"),
)
def remove_neighbor(run: Run, neighbor_ip_or_hostname: str) -> None:
    # Removal alone looks for the name in capitals (config/main.py _remove_bgp_neighbor_config).
    for address in _addresses_of(run, neighbor_ip_or_hostname, neighbor_ip_or_hostname.upper()):
        run.db.delete(f"BGP_NEIGHBOR|{address}")
        run.say(f"Removed configuration of BGP neighbor {address}")


device_global = bgp.branch("device-global", "Configure BGP device global state")


def _add_switch(name: str, text: str, field: str) -> None:
    """Add a group with the commands ``enabled`` and ``disabled``, which set a field of the whole switch."""
    group = device_global.branch(name, text)

    for state, value, verb in (("enabled", "true", "Enable"), ("disabled", "false", "Disable")):

        @group.leaf(state, f"{verb} {text.split(' ', 1)[1].removesuffix(' feature')} feature")
        def command(run: Run, value: str = value) -> None:
            run.db.set_fields("BGP_DEVICE_GLOBAL|STATE", {field: value})


_add_switch("tsa", "Configure Traffic-Shift-Away (TSA) feature", "tsa_enabled")
_add_switch("w-ecmp", "Configure Weighted-Cost Multi-Path (W-ECMP) feature", "wcmp_enabled")


@config.leaf(
    "suppress-fib-pending",
    """Enable or disable pending FIB suppression. Once enabled,
BGP will not advertise routes that are not yet installed in the hardware
""",
    argument("state", metavar="<enabled|disabled>", type=Choice(["enabled", "disabled"])),
)
def suppress_fib_pending(run: Run, state: str) -> None:
    run.db.set_fields("DEVICE_METADATA|localhost", {"suppress-fib-pending": state})
