"""Nothing outlives a guarded command, whoever of them is killed."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import run_guarded

pytestmark = pytest.mark.slow

GUARD = [sys.executable, "-I", "-S", run_guarded.__file__]
# A child, a daemon in a session of its own, and the orphan that a lost parent leaves; the command then waits.
FAMILY = """
sleep 300 & echo $! >> pids
setsid sh -c 'sleep 300 & echo $! >> pids; echo $$ >> pids; wait' &
setsid sh -c '(sleep 300 & echo $! >> pids) &' &
until [ "$(wc -l < pids)" = 4 ]; do sleep 0.01; done
echo $PPID $$ > ready.new; mv ready.new ready; {then}
"""
END_S = 300


def is_alive(pid: int) -> bool:
    """Wait for the end of a process, at most ``END_S``; tell whether it is still there."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    with os.fdopen(handle, "rb") as ended:
        return not select.select([ended], [], [], END_S)[0]


def started(folder: Path, then: str) -> "subprocess.Popen[str]":
    """Start the family below two guards below a shell, which prints its own id and that of the outer guard first."""
    (folder / "family").write_text(FAMILY.format(then=then))
    words = " ".join([*GUARD, "sh", "./family"])
    return subprocess.Popen(["sh", "-c", f"{words} & echo $!; wait $!"], cwd=folder, stdout=subprocess.PIPE, text=True)


def family(folder: Path) -> list[int]:
    return [int(line) for line in (folder / "pids").read_text().split()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "done")
    (tmp_path / "pids").touch()
    return tmp_path


@pytest.mark.parametrize("killed", ["command", "inner guard", "outer guard", "whoever started it"])
def test_all_of_a_family_end_whoever_is_killed(folder: Path, killed: str) -> None:
    shell = started(folder, "echo > done; wait")
    assert shell.stdout is not None
    outer = int(shell.stdout.readline())
    (folder / "done").read_text()
    inner, command = (int(word) for word in (folder / "ready").read_text().split())
    pids = family(folder)
    assert len(pids) == 4
    assert all(Path(f"/proc/{pid}").exists() for pid in (*pids, command, inner, outer))
    victim = {"command": command, "inner guard": inner, "outer guard": outer, "whoever started it": shell.pid}[killed]
    os.kill(victim, signal.SIGKILL)
    with shell:
        assert not [pid for pid in (*pids, command, inner, outer) if is_alive(pid)]


def test_a_command_that_ends_leaves_its_status_and_nothing_else(folder: Path) -> None:
    (folder / "family").write_text(FAMILY.format(then="exit 7"))
    done = subprocess.run([*GUARD, "sh", "./family"], cwd=folder, timeout=300, check=False)
    assert done.returncode == 7
    assert not [pid for pid in family(folder) if is_alive(pid)]


def test_an_interrupt_is_for_the_command(folder: Path) -> None:
    script = "trap 'echo cleaned; exit 3' INT; kill -INT $PPID; kill -INT $$; sleep 300 & wait"
    done = subprocess.run(
        [*GUARD, "sh", "-c", script], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout) == (3, "cleaned\n")


def test_a_guard_that_is_terminated_interrupts_the_command_and_waits_for_its_cleanup(folder: Path) -> None:
    (folder / "script").write_text("trap 'sleep 0.2; echo cleaned; exit 3' INT; echo up; sleep 300 & wait")
    with subprocess.Popen([*GUARD, "sh", "./script"], cwd=folder, stdout=subprocess.PIPE, text=True) as guard:
        assert guard.stdout is not None
        assert guard.stdout.readline() == "up\n"
        guard.send_signal(signal.SIGTERM)
        assert guard.stdout.read() == "cleaned\n"
    assert guard.returncode == 128 + signal.SIGTERM


SIGNALED_AFTER_FORK = """
import os, signal, sys
import run_guarded
fork = os.fork

def forked():
    child = fork()
    if child:
        os.kill(os.getpid(), signal.SIGTERM)
    return child

os.fork = forked
sys.exit(run_guarded.main())
"""


def test_a_guard_that_is_terminated_before_it_waits_catches_it(folder: Path) -> None:
    start = [sys.executable, "-c", SIGNALED_AFTER_FORK, "sleep", "300"]
    support = {**os.environ, "PYTHONPATH": str(Path(GUARD[-1]).parent)}
    done = subprocess.run(start, cwd=folder, env=support, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (128 + signal.SIGTERM, "")


def test_a_command_that_is_missing_is_told() -> None:
    done = subprocess.run([*GUARD, "/nowhere"], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (127, "/nowhere: No such file or directory\n")
