"""``show runningconfiguration`` and ``show startupconfiguration``."""

from sonic_sim.commands.clicklike import Option, Parsed, leaf
from sonic_sim.configdb import to_json
from sonic_sim.device import FRR_FILE
from sonic_sim.gcu.apply import running_document
from sonic_sim.shell.programs import Result

_VERBOSE = Option(("--verbose",))


@leaf("show runningconfiguration all", options=(_VERBOSE,))
def running_all(parsed: Parsed) -> Result:
    """Print the whole running configuration."""
    return Result(out=to_json(running_document(parsed.call.device)) + "\n", seconds=0.5)


@leaf("show runningconfiguration bgp", options=(_VERBOSE,))
def running_bgp(parsed: Parsed) -> Result:
    """Print FRR's running configuration."""
    return Result(out=parsed.call.device.frr.show() if parsed.call.device.frr_answers() else "")


@leaf("show runningconfiguration ports", options=(_VERBOSE,))
def running_ports(parsed: Parsed) -> Result:
    """Print the PORT table."""
    return Result(out=to_json(parsed.call.device.db.document().get("PORT", {})) + "\n")


@leaf("show runningconfiguration interfaces", options=(_VERBOSE,))
def running_interfaces(parsed: Parsed) -> Result:
    """Print the INTERFACE table."""
    return Result(out=to_json(parsed.call.device.db.document().get("INTERFACE", {})) + "\n")


@leaf("show startupconfiguration bgp", options=(_VERBOSE,))
def startup_bgp(parsed: Parsed) -> Result:
    """Print FRR's startup configuration."""
    files = parsed.call.device.files
    text = files.read(FRR_FILE).decode(errors="replace") if files.exists(FRR_FILE) else ""
    return Result(out=f"Routing-Config Mode: {parsed.call.device.routing_mode()}\n{text}")
