"""The simulated FRR answers files as FRR 8.4.4 did: exit status, texts, and the configuration that it shows.

Recorded on Debian's FRR 8.4.4 (zebra, bgpd, staticd; vtysh -f FILE, then show running-config), the files one after the
other. ``said`` holds what vtysh printed, standard output and error on one terminal, so only its lines are compared.
"""

from pathlib import Path

from railweave.sonic.frr import parse_frr
from railweave.sonic.frr.drain import drain_text, drained_peers, undrain_text
from sonic_sim.frr.running import Frr
from sonic_sim.frr.show import Build

RECORDED = Build("8.4.4", patched=False)
FOLDER = Path(__file__).parent / "frr_8_4"
NAMES = sorted(path.stem for path in FOLDER.glob("*.conf"))


def test_recorded_files_are_answered_and_shown_as_by_frr() -> None:
    frr = Frr(RECORDED)
    frr.start("log syslog informational\nno ipv6 forwarding\n", "leaf1")
    for name in NAMES:
        applied = frr.apply((FOLDER / f"{name}.conf").read_text(encoding="utf-8"))
        said = (FOLDER / f"{name}.said").read_text(encoding="utf-8").splitlines()
        assert f"exit {applied.status}" == said[-1], name
        assert sorted((applied.out + applied.err).splitlines()) == sorted(said[:-1]), name
        assert frr.show() == (FOLDER / f"{name}.shown").read_text(encoding="utf-8"), name


def test_there_are_recordings() -> None:
    assert NAMES == ["1-clos", "2-wrong", "3-unknown", "4-removals"]


DRAINED = Path(__file__).parent / "frr_8_4_drain"
"""A switch drained by a link, then as a whole, and back; the lines are railweave's own."""


def test_a_drain_and_its_undrain_are_answered_and_shown_as_by_frr() -> None:
    frr = Frr(RECORDED)
    frr.start("log syslog informational\nno ipv6 forwarding\nservice integrated-vtysh-config\n", "leaf1")
    names = sorted(path.stem for path in DRAINED.glob("*.conf"))
    assert len(names) == 9
    for name in names:
        applied = frr.apply((DRAINED / f"{name}.conf").read_text(encoding="utf-8"))
        said = (DRAINED / f"{name}.said").read_text(encoding="utf-8").splitlines()
        assert f"exit {applied.status}" == said[-1], name
        assert sorted((applied.out + applied.err).splitlines()) == sorted(said[:-1]), name
        assert frr.show() == (DRAINED / f"{name}.shown").read_text(encoding="utf-8"), name


def test_what_frr_shows_of_a_drain_is_found_again_and_undone() -> None:
    shown = {path.stem[0]: path.read_text(encoding="utf-8") for path in DRAINED.glob("*.shown")}
    conf = {path.stem[0]: path.read_text(encoding="utf-8") for path in DRAINED.glob("*.conf")}
    assert drain_text(parse_frr(shown["1"]), ["10.192.0.64"]) == conf["2"]
    assert drain_text(parse_frr(shown["2"]), None) == conf["3"]
    assert undrain_text(parse_frr(shown["4"])) == conf["5"]
    assert undrain_text(parse_frr(shown["8"])) == conf["9"]
    assert [drained_peers(parse_frr(shown[number])) for number in "12358"] == [
        (), ("10.192.0.64",), ("*",), (), ("*",)
    ]  # fmt: skip
    assert len({parse_frr(text).entries for text in shown.values()}) == 1, "the configuration is the same throughout"
