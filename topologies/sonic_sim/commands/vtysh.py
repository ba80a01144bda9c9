"""``vtysh`` and ``rvtysh``: FRR's shell, on the host a wrapper into the bgp container."""

from dataclasses import dataclass, field

from sonic_sim.bgp.sessions import clear_sessions, remember_timers
from sonic_sim.bgp.views import view
from sonic_sim.device import FRR_FILE, Device
from sonic_sim.faults import FaultKind
from sonic_sim.files import ROOT, in_container
from sonic_sim.frr.boot import VTYSH_CONF
from sonic_sim.frr.edit import Editor
from sonic_sim.frr.refusal import RefusedLineError
from sonic_sim.shell.programs import Call, Result, program

_WITHOUT_WATCHFRR = (
    "\nWarning: attempting direct configuration write without watchfrr.\n"
    "File permissions and ownership may be incorrect, or write may fail.\n\n"
)
_DAEMONS_DOWN = "Exiting: failed to connect to any daemons.\n"


@program("vtysh")
def vtysh(call: Call) -> Result:
    """Run ``vtysh -c COMMAND… | -f FILE | -C -f FILE | -b | -d DAEMON``; it needs root."""
    if call.user != ROOT:
        return Result(1, err="Failed to connect to the Docker daemon: permission denied\n")
    options = _options(call.argv[1:])
    device = call.device
    if not device.frr_answers():
        return Result(1, err=_DAEMONS_DOWN)
    if options.file is not None:
        return _load_file(call, options)
    if not options.commands:
        return Result(0)
    return _run_commands(device, options.commands)


@program("rvtysh")
def rvtysh(call: Call) -> Result:
    """Run the read-only ``rvtysh -c 'show …'``."""
    options = _options(call.argv[1:])
    text = options.commands[0] if options.commands else ""
    if any(char in text for char in "|&$;\n"):
        return Result(1, err="Not allow to run the command, please use the comand 'sudo vtysh' instead.\n")
    if not text.startswith("show"):
        return Result(1, err=f"Not allow to run the command '{text}', please use the comand 'sudo vtysh' instead.\n")
    if not call.device.frr_answers():
        return Result(1, err=_DAEMONS_DOWN)
    return _run_commands(call.device, [text])


@dataclass(slots=True)
class _VtyshOptions:
    """A command line of ``vtysh``: commands, or a file, which is only checked if ``dry``."""

    commands: list[str] = field(default_factory=list)
    file: str | None = None
    dry: bool = False


def _options(words: list[str]) -> _VtyshOptions:
    """Return the parsed words of a command line; unknown ones are ignored."""
    options = _VtyshOptions()
    rest = iter(words)
    for word in rest:
        if word in ("-c", "--command"):
            options.commands.append(next(rest, ""))
        elif word in ("-f", "--inputfile"):
            options.file = next(rest, "")
        elif word in ("-C", "--dryrun"):
            options.dry = True
        elif word in ("-d", "--daemon", "-n", "--vty_socket"):
            next(rest, "")
        elif word in ("-b", "--boot"):
            options.file = FRR_FILE
    return options


def _load_file(call: Call, options: _VtyshOptions) -> Result:
    """Apply the lines of the file of ``options``, or only check them."""
    device = call.device
    path = in_container(call.path(options.file or ""))
    if not device.files.exists(path):
        return Result(1, err=f"% Can't open configuration file {options.file} due to 'No such file or directory'.\n")
    if not options.dry and device.faults.strike(FaultKind.REFUSE_COMMIT, "vtysh -f"):
        return Result(13, err="line 1: Failure to communicate[13] to bgpd, line: router bgp\n\n")
    text = device.files.read(path).decode(errors="replace")
    remember_timers(device, text)
    applied = device.frr.apply(text, dry=options.dry)
    return Result(applied.status, out=applied.out, err=applied.err, seconds=0.5)


def _run_commands(device: Device, commands: list[str]) -> Result:
    """Run commands one after the other in one session, as several ``-c`` do. An error ends the session."""
    editor: Editor | None = None
    out = ""
    for line in "\n".join(commands).split("\n"):
        words = " ".join(line.split())
        if not words:
            continue
        if words == "end":
            editor = None
        elif editor is None and words in ("configure terminal", "conf t", "configure", "config t"):
            editor = Editor(device.frr.root)
        elif editor is not None and not words.startswith("do "):
            refusal = _apply_line(device, editor, words)
            if refusal is not None:
                return Result(1, out=out + refusal)
            out += "".join(f"{note}\n" for note in editor.notes)
            editor.notes.clear()
        else:
            result = _run_command(device, words.removeprefix("do "))
            out += result.out
            if result.exit:
                return Result(result.exit, out=out, err=result.err)
    return Result(out=out)


def _apply_line(device: Device, editor: Editor, words: str) -> str | None:
    """Apply a configuration line, and return FRR's message if it refuses the line; else None."""
    # Open sessions keep the timers that they agreed on, so these are noted before the line changes them.
    remember_timers(device, words)
    try:
        editor.line(words)
    except RefusedLineError as refusal:
        return refusal.of_prompt(words)
    finally:
        device.frr.changed()
    return None


_WRITES = frozenset(("write", "write memory", "write file", "copy running-config startup-config", "wr", "wr mem"))


def _run_command(device: Device, command: str) -> Result:
    """Run a command outside of the configuration mode."""
    if command in _WRITES:
        return _write(device)
    if command == "write terminal":
        command = "show running-config"
    # vtysh asks the daemon itself, and names one that does not answer.
    if "bgpd" not in device.frr.up() and command.startswith(("show bgp", "show ip bgp")):
        return Result(1, err="bgpd is not running\n")
    if command.startswith("show"):
        text = view(device, command)
        if text is not None:
            return Result(out=text)
    if command.startswith(("clear bgp ", "clear ip bgp ")):
        return Result(out=clear_sessions(device, command.partition("bgp ")[2].split()))
    return Result(1, out=f"% Unknown command: {command}\n")


def _write(device: Device) -> Result:
    """Write the running configuration to files.

    ``vtysh.conf`` selects one file, or one for each daemon. Without it, it is one file if that exists.
    """
    files = device.files
    setting = files.read(VTYSH_CONF) if files.exists(VTYSH_CONF) else b""
    if setting:
        one_file = not setting.startswith(b"no ")
    else:
        one_file = files.exists(FRR_FILE)
    note = "Note: this version of vtysh never writes vtysh.conf\n"
    if one_file:
        note += _WITHOUT_WATCHFRR
    note += "Building Configuration...\n"
    if device.faults.strike(FaultKind.REFUSE_COMMIT, "write memory") is not None:
        return Result(1, out=note, err=f"Can't open configuration file {FRR_FILE}: Read-only file system\n")
    if one_file:
        files.write(FRR_FILE, device.frr.text().encode(), now=device.clock.now(), mode=0o640)
        files.files[FRR_FILE].owner = "frr"
        return Result(out=note + "Integrated configuration saved to /etc/frr/frr.conf\n[OK]\n")
    for name in ("zebra", "bgpd", "staticd"):
        files.write(f"/etc/sonic/frr/{name}.conf", device.frr.text().encode(), now=device.clock.now())
        note += f"Configuration saved to /etc/frr/{name}.conf\n"
    return Result(out=note)
