"""Answers of a switch are searched for odd characters only where one of them can be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from napalm_sonic.decoding import _ODD, _may_be_odd

ESCAPED = st.sampled_from(["\\u0000", "\\u009f", "\\ud800", "\\u2028", "\\b", "\\f", "\\r", "\x7f", "\x85", "\u202e"])


@pytest.mark.slow
@given(st.lists(ESCAPED | st.text() | st.text(st.characters(max_codepoint=127))).map("".join))
def test_no_odd_character_is_overlooked(text: str) -> None:
    assert _may_be_odd(text) or not _ODD.search(text)


def test_plain_answers_are_not_searched() -> None:
    assert not _may_be_odd('{"frr": "router bgp 65001\\n bgp router-id 10.0.0.1\\n", "seen": "\\t"}')
