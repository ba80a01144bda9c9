"""Runs of ansible-runner over some nodes, and the results of each node from its events.

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
_POLL_S = 0.02
_LONGEST_ERROR = 600
# A path of a socket holds 108 bytes (unix(7)); ssh adds a name of 17 characters to Ansible's of 14.
_LONGEST_SOCKET_FOLDER = 70
_WRONG_HOST_KEY = "Host Key checking is enabled"
_PASSED_ON = frozenset({"HOME", "LANG", "LC_ALL", "LOGNAME", "SSH_AUTH_SOCK", "TERM", "TMPDIR", "USER"})
_CHANGING = frozenset({"change", "confirm", "rollback"})
_KINDS = {"files": ChangeKind.FILE, "live": ChangeKind.SETTING}

Report = Callable[[str, HostState], None]
"""Called with the name and state of each node when it is done."""


@dataclass(slots=True)
class _NodeEvents:
    """The events of one node so far."""

    changes: list[HostChange] = field(default_factory=list)
    error: str = ""
    unreachable: bool = False
    done: bool = False
    facts: Mapping[str, Any] | None = None
    notes: tuple[HostNote, ...] = ()
    interrupted: bool = False

    def result(self, name: str, unfinished: str = "") -> HostResult:
        """Return the result of the node ``name``; ``unfinished`` is its error if it was not done."""
        changes = tuple(self.changes)
        if self.unreachable:
            return HostResult(name, HostState.UNREACHABLE, changes, self.error)
        if self.error:
            return HostResult(name, HostState.FAILED, changes, self.error, self.notes)
        if not self.done:
            return HostResult(name, HostState.FAILED, changes, unfinished)
        state = HostState.UNCHANGED
        if changes:
            state = HostState.CHANGED
        return HostResult(name, state, changes, notes=self.notes, interrupted=self.interrupted)


def run_role(
    access: HostAccess,
    inventory: Mapping[str, Mapping[str, Any]],
    bundles: Mapping[str, bytes],
    *,
    check: bool,
    part: str = "change",
    report: Report | None = None,
) -> tuple[HostResult, ...]:
    """Run a part of the role on the nodes of ``inventory`` and return their results in the same order.

    With ``check`` nothing is changed. ``report`` is called with each node that is done. Raises RailweaveError if
    Ansible is not installed or does not run at all, KeyboardInterrupt if the run was interrupted.
    """
    nodes, unfinished = _run(access, inventory, bundles, _Mode(check=check, part=part), report)
    return tuple(events.result(name, unfinished) for name, events in nodes.items())


@dataclass(frozen=True, slots=True)
class NodeReading:
    """The facts of a node; None if they could not be read, with the reason in ``error``."""

    name: str
    facts: Mapping[str, Any] | None
    error: str


def read_nodes(
    access: HostAccess,
    inventory: Mapping[str, Mapping[str, Any]],
    bundles: Mapping[str, bytes],
    report: Report | None = None,
    *,
    part: str = "facts",
    role: str = ROLE,
) -> tuple[NodeReading, ...]:
    """Return the facts of the nodes of ``inventory``; nothing is changed.

    The facts are the settings of the nodes, or their answers to another ``part`` that changes no setting. The part may
    be one of another ``role``. Raises like ``run_role``.
    """
    nodes, unfinished = _run(access, inventory, bundles, _Mode(check=True, part=part, role=role), report)
    return tuple(_reading(name, events, unfinished) for name, events in nodes.items())


def _reading(name: str, events: _NodeEvents, unfinished: str) -> NodeReading:
    """Return the facts in a node's events; ``unfinished`` is the error of a node that was not done."""
    if events.facts is None:
        return NodeReading(name, None, events.error or unfinished)
    return NodeReading(name, events.facts, "")


@dataclass(frozen=True, slots=True)
class _Mode:
    """The part of the work to run, and whether it only reports."""

    check: bool
    part: str = "change"
    role: str = ROLE


