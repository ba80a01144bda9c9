"""One run of ansible-runner over some nodes, and what its events report about each.

ansible-runner keeps its arguments in its folder and would use them again, so every run has a fresh one, which is
removed afterwards. It writes Ansible's whole environment there too, so that holds no secret either: Ansible asks for
passwords on its terminal and is answered from memory.
"""

import os
import shlex
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from railweave.errors import RailweaveError
from railweave.hosts.outcome import ChangeKind, HostChange, HostNote, HostResult, HostState
from railweave_hosts.access import CONTAINER_VARIABLE, HostAccess, login_passwords

ROLES = Path(__file__).resolve().parent / "roles"
ROLE = "railweave_host"
_TAIL_LINES = 5
_REMOVE_S = 10.0
_REMOVE_POLL_S = 0.1
_END_S = 5.0
_END_POLL_S = 0.02
_LONGEST_ERROR = 600
_WRONG_HOST_KEY = "Host Key checking is enabled"
_PASSED_ON = frozenset({"HOME", "LANG", "LC_ALL", "LOGNAME", "SSH_AUTH_SOCK", "TERM", "TMPDIR", "USER"})
_CHANGING = frozenset({"change", "confirm", "rollback"})
_KINDS = {"files": ChangeKind.FILE, "live": ChangeKind.SETTING}

Told = Callable[[str, HostState], None]
"""Told as soon as a node is done: its name and state."""


@dataclass(slots=True)
class _Seen:
    """What the events said of one node so far."""

    changes: list[HostChange] = field(default_factory=list)
    error: str = ""
    unreachable: bool = False
    done: bool = False
    facts: Mapping[str, Any] | None = None
    notes: tuple[HostNote, ...] = ()
    interrupted: bool = False

    def result(self, name: str, unfinished: str = "") -> HostResult:
        changes = tuple(self.changes)
        if self.unreachable:
            return HostResult(name, HostState.UNREACHABLE, changes, self.error)
        if self.error:
            return HostResult(name, HostState.FAILED, changes, self.error, self.notes)
        if not self.done:
            return HostResult(name, HostState.FAILED, changes, unfinished)
        state = HostState.CHANGED if changes else HostState.UNCHANGED
        return HostResult(name, state, changes, notes=self.notes, interrupted=self.interrupted)


def run_role(
    access: HostAccess,
    inventory: Mapping[str, Mapping[str, Any]],
    bundles: Mapping[str, bytes],
    *,
    check: bool,
    part: str = "change",
    told: Told | None = None,
) -> tuple[HostResult, ...]:
    """Run a part of the role on the nodes of ``inventory`` and return their results in its order.

    ``check`` changes nothing. Raises RailweaveError where Ansible is not installed or does not run at all,
    KeyboardInterrupt when the run was interrupted.
    """
    seen, unfinished = _run(access, inventory, bundles, _Mode(check=check, part=part), told)
    return tuple(one.result(name, unfinished) for name, one in seen.items())


@dataclass(frozen=True, slots=True)
class NodeReading:
    """What was read of a node; ``facts`` is None where it was not, and ``error`` says why."""

    name: str
    facts: Mapping[str, Any] | None
    error: str


def read_nodes(
    access: HostAccess,
    inventory: Mapping[str, Mapping[str, Any]],
    bundles: Mapping[str, bytes],
    told: Told | None = None,
    *,
    part: str = "facts",
) -> tuple[NodeReading, ...]:
    """Return how the nodes of ``inventory`` are set, or what another part that changes nothing told of them. Raises as
    ``run_role`` does."""
    seen, unfinished = _run(access, inventory, bundles, _Mode(check=True, part=part), told)
    return tuple(
        NodeReading(name, one.facts, "" if one.facts is not None else one.error or unfinished)
        for name, one in seen.items()
    )


@dataclass(frozen=True, slots=True)
class _Mode:
    """Which part of the work is done, and whether it only tells."""

    check: bool
    part: str = "change"


