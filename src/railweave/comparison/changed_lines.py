"""The lines of an intent that a suggested design changes, as YAML to paste into it."""

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

_MOST_CHARACTERS = 66
"""Of a key with a mapping on one line: indented, it fits on a screen of 80 columns."""

_WIDE = 1_000_000
"""A line that is never folded."""


def changed_lines(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the lines that turn one intent into another. Keys to leave out are named in comments."""
    return tuple(_changed_sections(before, after))


def changed_keys(before: Mapping[str, Any], after: Mapping[str, Any]) -> int:
    """Return how many keys of the sections of two intents differ. This is faster than writing their lines."""
    changed = 0
    for key in before.keys() | after.keys():
        old_section = before.get(key)
        new_section = after.get(key)
        if isinstance(old_section, dict) and isinstance(new_section, dict):
            names = old_section.keys() | new_section.keys()
            changed += sum(old_section.get(name) != new_section.get(name) for name in names)
        elif old_section != new_section:
            changed += 1
    return changed


def _changed_sections(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the sections that differ, then a comment with those to leave out.

    Sections that only ``after`` has are not written.
    """
    for key, value in after.items():
        if key not in before or before[key] == value:
            continue
        yield f"{key}:"
        if isinstance(value, list):
            for item in value:
                yield from _item_lines(item)
        else:
            yield from _changed_keys_of_section(before[key], value)
    removed = [key for key in before if key not in after]
    if removed:
        yield f"# leave out: {', '.join(removed)}"


def _item_lines(item: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of one item of a list. The list is replaced as a whole."""
    indent = "  - "
    for key, value in item.items():
        for line in _key_lines(key, value):
            yield indent + line
            indent = "    "


def _changed_keys_of_section(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the keys of a section that differ, then a comment with those to leave out."""
    for key, value in after.items():
        if key not in before or before[key] != value:
            for line in _key_lines(key, value):
                yield f"  {line}"
    removed = [key for key in before if key not in after]
    if removed:
        yield f"  # leave out: {', '.join(removed)}"


def _key_lines(key: str, value: Any) -> Iterator[str]:
    """Yield the lines of a key with its value: a single one unless a mapping is too long for it."""
    line = f"{key}: {_one_line(value)}"
    if len(line) <= _MOST_CHARACTERS or not isinstance(value, dict):
        yield line
        return
    yield f"{key}:"
    for name, member in value.items():
        yield f"  {name}: {_one_line(member)}"


def _one_line(value: Any) -> str:
    """Return a value on one line of YAML."""
    # A scalar alone would end with a document marker.
    text = yaml.safe_dump([value], default_flow_style=True, sort_keys=False, allow_unicode=True, width=_WIDE)
    return text.strip()[1:-1]
