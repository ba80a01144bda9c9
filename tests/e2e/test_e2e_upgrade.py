"""A project, its journals, its saved plan and its switches as revision 89c1923c left them are read and worked on.

`tests/e2e/earlier/write.sh` wrote them: the switches hold that revision's program, state and rollback documents.
"""

import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from railweave_switch.packing import packed_sha256

pytestmark = pytest.mark.e2e

ARCHIVE = Path(__file__).with_name("earlier") / "project-89c1923c.tar.xz"
LEAF = "first-leaf1"
PROGRAM = "/usr/local/bin/railweave-switch"


@pytest.fixture
def earlier(new_project: Callable[[Callable[[Path], str]], Any]) -> Any:
    """Return the project of that revision, with its switches running on this revision's simulator."""

    def unpack(folder: Path) -> str:
        with tarfile.open(ARCHIVE) as archive:
            archive.extractall(folder, filter="data")
        return "fabric.yml"

    project = new_project(unpack)
    project.up()
    return project


def weight(project: Any) -> str:
    return str(project.running(LEAF)["SCHEDULER"]["roce"]["weight"])


def test_a_project_of_an_earlier_revision_is_planned_rolled_back_and_deployed(earlier: Any) -> None:
    assert packed_sha256() not in earlier.on(LEAF, f"sudo sha256sum {PROGRAM}")
    # What it deployed is in force, by the rows and checks of this revision too.
    assert {device["state"] for device in earlier.plan()["devices"].values()} == {"unchanged"}
    assert packed_sha256() in earlier.on(LEAF, f"sudo sha256sum {PROGRAM}")
    assert earlier.verify()["ok"] is True
    listed = earlier.run("rollout", "list").stdout
    last, first = (line.split()[0] for line in listed.splitlines() if "first → sim" in line)
    # A rollback reads that revision's journal and its rollback documents on the switches.
    earlier.run("rollback", last, "--target", "sim", "--yes")
    assert weight(earlier) == "90"
    # Deployed again, by this revision; then the plan that the earlier one had saved.
    assert earlier.deploy()["result"] == "done"
    assert weight(earlier) == "80"
    earlier.edit(("share: 80", "share: 70"), ("share: 20", "share: 30"))
    assert earlier.json("deploy", "plan.json", "--target", "sim", "--yes")["result"] == "done"
    assert weight(earlier) == "70"
    assert f"rollback {first}" in earlier.run("rollout", "show", first).stdout
