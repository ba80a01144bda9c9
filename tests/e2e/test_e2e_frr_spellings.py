"""A change of FRR's configuration written in any spelling is there after one delta, on FRR itself.

FRR 8.4 and 10.3 (Debian 12 and 13) run in containers without a network. For random configurations the delta is loaded
with ``vtysh -f``; then FRR runs every wanted line, a second delta is empty, and FRR's own ``frr-reload.py --test`` has
nothing to add.
"""

import random
import re
import shutil
from collections.abc import Iterator

import pytest
from by_night import nightly_except
from frr_spellings import FAMILY, FAMILY6, QUIET, ROUTE_MAP, ROUTER, TOP
from real_frr import RealFrr, real_frr

from railweave.sonic.frr import frr_delta, frr_difference, parse_frr, render_frr

CANNOT = shutil.which("docker") is None
pytestmark = [pytest.mark.e2e, pytest.mark.skipif(CANNOT, reason="FRR runs in containers, by Docker")]

CONFIGURATIONS = 20
PEERS = ("neighbor PG peer-group", "neighbor 10.0.0.1 remote-as 65002", "neighbor fd00::1 remote-as 65003")
LEFT_OUT = {
    TOP: r"router|route-map|vrf |ip router-id|no |.*expanded|.*-list 10|.* reject|.*default|.*vrf Vrf1|.*bfd$"
    r"|.*community-list (C|L) |.*(4294967041|65537|tag 0|tag 220 blackhole)",
    ROUTER: r"bgp (confed|listen|session-dscp|router-id 10.0.0.009|update)|.*1\.10|neighbor Ethernet0|.*delayopen"
    r"|neighbor 10.0.0.1 (solo|interface|dont|override|strict|peer-group|description$|graceful-shutdown|local-as"
    r"|tcp-mss|bfd (check|strict))|network|aggregate|distance|maximum-paths|redistribute"
    r"|neighbor \S+ (activate|route-map)",
    FAMILY: r".*(label-index|route-server|route-reflector|accept-own|next-hop-unchanged|disable-addpath|force$|origin)",
    FAMILY6: r"$^",
    ROUTE_MAP: r".*(C D|65537|internet|1\.10|continue$|rtt|metric \+|local-preference \+|last-as|bandwidth|distance"
    r"|table)",
}
"""What is written by one release alone, or is refused beside others."""


def slot(line: str) -> str:
    """Return what a line is about, so that no configuration says a thing twice."""
    words = line.removeprefix("no ").split()
    if words[0] == "neighbor":
        connect, way = "connect" in words[3:4], words[-1] if words[-1] in ("in", "out") else ""
        return f"{words[1]} {words[2]} {connect} {way}"
    if words[0] in ("ip", "ipv6") and words[1] == "route":
        return words[0]
    if words[0] in ("network", "aggregate-address", "redistribute", "distance", "maximum-paths", "timers"):
        return words[0]
    return " ".join(words[:2]) if words[0] in ("set", "match", "on-match", "continue") else " ".join(words[:3])


def some(rng: random.Random, lines: str, most: int) -> list[str]:
    """Return up to so many lines of the corpus, one for each thing that they are about."""
    usable = [line for line in lines.strip().splitlines() if not re.match(LEFT_OUT[lines], line)]
    return list({slot(line): line for line in rng.sample(usable, rng.randint(0, most))}.values())


def configuration(seed: int) -> Iterator[str]:
    """Yield the lines of a wanted configuration, spelled at random."""
    rng = random.Random(seed)
    yield from some(rng, TOP, 6)
    if rng.random() < 0.9:
        yield f"router bgp {rng.choice((65001, 65001, 65077))}"
        yield from [QUIET.rstrip()] * (rng.random() < 0.7)
        yield from (f" {line}" for line in PEERS)
        yield from [" neighbor 10.0.0.1 peer-group PG"] * (rng.random() < 0.3)
        yield from (f" {line}" for line in some(rng, ROUTER, 8))
        yield from (" address-family ipv4 unicast", *(f"  {line}" for line in some(rng, FAMILY, 7)))
        yield " exit-address-family"
        yield from (" address-family ipv6 unicast", *(f"  {line}" for line in some(rng, FAMILY6, 2)))
        yield from (" exit-address-family", "exit")
    yield from ("route-map RM permit 10", *(f" {line}" for line in some(rng, ROUTE_MAP, 4)), "exit")


@pytest.fixture(scope="module", params=nightly_except(["bookworm", "trixie"], daily=["bookworm"]))
def frr(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealFrr]:
    with real_frr(request.param, tmp_path_factory.mktemp(request.param)) as one:
        yield one


def test_one_delta_brings_frr_to_what_is_wanted_in_any_spelling(frr: RealFrr) -> None:
    for seed in range(CONFIGURATIONS):
        text = "\n".join([*configuration(seed), ""])
        wanted = parse_frr(text)
        given = frr.give(frr_delta(parse_frr(frr.shown()), wanted))
        there = parse_frr(frr.shown())
        assert (given.status, frr_difference(there, wanted)) == (0, ((), ())), f"seed {seed}: {given.said}\n{text}"
        assert frr_delta(there, wanted) == ""


def test_frr_s_own_reload_has_nothing_to_add(frr: RealFrr) -> None:
    for seed in range(3):
        wanted = parse_frr("\n".join([*configuration(seed), ""]))
        frr.give(frr_delta(parse_frr(frr.shown()), wanted))
        assert frr.lines_to_add(render_frr(wanted)) == "", f"seed {seed}"


REPORTED = """ip route 10.98.0.0/16 blackhole 250 tag 220
router bgp 65001
 neighbor 10.0.0.1 remote-as 65002
 neighbor 10.0.0.1 bfd profile fast
 address-family ipv4 unicast
  network 10.99.0.1/24
 exit-address-family
exit
"""


def test_wanted_lines_in_another_spelling_stay(frr: RealFrr) -> None:
    frr.give(frr_delta(parse_frr(frr.shown()), parse_frr(REPORTED.replace(" bfd profile fast", " bfd"))))
    for _ in range(2):
        frr.give(frr_delta(parse_frr(frr.shown()), parse_frr(REPORTED)))
        shown = frr.shown()
        assert "ip route 10.98.0.0/16 blackhole tag 220 250\n" in shown
        assert " neighbor 10.0.0.1 bfd profile fast\n" in shown
        assert "  network 10.99.0.0/24\n" in shown
