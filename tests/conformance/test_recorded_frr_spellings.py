"""A line has one canonical value: what FRR runs after a spelling equals the spelling, as ``parse_frr`` reads both.

Recorded on FRR 8.4.4 (Debian 12) and 10.3 (Debian 13) by tests/support/record_frr_spellings.py: every case of
``frr_spellings.cases`` was loaded with ``vtysh -f`` into an empty FRR (zebra, staticd, bgpd, bfdd), ``shown`` is its
``show running-config`` without the heading.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from by_check import sampled
from frr_spellings import cases

from railweave.sonic.frr import frr_delta, frr_difference, parse_frr

FOLDER = Path(__file__).parent / "frr_spellings"
RECORDED = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}
ACCEPTED = [(release, one) for release, found in RECORDED.items() for one in found if not one["status"]]


def texts(release: str, one: dict[str, Any]) -> tuple[str, str]:
    heading = f"frr version {release}\n"
    return heading + "\n".join(one["shown"]) + "\n", str(one["given"])


def short(value: object) -> str:
    return value if isinstance(value, str) else str(value["given"]).replace("\n", " / ")[-60:]  # type: ignore[index]


@pytest.mark.parametrize(("release", "one"), sampled(ACCEPTED, every=5), ids=short)
def test_what_runs_is_what_was_written(release: str, one: dict[str, Any]) -> None:
    shown, given = map(parse_frr, texts(release, one))
    assert frr_difference(shown, given) == ((), ())
    assert frr_delta(shown, given) == ""


def test_every_case_is_recorded_for_every_release() -> None:
    wanted = list(cases())
    assert list(RECORDED) == ["10.3", "8.4.4"]
    for release, found in RECORDED.items():
        assert [one["given"] for one in found] == wanted, release


def test_most_cases_are_accepted_and_many_are_printed_otherwise() -> None:
    assert len(ACCEPTED) > 700
    otherwise = [one for release, one in ACCEPTED if one["given"].split("\n")[0] not in one["shown"]]
    assert len(otherwise) > 60
