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
    """Restart the daemons and load the configuration ``text``; lines that FRR does not know are skipped.

    Nothing happens without supervisord, as in a container that is only started for single commands of SONiC.
    """
    if not supervisor.runs():
        return
    stop()
    for name in (_ZEBRA_SOCKET, *(f"{daemon}.vty" for daemon in DAEMONS)):
        (_SOCKETS / name).unlink(missing_ok=True)
    # SONiC loads the configuration without waiting for a daemon that is late.
    awaited = tuple(name for name in DAEMONS if not _is_late(name))
    zebra, *others = DAEMONS
    supervisor.start(zebra)
    _wait(lambda: _listens(_ZEBRA_SOCKET), zebra)
    supervisor.start(*others)
    _wait(lambda: _all_listen(awaited) and _connected(awaited), ", ".join(awaited))
    boot_file = _SOCKETS / "boot.conf"
    boot_file.write_text(text)
    _vtysh("-f", str(boot_file))
    boot_file.unlink()


def _wait(is_up: Callable[[], bool], what: str) -> None:
    """Wait until ``is_up`` returns true; after ``_STARTS_S`` report that ``what`` did not start, and go on."""
    deadline_s = time.monotonic() + _STARTS_S
    while not is_up():
        if time.monotonic() > deadline_s:
            print(f"FRR: {what} did not start within {_STARTS_S:.0f} s", file=sys.stderr)
            return
        time.sleep(0.05)


def _is_late(name: str) -> bool:
    """Tell whether a test has made the daemon's next start late, by a file that `frr.sh` reads."""
    return (_SOCKETS / f"{name}.late").exists()


def stop() -> None:
    """Stop the daemons."""
    supervisor.stop("bfdd", *reversed(DAEMONS))


def answers() -> bool:
    """Tell whether every daemon listens where vtysh asks it."""
    return _all_listen(DAEMONS)


def _all_listen(names: Iterable[str]) -> bool:
    """Tell whether these daemons listen where vtysh asks them."""
    return all(_listens(f"{name}.vty") for name in names)


def _connected(names: Iterable[str]) -> bool:
    """Tell whether the clients of zebra among ``names`` (staticd and bgpd) are connected to it."""
    # If bgpd is configured before, it misses zebra's notices: with ``bgp suppress-fib-pending`` it then waits for ever
    # for a route to be in the kernel, and announces none (FRR 8.4 to 10.5, ``bgp_suppress_fib_pending_set`` of
    # bgpd/bgpd.c). A client that finds zebra not listening tries again only after 10 s.
    connected = re.findall(r"^(\w+) ", vtysh("show zebra client summary").stdout, re.MULTILINE)
    return all(_CLIENTS[name] in connected for name in names if name in _CLIENTS)


def _listens(name: str) -> bool:
    """Tell whether a daemon listens on the socket ``name``."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(_SOCKETS / name))
        except OSError:
            return False
    return True


def vtysh(*commands: str) -> subprocess.CompletedProcess[str]:
    """Run commands in vtysh and return how it ended."""
    words: list[str] = []
    for command in commands:
        words += ["-c", command]
    return _vtysh(*words)


def _vtysh(*words: str) -> subprocess.CompletedProcess[str]:
    """Run vtysh as root with these arguments."""
    prefix = () if os.geteuid() == 0 else ("sudo", "-n")
    return subprocess.run([*prefix, "vtysh", *words], capture_output=True, text=True, check=False)
