"""Programs about the host: hostname, uname, uptime, systemctl, reboot, journalctl."""

from sonic_sim.device import Effect
from sonic_sim.files import ROOT
from sonic_sim.shell.programs import Call, Result, program


@program("hostname")
def hostname(call: Call) -> Result:
    """Print the host's name."""
    return Result(out=call.device.hostname + "\n")


@program("uname")
def uname(call: Call) -> Result:
    """Print the kernel."""
    kernel = call.device.image().kernel
    if "-a" in call.argv:
        return Result(out=f"Linux {call.device.hostname} {kernel} #1 SMP x86_64 GNU/Linux\n")
    if "-r" in call.argv:
        return Result(out=f"{kernel}\n")
    if "-n" in call.argv:
        return Result(out=call.device.hostname + "\n")
    return Result(out="Linux\n")


@program("uptime")
def uptime(call: Call) -> Result:
    """Print how long the host is up."""
    minutes = int(call.device.clock.now() - call.device.times.booted) // 60
    return Result(out=f" up {minutes} min,  1 user,  load average: 0.26, 0.36, 0.59\n")


@program("reboot")
def reboot(call: Call) -> Result:
    """Boot again from the startup files."""
    if call.user != ROOT:
        return Result(1, err="This command must be run as root\n")
    call.device.boot()
    call.device.emit(Effect.DROP_SESSIONS)
    return Result()


@program("systemctl")
def systemctl(call: Call) -> Result:
    """Answer ``is-system-running``, ``is-active``, ``show``, restart ``bgp`` and kill the guard of a transaction."""
    words = [word for word in call.argv[1:] if not word.startswith("-")]
    verb = words[0] if words else ""
    units = words[1:]
    if verb == "is-system-running":
        if call.device.clock.now() >= call.device.times.frr_up:
            return Result(out="running\n")
        return Result(1, out="starting\n")
    if verb == "is-active":
        return Result(out="active\n")
    if verb == "restart" and units in (["bgp"], ["bgp.service"]):
        if call.user != ROOT:
            return Result(1, err="Failed to restart bgp.service: Access denied\n")
        call.device.start_frr(10)
        return Result(seconds=2.0)
    guard = call.device.guard
    # The guard runs as a transient unit, named after its transaction.
    if verb == "kill" and guard is not None and units == [f"railweave-switch-{guard.name}"]:
        guard.host.end(guard.host.me())
        call.device.guard = None
    return Result()


@program("crm")
def crm(call: Call) -> Result:
    """Refuse: use and thresholds of the ASIC's tables are not simulated."""
    return Result(1, err="crm: this command of SONiC is not simulated\n")


@program("journalctl", "dmesg", "logger", "monit", "kill", "ps")
def quiet(call: Call) -> Result:
    """Print nothing."""
    return Result()
