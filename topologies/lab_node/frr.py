"""FRR's daemons: started and stopped by supervisord, asked and configured by vtysh.

They start in the order of SONiC's bgp container: zebra, once its socket is there the others, bfdd after the
configuration (sonic-buildimage dockers/docker-fpm-frr/frr/supervisord/supervisord.conf.j2, which leaves the order to
supervisord's dependent startup). SONiC loads the configuration once bgpd's process runs, whether it listens or not: so
does a node for a daemon that a test makes late.
"""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from lab_node import supervisor

DAEMONS = ("zebra", "staticd", "bgpd")
_SOCKETS = Path("/run/frr")
_ZEBRA_SOCKET = "zserv.api"
# What zebra calls them.
_CLIENTS = {"staticd": "static", "bgpd": "bgp"}
# Daemons that answer sooner are not waited for; on a machine that is busy for others they take long.
_STARTS_S = 120.0


def start(text: str) -> None:
    """Start the daemons afresh and load ``text``; lines that FRR does not know are skipped, as ``vtysh -b`` does.

    A container that runs no supervisord, but single commands of SONiC only, has no daemons to start.
    """
    if not supervisor.runs():
        return
    stop()
    for name in (_ZEBRA_SOCKET, *(f"{daemon}.vty" for daemon in DAEMONS)):
        (_SOCKETS / name).unlink(missing_ok=True)
    prompt = tuple(name for name in DAEMONS if not _is_late(name))
    zebra, *others = DAEMONS
    supervisor.start(zebra)
    _wait(lambda: _listens(_ZEBRA_SOCKET), zebra)
    supervisor.start(*others)
    _wait(lambda: _all_listen(prompt) and _connected(prompt), ", ".join(prompt))
    boot = _SOCKETS / "boot.conf"
    boot.write_text(text)
    _vtysh("-f", str(boot))
    boot.unlink()


def _wait(is_up: Callable[[], bool], what: str) -> None:
    limit = time.monotonic() + _STARTS_S
    while not is_up():
        if time.monotonic() > limit:
            print(f"FRR: {what} did not start within {_STARTS_S:.0f} s", file=sys.stderr)
            return
        time.sleep(0.05)


def _is_late(name: str) -> bool:
    """Tell whether a daemon's next start waits first, as its file says to `frr.sh`."""
    return (_SOCKETS / f"{name}.late").exists()


def stop() -> None:
    """Stop the daemons."""
    supervisor.stop("bfdd", *reversed(DAEMONS))


def answers() -> bool:
    """Tell whether every daemon listens where vtysh asks it."""
    return _all_listen(DAEMONS)


def _all_listen(names: Iterable[str]) -> bool:
    return all(_listens(f"{name}.vty") for name in names)


def _connected(names: Iterable[str]) -> bool:
    """Tell whether those of ``names`` that are clients of zebra, staticd and bgpd, have reached it."""
    # bgpd does not pass on what it gets before: with ``bgp suppress-fib-pending`` it then waits for ever to hear that a
    # route is in the kernel, and announces none (FRR 8.4 to 10.5, ``bgp_suppress_fib_pending_set`` of bgpd/bgpd.c). Who
    # finds zebra not listening tries again 10 s later.
    clients = re.findall(r"^(\w+) ", vtysh("show zebra client summary").stdout, re.MULTILINE)
    return {_CLIENTS[name] for name in names if name in _CLIENTS} <= set(clients)


def _listens(name: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(_SOCKETS / name))
        except OSError:
            return False
    return True


def vtysh(*commands: str) -> subprocess.CompletedProcess[str]:
    """Run commands of vtysh."""
    return _vtysh(*(word for command in commands for word in ("-c", command)))


def _vtysh(*words: str) -> subprocess.CompletedProcess[str]:
    prefix = () if os.geteuid() == 0 else ("sudo", "-n")
    return subprocess.run([*prefix, "vtysh", *words], capture_output=True, text=True, check=False)
