"""``no`` forms are compared as FRR prints them: only those of features that are on by default.

Recorded on FRR 8.4.4 (Debian 12) and 10.3 (Debian 13) by tests/support/record_frr_negations.py: ``given`` has the
``no`` form of every command of a context that FRR takes, ``shown`` is its ``show running-config`` without the heading.
"""

import json
from pathlib import Path

import pytest

from railweave.sonic.frr import frr_delta, frr_difference, parse_frr

FOLDER = Path(__file__).parent / "frr_negations"
RECORDED = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}
CASES = [(release, case) for release, recorded in RECORDED.items() for case in recorded]


@pytest.mark.parametrize(("release", "case"), CASES)
def test_what_runs_is_what_was_written(release: str, case: dict[str, str | list[str]]) -> None:
    running = parse_frr("\n".join((f"frr version {release}", *case["shown"], "")))
    given = parse_frr(f"frr version {release}\n{case['given']}")
    assert frr_difference(running, given) == ((), ())
    assert frr_delta(running, given) == ""


def test_both_releases_took_most_commands() -> None:
    assert [sum(case["given"].count("no ") for case in recorded) > 150 for recorded in RECORDED.values()] == [True] * 2