def _run(
    access: HostAccess,
    inventory: Mapping[str, Mapping[str, Any]],
    bundles: Mapping[str, bytes],
    mode: _Mode,
    told: Told | None,
) -> tuple[dict[str, _Seen], str]:
    """Return what was seen of each node, and what to say of one that was not done."""
    program = _playbook_program()
    folder = Path(tempfile.mkdtemp(prefix="railweave-hosts-"))
    seen = {name: _Seen() for name in inventory}
    try:
        paths = _write_bundles(folder, bundles)
        hosts = {
            name: {**_interpreted(folder, name, variables), "railweave_bundle": paths[name]}
            for name, variables in inventory.items()
        }
        with _own_signals(), _whole_end():
            runner = _runner(folder, access, hosts, program, mode)
            runner.event_handler = lambda event: _take(event, seen, told)
            runner.run()
        if runner.status == "canceled":
            raise KeyboardInterrupt
        if runner.rc and not any(one.done or one.error for one in seen.values()):
            raise RailweaveError(f"ansible-playbook did not run: {_said(runner)}")
    finally:
        _remove(folder)
    if runner.status == "timeout":
        return seen, f"this node was not done within {access.batches.timeout_s} s"
    return seen, "the run ended before this node was done"


def _remove(folder: Path) -> None:
    """Remove the folder with the nodes' variables, also while an ended Ansible still writes its last event into it."""
    deadline = time.monotonic() + _REMOVE_S
    while folder.exists() and time.monotonic() < deadline:
        shutil.rmtree(folder, ignore_errors=True)
        if folder.exists():
            time.sleep(_REMOVE_POLL_S)


@contextmanager
def _own_signals() -> Iterator[None]:
    """Put back the handlers of signals that ansible-runner replaces and leaves."""
    main = threading.current_thread() is threading.main_thread()
    held = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)} if main else {}
    try:
        yield
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)


@contextmanager
def _whole_end() -> Iterator[None]:
    """Let a run that is ended early end its workers too.

    Ansible's workers lead sessions of their own (``WorkerProcess._detach``), so they outlive the SIGKILL by which
    ansible-runner ends the process group of the playbook, and go on changing nodes. The playbook passes SIGTERM on.
    """
    from ansible_runner.runner import Runner

    kill = Runner.handle_termination

    def end(pid: int, pidfile: str | None = None) -> None:
        with suppress(OSError):
            os.kill(pid, signal.SIGTERM)
            _wait_ended(pid)
        kill(pid, pidfile)

    Runner.handle_termination = end
    try:
        yield
    finally:
        Runner.handle_termination = kill


def _wait_ended(pid: int) -> None:
    """Wait a while for the end of a child, which somebody else will collect. Raises OSError where there is none."""
    deadline = time.monotonic() + _END_S
    while time.monotonic() < deadline:
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return
        time.sleep(_END_POLL_S)


def _playbook_program() -> Path:
    """Return ``ansible-playbook`` of this environment, else of the path."""
    own = Path(sys.executable).with_name("ansible-playbook")
    found = str(own) if own.is_file() else shutil.which("ansible-playbook")
    with suppress(ImportError):
        import ansible_runner  # noqa: F401  only whether it is there

        if found:
            return Path(found)
    raise RailweaveError("GPU nodes are set up through Ansible: pip install 'railweave[hosts]'")


def _write_bundles(folder: Path, bundles: Mapping[str, bytes]) -> dict[str, str]:
    place = folder / "bundles"
    place.mkdir()
    paths = {}
    for name, content in bundles.items():
        (place / name).write_bytes(content)
        paths[name] = str(place / name)
    return paths


