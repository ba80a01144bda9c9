"""Record what FRR runs after each spelling: ``python tests/support/record_frr_spellings.py bookworm trixie``."""

import json
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from frr_spellings import cases
from real_frr import RealFrr, real_frr

FOLDER = Path(__file__).parents[1] / "conformance" / "frr_spellings"
_HEADING = ("hostname ", "no ipv6 forwarding", "frr defaults ")
_LISTED = re.compile(r"(ip|ipv6) prefix-list |route-map ")
_SINGLE = re.compile(r"(ip|ipv6) (route|protocol|access-list|router-id) |access-list |bgp \S*(community|access)-list ")


def body(shown: str) -> list[str]:
    """Return the lines of a configuration without its heading."""
    lines = shown.partition("frr version ")[2].splitlines()[1:]
    return [line for line in lines if line.strip() not in ("!", "end") and not line.startswith(_HEADING)]


def undo(lines: list[str]) -> Iterator[str]:
    """Yield the lines that empty a configuration; instances of VRFs go first."""
    yield from (f"no {line}" for line in lines if line.startswith("router bgp ") and " vrf " in line)
    yield from (f"no {line.split(' as-notation')[0]}" for line in lines if re.match(r"router bgp (?!.* vrf )", line))
    context = ""
    for line in lines:
        context = line if not line.startswith(" ") else context
        if context.startswith("vrf ") and line.startswith(" "):
            yield from (context, f" no {line.strip()}", "exit-vrf")
        elif _SINGLE.match(line):
            yield f"no {line}"
        elif _LISTED.match(line):
            yield f"no {' '.join(line.split()[: 2 if line.startswith('route-map') else 3])}"
        elif line.startswith("no ip nht"):
            yield line.removeprefix("no ")


def record(frr: RealFrr) -> list[dict[str, object]]:
    """Return every case with what it gave."""
    found: list[dict[str, object]] = []
    for text in cases():
        given = frr.give(text)
        lines = body(frr.shown())
        refused = {"said": given.said.splitlines()[:3]} if given.status else {}
        found.append({"given": text, "status": given.status, "shown": lines, **refused})
        frr.give("\n".join([*undo(lines), ""]))
    return found


def main(suites: list[str]) -> None:
    """Write a recording for each release of Debian."""
    for suite in suites:
        with tempfile.TemporaryDirectory() as folder, real_frr(suite, Path(folder)) as frr:
            version = re.findall(r"frr version (\S+)", frr.shown())[0]
            rows = ",\n".join(json.dumps(one) for one in record(frr))
            (FOLDER / f"{version}.json").write_text(f"[\n{rows}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
