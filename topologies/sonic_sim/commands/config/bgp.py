"""``config bgp``: sessions of BGP_NEIGHBOR, and what holds for the whole switch."""

from sonic_sim.commands.click7 import Choice, Run, argument, flag, pass_run
from sonic_sim.commands.config.root import config

_neighbor = argument("ipaddr_or_hostname", metavar="<ipaddr_or_hostname>")
_verbose = flag("-v", "--verbose", help="Enable verbose output")


@config.group()
def bgp() -> None:
    """BGP-related configuration tasks"""


@bgp.group()
def shutdown() -> None:
    """Shut down BGP session(s)"""


@bgp.group()
def startup() -> None:
    """Start up BGP session(s)"""


@shutdown.command("all")
@_verbose
@pass_run
def shutdown_all(one: Run, verbose: bool) -> None:
    """Shut down all BGP sessions

    In the case of Multi-Asic platform, we shut only the EBGP sessions with external neighbors.
    """
    _set(one, sorted(one.db.table("BGP_NEIGHBOR")), "down")


@startup.command("all")
@_verbose
@pass_run
def startup_all(one: Run, verbose: bool) -> None:
    """Start up all BGP sessions

    In the case of Multi-Asic platform, we startup only the EBGP sessions with external neighbors.
    """
    _set(one, sorted(one.db.table("BGP_NEIGHBOR")), "up")


def _set(one: Run, addresses: list[str], status: str) -> None:
    for address in addresses:
        shown = tuple(address.split("|")) if "|" in address else address
        one.say(f"{'Starting' if status == 'up' else 'Shutting'} {status} BGP session with neighbor {shown}...")
        one.db.set_fields(f"BGP_NEIGHBOR|{address}", {"admin_status": status})


def _found(one: Run, text: str, name: str) -> list[str]:
    """Return the addresses of a neighbor, given as an address or by its name."""
    rows = one.db.table("BGP_NEIGHBOR")
    found = [text.lower()] if text.lower() in rows else [key for key in sorted(rows) if rows[key].get("name") == name]
    if not found:
        one.fail(f"Could not locate neighbor '{text}'")
    return found


@shutdown.command("neighbor")
@_neighbor
@_verbose
@pass_run
def shutdown_neighbor(one: Run, ipaddr_or_hostname: str, verbose: bool) -> None:
    """Shut down BGP session by neighbor IP address or hostname.
    User can specify either internal or external BGP neighbor to shutdown
    """
    _set(one, _found(one, ipaddr_or_hostname, ipaddr_or_hostname), "down")


@startup.command("neighbor", help="")
@_neighbor
@_verbose
@pass_run
def startup_neighbor(one: Run, ipaddr_or_hostname: str, verbose: bool) -> None:
    """Start a session."""
    _set(one, _found(one, ipaddr_or_hostname, ipaddr_or_hostname), "up")


@bgp.group()
def remove() -> None:
    """Remove BGP neighbor configuration from the device"""


@remove.command("neighbor")
@argument("neighbor_ip_or_hostname", metavar="<neighbor_ip_or_hostname>")
@pass_run
def remove_neighbor(one: Run, neighbor_ip_or_hostname: str) -> None:
    """Deletes BGP neighbor configuration of given hostname or ip from devices
    User can specify either internal or external BGP neighbor to remove
    """
    for address in _found(one, neighbor_ip_or_hostname, neighbor_ip_or_hostname.upper()):
        one.db.delete(f"BGP_NEIGHBOR|{address}")
        one.say(f"Removed configuration of BGP neighbor {address}")


@bgp.group("device-global")
def device_global() -> None:
    """Configure BGP device global state"""


def _switch(name: str, text: str, field: str) -> None:
    """Add a group with ``enabled`` and ``disabled``."""

    @device_global.group(name, help=text)
    def group() -> None:
        pass

    for state, value, verb in (("enabled", "true", "Enable"), ("disabled", "false", "Disable")):

        @group.command(state, help=f"{verb} {text.split(' ', 1)[1].removesuffix(' feature')} feature")
        @pass_run
        def command(one: Run, value: str = value) -> None:
            one.db.set_fields("BGP_DEVICE_GLOBAL|STATE", {field: value})


_switch("tsa", "Configure Traffic-Shift-Away (TSA) feature", "tsa_enabled")
_switch("w-ecmp", "Configure Weighted-Cost Multi-Path (W-ECMP) feature", "wcmp_enabled")


@config.command("suppress-fib-pending")
@argument("state", metavar="<enabled|disabled>", type=Choice(["enabled", "disabled"]))
@pass_run
def suppress_fib_pending(one: Run, state: str) -> None:
    """Enable or disable pending FIB suppression. Once enabled,
    BGP will not advertise routes that are not yet installed in the hardware
    """
    one.db.set_fields("DEVICE_METADATA|localhost", {"suppress-fib-pending": state})
