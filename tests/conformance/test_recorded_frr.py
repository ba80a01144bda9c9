"""The simulated FRR answers files as FRR 8.4.4 did: exit status, texts, and the configuration that it shows.

Recorded on Debian's FRR 8.4.4 (zebra, bgpd, staticd; vtysh -f FILE, then show running-config), the files one after the
other. ``said`` holds what vtysh printed, standard output and error on one terminal, so only its lines are compared.
"""

from pathlib import Path

import pytest

from sonic_sim.frr import show
from sonic_sim.frr.running import Frr

FOLDER = Path(__file__).parent / "frr_8_4"
NAMES = sorted(path.stem for path in FOLDER.glob("*.conf"))


def test_recorded_files_are_answered_and_shown_as_by_frr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(show, "FRR_VERSION", "8.4.4")
    frr = Frr()
    frr.start("log syslog informational\nno ipv6 forwarding\n", "leaf1")
    for name in NAMES:
        applied = frr.apply((FOLDER / f"{name}.conf").read_text(encoding="utf-8"))
        said = (FOLDER / f"{name}.said").read_text(encoding="utf-8").splitlines()
        assert f"exit {applied.status}" == said[-1], name
        assert sorted((applied.out + applied.err).splitlines()) == sorted(said[:-1]), name
        assert frr.show() == (FOLDER / f"{name}.shown").read_text(encoding="utf-8"), name


def test_there_are_recordings() -> None:
    assert NAMES == ["1-clos", "2-wrong", "3-unknown", "4-removals"]
