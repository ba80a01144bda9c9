"""``railweave-switch``, there once a driver has installed it, and ``python3``, which installs it."""

import base64
import binascii

from railweave_switch import main
from railweave_switch.packing import FIRST_LINE, INSTALLER
from sonic_sim.files import ROOT
from sonic_sim.shell.programs import Call, Result, program
from sonic_sim.switch_host import SimulatedHost

_SENT = "/run/railweave-sent"


def _reads(argv: list[str]) -> bool:
    return any(verb in argv[1:] for verb in ("apply", "amend", "check"))


@program("railweave-switch", reads_stdin=_reads)
def railweave_switch(call: Call) -> Result:
    """Run one verb of the program."""
    if call.user != ROOT:
        return Result(1, err="PermissionError: [Errno 13] Permission denied\n")
    return _run(call, SimulatedHost(call.device), call.argv[1:])


@program("python3", reads_stdin=lambda argv: True)
def python3(call: Call) -> Result:
    """Run the program as it is sent to be installed; no other script is run."""
    script = ""
    if "-c" in call.argv[:-1]:
        script = call.argv[call.argv.index("-c") + 1]
    if script != INSTALLER:
        return Result(1, err="SyntaxError: invalid syntax\n")
    try:
        sent = base64.b64decode(call.stdin, validate=True)
    except binascii.Error as error:
        return Result(1, err=f"binascii.Error: {error}\n")
    if not sent.startswith(FIRST_LINE):
        return Result(1, err="SyntaxError: invalid syntax\n")
    # The program reads its own file to install it, which a real switch has in a file descriptor.
    call.device.files.write(_SENT, sent, mode=0o600, now=call.device.clock.now())
    try:
        return _run(call, SimulatedHost(call.device, _SENT), call.argv[call.argv.index(script) + 1 :])
    finally:
        call.device.files.remove(_SENT)


def _run(call: Call, host: SimulatedHost, words: list[str]) -> Result:
    status, text = main.run(host, words, call.stdin.encode)
    if status == main.EXIT_USAGE:
        return Result(status, err=text, seconds=host.switch_s)
    return Result(status, out=text, seconds=host.switch_s)