def _interpreted(folder: Path, name: str, variables: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the variables of a node; the interpreter of a container is a script that runs Python inside it."""
    container = variables.get(CONTAINER_VARIABLE)
    if container is None:
        return variables
    script = folder / "bundles" / f"{name}.python"
    words = shlex.join(["docker", "exec", "-i", container, variables["ansible_python_interpreter"]])
    script.write_text(f'#!/bin/sh\nexec {words} "$@"\n', encoding="utf-8")
    script.chmod(0o700)
    return {**variables, "ansible_python_interpreter": str(script)}


def _runner(
    folder: Path, access: HostAccess, hosts: Mapping[str, Mapping[str, Any]], program: Path, mode: _Mode
) -> Any:
    """Return the runner, ready to run."""
    from ansible_runner.interface import init_runner

    passwords = login_passwords(access)
    words = ["--diff", *(("--check",) if mode.check else ()), *(one.option for one in passwords)]
    settings = _environment(folder, access, program)
    runner = init_runner(
        private_data_dir=str(folder),
        playbook=[_play(access, mode)],
        inventory={"all": {"hosts": dict(hosts)}},
        cmdline=" ".join(words),
        forks=access.batches.forks,
        timeout=access.batches.timeout_s,
        envvars=settings,
        passwords={one.prompt: one.secret for one in passwords},
        suppress_env_files=True,
        quiet=True,
    )
    # What ansible-runner set itself stays; of the rest of our own environment only what Ansible needs.
    runner.config.env = {
        key: value
        for key, value in runner.config.env.items()
        if key in settings or key in _PASSED_ON or os.environ.get(key) != value
    }
    return runner


def _play(access: HostAccess, mode: _Mode) -> dict[str, Any]:
    return {
        "name": "railweave hosts",
        "hosts": "all",
        "gather_facts": False,
        "become": access.login.become and access.login.username != "root",
        "vars": {"railweave_part": mode.part},
        "roles": [ROLE],
    }


def _environment(folder: Path, access: HostAccess, program: Path) -> dict[str, str]:
    """Return Ansible's settings; a configuration file of the user's would make a run another one elsewhere."""
    settings = folder / "ansible.cfg"
    settings.write_text("[defaults]\n", encoding="utf-8")
    return {
        "PATH": f"{program.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "ANSIBLE_CONFIG": str(settings),
        "ANSIBLE_HOME": str(folder / "home"),
        "ANSIBLE_ROLES_PATH": str(ROLES),
        "ANSIBLE_HOST_KEY_CHECKING": str(access.login.strict),
        "ANSIBLE_PIPELINING": "True",
        # One session serves all tasks of a node, and ends soon after them.
        "ANSIBLE_SSH_ARGS": "-C -o ControlMaster=auto -o ControlPersist=5s",
        "ANSIBLE_RETRY_FILES_ENABLED": "False",
        "ANSIBLE_NOCOWS": "1",
        "ANSIBLE_FORCE_COLOR": "False",
        "ANSIBLE_DEPRECATION_WARNINGS": "False",
    }


def _take(event: Mapping[str, Any], seen: Mapping[str, _Seen], told: Told | None) -> bool:
    """Take one event of the run. Returns True: ansible-runner forgets its numbers otherwise."""
    data = event.get("event_data", {})
    name, kind = data.get("host"), event.get("event", "")
    if name not in seen or not kind.startswith("runner_on_"):
        return True
    one, result = seen[name], data.get("res") or {}
    part = (result.get("invocation") or {}).get("module_args", {}).get("part", "")
    try:
        one.changes += [_change(each) for each in _told_changes(result, part)]
    except (AttributeError, KeyError, TypeError):
        one.error = "the answer of its program does not say what differs"
    if kind == "runner_on_unreachable":
        one.unreachable, one.error = True, _in_a_line(result.get("msg"))
    elif kind == "runner_on_failed" and not data.get("ignore_errors"):
        one.error = _in_a_line(result.get("msg"))
        # With a password Ansible tells a wrong host key as a failure of the task, which never ran.
        one.unreachable = _WRONG_HOST_KEY in one.error
    told_notes = result.get("notes") or ()
    one.notes += tuple(HostNote(note["subject"], note["what"], note["text"], note["pending"]) for note in told_notes)
    one.done = one.done or bool(part)
    one.facts = result.get("facts", one.facts)
    one.interrupted = one.interrupted or bool(result.get("interrupted"))
    if told and (one.done or one.error):
        told(name, one.result(name).state)
    return True


def _told_changes(result: Mapping[str, Any], part: str) -> list[Any]:
    """Return what an answer says that differs. One to a change has it, also where that is nothing; raises TypeError."""
    told = result.get("changes", None if part in _CHANGING and not result.get("failed") else [])
    if not isinstance(told, list):
        raise TypeError("what differs is no list")
    return told


def _change(told: Mapping[str, str]) -> HostChange:
    return HostChange(
        _KINDS[told["part"]],
        told["subject"],
        told["what"],
        told["before"],
        told["after"],
        told.get("diff", ""),
    )


def _in_a_line(text: object) -> str:
    said = " ".join(str(text or "").split()).removeprefix("Task failed: ") or "no answer"
    return said if len(said) <= _LONGEST_ERROR else said[: _LONGEST_ERROR - 1] + "…"


def _said(runner: Any) -> str:
    lines = [line.strip() for line in runner.stdout.read().splitlines() if line.strip()]
    return " ".join(lines[-_TAIL_LINES:]) or f"status {runner.rc}"


def in_batches(names: Sequence[str], canary: int, size: int) -> list[tuple[str, ...]]:
    """Return ``names`` in batches: ``canary`` of them first (none where it is 0), then ``size`` at once."""
    starts = [0, *range(canary, len(names), size)] if 0 < canary < len(names) else [*range(0, len(names), size)]
    return [tuple(names[start:end]) for start, end in zip(starts, [*starts[1:], len(names)], strict=True)]
