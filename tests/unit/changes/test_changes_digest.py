"""The digest of what runs is of the text that ``json`` writes, whoever writes it: plans and journals keep it."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from railweave.sonic.delta.digest import _digested

TEXTS = st.text() | st.text(st.characters(max_codepoint=127))
VALUES = st.recursive(
    TEXTS | st.booleans(),
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner) | st.tuples(inner, inner),
    max_leaves=20,
)


@given(VALUES)
@example({"b": '\x00\x1f\b\t\n\f\r"\\/', "a": ("x",), "B": []})
@example(["\x7f"])
@example(["\u2028", "é", "\U0001f600"])
def test_the_text_of_the_digest_is_that_of_json(value: object) -> None:
    assert _digested(value) == json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


def test_half_of_a_surrogate_pair_is_digested_too() -> None:
    assert _digested(["\ud800"]) == b'["\\ud800"]'


@pytest.mark.parametrize("fields", [{}, {"a": "1"}, {"a": "1", "b": "0", "c": "2", "l": ("y", "", "x")}])
def test_fields_that_are_not_stated_or_as_good_as_none_do_not_count(fields: dict[str, str | tuple[str, ...]]) -> None:
    from railweave.sonic.delta.digest import _fields_that_count

    plain = {name: value for name, value in fields.items() if name != "l"}
    assert _fields_that_count(plain, None, {}) == plain
    assert _fields_that_count(plain, {"a": "5", "b": "5"}, {"b": "0"}) == {
        name: plain[name] for name in ("a",) if name in plain
    }
    assert _fields_that_count(fields, None, {}) == plain | ({"l": ("x", "y")} if "l" in fields else {})
