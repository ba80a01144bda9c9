"""Answers of any shape and size: a few switches do not take the memory of a runner that works on many."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from flooded_runner import HOSTILE, SESSIONS, SHAPES, SIZES_MIB

from napalm_sonic.bounds import LONGEST_ANSWER_BYTES, TooLargeError, decoded_in_turn, refuse_long_frr, refuse_wide
from napalm_sonic.decoding import parse_json

RUNNER = Path(__file__).resolve().parents[1] / "support/flooded_runner.py"
MOST_MIB = 400


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_eight_switches_of_fifty_take_no_more_than_their_share(shape: str) -> None:
    done = subprocess.run([sys.executable, str(RUNNER), shape], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["peak_mib"] < MOST_MIB
    for size_mib in SIZES_MIB:
        told = [found["told"][f"sw{number}-{size_mib}"] for number in range(SESSIONS)]
        assert told[HOSTILE:] == [""] * (SESSIONS - HOSTILE), "the others are done"
        if size_mib > 1:
            assert all("refused" in said or "cannot be read" in said for said in told[:HOSTILE]), told[:HOSTILE]
            assert all(len(said) < 1000 for said in told)


def test_what_is_refused_is_counted_and_not_decoded() -> None:
    text = "[" + "{}," * 200_000 + "{}]"
    with pytest.raises(TooLargeError, match="it has 400,002 values in 600,004 characters"):
        decoded_in_turn(text, lambda _: pytest.fail("decoded"))
    assert parse_json("[" + "{}," * 1000 + "{}]") == [{}] * 1001


def test_a_configuration_of_a_thousand_ports_is_read() -> None:
    rows = {
        f"Ethernet{number}": {f"field_{one}": "value of some length" for one in range(10)} for number in range(1000)
    }
    document = {f"TABLE_{table}": rows for table in range(12)}
    text = json.dumps(document, indent=4)
    assert len(text) > LONGEST_ANSWER_BYTES / 2
    refuse_wide(text.encode())
    assert parse_json(text) == document


@pytest.mark.parametrize(("character", "octets"), [("ł", 2), ("\N{GRINNING FACE}", 4)])
def test_a_text_is_weighed_by_its_widest_character(character: str, octets: int) -> None:
    most = LONGEST_ANSWER_BYTES // octets
    refuse_wide(("a" * (most - 4) + character).encode())
    with pytest.raises(TooLargeError, match=f"among them of characters of {octets} octets"):
        refuse_wide(("a" * most + character).encode())


def test_no_configuration_of_frr_is_a_million_lines() -> None:
    refuse_long_frr("router bgp 1\n" * 1000)
    refuse_long_frr(None)
    with pytest.raises(TooLargeError, match="the configuration of FRR has 2,000,000 characters"):
        refuse_long_frr("!\n" * 1_000_000)
