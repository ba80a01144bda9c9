"""The starter projects: data that `railweave init` copies, never code that could not be upgraded.

A template is a folder of ``railweave/starter``; all build on ``minimal``, whose files they add to or replace.
"""

from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from railweave.errors import RailweaveError, UsageError

BASE = "minimal"
DEFAULT = "gitops"

_NAMES = {
    "github": ".github",
    "gitignore": ".gitignore",
    "gitlab-ci.yml": ".gitlab-ci.yml",
    "pre-commit-config.yaml": ".pre-commit-config.yaml",
}
"""Files that would take effect in railweave's own repository under their real names."""


def starter_templates() -> Mapping[str, str]:
    """Return what each template is for: the first line of its README, by name."""
    folders = (entry for entry in _starter().iterdir() if entry.is_dir() and entry.joinpath("README.md").is_file())
    return {folder.name: _first_line(folder) for folder in sorted(folders, key=lambda entry: entry.name)}


def init(folder: Path, template: str = DEFAULT) -> tuple[Path, ...]:
    """Copy a starter project into ``folder`` and return the files written.

    Raises UsageError for an unknown template, RailweaveError if the folder is not empty: no file is overwritten.
    """
    known = starter_templates()
    if template not in known:
        raise UsageError(f"no template {template!r}; there are: {', '.join(known)}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RailweaveError(f"{folder} is not an empty folder: name a new one, such as `railweave init fabric`")
    written: set[Path] = set()
    try:
        for layer in dict.fromkeys((BASE, template)):
            _copy(_starter().joinpath(layer), folder, written)
    except OSError as exc:
        raise RailweaveError(f"{exc.filename or folder}: {exc.strerror}") from exc
    return tuple(sorted(written))


def _starter() -> Traversable:
    return files("railweave").joinpath("starter")


def _first_line(folder: Traversable) -> str:
    return folder.joinpath("README.md").read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def _copy(source: Traversable, folder: Path, written: set[Path]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for entry in source.iterdir():
        target = folder / _NAMES.get(entry.name, entry.name)
        if entry.is_dir():
            _copy(entry, target, written)
        else:
            target.write_bytes(entry.read_bytes())
            written.add(target)
