#!/usr/bin/env python3
"""The revert timer on the switch: undoes a configuration change unless somebody confirms it in time.

    railweave-confirm arm|status|confirm|revert STATE.json        prints one line of JSON

The client writes STATE.json (status ``prepared``) and the rollback file that it names, then arms the timer *before* it
changes anything. From then on the switch needs nobody: at the deadline it runs the steps of the rollback file, once,
even if the session, the client or the network is gone. After a reboot or with a dead timer ``status`` says
``expired``, and ``revert`` still works.

This file runs on the switch alone: Python 3.7 or later, standard library only.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_REFUSED = 0, 1, 64, 3
OPEN = ("prepared", "armed", "reverting", "failed")
"""States from which a revert makes sense."""

COMMAND_LIMIT_S = 3600
BUSY_LIMIT_S = 300
"""How long a revert waits for a change that is still being written before it goes ahead."""

FRR_DIRECTORY = os.environ.get("RAILWEAVE_FRR_DIRECTORY", "/etc/sonic/frr")
"""The host's side of the bgp container's /etc/frr."""
FRR_FILE = os.path.join(FRR_DIRECTORY, "railweave.conf")
FRR_FILE_IN_CONTAINER = "/etc/frr/railweave.conf"
FRR_STARTUP = os.path.join(FRR_DIRECTORY, "frr.conf")
NEEDED_BY_RELOAD = ("hwsku", "mac", "platform")


class StepError(Exception):
    """A step of the rollback did not work; the message holds the device's own words."""


# --- the state file ---------------------------------------------------------------------------------------------


