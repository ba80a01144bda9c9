"""FRR's daemons: started and stopped by supervisord, asked and configured by vtysh."""

import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

from lab_node import supervisor

DAEMONS = ("zebra", "staticd", "bgpd")
_SOCKETS = Path("/run/frr")
_STARTS_S = 120.0
"""Daemons that answer sooner are not waited for; on a machine that is busy for others they take long."""


def start(text: str) -> None:
    """Start the daemons afresh and load ``text``; lines that FRR does not know are skipped, as ``vtysh -b`` does.

    A container that runs no supervisord, but single commands of SONiC only, has no daemons to start.
    """
    if not supervisor.runs():
        return
    stop()
    for name in DAEMONS:
        (_SOCKETS / f"{name}.vty").unlink(missing_ok=True)
    supervisor.start(*DAEMONS)
    limit = time.monotonic() + _STARTS_S
    while not (answers() and _connected()):
        if time.monotonic() > limit:
            print(f"FRR: {', '.join(DAEMONS)} did not all start within {_STARTS_S:.0f} s", file=sys.stderr)
            break
        time.sleep(0.05)
    boot = _SOCKETS / "boot.conf"
    boot.write_text(text)
    _vtysh("-f", str(boot))
    boot.unlink()


def stop() -> None:
    """Stop the daemons."""
    supervisor.stop("bfdd", *reversed(DAEMONS))


def answers() -> bool:
    """Tell whether every daemon listens where vtysh asks it."""
    return all(_listens(str(_SOCKETS / f"{name}.vty")) for name in DAEMONS)


def _connected() -> bool:
    """Tell whether staticd and bgpd have reached zebra.

    bgpd does not pass on what it gets before: with ``bgp suppress-fib-pending`` it then waits for ever to hear that a
    route is in the kernel, and announces none (FRR 8.4 to 10.5, ``bgp_suppress_fib_pending_set`` of bgpd/bgpd.c). Who
    finds zebra not listening tries again 10 s later.
    """
    clients = re.findall(r"^(\w+) ", vtysh("show zebra client summary").stdout, re.MULTILINE)
    return {"static", "bgp"} <= set(clients)


def _listens(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
    return True


def vtysh(*commands: str) -> subprocess.CompletedProcess[str]:
    """Run commands of vtysh."""
    return _vtysh(*(word for command in commands for word in ("-c", command)))


def _vtysh(*words: str) -> subprocess.CompletedProcess[str]:
    prefix = () if os.geteuid() == 0 else ("sudo", "-n")
    return subprocess.run([*prefix, "vtysh", *words], capture_output=True, text=True, check=False)
