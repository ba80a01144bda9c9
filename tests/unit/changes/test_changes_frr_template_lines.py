"""Lines of a template that FRR takes and never prints as they are: abbreviated commands, and ``no`` forms."""

import json
from pathlib import Path

import pytest

from railweave.sonic.frr import FrrEntry, parse_frr
from railweave.sonic.frr.abbreviation import written_out
from railweave.sonic.frr.reading import read_lines

SPELLINGS = Path(__file__).parents[2] / "conformance/frr_spellings/10.3.json"
ROUTER = "router bgp 65001"
FAMILY = f"{ROUTER} / address-family ipv4 unicast"
ROUTE_MAP = "route-map RM permit 10"


# Each was loaded into FRR 8.4.4 and 10.3, which printed the second form.
@pytest.mark.parametrize(
    ("context", "line", "whole", "abbreviations"),
    [
        ("", "ip prefix P seq 5 per 10.0.0.0/8", "ip prefix-list P seq 5 permit 10.0.0.0/8", ("prefix", "per")),
        ("", "route-m RM per 10", "route-map RM permit 10", ("route-m", "per")),
        (ROUTE_MAP, "match ip addr prefix-list P", "match ip address prefix-list P", ("addr",)),
        (ROUTE_MAP, "set local-pref 200", "set local-preference 200", ("local-pref",)),
        (ROUTER, "neigh PG peer", "neighbor PG peer-group", ("neigh", "peer")),
        (ROUTER, "neigh 10.0.0.1 remote 65002", "neighbor 10.0.0.1 remote-as 65002", ("neigh", "remote")),
        (ROUTER, "neighbor 10.0.0.1 desc desc", "neighbor 10.0.0.1 description desc", ("desc",)),
        (ROUTER, "neighbor 10.0.0.1 remote-as ext", "neighbor 10.0.0.1 remote-as external", ("ext",)),
        (ROUTER, "bgp best as-path multipath-rel", "bgp bestpath as-path multipath-relax", ("best", "multipath-rel")),
        (ROUTER, "no bgp log", "no bgp log-neighbor-changes", ("log",)),
        (ROUTER, "addr ipv4 uni", "address-family ipv4 unicast", ("addr", "uni")),
        (FAMILY, "neighbor 10.0.0.1 soft in", "neighbor 10.0.0.1 soft-reconfiguration inbound", ("soft", "in")),
        (FAMILY, "neighbor 10.0.0.1 route-map RM i", "neighbor 10.0.0.1 route-map RM in", ("i",)),
        (FAMILY, "redis conn", "redistribute connected", ("redis", "conn")),
    ],
)
def test_an_abbreviated_command_is_written_out(
    context: str, line: str, whole: str, abbreviations: tuple[str, ...]
) -> None:
    assert written_out(FrrEntry(context, line)) == (whole, abbreviations)


@pytest.mark.parametrize("line", ["neighbor 10.0.0.1 re 65002", "nonsense", "bgp x", "network 10.0.0.0/8"])
def test_a_word_that_may_be_several_or_none_stays(line: str) -> None:
    assert written_out(FrrEntry(ROUTER, line)) == (line, ())


def test_no_command_that_frr_takes_counts_as_abbreviated() -> None:
    for case in json.loads(SPELLINGS.read_text(encoding="utf-8")):
        if case["status"] == 0:
            for entry in read_lines(case["given"]):
                assert written_out(entry).abbreviations == (), entry


@pytest.mark.parametrize(
    ("above", "negation", "left"),
    [
        ("bgp log-neighbor-changes", "no bgp log-neighbor-changes", []),
        ("neighbor PG timers 3 9", "no neighbor PG timers", []),
        ("neighbor PG timers 3 9", "no neighbor PG timers 3 9", []),
        ("neighbor PG timers connect 5", "no neighbor PG timers", ["neighbor PG timers connect 5"]),
        ("neighbor PG shutdown", "no neighbor OTHER shutdown", ["neighbor PG shutdown"]),
        (
            "bgp bestpath compare-routerid",
            "no bgp ebgp-requires-policy",
            ["bgp bestpath compare-routerid", "no bgp ebgp-requires-policy"],
        ),
    ],
)
def test_a_no_form_takes_the_line_above_back(above: str, negation: str, left: list[str]) -> None:
    document = parse_frr(f"{ROUTER}\n neighbor PG peer-group\n {above}\n {negation}\nexit\n")
    lines = [entry.line for entry in document.entries if entry.context == ROUTER]
    assert lines == ["neighbor PG peer-group", *left]
