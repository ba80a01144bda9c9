"""The starter project: data that `railweave init` copies, never code that could not be upgraded."""

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from railweave.errors import RailweaveError

_NAMES = {"gitignore": ".gitignore"}
"""Files whose name would mean something to the repository that carries them."""


def start_project(folder: Path) -> tuple[Path, ...]:
    """Copy the starter project into ``folder`` and return the files written.

    Raises RailweaveError when the folder holds anything, so that nothing of anybody's is overwritten.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RailweaveError(f"{folder} is not an empty folder; name a new one")
    written: list[Path] = []
    try:
        _copy(files("railweave").joinpath("starter"), folder, written)
    except OSError as problem:
        raise RailweaveError(f"{problem.filename or folder}: {problem.strerror}") from problem
    return tuple(sorted(written))


def _copy(source: Traversable, folder: Path, written: list[Path]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for entry in source.iterdir():
        target = folder / _NAMES.get(entry.name, entry.name)
        if entry.is_dir():
            _copy(entry, target, written)
        else:
            target.write_bytes(entry.read_bytes())
            written.append(target)