def _run(
    access: HostAccess,
    inventory: Mapping[str, Mapping[str, Any]],
    bundles: Mapping[str, bytes],
    mode: _Mode,
    report: Report | None,
) -> tuple[dict[str, _NodeEvents], str]:
    """Run Ansible; return the events of each node, and the error for nodes that were not done.

    Raises like ``run_role``.
    """
    program = _playbook_program()
    folder = Path(tempfile.mkdtemp(prefix="railweave-hosts-"))
    nodes = {name: _NodeEvents() for name in inventory}
    try:
        paths = _write_bundles(folder, bundles)
        hosts = {
            name: {**_with_interpreter(folder, name, variables), "railweave_bundle": paths[name]}
            for name, variables in inventory.items()
        }
        with _own_signals(), _workers_ended():
            runner = _runner(folder, access, hosts, program, mode)
            runner.event_handler = lambda event: _add_event(event, nodes, report)
            runner.run()
        if runner.status == "canceled":
            raise KeyboardInterrupt
        # Without an event of any node the run itself failed.
        if runner.rc and not any(events.done or events.error for events in nodes.values()):
            raise RailweaveError(f"ansible-playbook did not run: {_last_output(runner)}")
    finally:
        _remove(folder)
    if runner.status == "timeout":
        return nodes, f"this node was not done within {access.batches.timeout_s} s"
    return nodes, "the run ended before this node was done"


def _remove(folder: Path) -> None:
    """Remove the folder with the nodes' variables, also while an ended Ansible still writes its last event into it."""
    deadline = time.monotonic() + _REMOVE_S
    while folder.exists() and time.monotonic() < deadline:
        shutil.rmtree(folder, ignore_errors=True)
        if folder.exists():
            time.sleep(_REMOVE_POLL_S)


@contextmanager
def _own_signals() -> Iterator[None]:
    """Restore the signal handlers that ansible-runner replaces in the block."""
    handlers = {}
    # Only the main thread may set handlers, so ansible-runner leaves them alone in any other.
    if threading.current_thread() is threading.main_thread():
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


@contextmanager
def _workers_ended() -> Iterator[None]:
    """Make ansible-runner end Ansible's workers, too, if a run in the block is ended early.

    Ansible's workers lead sessions of their own (``WorkerProcess._detach``), so they outlive the SIGKILL by which
    ansible-runner ends the process group of the playbook, and continue to change nodes. The playbook passes SIGTERM on.
    """
    from ansible_runner.runner import Runner

    handle_termination = Runner.handle_termination

    def terminate_first(pid: int, pidfile: str | None = None) -> None:
        with suppress(OSError):
            os.kill(pid, signal.SIGTERM)
            _wait_ended(pid)
        handle_termination(pid, pidfile)

    Runner.handle_termination = terminate_first
    try:
        yield
    finally:
        Runner.handle_termination = handle_termination


def _wait_ended(pid: int) -> None:
    """Wait for the end of a child process, at most ``_END_S``. Raises OSError if there is no such child."""
    deadline = time.monotonic() + _END_S
    while time.monotonic() < deadline:
        # WNOWAIT leaves the exit status to ansible-runner, which started the process.
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return
        time.sleep(_END_POLL_S)


def _playbook_program() -> Path:
    """Return the path of ``ansible-playbook`` in this environment, or on PATH.

    Raises RailweaveError if Ansible or ansible-runner is not installed.
    """
    beside_python = Path(sys.executable).with_name("ansible-playbook")
    program = str(beside_python) if beside_python.is_file() else shutil.which("ansible-playbook")
    with suppress(ImportError):
        import ansible_runner  # noqa: F401  only whether it is installed

        if program:
            return Path(program)
    raise RailweaveError("GPU nodes are set up through Ansible: pip install 'railweave[hosts]'")


