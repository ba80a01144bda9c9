"""``TSA``, ``TSB`` and ``TSC``: take a switch out of traffic, bring it back, say its mode.

sonic-buildimage 202505, dockers/docker-fpm-frr/base_image_files and TSC in the container.
"""

from sonic_sim.bgpcfgd import system_mode
from sonic_sim.commands.show.interfaces import portstat
from sonic_sim.files import ROOT
from sonic_sim.shell.programs import Call, Result, program

STATE = "BGP_DEVICE_GLOBAL|STATE"
_NOT_ROOT = "Root priveleges are needed for this operation\n"
_SAVE = "Please execute 'sudo config save' to preserve System mode in {} after reboot or config reload\n"
# TSC counts what the ports carry over so many seconds.
_SAMPLE_S = 5.0


@program("TSA")
def tsa(call: Call) -> Result:
    """Set the state in CONFIG_DB; bgpcfgd writes FRR's lines."""
    change = "System Mode: Normal -> Maintenance"
    return _set(call, "true", change, unchanged="System is already in Maintenance", mode="Maintenance")


@program("TSB")
def tsb(call: Call) -> Result:
    """Bring the switch back."""
    change = "System Mode: Maintenance -> Normal"
    return _set(call, "false", change, unchanged="System is already in Normal mode", mode="Normal state")


@program("TSC")
def tsc(call: Call) -> Result:
    """Print the mode by FRR's route-maps, and the ports' counters unless ``no-stats`` is given."""
    if call.user != ROOT:
        return Result(1, out=_NOT_ROOT)
    mode = f"System Mode: {system_mode(call.device.frr.show())}\n"
    if call.argv[1:2] == ["no-stats"]:
        return Result(out=mode)
    counters = portstat(Call(call.device, ["portstat"], user=call.user))
    return Result(counters.exit, out=mode + counters.out, err=counters.err, seconds=_SAMPLE_S)


def _set(call: Call, tsa_enabled: str, change: str, *, unchanged: str, mode: str) -> Result:
    """Set the state in CONFIG_DB; print ``change`` or ``unchanged``, and how to keep the ``mode`` over a reboot."""
    if call.user != ROOT:
        return Result(1, out=_NOT_ROOT)
    text = unchanged
    if call.device.db.get(STATE).get("tsa_enabled", "") != tsa_enabled:
        call.device.db.set_fields(STATE, {"tsa_enabled": tsa_enabled})
        text = change
    return Result(out=f"{text}\n{_SAVE.format(mode)}", seconds=1.0)
