"""What netplan itself makes of a node's file: the same settings as the networkd files that are rendered beside it.

``netplan_0_106/`` holds a rendered ``netplan.yaml`` and what ``generate`` of Debian's netplan.io 0.106 made of it.
Where the rendering has changed, record anew: ``generate --root-dir DIR`` with the file in DIR/etc/netplan.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.hosts.render import HostRenderer
from railweave.intent.load import load_intent
from railweave.templates import find_templates

HERE = Path(__file__).resolve().parent / "netplan_0_106"
INTENT = Path(__file__).resolve().parents[2] / "intent" / "pod-32.yml"
OUR_OWN = {("Network", "EmitLLDP", "yes")}
"""What netplan has no key for."""


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    fabric = design(load_intent(INTENT), load_catalog()).fabric
    assert fabric is not None
    return dict(HostRenderer(fabric, find_templates()).files(fabric.host_of["gpu32"]))


def settings(text: str) -> Iterator[tuple[str, ...]]:
    """Yield each setting with its section; routes and rules are several sections of one name, so they stay whole."""
    for section in text.split("\n["):
        head, *lines = section.strip().lstrip("[").splitlines()
        assigned = sorted(line for line in lines if "=" in line and not line.startswith("#"))
        if head.startswith("Rou"):
            yield (head.rstrip("]"), *assigned)
        else:
            yield from ((head.rstrip("]"), *line.split("=", 1)) for line in assigned)


def without_comment(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith("#"))


def test_the_recorded_file_is_the_one_that_is_rendered(files: dict[str, bytes]) -> None:
    assert (HERE / "netplan.yaml").read_bytes() == files["netplan.yaml"]


@pytest.mark.parametrize("rail", ["rail0", "rail1", "rail2", "rail3"])
def test_netplan_makes_of_it_what_the_networkd_file_says(files: dict[str, bytes], rail: str) -> None:
    ours = set(settings(without_comment(files[f"networkd/10-railweave-{rail}.network"].decode())))
    netplans = set(settings((HERE / f"10-netplan-{rail}.network").read_text(encoding="utf-8")))
    assert ours - netplans == OUR_OWN
    assert netplans - ours == set()
