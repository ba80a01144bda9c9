"""The files of rehearsals: in the project, by the digest of their plan, and beside the file of the plan.

A rehearsal with injected faults has a file of its own, so that it does not replace one without.
"""

import json
from collections.abc import Sequence
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
_SUFFIX = ".rehearsal.json"
_SUFFIX_WITH_FAULTS = ".rehearsal-with-faults.json"


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
    """Write a rehearsal into the project and beside the files of its plan, and return the paths that were written.

    Raises RailweaveError if one cannot be written.
    """
    # Imported late: every plan looks for stored rehearsals, and few have one.
    from railweave.report.rehearsal import rehearsal_json

    document = masked(versioned(rehearsal_json(rehearsal)))
    text = (json.dumps(document, indent=2) + "\n").encode()
    suffix = _SUFFIX_WITH_FAULTS if rehearsal.faults else _SUFFIX
    paths = _candidates(rehearsal.plan_digest, suffix, beside)
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
    suffixes = (_SUFFIX, _SUFFIX_WITH_FAULTS)
    files_beside = [plan_file.with_suffix(suffix) for plan_file in beside for suffix in suffixes]
    # Most plans have no rehearsal, and computing the digest of a large one takes a noticeable time.
    if not _FOLDER.is_dir() and not any(path.exists() for path in files_beside):
        return ()
    digest = plan_digest(plan)
    documents = (_document(digest, suffix, beside) for suffix in suffixes)
    return tuple(document for document in documents if document is not None)


def _candidates(digest: str, suffix: str, plan_files: Sequence[Path]) -> tuple[Path, ...]:
    """Return where a rehearsal of the plan with this digest is stored: in the project, then beside the plan's files."""
    return (_FOLDER / f"{digest}{suffix}", *(plan_file.with_suffix(suffix) for plan_file in plan_files))


def _document(digest: str, suffix: str, plan_files: Sequence[Path]) -> dict[str, Any] | None:
    """Return the first valid rehearsal of the plan with this digest, None if there is none."""
    for path in _candidates(digest, suffix, plan_files):
        try:
            text = path.read_bytes()
            rehearsal: _StoredRehearsal = read_text(_StoredRehearsal, text)
        except (OSError, CodecError):
            continue
        if rehearsal.version != VERSION or rehearsal.plan_digest != digest:
            continue
        # A negative time was not written by railweave.
        if any(wave.elapsed_s < 0 for wave in rehearsal.waves):
            continue
        document: dict[str, Any] = load_text(text)
        return document
    return None
