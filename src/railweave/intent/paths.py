"""Intent paths, the names of values in the intent: ``nodes[0].nics.speed``.

Keys are joined with dots and list items counted from 0 in brackets; a key that is not a plain word is quoted in
brackets, ``overrides.leaf.SYSLOG_SERVER["10.9.9.9"]``, so that a path is never ambiguous.
"""

import json
import re
from collections.abc import Sequence

_WORD = re.compile(r"[A-Za-z0-9_-]+")


def child(path: str, part: str | int) -> str:
    """Return the path of a key or list item directly below ``path`` (empty for the whole document)."""
    if isinstance(part, int):
        return f"{path}[{part}]"
    if _WORD.fullmatch(part) is None:
        return f"{path}[{json.dumps(part, ensure_ascii=False)}]"
    if not path:
        return part
    return f"{path}.{part}"


def path_text(parts: Sequence[str | int]) -> str:
    """Return the text of a path given as keys and indexes."""
    path = ""
    for part in parts:
        path = child(path, part)
    return path


def parent(path: str) -> str:
    """Return the path one step up; empty for a key of the document itself."""
    if path.endswith('"]'):
        # JSON escapes every inner quote, so the last ["-pair opens this part.
        return path[: path.rfind('["')]
    if path.endswith("]"):
        return path[: path.rfind("[")]
    return path.rpartition(".")[0]
