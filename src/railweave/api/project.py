"""The files of a project: its intent, its targets, and the folder of its state."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from railweave.api.operator import SILENT, Operator
from railweave.catalog.load import use_own_models
from railweave.errors import UsageError
from railweave.intent.reference import reference

STATE = Path(".railweave")
"""The folder of everything that is generated beside a project: simulators, journals, plans."""

JOURNALS = STATE / "journal"
"""Where every rollout of the project leaves its journal, unless RAILWEAVE_JOURNALS names another place."""

_INVENTORY = Path("inventory")
_EXAMPLE = ".example"


@dataclass(frozen=True, slots=True)
class Project:
    """A project, as `open_project` finds it: its intent file, relative to the working directory or absolute.

    Of a file with several fabrics the name of one follows: ``intent/cluster.yml#storage``."""

    intent: Path
    operator: Operator = SILENT


def open_project(
    intent: Path | str | None = None,
    operator: Operator = SILENT,
    environ: Mapping[str, str] | None = None,
    *,
    fabric: str = "",
) -> Project:
    """Return the project in the working directory with the given intent.

    The default is the intent that RAILWEAVE_INTENT names, else the only file in ``intent/``; ``fabric`` names one of
    its fabrics where it has several. Targets (``inventory/``), templates and state (``.railweave/``) are those of the
    working directory. ``operator`` receives progress and confirms changes of devices. The project's own models
    (``catalog/``) are in use from here on. Raises UsageError if there is no intent, or with their names if there are
    several.
    """
    # Before an intent is read: it may name a model of the project.
    use_own_models()
    if environ is None:
        environ = os.environ
    named_intent = intent or environ.get("RAILWEAVE_INTENT")
    if named_intent:
        return Project(reference(Path(named_intent), fabric), operator)
    candidates = sorted((*Path("intent").glob("*.yml"), *Path("intent").glob("*.yaml")))
    if len(candidates) == 1:
        return Project(reference(candidates[0], fabric), operator)
    if not candidates:
        raise UsageError("no intent given and none found in intent/: run `railweave init DIR`, or name an intent file")
    listed = ", ".join(str(path) for path in candidates)
    raise UsageError(f"intent/ holds {len(candidates)} intents ({listed}): name one, or set RAILWEAVE_INTENT")


def find_target(name: str) -> Path:
    """Return ``inventory/NAME.yml``; raises UsageError with a fix, and with the existing targets.

    A target is a name, not a path: other commands show it, and look for it, without its folder.
    """
    path = _INVENTORY / f"{name}.yml"
    is_name = bool(name) and Path(name).name == name and not name.endswith((".yml", ".yaml", _EXAMPLE))
    if is_name and path.is_file():
        return path
    message = f"{_no_target(name, path)} (available targets: {', '.join(_targets()) or 'none'})"
    example = path.with_suffix(f"{_EXAMPLE}.yml")
    if is_name and example.is_file():
        message += f"; copy {example} to it and fill it in"
    raise UsageError(message)


def _targets() -> list[str]:
    """Return the names of the targets; the commented example is a form to copy, not a target."""
    files = [file for file in _INVENTORY.glob("*.yml") if file.is_file()]
    return sorted(file.stem for file in files if not file.stem.endswith(_EXAMPLE))


def _no_target(name: str, path: Path) -> str:
    """Return why ``name`` is not a target; ``path`` is where its file would be."""
    if not name:
        return "no target is named: `--target` (or RAILWEAVE_TARGET) is empty"
    if name.endswith(_EXAMPLE):
        copy = name.removesuffix(_EXAMPLE)
        return f"{path} is an example: copy it to {_INVENTORY / copy}.yml, fill it in, and use `--target {copy}`"
    bare = Path(name).name
    if bare.endswith((".yml", ".yaml")):
        bare = Path(bare).stem
    if bare != name:
        return f"{name!r} is a path: name the target without its folder and ending, `--target {bare}`"
    if path.exists():
        return f"target {name!r}: {path} is a folder"
    if not _INVENTORY.is_dir():
        return f"no target {name!r}: there is no folder {_INVENTORY}; run the command in the folder of the project"
    return f"no target {name!r}: {path} does not exist"
