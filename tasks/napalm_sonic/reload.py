"""``config reload`` of a whole configuration: checked before, run detached, followed over the loss of the session.

A reload stops every service of the switch, takes the data plane down for minutes and may take the management port
with it (sonic-facts §3.1). So it runs apart from the session, which is opened again as often as needed, within bounds.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from napalm.base.exceptions import CommandErrorException, CommandTimeoutException, CommitError, ConnectionException

from napalm_sonic.candidate import Candidate, Kind
from napalm_sonic.codec import first_json, strip_ansi
from napalm_sonic.paths import RELOAD_FILE, RELOAD_LOG, staged
from napalm_sonic.running import read_running
from railweave.sonic.document import DocumentError
from railweave.sonic.steps import RELOAD_NEEDS, ReloadStep

if TYPE_CHECKING:
    from napalm_sonic.options import Options
    from napalm_sonic.session import Session
    from railweave.sonic.document import RunningConfig

GOLDEN_CONFIG = "/etc/sonic/golden_config_db.json"
MINIGRAPH = "/etc/sonic/minigraph.xml"
_MODE = "docker_routing_config_mode"
_SETTLE_S = 60.0
"""After the command's end: how long rows may still differ before the reload counts as failed."""


@dataclass(frozen=True, slots=True)
class Reload:
    """A reload of one device."""

    session: "Session"
    options: "Options"

    def check(self, step: ReloadStep) -> None:
        """Refuse, before anything is touched, a reload that would hang or lose its routing mode; raises CommitError."""
        metadata = step.config_db.get("DEVICE_METADATA", {}).get("localhost", {})
        missing = [name for name in RELOAD_NEEDS if not metadata.get(name)]
        if missing:
            raise CommitError(
                f"{self.session.hostname}: DEVICE_METADATA|localhost would lack {', '.join(missing)}; a reload would "
                f"empty the database and hang"
            )
        mode = metadata.get(_MODE)
        if mode is not None:
            self._check_mode(str(mode))

    def _check_mode(self, mode: str) -> None:
        """``db_migrator.py`` copies the routing mode from these files over ours where they exist (sonic-facts §1.4)."""
        golden = self.session.run_root(f"cat {GOLDEN_CONFIG}")
        if golden.exit_status == 0 and _golden_mode(golden.stdout) != mode:
            raise CommitError(
                f"{self.session.hostname}: {GOLDEN_CONFIG} exists and does not say {_MODE} = {mode}, so a reload would "
                f"change the routing mode and delete FRR's file; state the mode there or move the file away"
            )
        minigraph = self.session.run_root(f"cat {MINIGRAPH}")
        if minigraph.exit_status == 0 and f">{mode}<" not in minigraph.stdout.replace(" ", ""):
            raise CommitError(
                f"{self.session.hostname}: {MINIGRAPH} exists and does not say DockerRoutingConfigMode {mode}, so a "
                f"reload would change the routing mode and delete FRR's file; move the file away"
            )

    def run(self, step: ReloadStep, commit_id: str) -> None:
        """Reload and come back when the rows run and FRR answers; raises CommitError in the device's own words.

        FRR's boot file is left alone (it is written when the commit is saved), so FRR may still lack the new lines.
        """
        self._start(step, commit_id)
        self._follow(step)

    def _start(self, step: ReloadStep, commit_id: str) -> None:
        path = staged("reload")
        self.session.upload(path, json.dumps(step.config_db, indent=4).encode())
        self._root(f"cp {path} {RELOAD_FILE}")
        self.session.remove(path)
        self._root(f"rm -f {RELOAD_LOG}")
        systemd = self.session.run("cat /proc/1/comm").stdout.strip() == "systemd"
        apart = f"systemd-run --collect --unit=railweave-reload-{commit_id}" if systemd else "setsid -f"
        reload = f"config reload -y -f {RELOAD_FILE} >{RELOAD_LOG} 2>&1 </dev/null; echo exit $? >>{RELOAD_LOG}"
        self._root(f"{apart} sh -c '{reload}'")

    def _follow(self, step: ReloadStep) -> None:
        deadline = time.monotonic() + self.options.reload_timeout_s
        settled_by: float | None = None
        differing = "it did not end in time"
        while time.monotonic() < deadline and (settled_by is None or time.monotonic() < settled_by):
            try:
                self._reopen()
                if self._ended():
                    settled_by = settled_by or time.monotonic() + _SETTLE_S
                    differing = self._differing(step)
                    if not differing:
                        return
            except CommandErrorException:
                pass  # services stop one by one: until they are back, any command may fail in any way
            except (ConnectionException, CommandTimeoutException):
                self.session.close()  # lost, or so stuck that a new session is the better guess
            time.sleep(self.options.reload_poll_s)
        raise CommitError(
            f"{self.session.hostname}: after the reload the configuration is not the new one: {differing}"
        )

    def _reopen(self) -> None:
        if not self.session.alive():
            self.session.close()
        self.session.open()

    def _differing(self, step: ReloadStep) -> str:
        """Return the first rows that are not there yet; empty when all are and FRR answers."""
        now = read_running(self.session)
        rows = different_rows(step.config_db, now)
        if rows:
            return ", ".join(rows[:5]) + (f" and {len(rows) - 5} more" if len(rows) > 5 else "")
        return "" if now.frr is not None else "FRR does not answer"

    def _ended(self) -> bool:
        """Say whether the command is over; raises CommitError where it failed, with what it printed."""
        log = self.session.run_root(f"cat {RELOAD_LOG}")
        lines = strip_ansi(log.stdout).strip().splitlines() if log.exit_status == 0 else []
        if not lines or not lines[-1].startswith("exit "):
            return False
        if lines[-1] != "exit 0":
            said = " / ".join(line.strip() for line in lines[-5:-1] if line.strip())
            raise CommitError(f"{self.session.hostname}: config reload failed: {said[:600]}")
        return True

    def _root(self, command: str) -> None:
        done = self.session.run_root(command)
        if done.exit_status != 0:
            raise CommitError(f"{self.session.hostname}: {command.partition(' sh -c')[0]}: {done.words()}")


def different_rows(wanted: Mapping[str, Any], now: "RunningConfig") -> list[str]:
    """Return ``TABLE|key`` of the rows of a whole configuration that do not run; what SONiC adds is no difference."""
    try:
        changes = Candidate(Kind.MERGE, wanted).changes(now)
    except DocumentError as error:
        return [str(error)]
    return [f"{table}|{key}" for table, rows in changes.items() for key in rows]


def _golden_mode(text: str) -> str | None:
    try:
        golden = first_json(text, GOLDEN_CONFIG)
        mode = golden["DEVICE_METADATA"]["localhost"][_MODE]
    except (CommandErrorException, KeyError, TypeError):
        return None
    return str(mode)
