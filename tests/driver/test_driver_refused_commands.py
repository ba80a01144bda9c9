"""What to do about a switch on which the program cannot be run follows the words of its shell."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from napalm.base.exceptions import CommandErrorException

from napalm_sonic.calling import Caller
from napalm_sonic.options import Options
from napalm_sonic.refused_commands import with_fix
from napalm_sonic.session import Completed

BY_SUDO = "let this user run it by sudo without a password (docs/how-to/rights.md)"
PYTHON = "the shell of this user needs python3 on its PATH, as SONiC's own users have it"


@pytest.mark.parametrize(
    ("said", "fix"),
    [
        ("sudo: a password is required", BY_SUDO),
        ("Sorry, user reader is not allowed to execute '/usr/bin/true' as root on leaf1.", BY_SUDO),
        ("ops is not in the sudoers file.", BY_SUDO),
        ("bash: line 1: python3: command not found", PYTHON),
        ("sudo: python3: not found", PYTHON),
        ("tee: /tmp/x: No space left on device", "free space on the switch (`df -h`)"),
    ],
)
def test_a_command_that_is_not_run_is_reported_with_a_fix(said: str, fix: str) -> None:
    assert with_fix(said) == f"{said}; {fix}"


def test_other_words_are_left_as_they_are() -> None:
    assert with_fix("usage: show [OPTIONS]") == "usage: show [OPTIONS]"


def test_a_call_of_the_program_is_reported_in_these_words_too() -> None:
    session = SimpleNamespace(
        hostname="leaf1",
        as_root=lambda command: f"sudo -n {command}",
        run=lambda command, *_: Completed(command, 1, "", "sudo: a password is required\n"),
    )
    with pytest.raises(CommandErrorException) as refused:
        Caller(cast("Any", session), Options()).call(["status"])
    assert str(refused.value) == f"leaf1: railweave-switch: sudo: a password is required ({BY_SUDO})"
