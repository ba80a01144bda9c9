"""The examples of the API's reference that need a lab, on a lab of their own."""

import contextlib

import pytest
from api_examples import failed_examples
from command_rig import CommandRig

pytestmark = [pytest.mark.e2e, pytest.mark.nightly]


def test_the_examples_that_need_a_lab_run(small_project: CommandRig) -> None:
    with contextlib.chdir(small_project.folder):
        assert not failed_examples(lab=True)
