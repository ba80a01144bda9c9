"""Look whether what held on a device before a rollout holds again after its rollback."""

from collections.abc import Mapping

from nornir.core.task import Result, Task

from nornir_railweave.device.jobs import RollbackJob
from nornir_railweave.device.observing import observe
from nornir_railweave.device.session import DEVICE_ERRORS, error_text, session
from nornir_railweave.events import Event, Events, Step
from nornir_railweave.target.policy import Policy
from railweave.plan.verification import unreachable


def check_held(task: Task, jobs: Mapping[str, RollbackJob], policy: Policy, announce: Events) -> Result:
    """Return the checks as a tuple of ``VerifyCheck``; looks again until all hold or the rollout's time is up."""
    name = task.host.name
    rollout, clock = policy.rollout, policy.clock
    deadline = clock.monotonic() + rollout.verify_timeout_s
    with session(task) as opened:
        while True:
            try:
                checks = jobs[name].gate(observe(opened.driver), (), frozenset())
            except DEVICE_ERRORS as fault:
                opened.close()
                checks = (unreachable(name, error_text(fault)),)
            wrong = sum(not check.ok for check in checks)
            if not wrong or clock.monotonic() + rollout.verify_interval_s > deadline:
                break
            clock.sleep(rollout.verify_interval_s)
    announce(Event(Step.VERIFIED, name, f"{wrong} of {len(checks)} checks fail" if wrong else ""))
    return Result(host=task.host, result=checks)
