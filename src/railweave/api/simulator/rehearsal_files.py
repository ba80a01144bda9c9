"""The files of rehearsals: in the project, by the digest of their plan, and beside the file of the plan.

A rehearsal with injected faults has a file of its own, so that it does not replace one without.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railweave.api.project import STATE
from railweave.codec import CodecError, load_text, read_text
from railweave.errors import RailweaveError
from railweave.files import write_private
from railweave.masking import masked
from railweave.plan.document import plan_digest
from railweave.plan.model import Plan
from railweave.report.documents import VERSION, versioned

if TYPE_CHECKING:
    from railweave.plan.rehearsal import Rehearsal

_FOLDER = STATE / "rehearsals"
_SUFFIXES = (".rehearsal.json", ".rehearsal-with-faults.json")


@dataclass(frozen=True, slots=True)
class _StoredWave:
    devices: tuple[str, ...]
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class _StoredRehearsal:
    """The members of a stored rehearsal that decide whether it is of a plan, and that reports read."""

    version: int
    plan_digest: str
    waves: tuple[_StoredWave, ...]


def store(rehearsal: "Rehearsal", *beside: Path) -> tuple[Path, ...]:
    """Write a rehearsal into the project, and beside the files of its plan; return where. Raises RailweaveError."""
    # Imported late: every plan looks for stored rehearsals, and few have one.
    from railweave.report.rehearsal import rehearsal_json

    text = (json.dumps(masked(versioned(rehearsal_json(rehearsal))), indent=2) + "\n").encode()
    suffix = _SUFFIXES[bool(rehearsal.faults)]
    paths = (_FOLDER / f"{rehearsal.plan_digest}{suffix}", *(plan.with_suffix(suffix) for plan in beside))
    for path in paths:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_private(path, text)
        except OSError as fault:
            raise RailweaveError(f"the rehearsal cannot be written: {path}: {fault.strerror}") from fault
    return paths


def stored(plan: Plan, *beside: Path) -> tuple[dict[str, Any], ...]:
    """Return the documents of the last rehearsals of exactly ``plan``: without faults, then with faults.

    Documents of another plan, version or form are ignored.
    """
    candidates = [plan_file.with_suffix(suffix) for plan_file in beside for suffix in _SUFFIXES]
    if not (_FOLDER.is_dir() or any(path.exists() for path in candidates)):
        # Most plans have no rehearsal, and the digest of a large one takes a noticeable time.
        return ()
    digest = plan_digest(plan)
    documents = (_document(digest, suffix, beside) for suffix in _SUFFIXES)
    return tuple(document for document in documents if document is not None)


def _document(digest: str, suffix: str, beside: tuple[Path, ...]) -> dict[str, Any] | None:
    """Return the first valid rehearsal of the plan with this digest: in the project, else beside the plan's files."""
    for path in (_FOLDER / f"{digest}{suffix}", *(plan_file.with_suffix(suffix) for plan_file in beside)):
        try:
            text = path.read_bytes()
            rehearsal: _StoredRehearsal = read_text(_StoredRehearsal, text)
        except (OSError, CodecError):
            continue
        if (rehearsal.version, rehearsal.plan_digest) != (VERSION, digest):
            continue
        if all(wave.elapsed_s >= 0 for wave in rehearsal.waves):
            document: dict[str, Any] = load_text(text)
            return document
    return None
