"""Commit-confirm on the switch: the verbs of ``railweave-confirm`` over its state and rollback files.

The real program is a Python file that a driver installs; the simulator does the same on the same files: armed means
that the rollback file is put back at the deadline unless somebody confirms. Deadlines run on real time.
"""

import json
import time
from dataclasses import dataclass
from typing import Any

from sonic_sim.device import FRR_FILE, Device, Effect
from sonic_sim.files import ROOT

DONE, FAILED, WRONG_STATE = 0, 1, 3
STATE_FILE = "/var/lib/railweave/state.json"
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
        if state.get("status") == "armed" and time.time() >= float(state.get("deadline_at") or 0):
            state["status"] = "expired"
        return state

    def write(self, state: dict[str, Any]) -> None:
        """Replace the state file."""
        self.device.files.write(self.path, json.dumps(state).encode(), mode=0o600, now=time.time())

    def run(self, verb: str) -> tuple[int, dict[str, Any]]:
        """Run a verb; return the exit status and the line that is printed."""
        state = self.read()
        if state is None:
            return (DONE if verb == "status" else WRONG_STATE), _line(
                None, "no state file" if verb != "status" else None
            )
        if verb == "arm":
            return self._arm(state)
        if verb == "confirm":
            return self._confirm(state)
        if verb == "revert":
            return self.revert(state)
        return DONE, _line(state)

    def _arm(self, state: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if state["status"] != "prepared":
            return WRONG_STATE, _line(state, f"cannot arm what is {state['status']}")
        state.update(status="armed", deadline_at=time.time() + float(state["deadline_s"]), pid=4242)
        self.write(state)
        self.device.timer_running = True
        self.device.emit(Effect.TIMER)
        return DONE, _line(state)

    def _confirm(self, state: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if state["status"] != "armed":
            return WRONG_STATE, _line(state, f"cannot confirm what is {state['status']}")
        state.update(status="confirmed", pid=None)
        self.write(state)
        self.device.timer_running = False
        self.device.emit(Effect.TIMER)
        return DONE, _line(state)

    def revert(self, state: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Put the rollback file back."""
        if state["status"] == "reverted":
            return DONE, _line(state)
        if state["status"] not in _UNDOABLE:
            return WRONG_STATE, _line(state, f"cannot revert what is {state['status']}")
        self.device.timer_running = False
        state.update(status="reverting")
        self.write(state)
        try:
            rollback = json.loads(self.device.files.read(state["rollback"]))
            for step in rollback["steps"]:
                _run_step(self.device, step)
        except (StepError, OSError, ValueError, KeyError) as error:
            state.update(status="failed", error=str(error), pid=None)
            self.write(state)
            return FAILED, _line(state, str(error))
        state.update(status="reverted", error=None, pid=None)
        self.write(state)
        self.device.react()
        return DONE, _line(state)


def _line(state: dict[str, Any] | None, error: str | None = None) -> dict[str, Any]:
    if state is None:
        return {"status": "none", "id": None, "deadline_at": None, "remaining_s": 0, "error": error}
    deadline = state.get("deadline_at")
    remaining = max(0.0, float(deadline) - time.time()) if deadline and state["status"] == "armed" else 0
    return {"status": state["status"], "id": state.get("id"), "deadline_at": deadline,
            "remaining_s": round(remaining, 1), "error": error or state.get("error")}  # fmt: skip


def _run_step(device: Device, step: dict[str, Any]) -> None:
    """Run one step with the switch's own commands. Raises StepError."""
    from sonic_sim.commands.registry import Call, find_command

    def run(*words: str) -> None:
        command = find_command(words[0], device)
        if command is None or command.handler is None:
            raise StepError(f"{words[0]}: command not found")
        result = command.handler(Call(device, list(words), user=ROOT))
        if result.exit:
            raise StepError((result.err or result.out).strip() or f"{words[0]}: exit status {result.exit}")

    kind = step["kind"]
    if kind == "load":
        device.files.write("/var/lib/railweave/step.json", json.dumps(step["document"]).encode())
        run("config", "load", "-y", "/var/lib/railweave/step.json")
    elif kind == "hdel":
        run("sonic-db-cli", "CONFIG_DB", "HDEL", step["key"], *step["fields"])
    elif kind == "vtysh":
        device.files.write("/etc/sonic/frr/railweave.conf", step["text"].encode())
        run("vtysh", "-f", "/etc/frr/railweave.conf")
        device.files.remove("/etc/sonic/frr/railweave.conf")
    elif kind == "reload":
        metadata = step["config_db"].get("DEVICE_METADATA", {}).get("localhost", {})
        if metadata.get("docker_routing_config_mode") == "split-unified":
            device.files.write(FRR_FILE, step["frr"].encode())
        device.files.write("/var/lib/railweave/step.json", json.dumps(step["config_db"]).encode())
        run("config", "reload", "-y", "-f", "/var/lib/railweave/step.json")
    elif kind == "save":
        run("config", "save", "-y")
        run("vtysh", "-c", "write memory")
    else:
        raise StepError(f"unknown step {kind}")


def deadline_of(device: Device) -> float | None:
    """Return when the armed timer of a switch fires, in seconds since 1970; None where none runs."""
    if not device.timer_running:
        return None
    state = Confirm(device, STATE_FILE).read()
    if state is None or state["status"] not in ("armed", "expired"):
        return None
    return float(state["deadline_at"])


def fire(device: Device) -> None:
    """Let the timer of a switch strike."""
    confirm = Confirm(device, STATE_FILE)
    state = confirm.read()
    if state is not None and device.timer_running and state["status"] == "expired":
        confirm.revert(state)
