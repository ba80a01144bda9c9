"""Commit-confirm on the switch: the verbs of ``railweave-confirm`` over its state and rollback files.

The real program is a Python file that a driver installs; the simulator does the same on the same files: armed means
that the rollback file is put back at the deadline unless somebody confirms. Deadlines run on the switch's clock.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sonic_sim.commands.registry import Call, Result, find_command
from sonic_sim.device import FRR_FILE, Device, Effect
from sonic_sim.files import ROOT

DONE, FAILED, WRONG_STATE = 0, 1, 3
FOLDER = "/var/lib/railweave"
STATE_FILE = f"{FOLDER}/state.json"
_UNDOABLE = ("prepared", "armed", "expired", "reverting", "failed")


class StepError(Exception):
    """A step of the rollback failed; the text is the switch's own."""


@dataclass(slots=True)
class Confirm:
    """One state file of one switch."""

    device: Device
    path: str

    def read(self) -> dict[str, Any] | None:
        """Return the state, None where there is no file. An armed state past its deadline is ``expired``."""
        try:
            state: dict[str, Any] = json.loads(self.device.files.read(self.path))
        except (FileNotFoundError, ValueError):
            return None
        if state.get("status") == "armed" and self.device.clock.now() >= float(state.get("deadline_at") or 0):
            state["status"] = "expired"
        return state

    def write(self, state: dict[str, Any]) -> None:
        """Replace the state file."""
        self.device.files.write(self.path, json.dumps(state).encode(), mode=0o600, now=self.device.clock.now())

    def run(self, verb: str) -> tuple[int, dict[str, Any]]:
        """Run a verb; return the exit status and the line that is printed."""
        state = self.read()
        if state is None:
            return (DONE if verb == "status" else WRONG_STATE), self._line(
                None, "no state file" if verb != "status" else None
            )
        if verb == "arm":
            return self._arm(state)
        if verb == "confirm":
            return self._confirm(state)
        if verb == "revert":
            return self.revert(state)
        return DONE, self._line(state)

    def _arm(self, state: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if state["status"] != "prepared":
            return WRONG_STATE, self._line(state, f"there is nothing prepared to arm: the state is {state['status']}")
        try:
            self._steps(state)
        except (OSError, ValueError, KeyError, StepError) as error:
            return FAILED, self._line(None, str(error) or repr(error))
        state.update(status="armed", deadline_at=self.device.clock.now() + float(state["deadline_s"]), pid=4242)
        self.write(state)
        self.device.timer_running = True
        self.device.emit(Effect.TIMER)
        return DONE, self._line(state)

    def _steps(self, state: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the steps of the rollback file. Raises StepError for a kind that nobody knows."""
        steps = list(json.loads(self.device.files.read(state["rollback"]))["steps"])
        unknown = {step["kind"] for step in steps} - set(_STEPS)
        if unknown:
            raise StepError(f"the rollback file holds unknown steps: {', '.join(sorted(unknown))}")
        return steps

    def _confirm(self, state: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if state["status"] != "armed":
            return WRONG_STATE, self._line(state, f"there is nothing to confirm: the state is {state['status']}")
        state.update(status="confirmed", pid=None)
        self.write(state)
        self.device.timer_running = False
        self.device.emit(Effect.TIMER)
        return DONE, self._line(state)

    def revert(self, state: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Put the rollback file back."""
        if state["status"] == "reverted":
            return DONE, self._line(state)
        if state["status"] not in _UNDOABLE:
            return WRONG_STATE, self._line(state, f"there is nothing to revert: the state is {state['status']}")
        self.device.timer_running = False
        state.update(status="reverting")
        self.write(state)
        try:
            for step in self._steps(state):
                _STEPS[step["kind"]](self.device, step)
        except (StepError, OSError, ValueError, KeyError) as error:
            state.update(status="failed", error=str(error), pid=None)
            self.write(state)
            return FAILED, self._line(state, str(error))
        state.update(status="reverted", error=None, pid=None)
        self.write(state)
        self.device.react()
        return DONE, self._line(state)

    def _line(self, state: dict[str, Any] | None, error: str | None = None) -> dict[str, Any]:
        state = state or {"status": "none"}
        deadline = state.get("deadline_at")
        remaining = None if deadline is None else round(max(0.0, float(deadline) - self.device.clock.now()), 1)
        return {"status": state["status"], "id": state.get("id"), "by": state.get("by"), "deadline_at": deadline,
                "remaining_s": remaining, "error": error or state.get("error")}  # fmt: skip


def _attempt(device: Device, *words: str) -> Result:
    """Run one of the switch's own commands as root."""
    command = find_command(words[0], device)
    if command is None or command.handler is None:
        raise StepError(f"{words[0]}: command not found")
    return command.handler(Call(device, list(words), user=ROOT))


def _command(device: Device, *words: str) -> None:
    """Run a command that has to succeed. Raises StepError with its own words."""
    result = _attempt(device, *words)
    if result.exit:
        said = (result.err.strip() or result.out.strip() or "without a word").splitlines()
        raise StepError(f"{' '.join(words)}: exit status {result.exit}: {' / '.join(said[-3:])}")


def _load(device: Device, step: dict[str, Any]) -> None:
    device.files.write(f"{FOLDER}/revert.load.json", json.dumps(step["document"]).encode())
    _command(device, "config", "load", "-y", f"{FOLDER}/revert.load.json")


def _hdel(device: Device, step: dict[str, Any]) -> None:
    _command(device, "sonic-db-cli", "CONFIG_DB", "HDEL", step["key"], *step["fields"])


def _vtysh(device: Device, step: dict[str, Any]) -> None:
    """Apply FRR lines; a line that FRR refuses is no failure: it may never have arrived."""
    device.files.write("/etc/sonic/frr/railweave.conf", step["text"].encode())
    result = _attempt(device, "vtysh", "-f", "/etc/frr/railweave.conf")
    device.files.remove("/etc/sonic/frr/railweave.conf")
    if result.exit and "failed to connect" in result.err:
        raise StepError(f"vtysh: exit status {result.exit}: {result.err.strip()}")


def _reload(device: Device, step: dict[str, Any]) -> None:
    metadata = step["config_db"].get("DEVICE_METADATA", {}).get("localhost", {})
    missing = [name for name in ("hwsku", "mac", "platform") if not metadata.get(name)]
    if missing:
        raise StepError(f"the rollback configuration lacks {', '.join(missing)}")
    if metadata.get("docker_routing_config_mode") == "split-unified":
        device.files.write(FRR_FILE, (step.get("frr") or "").encode(), mode=0o640)
    device.files.write(f"{FOLDER}/revert.reload.json", json.dumps(step["config_db"]).encode())
    _command(device, "config", "reload", "-y", "-f", f"{FOLDER}/revert.reload.json")


def _save(device: Device, step: dict[str, Any]) -> None:
    _command(device, "config", "save", "-y")
    _attempt(device, "vtysh", "-c", "write memory")


_STEPS: dict[str, Callable[[Device, dict[str, Any]], None]] = {
    "load": _load,
    "hdel": _hdel,
    "vtysh": _vtysh,
    "reload": _reload,
    "save": _save,
}


def deadline_of(device: Device) -> float | None:
    """Return when the armed timer of a switch fires, in seconds since 1970; None where none runs."""
    state = _watched(device)
    return None if state is None else float(state["deadline_at"])


def fire(device: Device) -> None:
    """Let the timer of a switch strike."""
    state = _watched(device)
    if state is not None and device.clock.now() >= float(state["deadline_at"]):
        Confirm(device, STATE_FILE).revert({**state, "status": "expired"})


def _watched(device: Device) -> dict[str, Any] | None:
    """Return the state that the timer of a switch looks after.

    A change that is prepared and has no timer yet leaves the one running whose change it supersedes.
    """
    state = Confirm(device, STATE_FILE).read() if device.timer_running else None
    if state is None:
        return None
    if state["status"] == "prepared" and state.get("supersedes"):
        return {**state, **state["supersedes"]}
    return state if state["status"] in ("armed", "expired") else None
