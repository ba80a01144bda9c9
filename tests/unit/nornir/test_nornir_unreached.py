"""Growth that is planned before its switches answer: shown as factory-fresh by name, and never deployed."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from napalm.base.exceptions import ConnectTimeoutError
from rich.console import Console

from railweave import api
from railweave.cli.main import main
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric
from railweave.plan.document import parse_plan, plan_json
from railweave.plan.headline import headline
from railweave.plan.model import DeviceState, Plan
from railweave.plan.resumption import check_binding
from railweave.report.plan import plan_markdown, plan_view

NEW = ("lab-leaf3", "lab-leaf4")
GROWN = (("count: 4\n", "count: 8\n"), ("count: 2, downlink", "count: 4, downlink"))
NO_ROUTE = ConnectTimeoutError("no route to host")


@pytest.fixture
def growing(bench: Any, settle: Callable[[Any], Any], redesign: Callable[..., Fabric]) -> Any:
    """A lab that runs, with a second stripe in its intent whose leaves do not answer."""
    settle(bench).world.grow(redesign(*GROWN))
    silence(bench, *NEW)
    return bench


def silence(bench: Any, *names: str) -> None:
    for name in names:
        bench.world.switches[name].faults["open"] = NO_ROUTE


def rest(plan: Plan) -> Plan:
    """Return a plan after it was written and read."""
    return parse_plan(json.dumps(plan_json(plan)), "plan.json")


def test_new_switches_that_do_not_answer_are_planned_as_factory_fresh(growing: Any) -> None:
    read = growing.plan()
    assert read.assumed_fresh == ()
    assert not {*NEW} & read.deltas.keys()
    plan = growing.plan(skip_unreachable=True)
    assert plan.assumed_fresh == NEW
    assert {plan.devices[name].state for name in NEW} == {DeviceState.UNREACHABLE}
    assert {*NEW} <= plan.unprovisioned
    assert {name for wave in plan.waves for name in wave} == {*plan.deltas}
    assert {name: plan.deltas[name] for name in read.deltas} == dict(read.deltas)
    for name in NEW:
        growing.world.switches[name].faults.clear()
    answered = growing.plan()
    assert {change.key for change in answered.deltas[NEW[0]]} >= {change.key for change in plan.deltas[NEW[0]]}


@pytest.mark.slow
def test_every_view_names_what_was_not_read(growing: Any) -> None:
    plan = growing.plan(skip_unreachable=True)
    assert headline(plan).startswith("lab: adds 2 leaves")
    assert "2 switches not reachable, planned as factory-fresh" in headline(plan)
    shown = io.StringIO()
    Console(file=shown, width=300).print(plan_view(plan))
    for text in (shown.getvalue(), plan_markdown(plan).replace("\\", "")):
        assert "planned as factory-fresh because no running neighbor has a link to it: lab-leaf3, lab-leaf4" in text
        assert "no route to host" in text
        assert "unreachable: lab-leaf3" not in text
    devices = plan_json(plan)["devices"]
    assert {name: (devices[name]["state"], devices[name]["unprovisioned"]) for name in NEW} == dict.fromkeys(
        NEW, ("unreachable", True)
    )
    assert rest(plan) == plan


def test_a_plan_with_switches_that_nobody_read_is_not_deployed(growing: Any) -> None:
    reviewed = rest(growing.plan(skip_unreachable=True))
    for answers in (False, True):
        if answers:
            for name in NEW:
                growing.world.switches[name].faults.clear()
        (found,) = check_binding(reviewed, growing.plan(), "plan.json")
        assert (found.code, found.devices) == ("RW529", NEW)
        assert "lab-leaf3, lab-leaf4 are factory-fresh" in found.message


def test_new_switches_need_no_address_to_be_reviewed(growing: Any) -> None:
    answering = growing.plan(skip_unreachable=True)
    growing.without_address = NEW
    plan = growing.plan(skip_unreachable=True)
    assert (plan.assumed_fresh, plan.deltas, plan.waves) == (NEW, answering.deltas, answering.waves)
    assert {plan.devices[name].error for name in NEW} == {"the target has no address for it"}
    growing.without_address = tuple(growing.world.switches)
    with pytest.raises(RefusedError, match="has no address for lab-leaf1"):
        growing.plan(skip_unreachable=True)


def test_a_switch_that_a_neighbor_knows_is_not_taken_for_factory_fresh(growing: Any) -> None:
    silence(growing, "lab-leaf1")
    plan = growing.plan(skip_unreachable=True)
    assert plan.assumed_fresh == NEW
    assert plan.devices["lab-leaf1"].state is DeviceState.UNREACHABLE
    assert "1 device could not be read" in headline(plan)


def test_beside_a_silent_switch_that_runs_nothing_is_taken_for_factory_fresh(growing: Any) -> None:
    """What the silent spine knows of the new leaves nobody can tell."""
    silence(growing, "lab-spine1")
    assert growing.plan(skip_unreachable=True).assumed_fresh == ()


def test_a_fabric_of_which_nothing_was_read_has_no_plan(growing: Any) -> None:
    silence(growing, *growing.world.switches)
    plan = growing.plan(skip_unreachable=True)
    assert (plan.assumed_fresh, plan.deltas) == ((), {})


@pytest.mark.parametrize(
    ("silent", "words", "status"),
    [
        ((), [], 1),
        ((), ["--skip-unreachable"], 0),
        ((), ["--skip-unreachable", "--exit-code"], 2),
        (("lab-leaf1", "lab-leaf2", "lab-spine1", "lab-spine2"), ["--skip-unreachable"], 1),
    ],
)
def test_the_command_succeeds_where_a_switch_answers(
    growing: Any,
    silent: tuple[str, ...],
    words: list[str],
    status: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    silence(growing, *silent)

    def planned(_: Any, __: str, *, skip_unreachable: bool, **___: Any) -> Plan:
        made: Plan = growing.plan(skip_unreachable=skip_unreachable)
        return made

    monkeypatch.setattr(api, "plan", planned)
    assert main(["plan", "intent/lab-4.yml", "--markdown", *words]) == status
