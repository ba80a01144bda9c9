"""The starter projects: data that `railweave init` copies, never code that could not be upgraded.

A template is a folder of ``railweave/starter``; all build on ``minimal``, whose files they add to or replace. A design
is an intent of ``railweave/starter/designs``, which takes the place of the template's: its head says in comments what
it is, where its numbers come from, and how far it scales.
"""

import re
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from railweave.api.design.intent import design_text
from railweave.errors import RailweaveError, UsageError
from railweave.files import cannot_write
from railweave.wording import suggestion

BASE = "minimal"
DEFAULT = "gitops"
INTENT = Path("intent/fabric.yml")
"""Where a starter project keeps its intent."""

SCHEMA = INTENT.with_name("intent.schema.json")
"""The schema of the intent, a file of the project, so that editors complete and check without a network."""

SCHEMA_LINE = f"# yaml-language-server: $schema={SCHEMA.name}\n"
"""The first line of an intent, by which editors with a YAML language server find the schema beside it."""

_DESIGNS = "designs"
_NAMES = {
    "github": ".github",
    "gitignore": ".gitignore",
    "gitlab-ci.yml": ".gitlab-ci.yml",
    "pre-commit-config.yaml": ".pre-commit-config.yaml",
}
"""Files that would take effect in railweave's own repository under their real names."""

_FIRST_COUNT = re.compile(r"(?m)^(  - \{name: gpu, count: )[0-9]+")
"""The number of GPU nodes in the file of a design."""


def starter_templates() -> Mapping[str, str]:
    """Return what each template is for: the first line of its README, by name."""
    folders = (folder for folder in _starter().iterdir() if folder.is_dir() and folder.joinpath("README.md").is_file())
    return {folder.name: _first_line(folder) for folder in sorted(folders, key=lambda folder: folder.name)}


def starter_designs() -> Mapping[str, str]:
    """Return what each reference design is: the first line of its intent, by name."""
    files = {file.name: file for file in _starter().joinpath(_DESIGNS).iterdir() if file.name.endswith(".yml")}
    comments = {name.removesuffix(".yml"): _comment(text) for name, text in files.items()}
    # Sorted without the suffix, with which `superpod-pods.yml` would come before `superpod.yml`.
    return {name: comments[name] for name in sorted(comments)}


def design_intent(design: str, nodes: int | None = None) -> str:
    """Return the text of a reference design's intent, with ``nodes`` GPU nodes, by default as many as it has.

    Raises UsageError for an unknown design. If the design does not scale to ``nodes``, raises RefusedError with what
    has to change.
    """
    designs = starter_designs()
    if design not in designs:
        guess = suggestion(design, list(designs))
        raise UsageError(f"no design {design!r}: {guess}`railweave init --list` shows them")
    text = _starter().joinpath(_DESIGNS, f"{design}.yml").read_text(encoding="utf-8")
    if nodes is None:
        return text
    scaled = _FIRST_COUNT.sub(rf"\g<1>{nodes}", text, count=1)
    # Refuses more nodes than the design scales to, with what would have to change.
    design_text(scaled, str(INTENT))
    return scaled


def init(
    folder: Path, template: str = DEFAULT, *, design: str | None = None, nodes: int | None = None
) -> tuple[Path, ...]:
    """Copy a starter project into ``folder`` and return the files written.

    If ``design`` is named, its intent replaces that of the template, with ``nodes`` GPU nodes. The schema of the intent
    is written beside it. Raises UsageError for an unknown template or design, RefusedError for a design that does not
    scale to ``nodes``, RailweaveError if the folder is not empty: no file is overwritten.
    """
    templates = starter_templates()
    if template not in templates:
        raise UsageError(f"no template {template!r}; there are: {', '.join(templates)}")
    if design is None and nodes is not None:
        raise UsageError("the number of nodes is that of a design: name it with --design, or edit the intent")
    # A design that does not scale is refused before the folder is made.
    intent: str | None = None
    if design is not None:
        intent = design_intent(design, nodes)
    _require_empty(folder)
    written_files: set[Path] = set()
    try:
        for layer in dict.fromkeys((BASE, template)):
            _copy(_starter().joinpath(layer), folder, written_files)
        if intent is None:
            intent = (folder / INTENT).read_text(encoding="utf-8")
        (folder / INTENT).write_text(SCHEMA_LINE + intent, encoding="utf-8")
        (folder / SCHEMA).write_bytes(_schema())
        written_files.add(folder / SCHEMA)
    except OSError as exc:
        raise RailweaveError(cannot_write(exc.filename or folder, exc)) from exc
    return tuple(sorted(written_files))


def _schema() -> bytes:
    """Return the schema of an intent as `railweave schema intent` prints it, which renews the file."""
    # The completion of the shell reads the designs alone.
    import orjson

    from railweave.intent.schema import json_schema

    return orjson.dumps(json_schema(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _require_empty(folder: Path) -> None:
    """Raise RailweaveError unless ``folder`` is missing or empty."""
    if not folder.exists():
        return
    if not folder.is_dir() or any(folder.iterdir()):
        raise RailweaveError(f"{folder} is not an empty folder: name a new one, such as `railweave init fabric`")


def _starter() -> Traversable:
    return files("railweave").joinpath("starter")


def _first_line(folder: Traversable) -> str:
    return _comment(folder.joinpath("README.md"))


def _comment(file: Traversable) -> str:
    """Return the first line of a file without its ``#``: a comment of YAML, a heading of Markdown."""
    return file.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def _copy(source: Traversable, folder: Path, written_files: set[Path]) -> None:
    """Copy the files of a starter project into ``folder``, and add their paths to ``written_files``."""
    folder.mkdir(parents=True, exist_ok=True)
    for entry in source.iterdir():
        target = folder / _NAMES.get(entry.name, entry.name)
        if entry.is_dir():
            _copy(entry, target, written_files)
        else:
            target.write_bytes(entry.read_bytes())
            written_files.add(target)
