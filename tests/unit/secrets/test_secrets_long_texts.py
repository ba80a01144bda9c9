"""A long text of a device costs time by its length, not by its square: a device that lies must not stop a runner."""

import time

import pytest

from railweave.masking import Mask
from railweave.secrets import shown_text

CHARACTERS = 40_000
MOST_S = 2.0
"""CPU seconds: each text takes less than 0.2 s; by the square it took up to 60 s."""


@pytest.mark.parametrize(
    "part",
    ["a", "a1", '"a', "a=", "a: ", "a:[", "a:'", "x://a:", "{secret:a", "\\", "\\\\x", "%25", "&amp;", "A|", "key "],
)
def test_a_text_that_repeats_a_part_is_searched_once(part: str) -> None:
    text = (part * CHARACTERS)[:CHARACTERS]
    before = time.process_time()
    shown_text(text)
    assert time.process_time() - before < MOST_S


@pytest.mark.parametrize("value", ["secret  value", "  secret value", "secret \t\xa0 value"])
@pytest.mark.parametrize("blanks", [" ", "\n ", "\\\n", "\\040", " \t", "%20+"])
def test_blanks_within_a_value_are_searched_once(value: str, blanks: str) -> None:
    text = f"secret{blanks * CHARACTERS}x"[:CHARACTERS]
    before = time.process_time()
    assert Mask({value: "shown"}).text(text) == text
    assert time.process_time() - before < MOST_S
