"""The examples of the API's reference that need a lab, on a lab of their own."""

import contextlib
from pathlib import Path

import pytest
from api_examples import failed_examples
from command_rig import CommandRig

pytestmark = pytest.mark.e2e


def test_the_examples_that_need_a_lab_run(tmp_path: Path) -> None:
    rig = CommandRig(tmp_path / "project", "lab-4.yml")
    # Its own name: labs of one name cannot run at once.
    rig.intent.write_text(rig.intent.read_text(encoding="utf-8").replace("fabric: lab\n", "fabric: apilab\n"))
    try:
        with contextlib.chdir(rig.folder):
            assert not failed_examples(lab=True)
    finally:
        rig.run("lab", "down", "--all", status=None)
