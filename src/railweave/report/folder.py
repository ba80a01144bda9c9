"""Replacing a whole folder of generated files at once: the old files or the new ones, never half of each.

The new files are written beside the folder and swapped in by renaming. A marker file tells a folder of ours, so that
a mistyped name never costs somebody's work.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from railweave.errors import RailweaveError

MARKER = ".railweave-render"
"""The file that marks a folder as generated."""

_MARKER_TEXT = "This folder is written by `railweave render`, which replaces everything in it.\n"


@contextmanager
def replacing(out: Path) -> Iterator[Path]:
    """Yield an empty folder that takes the place of ``out`` when the block ends well, and vanishes when it does not.

    Raises RailweaveError when ``out`` is a file, holds other files, or cannot be replaced.
    """
    target = out.resolve()
    _refuse_foreign(out, target)
    fresh = target.with_name(f".{target.name}.new-{os.getpid()}")
    try:
        fresh.parent.mkdir(parents=True, exist_ok=True)
        fresh.mkdir()
        (fresh / MARKER).write_text(_MARKER_TEXT, encoding="utf-8")
        yield fresh
        _swap(fresh, target)
    except OSError as exc:
        raise RailweaveError(f"{out} cannot be written: {exc.strerror or exc} ({exc.filename})") from exc
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _refuse_foreign(out: Path, target: Path) -> None:
    if not target.exists():
        return
    if not target.is_dir():
        raise RailweaveError(f"{out} is a file; name a folder")
    if not (target / MARKER).is_file() and any(target.iterdir()):
        raise RailweaveError(
            f"{out} holds files that railweave did not write; name an empty folder, a new one, or one rendered before"
        )


def _swap(fresh: Path, target: Path) -> None:
    if not target.exists() or not any(target.iterdir()):
        fresh.rename(target)
        return
    old = target.with_name(f".{target.name}.old-{os.getpid()}")
    target.rename(old)
    try:
        fresh.rename(target)
    except BaseException:
        with suppress(OSError):
            old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)
