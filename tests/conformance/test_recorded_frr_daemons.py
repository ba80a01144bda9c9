"""The simulated FRR answers with one daemon after another as FRR does: exit status, texts, and what it shows.

Recorded on FRR 8.4.4 and 10.3 (Debian 12 and 13): zebra and staticd run (on 10.3 mgmtd too), ``given.conf`` is loaded
with ``vtysh -f`` (``2-without``), bgpd starts (``3-bgpd``), the file is loaded again (``4-again``), pathd starts.
"""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from railweave_switch import frr
from sonic_sim.frr.running import Applied, Frr
from sonic_sim.frr.show import Build

FOLDER = Path(__file__).parent / "frr_daemons"
GIVEN = (FOLDER / "given.conf").read_text(encoding="utf-8")
BGPD_S = 10.0
BUILDS = {
    "8.4": (Build("8.4.4", patched=False), ("zebra", "bgpd", "staticd")),
    "10.3": (Build("10.3", patched=False), ("mgmtd", "zebra", "bgpd", "staticd")),
}


class Aged:
    """FRR whose bgpd comes late, and whose pathd runs when it is told to."""

    def __init__(self, release: str) -> None:
        build, daemons = BUILDS[release]
        self.age = 0.0
        self.beside: tuple[str, ...] = ()
        self.frr = Frr(build, daemons, beside=lambda: self.beside, age_s=lambda: self.age)
        self.frr.start("no ipv6 forwarding\n", "leaf1", starting={"bgpd": BGPD_S}, loads_s=0.0)

    def to(self, state: str) -> Applied | None:
        acts: dict[str, Callable[[], Applied | None]] = {
            "1-start": lambda: None,
            "2-without": lambda: self.frr.apply(GIVEN),
            "3-bgpd": lambda: setattr(self, "age", BGPD_S),
            "4-again": lambda: self.frr.apply(GIVEN),
            "5-pathd": lambda: setattr(self, "beside", ("pathd",)),
        }
        return acts[state]()


def recorded(release: str, name: str) -> str:
    return (FOLDER / release / name).read_text(encoding="utf-8")


def printed(text: str) -> list[str]:
    """Return what the processes of vtysh print, without what mgmtd says of lines that it has already."""
    lines = [line for line in text.splitlines() if not line.startswith("MGMTD: No changes found")]
    return sorted(re.sub(r"^\[\d+\|", "[|", line) for line in lines)


@pytest.mark.parametrize("release", BUILDS)
def test_frr_with_one_daemon_after_another_answers_as_recorded(release: str) -> None:
    one = Aged(release)
    for state in ("1-start", "2-without", "3-bgpd", "4-again", "5-pathd"):
        applied = one.to(state)
        assert one.frr.show() == recorded(release, f"{state}.shown"), state
        assert one.frr.show("bgpd") == recorded(release, f"{state}.bgpd"), state
        assert [*one.frr.up(), *one.beside] == recorded(release, f"{state}.daemons").split(), state
        if applied is not None:
            assert f"{applied.status}\n" == recorded(release, f"{state}.rc")
            assert printed(applied.out) == printed(recorded(release, f"{state}.out"))
            assert printed(applied.err) == printed(recorded(release, f"{state}.err"))


@pytest.mark.parametrize("release", BUILDS)
def test_bgpd_has_nothing_of_what_was_loaded_without_it_though_vtysh_shows_its_lists(release: str) -> None:
    shown, own = recorded(release, "3-bgpd.shown"), recorded(release, "3-bgpd.bgpd")
    assert frr.shared_lines(shown)
    assert frr.shared_lines(own) == {}
    assert frr.shared_lines(recorded(release, "4-again.bgpd")) == frr.shared_lines(shown)


@pytest.mark.parametrize("release", BUILDS)
def test_the_daemons_of_the_lines_are_those_that_show_them(release: str) -> None:
    text = recorded(release, "4-again.shown")
    assert frr.daemons_of(frr.lines_of(text, ""), frr.version_of(text)) - {"zebra"} == (
        {"bgpd", "mgmtd", "staticd"} if release == "10.3" else {"bgpd", "staticd"}
    )
    assert "bgpd" not in frr.daemons_of(frr.lines_of(recorded(release, "3-bgpd.shown"), ""))