def read_state(path: str) -> dict[str, Any] | None:
    """Return the state, or None where there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            state: dict[str, Any] = json.load(file)
            return state
    except FileNotFoundError:
        return None


def write_state(path: str, state: dict[str, Any], **changes: Any) -> None:
    """Write the state in one go: whoever reads sees the old or the new one, after a power loss too."""
    state.update(changes)
    write_file(path, json.dumps(state, sort_keys=True) + "\n")


def write_file(path: str, text: str) -> None:
    """Replace a file atomically, readable by root alone unless it existed with another mode."""
    directory = os.path.dirname(path)
    handle, temporary = tempfile.mkstemp(dir=directory, prefix=os.path.basename(path) + ".")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    with contextlib.suppress(FileNotFoundError):
        before = os.stat(path)
        os.chmod(temporary, before.st_mode & 0o7777)
        os.chown(temporary, before.st_uid, before.st_gid)
    os.replace(temporary, path)


@contextlib.contextmanager
def exclusive(path: str) -> Iterator[None]:
    """Hold the lock that closes the race of confirm and revert."""
    with open(path + ".lock", "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def seen(state: dict[str, Any] | None) -> str:
    """Return the status as it really is: an armed timer that is dead after its deadline is ``expired``."""
    if state is None:
        return "none"
    if state["status"] == "armed" and time.time() >= state["deadline_at"] and not timer_alive(state):
        return "expired"
    return str(state["status"])


def timer_alive(state: dict[str, Any]) -> bool:
    """Tell whether the process that the state names still is the timer (process ids are used again)."""
    try:
        with open(f"/proc/{int(state.get('pid') or 0)}/cmdline", "rb") as file:
            return b"_wait" in file.read().split(b"\0")
    except (OSError, ValueError):
        return False


def report(state: dict[str, Any] | None, error: str | None = None) -> None:
    """Print the one line of JSON."""
    state = state or {}
    deadline_at = state.get("deadline_at")
    print(
        json.dumps(
            {
                "status": seen(state or None),
                "id": state.get("id"),
                "by": state.get("by"),
                "deadline_at": deadline_at,
                "remaining_s": None if deadline_at is None else round(max(0.0, deadline_at - time.time()), 1),
                "error": error or state.get("error"),
            },
            sort_keys=True,
        ),
        flush=True,
    )


# --- the verbs --------------------------------------------------------------------------------------------------


def arm(path: str) -> int:
    """Start the timer of a prepared state."""
    with exclusive(path):
        state = read_state(path)
        if state is None or seen(state) != "prepared":
            return refuse(state, "there is nothing prepared to arm")
        read_rollback(state)  # a rollback file that cannot be read must stop the change, not the revert
        write_state(path, state, status="armed", deadline_at=time.time() + float(state["deadline_s"]))
    start_detached(path, state["id"])
    # The timer notes its process id; only then can "armed" be believed.
    limit = time.monotonic() + 20
    while time.monotonic() < limit:
        state = read_state(path) or {}
        if state.get("pid") or state["status"] != "armed":
            report(state)
            return EXIT_OK
        time.sleep(0.02)
    with exclusive(path):
        write_state(path, state, status="prepared")
    report(state, "the timer process did not start")
    return EXIT_FAILED


def status(path: str) -> int:
    """Say how things stand; changes nothing."""
    report(read_state(path))
    return EXIT_OK


def confirm(path: str) -> int:
    """Keep the change: from here on the timer reverts nothing."""
    with exclusive(path):
        state = read_state(path)
        if state is None or seen(state) != "armed":
            return refuse(state, "there is nothing to confirm")
        write_state(path, state, status="confirmed", confirmed_at=time.time())
    with contextlib.suppress(OSError, ValueError):
        if timer_alive(state):
            os.kill(int(state["pid"]), signal.SIGTERM)
    report(state)
    return EXIT_OK


def revert(path: str) -> int:
    """Undo the change now, in a process of its own: the session that asks may be cut by what it asks for."""
    state = read_state(path)
    if seen(state) == "reverted":
        report(state)
        return EXIT_OK
    if seen(state) in ("none", "confirmed"):
        return refuse(state, "there is nothing to revert")
    worker = subprocess.Popen(
        [*program(), "_revert", path],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    worker.wait()
    state = read_state(path)
    report(state)
    return EXIT_OK if seen(state) == "reverted" else EXIT_REFUSED if seen(state) == "confirmed" else EXIT_FAILED


def refuse(state: dict[str, Any] | None, why: str) -> int:
    """Say that the state does not allow the verb."""
    report(state, f"{why}: the state is {seen(state)}")
    return EXIT_REFUSED


# --- the timer --------------------------------------------------------------------------------------------------


def start_detached(path: str, name: str) -> None:
    """Start the timer where no session's end reaches it: a unit of systemd, else a session of its own."""
    timer = [*program(), "_wait", path]
    if process_one() == "systemd":
        unit = f"--unit=railweave-confirm-{name}"
        started = subprocess.run(
            ["systemd-run", "--collect", "--quiet", unit, *timer],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        if started.returncode == 0:
            return
    subprocess.Popen(
        timer,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def program() -> list[str]:
    """Return the words that start this program, apart from any environment or package of the caller."""
    return [sys.executable, "-I", "-S", os.path.abspath(__file__)]


def process_one() -> str:
    """Return the name of process 1."""
    try:
        with open("/proc/1/comm", encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""


def wait(path: str) -> int:
    """The timer: sleep until the deadline on the monotonic clock (time servers move the other one), then revert."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with exclusive(path):
        state = read_state(path)
        if state is None or state["status"] != "armed":
            return EXIT_OK
        mine = state["id"]
        ends = time.monotonic() + max(0.0, state["deadline_at"] - time.time())
        write_state(path, state, pid=os.getpid())
    while True:
        left = ends - time.monotonic()
        if left <= 0:
            return run_revert(path, only=mine)
        time.sleep(min(left, 1.0))
        state = read_state(path)
        if not watches(state, mine):
            return EXIT_OK


def watches(state: dict[str, Any] | None, mine: str) -> bool:
    """Tell whether the timer of ``mine`` still has something to undo.

    It has while ``mine`` is armed, and while a change that supersedes it is prepared but has no timer of its own yet.
    """
    if state is None:
        return False
    if state["id"] == mine:
        return bool(state["status"] == "armed")
    return bool(state["status"] == "prepared" and (state.get("supersedes") or {}).get("id") == mine)


# --- the revert -------------------------------------------------------------------------------------------------


def run_revert(path: str, only: str | None = None) -> int:
    """Run the rollback steps under the lock, at most once a commit. ``only``: the commit whose timer asks."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with exclusive(path):
        state = read_state(path)
        if state is None or state["status"] not in OPEN:
            return EXIT_OK
        if only is not None and not watches(state, only):
            return EXIT_OK
        if only is not None and state["id"] != only:
            # Nothing of the change that supersedes it is there yet: what is to be undone is what it was to follow.
            state.update(state["supersedes"])
        write_state(path, state, status="reverting", attempts=state.get("attempts", 0) + 1, error=None, pid=os.getpid())
        await_quiet()
        notes: list[str] = []
        try:
            for step in read_rollback(state)["steps"]:
                STEPS[step["kind"]](step, os.path.dirname(path), notes)
        except (StepError, OSError, KeyError, ValueError) as error:
            write_state(path, state, status="failed", error=str(error) or repr(error), notes=notes)
            return EXIT_FAILED
        write_state(path, state, status="reverted", notes=notes, reverted_at=time.time())
        return EXIT_OK


def read_rollback(state: dict[str, Any]) -> dict[str, Any]:
    """Return the rollback file's document."""
    with open(state["rollback"], encoding="utf-8") as file:
        document: dict[str, Any] = json.load(file)
    unknown = {step["kind"] for step in document["steps"]} - set(STEPS)
    if unknown:
        raise StepError(f"the rollback file holds unknown steps: {', '.join(sorted(unknown))}")
    return document


def await_quiet() -> None:
    """Wait, within bounds, for a change of ours that is still being written: two writers would interleave."""
    limit = time.monotonic() + BUSY_LIMIT_S
    while changes_running() and time.monotonic() < limit:
        time.sleep(0.5)


def changes_running() -> bool:
    """Tell whether a command that writes one of our files into the configuration still runs."""
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            ours = [w for w in words if w.startswith(b"/tmp/railweave-") or w.endswith(b"/railweave/reload.json")]
            if ours and b"config" in {os.path.basename(word) for word in words}:
                return True
    return False


def command(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command and return its CompletedProcess; StepError where it cannot run or says it failed."""
    done = attempt(*words)
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip() or "without a word").splitlines()
        raise StepError(f"{' '.join(words)}: exit status {done.returncode}: {' / '.join(said[-3:])}")
    return done


def attempt(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, whatever it returns; a terminal is never asked."""
    try:
        return subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            check=False,
            capture_output=True,
            text=True,
            timeout=COMMAND_LIMIT_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StepError(f"{' '.join(words)}: {error}") from error


def load(step: dict[str, Any], directory: str, notes: list[str]) -> None:
    """Merge rows back; a row of null is removed. The command merges even what breaks SONiC's models."""
    path = os.path.join(directory, "revert.load.json")
    write_file(path, json.dumps(step["document"]))
    command("config", "load", "-y", path)


def hdel(step: dict[str, Any], directory: str, notes: list[str]) -> None:
    """Remove fields that the change had added."""
    command("sonic-db-cli", "CONFIG_DB", "HDEL", step["key"], *step["fields"])


def vtysh(step: dict[str, Any], directory: str, notes: list[str]) -> None:
    """Apply FRR lines. Removing a line that never arrived is an error to vtysh, none to us: it goes on, we note it."""
    write_file(FRR_FILE, step["text"])
    os.chmod(FRR_FILE, 0o644)
    try:
        done = attempt("vtysh", "-f", FRR_FILE_IN_CONTAINER)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(FRR_FILE)
    said = (done.stdout + done.stderr).strip()
    if done.returncode != 0 and ("is not running" in said or "failed to connect" in said.lower() or not said):
        raise StepError(f"vtysh: exit status {done.returncode}: {said[-300:] or 'without a word'}")
    if said:
        notes.append(said[-1000:])


def reload(step: dict[str, Any], directory: str, notes: list[str]) -> None:
    """Put the whole earlier configuration back. FRR reads its file only in the mode split-unified."""
    metadata = step["config_db"].get("DEVICE_METADATA", {}).get("localhost", {})
    missing = [name for name in NEEDED_BY_RELOAD if not metadata.get(name)]
    if missing:
        # Without them `config reload` empties the database and then waits for ever.
        raise StepError(f"the rollback configuration lacks {', '.join(missing)}")
    path = os.path.join(directory, "revert.reload.json")
    write_file(path, json.dumps(step["config_db"], indent=4))
    if metadata.get("docker_routing_config_mode") == "split-unified":
        write_frr_startup(step.get("frr") or "")
    command("config", "reload", "-y", "-f", path)


def write_frr_startup(text: str) -> None:
    """Write FRR's start-up file, owned as its directory is: FRR in the container must be able to read it."""
    write_file(FRR_STARTUP, text)
    directory = os.stat(os.path.dirname(FRR_STARTUP))
    os.chown(FRR_STARTUP, directory.st_uid, directory.st_gid)
    os.chmod(FRR_STARTUP, 0o640)


def save(step: dict[str, Any], directory: str, notes: list[str]) -> None:
    """Make what runs what boots."""
    command("config", "save", "-y")
    done = attempt("vtysh", "-c", "write memory")
    if done.returncode != 0:
        notes.append(f"write memory: {(done.stderr or done.stdout).strip()[-300:]}")


STEPS: dict[str, Callable[[dict[str, Any], str, list[str]], None]] = {
    "load": load,
    "hdel": hdel,
    "vtysh": vtysh,
    "reload": reload,
    "save": save,
}
VERBS: dict[str, Callable[[str], int]] = {
    "arm": arm,
    "status": status,
    "confirm": confirm,
    "revert": revert,
    "_wait": wait,
    "_revert": run_revert,
}


def main(arguments: list[str]) -> int:
    """Run one verb; returns the exit status."""
    if len(arguments) != 2 or arguments[0] not in VERBS:
        sys.stderr.write("usage: railweave-confirm arm|status|confirm|revert STATE.json\n")
        return EXIT_USAGE
    # A unit of systemd starts without SONiC's /usr/local/bin.
    os.environ["PATH"] = os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    os.umask(0o077)
    verb, path = arguments
    try:
        return VERBS[verb](os.path.abspath(path))
    except (StepError, OSError, ValueError, KeyError) as error:
        report(None, str(error) or repr(error))
        return EXIT_FAILED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
