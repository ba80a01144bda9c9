"""A copy of the project's files with one intent, and the command that users type, run in it."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from in_process import run_here

from railweave.templates import _templates_of

ROOT = Path(__file__).resolve().parents[2]
RAILWEAVE = Path(sys.executable).with_name("railweave")


class CommandRig:
    """A project folder of a scenario.

    ``command_seconds`` bounds every command; ``in_process`` runs commands in the test's own process, which saves each
    a second of imports. `apart` is always the installed command, a process of its own.
    """

    command_seconds = 600
    in_process = False

    def __init__(self, folder: Path, intent: str | Callable[[Path], str]) -> None:
        """Use ``intent/INTENT``; a callable may write it first and returns its name."""
        self.folder = folder
        for name in ("intent", "inventory"):
            shutil.copytree(ROOT / name, folder / name)
        self.intent = folder / "intent" / (intent if isinstance(intent, str) else intent(folder))
        self.environ = {**os.environ, "RAILWEAVE_INTENT": str(self.intent), "NO_COLOR": "1"}

    def run(self, *words: str, status: int | None = 0, **environ: str) -> "subprocess.CompletedProcess[str]":
        """Run ``railweave WORDS`` in the project and check its exit status; a traceback is never acceptable."""
        if not self.in_process:
            return self.apart(*words, status=status, **environ)
        done = run_here(words, self.folder, {**self.environ, **environ}, self.command_seconds)
        return _accepted(words, done, status)

    def apart(self, *words: str, status: int | None = 0, **environ: str) -> "subprocess.CompletedProcess[str]":
        """Do the same by the installed command."""
        done = subprocess.run(
            [str(RAILWEAVE), *words],
            cwd=self.folder,
            env={**self.environ, **environ},
            capture_output=True,
            text=True,
            timeout=self.command_seconds,
            check=False,
        )
        return _accepted(words, done, status)

    def json(self, *words: str, status: int | None = 0) -> Any:
        return json.loads(self.run(*words, "--json", status=status).stdout)

    def start(self, *words: str, **environ: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [str(RAILWEAVE), *words],
            cwd=self.folder,
            env={**self.environ, **environ},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


def own_template(folder: Path) -> Path:
    """Return FRR's template of the project in ``folder``, which has none of its own before.

    Most projects have none: a process of its own fills in what a project has.
    """
    own: Path = folder / "templates" / "frr" / "frr.conf.j2"
    if not own.exists():
        own.parent.mkdir(parents=True)
        shutil.copy(ROOT / "templates" / "frr" / own.name, own)
        _templates_of.cache_clear()  # commands that run in this process have looked for it before
    return own


def _accepted(
    words: tuple[str, ...], done: "subprocess.CompletedProcess[str]", status: int | None
) -> "subprocess.CompletedProcess[str]":
    said = f"railweave {' '.join(words)} -> {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in said, said
    assert status is None or done.returncode == status, said
    return done
