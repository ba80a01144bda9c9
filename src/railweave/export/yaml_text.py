"""Plain values as YAML in block style, the same bytes for the same value.

A writer of our own, because PyYAML takes seconds for the objects of a thousand nodes.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

# Texts that YAML 1.1 and 1.2 both read as text: a letter first, then letters, digits and a few signs.
_PLAIN = re.compile(r"[A-Za-z](?:[A-Za-z0-9_./%-]*[A-Za-z0-9])?")
# Words that YAML 1.1 reads as booleans or null (https://yaml.org/type/bool.html).
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})


def yaml_documents(documents: Iterable[Mapping[str, Any]]) -> str:
    """Return several documents as one stream."""
    return "".join(f"---\n{yaml_text(document)}" for document in documents)


def yaml_text(value: Mapping[str, Any] | Sequence[Any]) -> str:
    """Return a mapping or list of mappings, lists, texts, integers and booleans as YAML."""
    return "\n".join(_lines(value, "")) + "\n"


def _lines(value: Any, indent: str) -> Iterator[str]:
    """Yield the lines of a mapping or list that is not empty."""
    if isinstance(value, Mapping):
        for key, member in value.items():
            yield from _entry(f"{indent}{_scalar(key)}:", member, indent)
        return
    for member in value:
        if _fits_on_line(member):
            yield f"{indent}- {_scalar(member)}"
            continue
        member_indent = f"{indent}  "
        lines = _lines(member, member_indent)
        # The first line of the member follows the hyphen in place of its indent.
        yield f"{indent}- {next(lines).removeprefix(member_indent)}"
        yield from lines


def _entry(key: str, member: Any, indent: str) -> Iterator[str]:
    """Yield the lines of a member of a mapping; ``key`` has its indent and colon, ``indent`` is that of the key."""
    if _fits_on_line(member):
        yield f"{key} {_scalar(member)}"
        return
    yield key
    if isinstance(member, Mapping):
        yield from _lines(member, f"{indent}  ")
    else:
        # Lists begin at the column of their key, as kubectl writes them.
        yield from _lines(member, indent)


def _fits_on_line(value: Any) -> bool:
    """Tell whether a value is written behind its key or hyphen: a scalar, or an empty mapping or list."""
    return not value or not isinstance(value, Mapping | list | tuple)


def _scalar(value: Any) -> str:
    """Return a value that fits on a line."""
    if isinstance(value, str):
        if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
            return value
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        return "{}"
    if isinstance(value, list | tuple):
        return "[]"
    # JSON's words for booleans, null and integers are those of YAML.
    return json.dumps(value)