def _write_bundles(folder: Path, bundles: Mapping[str, bytes]) -> dict[str, str]:
    """Write each node's bundle to a file and return the paths by node."""
    bundles_folder = folder / "bundles"
    bundles_folder.mkdir()
    paths = {}
    for name, content in bundles.items():
        path = bundles_folder / name
        path.write_bytes(content)
        paths[name] = str(path)
    return paths


def _with_interpreter(folder: Path, name: str, variables: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the variables of a node. For a container, write a script that runs Python inside it as the interpreter."""
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
    """Return an ansible-runner that is ready to run; raises RefusedError if a password is not set."""
    from ansible_runner.interface import init_runner

    passwords = login_passwords(access)
    options = ["--diff"]
    if mode.check:
        options.append("--check")
    options += [password.option for password in passwords]
    settings = _environment(folder, access, program)
    runner = init_runner(
        private_data_dir=str(folder),
        playbook=[_play(access, mode)],
        inventory={"all": {"hosts": dict(hosts)}},
        cmdline=" ".join(options),
        forks=access.batches.forks,
        timeout=access.batches.timeout_s,
        envvars=settings,
        passwords={password.prompt: password.secret for password in passwords},
        suppress_env_files=True,
        quiet=True,
    )
    # Keep what ansible-runner set itself and what Ansible needs: the rest of our environment may hold secrets.
    runner.config.env = {
        key: value
        for key, value in runner.config.env.items()
        if key in settings or key in _PASSED_ON or os.environ.get(key) != value
    }
    return runner


def _play(access: HostAccess, mode: _Mode) -> dict[str, Any]:
    """Return the play that runs a part of a role on all nodes."""
    return {
        "name": "railweave hosts",
        "hosts": "all",
        "gather_facts": False,
        "become": access.login.become and access.login.username != "root",
        "vars": {"railweave_part": mode.part},
        "roles": [mode.role],
    }


def _environment(folder: Path, access: HostAccess, program: Path) -> dict[str, str]:
    """Return Ansible's settings as environment variables."""
    settings = folder / "ansible.cfg"
    # In place of the user's own, with which runs on two machines would differ. While it waits for nodes, Ansible looks
    # for answers a thousand times a second by default, which takes a twentieth of a processor; there is no variable
    # for it.
    settings.write_text(f"[defaults]\ninternal_poll_interval = {_POLL_S}\n", encoding="utf-8")
    return {
        "PATH": f"{program.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "ANSIBLE_CONFIG": str(settings),
        "ANSIBLE_HOME": str(folder / "home"),
        "ANSIBLE_ROLES_PATH": str(ROLES),
        "ANSIBLE_HOST_KEY_CHECKING": str(access.login.strict),
        "ANSIBLE_PIPELINING": "True",
        "ANSIBLE_SSH_ARGS": _ssh_arguments(folder),
        # That below the user's home may be too long for a socket.
        "ANSIBLE_SSH_CONTROL_PATH_DIR": str(folder / "cp"),
        "ANSIBLE_RETRY_FILES_ENABLED": "False",
        "ANSIBLE_NOCOWS": "1",
        "ANSIBLE_FORCE_COLOR": "False",
        "ANSIBLE_DEPRECATION_WARNINGS": "False",
    }


def _ssh_arguments(folder: Path) -> str:
    """Return the options of ssh.

    One session serves all tasks of a node, and ends soon after the last one. If the path of its socket would be too
    long, every task has a session of its own.
    """
    if len(str(folder)) > _LONGEST_SOCKET_FOLDER:
        return "-C -o ControlMaster=no"
    return "-C -o ControlMaster=auto -o ControlPersist=5s"


def _add_event(event: Mapping[str, Any], nodes: Mapping[str, _NodeEvents], report: Report | None) -> bool:
    """Add one event of the run to its node. Returns True: otherwise ansible-runner does not save the event."""
    data = event.get("event_data", {})
    name = data.get("host")
    kind = event.get("event", "")
    if name in nodes and kind.startswith("runner_on_"):
        node = nodes[name]
        _add_answer(node, kind, data)
        if report and (node.done or node.error):
            report(name, node.result(name).state)
    return True


def _add_answer(node: _NodeEvents, kind: str, data: Mapping[str, Any]) -> None:
    """Add the answer of a task to its node: the results, and the error if the task failed."""
    answer = data.get("res") or {}
    part = (answer.get("invocation") or {}).get("module_args", {}).get("part", "")
    _add_results(node, answer, part)
    if kind == "runner_on_unreachable":
        node.unreachable = True
        node.error = _in_a_line(answer.get("msg"))
    elif kind == "runner_on_failed" and not data.get("ignore_errors"):
        node.error = _failure_text(answer)
        # With a password Ansible reports a wrong host key as a failure of the task, which never ran.
        node.unreachable = _WRONG_HOST_KEY in node.error


def _failure_text(answer: Mapping[str, Any]) -> str:
    """Return why a task failed.

    If its program printed no JSON, that is the last line that it printed, or its exit status.
    """
    message = _in_a_line(answer.get("msg"))
    # Ansible adds the output only where it cannot read it, and says itself if the cause is a wrong path of Python.
    if "module_stdout" not in answer or "interpreter" in message:
        return message
    output = str(answer.get("module_stderr") or answer["module_stdout"]).strip()
    if not output:
        return f"its program did not answer: exit status {answer.get('rc')}"
    return _in_a_line(f"its program did not answer: {output.splitlines()[-1]}")


def _add_results(node: _NodeEvents, answer: Mapping[str, Any], part: str) -> None:
    """Add the results in an answer of the role's module; answers of other modules have no part."""
    try:
        node.changes += [_change(change) for change in _reported_changes(answer, part)]
    except (AttributeError, KeyError, TypeError):
        node.error = "the answer of its program does not say what differs"
    notes = answer.get("notes") or ()
    node.notes += tuple(HostNote(note["subject"], note["what"], note["text"], note["pending"]) for note in notes)
    node.done = node.done or bool(part)
    node.facts = answer.get("facts", node.facts)
    node.interrupted = node.interrupted or bool(answer.get("interrupted"))


def _reported_changes(answer: Mapping[str, Any], part: str) -> list[Any]:
    """Return the changes in an answer. Raises TypeError if the answer to a change has none, not even an empty list."""
    changes = answer.get("changes")
    # Parts that change no setting report no changes, and a failed part may report none.
    if "changes" not in answer and (part not in _CHANGING or answer.get("failed")):
        changes = []
    if not isinstance(changes, list):
        raise TypeError("changes is not a list")
    return changes


def _change(change: Mapping[str, str]) -> HostChange:
    return HostChange(
        kind=_KINDS[change["part"]],
        subject=change["subject"],
        what=change["what"],
        before=change["before"],
        after=change["after"],
        diff=change.get("diff", ""),
    )


def _in_a_line(text: object) -> str:
    """Return a message of Ansible in one line of limited length."""
    line = " ".join(str(text or "").split()).removeprefix("Task failed: ") or "no answer"
    if len(line) > _LONGEST_ERROR:
        return line[: _LONGEST_ERROR - 1] + "…"
    return line


def _last_output(runner: Any) -> str:
    """Return the last lines that ansible-playbook printed, or its exit status if it printed none."""
    lines = [line.strip() for line in runner.stdout.read().splitlines() if line.strip()]
    return " ".join(lines[-_TAIL_LINES:]) or f"status {runner.rc}"


def in_batches(names: Sequence[str], canary: int, size: int) -> list[tuple[str, ...]]:
    """Return ``names`` in batches: ``canary`` of them first (none if it is 0), then ``size`` at once."""
    batches = []
    in_canary = 0
    # A canary of all nodes would be one batch of any size, so then the batch size alone counts.
    if 0 < canary < len(names):
        batches.append(tuple(names[:canary]))
        in_canary = canary
    batches += [tuple(names[start : start + size]) for start in range(in_canary, len(names), size)]
    return batches
