"""Carries out the steps of a change, one command each, and reports what the device said of the first that fails."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from napalm_sonic.codec import strip_ansi
from napalm_sonic.paths import FRR_FILE_IN_CONTAINER, FRR_FILE_ON_HOST, staged
from napalm_sonic.reload import Reload
from napalm_sonic.running import FRR_RUNNING
from railweave.secrets import shown_text
from railweave.sonic.steps import HdelStep, LoadStep, PatchStep, ReloadStep, Step, VtyshStep

if TYPE_CHECKING:
    from napalm_sonic.options import Options
    from napalm_sonic.session import Completed, Session

_SHOWN_CHARACTERS = 600


class StepRefusedError(Exception):
    """The device refused a step; the message is in its own words. Whether anything was written is not known."""


@dataclass(frozen=True, slots=True)
class Applier:
    """Runs steps on one device."""

    session: "Session"
    options: "Options"

    def apply(self, steps: tuple[Step, ...], commit_id: str) -> None:
        """Run all steps in order; raises StepRefusedError at the first that the device refuses.

        An exit status of 0 proves little on SONiC (``config load`` of a missing file has it), so the caller reads back.
        """
        for step in steps:
            match step:
                case PatchStep(operations):
                    self._with_file("config apply-patch", "patch", [dict(operation) for operation in operations])
                case LoadStep(document):
                    self._with_file("config load -y", "load", document)
                case HdelStep(key, fields):
                    words = " ".join(shlex.quote(word) for word in (key, *fields))
                    self._run(f"sonic-db-cli CONFIG_DB HDEL {words}")
                case VtyshStep(text):
                    self._vtysh(text)
                case ReloadStep():
                    Reload(self.session, self.options).run(step, commit_id)

    def apply_frr(self, text: str) -> None:
        """Apply FRR lines alone."""
        self._vtysh(text)

    def save(self) -> None:
        """Make what runs what boots: CONFIG_DB, and FRR unless it is not there to ask (no bgp container)."""
        self._run("config save -y")
        try:
            self.save_frr()
        except StepRefusedError:
            if self.session.run_root(FRR_RUNNING).exit_status == 0:
                raise

    def save_frr(self) -> None:
        """Make FRR's running configuration the one that boots."""
        self._run("vtysh -c 'write memory'")

    def _with_file(self, command: str, suffix: str, document: Mapping[str, Any] | list[Any]) -> None:
        path = staged(suffix)
        self.session.upload(path, json.dumps(document).encode())
        try:
            self._run(f"{command} {path}")
        finally:
            if self.session.alive():
                self.session.remove(path)

    def _vtysh(self, text: str) -> None:
        path = staged("frr")
        self.session.upload(path, text.encode())
        self._run(f"cp {path} {FRR_FILE_ON_HOST}")
        self.session.remove(path)
        try:
            self._run(f"vtysh -f {FRR_FILE_IN_CONTAINER}")
        finally:
            # The text may hold passwords of neighbours.
            if self.session.alive():
                self.session.run_root(f"rm -f {FRR_FILE_ON_HOST}")

    def _run(self, command: str) -> None:
        done = self.session.run_root(command, self.options.apply_timeout_s)
        if done.exit_status != 0:
            raise StepRefusedError(f"{command.partition(' /tmp/')[0]}: {device_words(done)}")


def device_words(done: "Completed") -> str:
    """Return the part of an output that tells a person what is wrong: from the last ``Error:`` on, else the end."""
    text = shown_text(_without_frames(strip_ansi(done.words())))
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith(("Usage:", 'Try "'))]
    starts = [number for number, line in enumerate(lines) if line.startswith("Error:")]
    told = " / ".join(lines[starts[-1] :] if starts else lines[-4:])
    shown = told if len(told) <= _SHOWN_CHARACTERS else f"{told[:_SHOWN_CHARACTERS]} …"
    return shown or f"exit status {done.exit_status}"


def _without_frames(text: str) -> str:
    """Return ``text`` with each Python traceback cut to its last line, the exception: frames tell nobody anything."""
    kept: list[str] = []
    inside = False
    for line in text.splitlines():
        inside = line.startswith("Traceback (most recent call last)") or (inside and line.startswith((" ", "\t")))
        if not inside:
            kept.append(line)
    return "\n".join(kept)
