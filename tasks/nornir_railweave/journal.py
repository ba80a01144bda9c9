"""The journal: every step of a rollout, appended and synchronised as it happens, so that it survives a kill.

One file a rollout, ``.railweave/journal/TIME-FABRIC-ID.jsonl``, one JSON object a line: ``at`` (UTC), ``step``,
``device``, ``text`` and the step's details.
"""

import json
import os
import secrets
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from nornir_railweave.events import Event


class Journal:
    """An append-only file of events; a listener for ``events.Announcer``, which calls it one event at a time."""

    def __init__(self, folder: Path, fabric: str) -> None:
        """Create the file of a new rollout in ``folder``, readable by its owner alone."""
        folder.mkdir(parents=True, exist_ok=True)
        begun = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        self.path = folder / f"{begun}-{fabric}-{secrets.token_hex(3)}.jsonl"
        self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o600)

    def __call__(self, event: Event) -> None:
        """Append ``event`` and wait until it is on the disk."""
        line = {
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "step": event.step.value,
            "device": event.device,
            "text": event.text,
            **event.details,
        }
        os.write(self._file, (json.dumps(line) + "\n").encode())
        os.fsync(self._file)

    def __enter__(self) -> Self:
        """Return the journal."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        os.close(self._file)
