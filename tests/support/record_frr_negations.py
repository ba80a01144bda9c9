"""Record what FRR runs after ``no`` forms: ``python tests/support/record_frr_negations.py bookworm trixie``.

All that FRR takes of a context are in one text: a ``no`` form alone changes nothing that another one sets.
"""

import json
import re
import sys
import tempfile
from pathlib import Path

import frr_spellings
from real_frr import RealFrr, real_frr
from record_frr_spellings import body

FOLDER = Path(__file__).parents[1] / "conformance" / "frr_negations"
PEERS = ("neighbor PG peer-group", "neighbor 10.0.0.1 remote-as 65002", "neighbor fd00::1 remote-as 65003")
CONTEXTS = {
    "router bgp 65001\n": frr_spellings.ROUTER,
    "router bgp 65001\n address-family ipv4 unicast\n": frr_spellings.FAMILY,
    "router bgp 65001\n address-family ipv6 unicast\n": frr_spellings.FAMILY6,
    "route-map RM permit 10\n": frr_spellings.ROUTE_MAP,
}
_REFUSED_AT = re.compile(r"line (\d+): ")


def negations(commands: str) -> list[str]:
    """Return the ``no`` forms of commands; neighbors are not removed, as all other lines are about them."""
    lines = commands.strip().splitlines()
    return [
        f"no {line}" for line in lines if not line.startswith("no ") and not re.search(r"remote-as|interface", line)
    ]


def given_text(opening: str, lines: list[str]) -> str:
    """Return a file: the neighbors, and a context with lines."""
    router = "router bgp 65001\n" + "".join(f" {peer}\n" for peer in PEERS) + "exit\n"
    depth = opening.count("\n")
    return router + opening + "".join(f"{' ' * depth}{line}\n" for line in lines)


def record(frr: RealFrr) -> list[dict[str, object]]:
    """Return for each context the lines that FRR takes, and what it runs after all of them."""
    recorded: list[dict[str, object]] = []
    for opening, commands in CONTEXTS.items():
        lines = negations(commands)
        first = given_text(opening, []).count("\n") + 1
        refused = {int(number) - first for number in _REFUSED_AT.findall(frr.give(given_text(opening, lines)).said)}
        taken = [line for number, line in enumerate(lines) if number not in refused]
        frr.give("no router bgp 65001\nno route-map RM\n")
        given = given_text(opening, taken)
        assert frr.give(given).status == 0
        recorded.append({"given": given, "shown": body(frr.shown())})
        frr.give("no router bgp 65001\nno route-map RM\n")
    return recorded


def main(suites: list[str]) -> None:
    """Write a recording for each release of Debian."""
    FOLDER.mkdir(exist_ok=True)
    for suite in suites:
        with tempfile.TemporaryDirectory() as folder, real_frr(suite, Path(folder)) as frr:
            version = re.findall(r"frr version (\S+)", frr.shown())[0]
            text = json.dumps(record(frr), indent=1)
            (FOLDER / f"{version}.json").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
