"""The export of a running fabric leaves out what is drained or failed, and nothing that only its management lost."""

from typing import Any

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.nightly]

WHOLE = "SwitchName=lab-stripe-0 Nodes=gpu[1-4]\nSwitchName=lab Switches=lab-stripe-0\n"
APART = "SwitchName=lab-stripe-0 Nodes=gpu[1-4]\n"


def exported(project: Any) -> str:
    """Return the tree without its comments."""
    text = project.run("export", "slurm-tree", "--live", "--target", "sim").stdout
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))


def test_drained_and_failed_switches_are_out_of_the_tree(new_project: Any) -> None:
    project = new_project("lab-4.yml")
    project.up()
    project.deploy()
    assert exported(project) == WHOLE

    # The other spine still joins the leaves.
    project.run("drain", "lab-spine1", "--yes", "--wait", "0")
    assert exported(project) == WHOLE

    # Its management alone is lost: neighbors have links up to it.
    project.run("sim", "fault", "lab-spine2", "unreachable")
    done = project.run("export", "slurm-tree", "--live", "--target", "sim")
    assert "note: lab-spine2: not read, but neighbors have links up to it" in done.stderr
    assert exported(project) == WHOLE

    project.run("sim", "fault", "lab-spine2", "link-down")
    assert exported(project) == APART

    project.run("sim", "fault", "lab-spine2", "clear")
    project.run("undrain", "lab-spine1")
    assert exported(project) == WHOLE
    document = project.json("export", "node-labels", "--live", "--target", "sim")
    assert document["left_out"] == document["warnings"] == []
