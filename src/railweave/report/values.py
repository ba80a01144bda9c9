"""Values of changes in a line: rows, fields, lists, cut where they would not be read."""

from collections.abc import Mapping

from railweave.sonic.rows import Fields, Value

_LONGEST = 72


def value_text(value: Value | Fields | None, longest: int = _LONGEST) -> str:
    """Return a field's value, or a row as ``field=value field=value``; ``-`` where there is none."""
    if value is None:
        return "-"
    if isinstance(value, Mapping):
        text = " ".join(f"{name}={_plain(held)}" for name, held in value.items())
    else:
        text = _plain(value)
    text = text.replace("\n", "⏎")
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _plain(value: Value) -> str:
    return value if isinstance(value, str) else ",".join(value)
