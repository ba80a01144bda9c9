"""``railweave-switch``, there once a driver has installed it, and ``python3``, which installs it."""

from railweave_switch import main
from railweave_switch.packing import FIRST_LINE
from sonic_sim.files import ROOT
from sonic_sim.shell.programs import Call, Result, program
from sonic_sim.switch_host import SimulatedHost


def _reads(argv: list[str]) -> bool:
    return any(verb in argv[1:] for verb in ("apply", "amend"))


@program("railweave-switch", reads_stdin=_reads)
def railweave_switch(call: Call) -> Result:
    """Run one verb of the program."""
    if call.user != ROOT:
        return Result(1, err="PermissionError: [Errno 13] Permission denied\n")
    return _run(call, SimulatedHost(call.device), call.argv[1:])


@program("python3")
def python3(call: Call) -> Result:
    """Run the program from a file that was sent; no other script is run."""
    words = [word for word in call.argv[1:] if not word.startswith("-") or word == call.argv[-1]]
    path = call.path(words[0]) if words else ""
    if not path or not call.device.files.exists(path):
        return Result(2, err=f"python3: can't open file '{path}': [Errno 2] No such file or directory\n")
    if not call.device.files.read(path).startswith(FIRST_LINE):
        return Result(1, err="SyntaxError: invalid syntax\n")
    return _run(call, SimulatedHost(call.device, path), call.argv[call.argv.index(words[0]) + 1 :])


def _run(call: Call, host: SimulatedHost, words: list[str]) -> Result:
    status, told = main.run(host, words, call.stdin.encode)
    wrong = status == main.EXIT_USAGE
    return Result(status, out="" if wrong else told, err=told if wrong else "", seconds=host.switch_s)
