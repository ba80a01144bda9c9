"""SONiC's releases: one table, its page, what an unknown name stands for, and what a switch says that it runs."""

import re
from pathlib import Path

import pytest

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.fabric.releases import RELEASES, nearest, other_release, release_warnings, running_release
from railweave.intent.load import load_intent_text
from railweave.sonic.render.configure import configure
from railweave.templates import find_templates

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "reference" / "releases.md"
LAB = (ROOT / "intent" / "lab-4.yml").read_text(encoding="utf-8")


def test_the_table_is_in_order() -> None:
    assert list(RELEASES) == sorted(RELEASES)
    versions = [tuple(int(part) for part in one.frr.split(".")) for one in RELEASES.values()]
    assert versions == sorted(versions)


def test_the_page_says_what_the_table_says() -> None:
    yes = {True: "yes", False: "no"}
    rows = re.findall(r"^\| `(\d+)` \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {name: [*cells.split(" | ")[:7], cells.split(" | ")[10]] for name, cells in rows} == {
        name: [
            str(one.debian),
            one.python,
            one.frr,
            yes[one.fpm],
            yes[not one.kernel_nexthops],
            yes[one.suppress_fib],
            yes[one.prints_tracking],
            yes[one.bfd],
        ]
        for name, one in RELEASES.items()
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [("202505", "202505"), ("202508", "202505"), ("202606", "202605"), ("203011", "202605"), ("202211", "202305"),
     ("master", "202605"), ("4.2.1-Enterprise", "202605")],
)  # fmt: skip
def test_an_unknown_release_is_treated_as_the_nearest(name: str, expected: str) -> None:
    assert nearest(name) == expected


@pytest.mark.parametrize(
    ("release", "branch", "build", "expected"),
    [
        ("202505", "202505", "202505.1011-ff3c0c9f6", "202505"),
        ("none", "202411", "202411.0-566f5575d", "202411"),
        ("none", "HEAD", "202311.0-dirty-20250501.120000", "202311"),
        ("none", "master", "master.0-086b03bd7", "master"),
        ("none", "my-branch", "my-branch.0-20250501.123456", "my-branch.0-20250501.123456"),
        ("none", "vendor", "4.2.1-\x1b[31mEnterprise", "4.2.1-??31mEnterprise"),
    ],
)
def test_a_switch_says_which_release_it_runs(release: str, branch: str, build: str, expected: str) -> None:
    assert running_release({"release": release, "branch": branch, "build_version": build}) == expected


def test_a_switch_that_says_nothing_differs_from_nothing() -> None:
    assert running_release({}) == ""
    assert other_release("", "202505") is None
    assert other_release("202505", "202505") is None


def test_switches_of_one_release_are_named_together() -> None:
    old, new = other_release("202411", "202505"), other_release("202606", "202505")
    assert list(release_warnings({"leaf1": old, "leaf2": None, "leaf3": old, "spine1": new})) == [
        "leaf1, leaf3: SONiC 202411 runs, and sonic.release of the intent is 202505: state the release that runs, or"
        " upgrade the switch",
        "spine1: SONiC 202606 runs, which is not known (the nearest is 202605), and sonic.release of the intent is"
        " 202505: state the release that runs, or upgrade the switch",
    ]


def of_release(name: str) -> Fabric:
    fabric = design(load_intent_text(f"{LAB}sonic: {{release: {name}}}\n", "lab.yml"), load_catalog()).fabric
    assert fabric is not None
    return fabric


@pytest.mark.parametrize(("name", "like"), [("202606", "202605"), ("master", "202605"), ("202401", "202311")])
def test_an_intent_of_an_unknown_release_is_rendered_as_the_nearest(name: str, like: str) -> None:
    fabric, known = of_release(name), of_release(like)
    for switch in fabric.switches:
        made = configure(fabric, switch, find_templates())
        assert made.frr == configure(known, known.switch_of[switch.name], find_templates()).frr
        assert made.config_db() == configure(known, known.switch_of[switch.name], find_templates()).config_db()
