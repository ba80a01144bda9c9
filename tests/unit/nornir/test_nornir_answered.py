"""A device that was reached and whose answer was refused is not called unreachable."""

import pytest
from napalm.base.exceptions import (
    CommandErrorException,
    CommandTimeoutException,
    ConnectAuthError,
    ConnectionClosedException,
    ConnectTimeoutError,
)

from nornir_railweave.device.session import has_answered, unread_event
from nornir_railweave.rollout.progress import _LINES
from railweave.plan.build import Reading, _device
from railweave.plan.model import DevicePlan, DeviceState
from railweave.sonic.document import DocumentError


@pytest.mark.parametrize(
    "fault", [CommandErrorException("its answer is refused"), DocumentError("not a row of fields")]
)
def test_a_refused_answer_is_an_answer(fault: Exception) -> None:
    assert has_answered(fault)
    event = unread_event("leaf1", fault)
    assert _LINES[event.step](event) == f"leaf1: cannot be read: {fault}"


@pytest.mark.parametrize(
    "fault",
    [
        ConnectTimeoutError("no answer"),
        ConnectAuthError("denied"),
        ConnectionClosedException("lost"),
        CommandTimeoutException("did not end in time"),
        OSError("no route to host"),
        EOFError("closed"),
    ],
)
def test_silence_is_none(fault: Exception) -> None:
    assert not has_answered(fault)
    event = unread_event("leaf1", fault)
    assert _LINES[event.step](event) == f"leaf1: unreachable: {fault}"


@pytest.mark.parametrize("answered", [True, False])
def test_a_plan_keeps_which_it_was(answered: bool) -> None:
    class Leaf:
        class tier:  # noqa: N801
            name = "leaf"

    made = _device(Reading(error="refused", answered=answered), Leaf(), "", disruptive=False)  # type: ignore[arg-type]
    assert made == DevicePlan(DeviceState.UNREACHABLE, "leaf", error="refused", answered=answered)
