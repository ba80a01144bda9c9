"""A commit that waits for its confirmation is not done: phases, plans, drift and verifications ask for it."""

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest
from driven_clock import DrivenClock
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from napalm.base.exceptions import CommitError

from nornir_railweave.device.device import Attempt
from nornir_railweave.device.jobs import JobReading
from nornir_railweave.tasks.phase_progress import find_phase_progress
from railweave.fabric.model import Fabric
from railweave.plan.drift import judge
from railweave.plan.headline import headline as plan_headline
from railweave.plan.model import DeviceState
from railweave.plan.outcome import CheckKind, Outcome
from railweave.plan.phases.planning import phases
from railweave.plan.phases.progress import PhaseProgress, check_phase, check_reached
from railweave.report.drift import headline
from railweave.sonic.delta.diff import NO_DIFFERENCE
from railweave.sonic.document import RunningConfig
from railweave.sonic.render.configure import Configurator
from railweave.switch_driver import CommitStatus
from railweave.templates import find_templates

NAMES = ("lab-leaf1", "lab-leaf2", "lab-spine1", "lab-spine2")
OTHER_TIMERS = ("ecmp", "bgp: {keepalive: 2, hold: 8}\necmp")


@pytest.fixture
def change(lab: Fabric, redesign: Callable[..., Fabric]) -> tuple[Fabric, Fabric]:
    """A change of one phase."""
    return lab, redesign(("fabric: lab\n", "fabric: lab\nbgp: {keepalive: 2, hold: 8}\n"))


def arm(switch: Any, intended: Any, settle_one: Callable[[Any, Any], Any]) -> None:
    """Let a switch run what is intended by a commit that waits."""
    switch.before = switch.running
    switch.running = settle_one(intended, switch.running)
    switch.pending, switch.commit_id = True, "commit-1"


def progress_of(bench: Any, change: tuple[Fabric, Fabric], wait_s: float = 0) -> PhaseProgress:
    stages = [Configurator(fabric, find_templates()) for fabric in (change[0], phases(*change)[-1].fabric)]
    with bench.connected() as nr:
        return find_phase_progress(nr, stages, pending_wait_s=wait_s, clock=bench.clock)


@pytest.fixture
def changed(deployed: Any, change: tuple[Fabric, Fabric], settle: Callable[[Any], Any]) -> Any:
    """A lab on which a change runs, whose last commit was never confirmed."""
    before = {name: switch.running for name, switch in deployed.world.switches.items()}
    deployed.world.grow(change[1])
    settle(deployed)
    last = deployed.world.switches["lab-spine2"]
    last.before, last.saved, last.pending, last.commit_id = before["lab-spine2"], before["lab-spine2"], True, "commit-9"
    deployed.clock = DrivenClock()
    return deployed


def revert_after(bench: Any, name: str, readings: int) -> None:
    """Let the timer of a switch end once it was read so many times."""
    switch = bench.world.switches[name]
    left = [readings]

    def strike() -> None:
        left[0] -= 1
        if switch.pending and left[0] < 0:
            switch.running, switch.pending = switch.before, False

    switch.faults["has_pending"] = strike


def test_a_phase_whose_last_commit_waits_is_not_done(changed: Any, change: tuple[Fabric, Fabric]) -> None:
    progress = progress_of(changed, change)
    assert progress.waiting == ("lab-spine2",)
    (refused,) = check_phase(progress, "main", None, phases(*change))
    assert (refused.code, refused.devices) == ("RW508", ("lab-spine2",))
    (refused,) = check_reached(progress, 1, "main")
    assert (refused.code, refused.devices) == ("RW508", ("lab-spine2",))


def test_who_changes_something_waits_for_the_timer_and_begins_where_it_leads(
    changed: Any, change: tuple[Fabric, Fabric]
) -> None:
    revert_after(changed, "lab-spine2", 4)
    progress = progress_of(changed, change, wait_s=60)
    assert (progress.done, progress.waiting, progress.latest["lab-spine2"]) == (0, (), 0)
    (refused,) = check_reached(progress, 1, "main")
    assert refused.message == "phase 1 is not done on lab-spine2: lab-spine2 runs the base"
    assert refused.fix == "deploy it first: `railweave deploy --from main`"


def test_a_timer_that_does_not_end_is_named_when_the_wait_is_over(changed: Any, change: tuple[Fabric, Fabric]) -> None:
    begun_s = changed.clock.monotonic()
    assert progress_of(changed, change, wait_s=60).waiting == ("lab-spine2",)
    assert changed.clock.monotonic() - begun_s >= 60


def test_a_verification_fails_while_a_commit_waits(changed: Any) -> None:
    failed = changed.verify().failed
    assert [(one.device, one.kind, one.actual) for one in failed] == [
        ("lab-spine2", CheckKind.COMMIT, "a commit waits for its confirmation")
    ]
    changed.world.switches["lab-spine2"].pending = False
    assert changed.verify().ok


def test_a_deployment_calls_no_switch_committed_whose_timer_runs(changed: Any) -> None:
    made = changed.plan()
    assert made.devices["lab-spine2"].state is DeviceState.WAITING
    assert made.waiting == ("lab-spine2",)
    assert "3 devices are as intended" in plan_headline(made)
    assert "an unconfirmed commit waits on lab-spine2" in plan_headline(made)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(waiting=st.sets(st.sampled_from(NAMES)))
def test_whatever_waits_is_neither_unchanged_nor_as_intended_nor_done(
    deployed: Any, change: tuple[Fabric, Fabric], waiting: set[str]
) -> None:
    for name, switch in deployed.world.switches.items():
        switch.pending = name in waiting
    made = deployed.plan()
    assert {*made.names(DeviceState.UNCHANGED)} == {*NAMES} - waiting
    assert {*made.waiting} == waiting
    drift = judge(made, (), date(2026, 1, 1))
    known = f"{4 - len(waiting)} device" if len(waiting) < 4 else "nothing is known of what runs"
    assert known in headline(drift)
    assert ("unconfirmed commit" in headline(drift)) is bool(waiting)
    progress = progress_of(deployed, change)
    assert {*progress.waiting} == waiting
    assert bool(check_phase(progress, "main", None, phases(*change))) is bool(waiting)
    assert {one.device for one in deployed.verify().failed} == waiting


def test_a_switch_that_keeps_its_timer_is_not_called_committed(deployed: Any, change: tuple[Fabric, Fabric]) -> None:
    """Its gate fails, and it refuses the rollback: the new configuration runs, and its timer as well."""
    deployed.world.grow(change[1])
    deployed.clock = DrivenClock()
    for switch in deployed.world.switches.values():
        switch.faults["rollback"] = CommitError("busy")
        switch.faults["log_in_again"] = CommitError("busy")
        switch.faults["committed"] = lambda switch=switch: switch.faults.update(bgp=CommitError("bgpd is gone"))
    result = deployed.deploy()
    armed = {name for name, switch in deployed.world.switches.items() if switch.pending}
    assert armed
    assert not {name for name in armed if result.devices[name].outcome is Outcome.NEW}, result


def test_the_rollback_of_a_commit_whose_answer_was_lost_is_nobody_elses() -> None:
    found = JobReading(RunningConfig({}, ""), "", NO_DIFFERENCE, done=False)
    lost = Attempt(found, earlier_id="1", message="deploy", sent_id="2")
    lost.refuse_forestalled(CommitStatus(pending=False, commit_id="3", message="rollback of 2"))
