"""Start, ask and stop a simulated fabric. All state lives in one folder a fabric.

``up`` starts the background process or, where it runs, brings it to a grown specification; ``down`` stops it and
removes its state; the others talk to it. Every function raises SimulatorError with a text for a person.
"""

import contextlib
import dataclasses
import errno
import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sonic_sim.clock import NEARLY_NOTHING
from sonic_sim.errors import SimulatorError, disk_text
from sonic_sim.kept import write_whole
from sonic_sim.spec import SimCable, SimSpec

# A simulator that dies is noticed at once; this bounds the wait for one that hangs, however slow the machine is.
_START_S = 600.0
_ANSWER_S = 600.0
_STOP_S = 120.0


@dataclass(frozen=True, slots=True)
class SimOptions:
    """``time_scale``: real seconds for a second of the switches' waits; 1.0 is as slow as a switch.

    ``owner``: the reading end of a pipe. The fabric ends, and its folder is removed, once the other end is closed,
    however the process that holds it ends.
    """

    time_scale: float = NEARLY_NOTHING
    owner: int | None = None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where one switch or node listens."""

    address: str
    port: int


@dataclass(frozen=True, slots=True)
class Endpoints:
    """How to reach the simulated fabric, the content of ``endpoints.json``.

    ``added``: devices that this ``up`` made; ``unplugged``: wanted cables that are not plugged, because a port of
    theirs holds another cable; ``nodes``: the GPU nodes that are machines, to which ``root`` logs in;
    ``without_nodes``: which do not run that should, and why, in a sentence.
    """

    devices: Mapping[str, Endpoint]
    username: str
    key_file: str
    known_hosts: str
    pid: int
    added: tuple[str, ...] = ()
    unplugged: tuple[tuple[str, str], ...] = ()
    nodes: Mapping[str, Endpoint] = field(default_factory=dict)
    without_nodes: str = ""


def up(state_dir: Path, spec: SimSpec, options: SimOptions | None = None) -> Endpoints:
    """Start the fabric or reconcile it: new devices and cables are added, existing ones never reset.

    Raises SimulatorError, also when an existing device would have to become another model.
    """
    folder = state_dir.resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(folder):
            answer = _reconcile(folder, spec, options or SimOptions())
    except OSError as fault:
        raise SimulatorError(disk_text(folder, fault)) from fault
    reachable = endpoints(folder)
    unplugged = tuple((a, b) for a, b in answer["unplugged"])
    return dataclasses.replace(
        reachable, added=tuple(answer["added"]), unplugged=unplugged, without_nodes=answer["without_nodes"]
    )


def _reconcile(folder: Path, spec: SimSpec, options: SimOptions) -> dict[str, Any]:
    """Let the simulator of a folder, which is started if none runs, become what ``spec`` says; return its answer."""
    is_new = _ask(folder, {"verb": "status"}, _ANSWER_S) is None
    if is_new:
        _start(folder, options)
    try:
        spec_file = folder / "spec.json"
        write_whole(spec_file, spec.to_json().encode())
        return _must_ask(folder, {"verb": "up", "spec": str(spec_file)})
    except (OSError, SimulatorError, KeyboardInterrupt):
        # One without switches, or without some of its nodes, would look like a fabric that runs.
        if is_new:
            _ask_to_end(folder)
        raise


def endpoints(state_dir: Path) -> Endpoints:
    """Return how to reach a running fabric. Raises SimulatorError if there is none."""
    try:
        value = json.loads((state_dir / "endpoints.json").read_bytes())
    except (OSError, ValueError) as error:
        raise SimulatorError(f"no simulated fabric in {state_dir}; `railweave sim up` starts one") from error
    devices = _endpoints(value["devices"])
    nodes = _endpoints(value.get("nodes", {}))
    return Endpoints(devices, value["username"], value["key_file"], value["known_hosts"], value["pid"], nodes=nodes)


def _endpoints(values: Mapping[str, Mapping[str, Any]]) -> dict[str, Endpoint]:
    return {name: Endpoint(endpoint["address"], endpoint["port"]) for name, endpoint in values.items()}


def down(state_dir: Path, *, keep_state: bool = False) -> bool:
    """Stop the fabric, and remove its state unless ``keep_state``; return whether it ran or had a state."""
    folder = state_dir.resolve()
    if not folder.exists():
        return False
    from sonic_sim.simulation import remove_state

    with _alone(folder):
        process = _process(folder)
        was_there = process is not None or (folder / "fabric.json").exists()
        ends_by_itself = _ask_to_end(folder)
        if process is not None:
            if not ends_by_itself and _is_ours(process["pid"]):
                os.kill(process["pid"], signal.SIGTERM)
            _wait_gone(process["pid"])
        _forget_process(folder)
        if not keep_state:
            remove_state(folder)
    if not keep_state:
        # The lock was held until here. The folder stays if it has files of others.
        (folder / "up.lock").unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            folder.rmdir()
    return was_there


def status(state_dir: Path) -> dict[str, Any]:
    """Return the devices with addresses and faults, and the cables; ``running`` is False if nothing runs."""
    folder = state_dir.resolve()
    return _ask(folder, {"verb": "status"}, _ANSWER_S) or {"running": False, "devices": {}, "cables": []}


def fault(state_dir: Path, device: str, kind: str, **details: Any) -> list[dict[str, Any]]:
    """Let a switch or a node have a fault (`sonic_sim.faults`); return its armed faults. Raises SimulatorError."""
    request = {"verb": "fault", "device": device, "kind": str(kind), "details": details}
    return list(_must_ask(state_dir.resolve(), request)["armed"])


def clear_fault(state_dir: Path, device: str, kind: str | None = None) -> int:
    """Clear the faults of a switch or a node, of one kind or all; return how many. Raises SimulatorError."""
    request = {"verb": "clear-fault", "device": device, "kind": kind}
    return int(_must_ask(state_dir.resolve(), request)["cleared"])


def cable(state_dir: Path, a: str, b: str) -> None:
    """Plug a cable between two ends ``DEVICE:PORT``, unplugging present ones. Raises SimulatorError."""
    _must_ask(state_dir.resolve(), {"verb": "cable", "a": a, "b": b})


def rewire(
    state_dir: Path, out: Sequence[SimCable], moved: Sequence[SimCable], new: Sequence[SimCable] = ()
) -> tuple[int, int]:
    """Take the cables ``out``, move those of ``moved``, and plug those of ``new`` whose ports are free then.

    Returns how many were moved or taken out, and how many were added. Raises SimulatorError.
    """
    request: dict[str, Any] = {"verb": "rewire"}
    for kind, cables in (("out", out), ("moved", moved), ("new", new)):
        request[kind] = [[cable.a, cable.b] for cable in cables]
    answer = _must_ask(state_dir.resolve(), request)
    return answer["moved"], answer["added"]


def pass_time(state_dir: Path, seconds: float) -> None:
    """Advance the clock of all switches; a confirm timer that runs out strikes. Raises SimulatorError."""
    _must_ask(state_dir.resolve(), {"verb": "pass-time", "seconds": seconds})


def watch(state_dir: Path) -> list[tuple[str, str]]:
    """Begin a record of the fabric; return the cables that carry BGP, each by its ends ``device:port``."""
    return [(a, b) for a, b in _must_ask(state_dir.resolve(), {"verb": "watch"})["carrying"]]


def watched(state_dir: Path) -> list[dict[str, Any]]:
    """Return the moments since `watch`, see `sonic_sim.watching`. Raises SimulatorError."""
    return list(_must_ask(state_dir.resolve(), {"verb": "watched"})["moments"])


def power(state_dir: Path, nodes: Sequence[str], *, powered: bool) -> None:
    """Switch GPU nodes on or off; the links of one that is off are down. Raises SimulatorError."""
    _must_ask(state_dir.resolve(), {"verb": "power", "nodes": list(nodes), "powered": powered})


def replace(state_dir: Path, device: str) -> dict[str, str]:
    """Put a factory-fresh switch of the same model in a switch's place; return its ``serial`` and ``mac``.

    Raises SimulatorError.
    """
    return dict(_must_ask(state_dir.resolve(), {"verb": "replace", "device": device}))


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let only one ``up`` or ``down`` work on a folder."""
    with (folder / "up.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _process(folder: Path) -> dict[str, Any] | None:
    """Return what the simulator of a folder wrote about its process; None if it wrote nothing."""
    try:
        return dict(json.loads((folder / "process.json").read_bytes()))
    except (OSError, ValueError):
        return None


def _forget_process(folder: Path) -> None:
    """Remove the process file and the socket of a simulator that was killed."""
    process = _process(folder)
    if process is not None:
        control = Path(process["socket"])
        control.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            control.parent.rmdir()
    (folder / "process.json").unlink(missing_ok=True)


def _is_ours(pid: int) -> bool:
    """Tell whether the process with this id is a simulator: ids are used again after a crash."""
    try:
        return b"sonic_sim.daemon" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _start(folder: Path, options: SimOptions) -> None:
    """Start the simulator of a folder and wait until it answers. Raises SimulatorError if it does not."""
    _forget_process(folder)
    command = [sys.executable, "-m", "sonic_sim.daemon", str(folder), str(options.time_scale)]
    stdin = subprocess.DEVNULL
    if options.owner is not None:
        stdin = options.owner
        command.append("owned")
    with (folder / "simulator.log").open("ab") as log:
        child = subprocess.Popen(
            command,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=log,
            # A session of its own: an interrupt at the terminal does not end the fabric.
            start_new_session=True,
        )
    if is_ready(child):
        # The process goes on without us; nobody waits for it.
        child.returncode = 0
        return
    child.kill()
    child.wait()
    raise SimulatorError(_why_not_started(folder))


def _why_not_started(folder: Path) -> str:
    """Return why a simulator ended before it answered: the last line of its log, or a full disk."""
    lines = (folder / "simulator.log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    # On a full disk the log is empty, or ends in the middle.
    if os.statvfs(folder).f_bavail == 0:
        return disk_text(folder, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    if not lines:
        return "the simulator did not start: no message"
    # Python's last line of an exception begins with its class.
    reason = lines[-1].removeprefix(f"{SimulatorError.__module__}.{SimulatorError.__name__}: ")
    return f"the simulator did not start: {reason}"


def is_ready(child: "subprocess.Popen[bytes]") -> bool:
    """Wait until a simulator reports on its standard output that it answers; False if it ends or hangs before."""
    if child.stdout is None:
        raise TypeError("its standard output must be a pipe")
    with child.stdout as output:
        readable, _, _ = select.select([output], [], [], _START_S)
        # A simulator that ends closes its output: then there is no line to read.
        return bool(readable) and output.readline() != b""


def _wait_gone(pid: int) -> None:
    """Wait for the end of a simulator, and kill it if that takes too long."""
    with contextlib.suppress(ProcessLookupError):
        handle = os.pidfd_open(pid)
        try:
            if _is_ours(pid):
                # Its handle is readable once the process has ended.
                ended, _, _ = select.select([handle], [], [], _STOP_S)
                if not ended:
                    os.kill(pid, signal.SIGKILL)
                    select.select([handle], [], [], _STOP_S)
        finally:
            os.close(handle)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _ask_to_end(folder: Path) -> bool:
    """Ask a simulator to end; return whether it has agreed."""
    try:
        return _ask(folder, {"verb": "down"}, _STOP_S) is not None
    except SimulatorError:
        return False


def _ask(folder: Path, request: Mapping[str, Any], most_s: float) -> dict[str, Any] | None:
    """Return the answer of the running simulator; None if none runs.

    Raises SimulatorError if it does not answer within ``most_s`` seconds.
    """
    process = _process(folder)
    if process is None:
        return None
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(most_s)
            connection.connect(process["socket"])
            connection.sendall(json.dumps(request).encode() + b"\n")
            parts = []
            while part := connection.recv(65536):
                parts.append(part)
        return dict(json.loads(b"".join(parts)))
    except TimeoutError:
        if not _is_ours(process["pid"]):
            return None
        raise SimulatorError(
            f"the simulated fabric in {folder} did not answer within {most_s:g} s: it is too large for this machine,"
            " or the machine too busy"
        ) from None
    except (OSError, ValueError):
        return None


def _must_ask(folder: Path, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer of the running simulator. Raises SimulatorError if none runs, or if it refuses."""
    answer = _ask(folder, request, _ANSWER_S)
    if answer is None:
        raise SimulatorError(f"no simulated fabric runs in {folder}; `railweave sim up` starts one")
    if "error" in answer:
        text = str(answer["error"])
        if text.startswith("unknown request"):
            text = (
                "the simulator was started by another version of railweave: restart it, `railweave sim down` and `up`"
            )
        raise SimulatorError(text)
    return answer


__all__ = [
    "Endpoint", "Endpoints", "SimOptions", "SimulatorError", "cable", "clear_fault", "down", "endpoints", "fault",
    "pass_time", "power", "replace", "rewire", "status", "up", "watch", "watched",
]  # fmt: skip
