"""What orchagent does not survive (202505, run; sonic-swss, orchagent/pfcwdorch.cpp).

It crashes where ``PFC_WD|GLOBAL`` is deleted, and where the PFC_WD row of a port is deleted that is not there any more.
A switch then restarts swss and its links flap for minutes; here all ports stay down until the services start again, so
that nobody can miss it.
"""

import time
from dataclasses import dataclass

from sonic_sim.configdb import ConfigDb

SYSLOG = "/var/log/syslog"
_TABLE = "PFC_WD|"
_GLOBAL = "PFC_WD|GLOBAL"


def watched_rows(db: ConfigDb) -> frozenset[str]:
    """Return the keys of the watchdog's rows."""
    return frozenset(key for key in db.rows if key.startswith(_TABLE))


@dataclass(slots=True)
class Orchagent:
    """The daemon of one switch: the watchdog's rows that it has, and whether it still runs."""

    watched: frozenset[str] = frozenset()
    crashed: bool = False

    def start(self, db: ConfigDb) -> None:
        """Start with the rows that are there."""
        self.watched, self.crashed = watched_rows(db), False

    def follow(self, db: ConfigDb) -> bool:
        """Take in what was written since; return whether it crashes now."""
        now = watched_rows(db)
        gone, self.watched = self.watched - now, now
        dies = any(key == _GLOBAL or f"PORT|{key.removeprefix(_TABLE)}" not in db.rows for key in gone)
        crashes_now = dies and not self.crashed
        self.crashed = self.crashed or dies
        return crashes_now


def crash_lines(hostname: str, now: float) -> str:
    """Return what supervisord and its listener write into the system's log."""
    moment = time.strftime("%Y %b %d %H:%M:%S", time.gmtime(now))
    return (
        f"{moment} {hostname} INFO swss#supervisord WARN exited: orchagent (terminated by SIGSEGV (core dumped); "
        f"not expected)\n"
        f"{moment} {hostname} ERR swss#supervisor-proc-exit-listener: Process 'orchagent' exited unexpectedly. "
        f"Terminating supervisor 'swss'\n"
    )
