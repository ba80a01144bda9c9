"""Outputs of test tools, each with what a correct reader says about it, read as the program's reader should."""

import json
from pathlib import Path
from typing import Any

import pytest

from railweave.acceptance.readers.registry import read_tool_output

FOLDER = Path(__file__).parents[2].parent / "shared" / "formats"
EXPECTED: dict[str, Any] = {}
if FOLDER.is_dir():
    EXPECTED = json.loads((FOLDER / "expect.json").read_text(encoding="utf-8"))
NAMES = sorted(name for name in EXPECTED if name.startswith("acceptance/"))


def equal_as_printed(value: Any, expected: Any) -> bool:
    """Compare exactly, or a float to the digits that are expected."""
    if isinstance(expected, list):
        return list(value or ()) == expected
    if type(value) is float and type(expected) is float:
        _, _, digits = repr(expected).partition(".")
        return value == expected or round(value, len(digits)) == expected
    return bool(value == expected and isinstance(value, bool) == isinstance(expected, bool))


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_output_is_read_as_expected(name: str) -> None:
    reading = read_tool_output((FOLDER / name).read_bytes())
    expected = EXPECTED[name]
    assert reading.answer == expected["say"]
    for key, value in expected.get("values", {}).items():
        if not key.startswith("not_"):
            assert equal_as_printed(reading.values.get(key), value), (key, value, reading.values.get(key))
