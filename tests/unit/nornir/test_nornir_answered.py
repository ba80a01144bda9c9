"""A device that was reached and whose answer was refused is not called unreachable."""

from pathlib import Path

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
from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.intent.load import load_intent_text
from railweave.plan.build import build_plan
from railweave.plan.model import DeviceState, Reading
from railweave.sonic.document import DocumentError

ROOT = Path(__file__).resolve().parents[3]


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
    intent = "intent/lab-4.yml"
    fabric = design(load_intent_text((ROOT / intent).read_text(encoding="utf-8"), intent), load_catalog()).fabric
    assert fabric is not None
    readings = {switch.name: Reading(error="refused", answered=answered) for switch in fabric.switches}
    plan = build_plan(fabric, readings, target="", intent_sha256="")
    device = plan.devices["lab-leaf1"]
    assert (device.state, device.error, device.reading.answered) == (DeviceState.UNREACHABLE, "refused", answered)
