"""How a fabric of an intent file is named: ``FILE.yml#NAME``, the file alone where it holds one fabric.

The name goes where the file's name goes: through journals, phases and git revisions, so that a rollout that is resumed
means the same fabric.
"""

import re
from pathlib import Path

_REFERENCE = re.compile(r"(?P<file>.+\.ya?ml)#(?P<name>[^#/]*)")
SUFFIXES = (".yml", ".yaml")
"""How the names of intent files end."""


def split_reference(text: str) -> tuple[str, str]:
    """Return the file and the fabric that ``text`` names; the fabric is empty where it names the file alone."""
    match = _REFERENCE.fullmatch(text)
    return (match["file"], match["name"]) if match else (text, "")


def file_of(path: Path) -> Path:
    """Return the file that ``path`` names, with or without a fabric."""
    return Path(split_reference(str(path))[0])


def reference(file: Path, name: str) -> Path:
    """Return the name of the fabric ``name`` in ``file``, in place of another that ``file`` may name."""
    return Path(f"{file_of(file)}#{name}") if name else file


def names_intent(text: str) -> bool:
    """Tell whether ``text`` names an intent file, or a fabric in one."""
    return split_reference(text)[0].endswith(SUFFIXES)
