"""Names of fabrics in intent files: ``FILE.yml#NAME``, or the file alone if it has one fabric.

The name goes with the file's through journals, phases and git revisions, so that a resumed rollout works on the same
fabric.
"""

import re
from pathlib import Path

_REFERENCE = re.compile(r"(?P<file>.+\.ya?ml)#(?P<name>[^#/]*)")
SUFFIXES = (".yml", ".yaml")
"""The suffixes of intent files."""


def split_reference(text: str) -> tuple[str, str]:
    """Return the file and the fabric that ``text`` names; the fabric is empty if it names the file alone."""
    match = _REFERENCE.fullmatch(text)
    if match is None:
        return text, ""
    return match["file"], match["name"]


def file_of(path: Path) -> Path:
    """Return the file that ``path`` names, with or without a fabric."""
    return Path(split_reference(str(path))[0])


def reference(file: Path, name: str) -> Path:
    """Return the path of ``file`` that names the fabric ``name``; another fabric that ``file`` names is replaced.

    Returns ``file`` itself if ``name`` is empty.
    """
    if not name:
        return file
    return Path(f"{file_of(file)}#{name}")


def names_intent(text: str) -> bool:
    """Tell whether ``text`` names an intent file, or a fabric in one."""
    return split_reference(text)[0].endswith(SUFFIXES)
