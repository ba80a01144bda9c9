"""Entry of the management commands: one run of ``config``, ``show``, ``sonic-cfggen``, ``pfcwd`` or another.

The commands themselves are the simulator's.
"""

import getpass
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import sonic_sim.commands  # noqa: F401  registers the programs
from lab_node.device import NodeDevice
from sonic_sim.files import ROOT
from sonic_sim.shell.programs import Call, Result, Wait, find_command

_ROUTING = (("show", "ip", "bgp"), ("show", "ip", "route"), ("show", "ipv6", "route"))


def main(switch: Callable[[], NodeDevice] = NodeDevice) -> None:
    """Run the program by whose name this process was started, on ``switch``."""
    argv = [Path(sys.argv[0]).name, *sys.argv[1:]]
    if tuple(argv[:3]) in _ROUTING:
        os.execvp("sudo", ["sudo", "-n", "vtysh", "-c", " ".join(argv)])  # noqa: S606  SONiC hands these to FRR
    device = switch()
    command = find_command(argv[0], device)
    if command is None or command.handler is None:
        sys.exit(f"{argv[0]}: not a program of this switch")
    stdin = sys.stdin.read() if command.reads_stdin(argv) else ""
    user = ROOT if os.geteuid() == 0 else getpass.getuser()
    call = Call(
        device=device,
        argv=argv,
        stdin=stdin,
        user=user,
        cwd=str(Path.cwd()),
        terminal=sys.stdout.isatty(),
        variables=dict(os.environ),
    )
    try:
        result = command.handler(call)
    finally:
        device.flush()
    finish(result)


def finish(result: Result) -> None:
    """Print the program's output and exit with its status."""
    sys.stdout.write(result.out)
    sys.stdout.flush()
    sys.stderr.write(result.err)
    sys.stderr.flush()
    while result.seconds is Wait.FOR_EVER:
        signal.pause()
    sys.exit(result.exit)
