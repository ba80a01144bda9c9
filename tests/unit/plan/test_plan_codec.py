"""JSON as frozen values: strictly with the place of what is wrong, leniently for files that may be cut or newer."""

from dataclasses import dataclass
from enum import StrEnum

import pytest

from railweave.codec import InvalidTextError, InvalidValueError, Record, load_text, place_text, position, read_value


class Color(StrEnum):
    RED = "red"


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    colors: tuple[Color, ...] = ()


@dataclass(frozen=True, slots=True)
class Whole:
    parts: dict[str, Part]


TEXT = '{\n  "other": [1, {"a": "}"}],\n  "parts": {"x": {"name": "n", "colors": ["red", "blue"]}}\n}'


def test_a_value_is_read_with_its_enumerations() -> None:
    whole = read_value(Whole, {"parts": {"x": {"name": "n", "colors": ["red"]}}})
    assert whole == Whole({"x": Part("n", (Color.RED,))})


def test_a_wrong_part_is_refused_with_its_place() -> None:
    with pytest.raises(InvalidValueError, match=r"^parts\.x\.colors\[1\]: ") as refused:
        read_value(Whole, load_text(TEXT))
    assert position(TEXT, refused.value.place) == (3, 50)


def test_a_missing_part_is_shown_where_it_should_be() -> None:
    with pytest.raises(InvalidValueError) as refused:
        read_value(Part, {}, ("parts", "x"))
    assert refused.value.place == ("parts", "x", "name")
    assert position(TEXT, ("parts", "x", "absent")) == (3, 18)


def test_text_that_is_not_json_has_a_place() -> None:
    with pytest.raises(InvalidTextError) as refused:
        load_text('{\n "a": }')
    assert (refused.value.line, refused.value.column) == (2, 7)


def test_a_place_is_written_as_people_write_it() -> None:
    assert place_text(("changes", 3, "table")) == "changes[3].table"


@pytest.mark.parametrize("line", [b"", b"{", b"[1]", b"\xff", b'"text"'])
def test_a_damaged_line_is_an_empty_record(line: bytes) -> None:
    assert Record.of_line(line).values == {}


def test_a_value_of_another_type_counts_as_missing() -> None:
    record = Record({"text": 1, "number": True, "flag": "yes", "texts": ["a", 1], "records": {"x": 3}})
    assert (record.text("text"), record.number("number"), record.flag("flag")) == ("", 0, False)
    assert record.texts("texts") == ("a",)
    assert [(name, member.values) for name, member in record.records("records")] == [("x", {})]
