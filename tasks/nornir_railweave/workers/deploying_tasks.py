"""The steps of a device in a rollout, as messages: apply, confirm, roll back, examine, soak, save.

The coordinator decides and keeps the journal: it writes down what comes next before it asks. A worker acts on one
device, under the digest of a plan whose part it finds by itself, with the switch's own timer armed. What it read before
the change stays with it, secrets and all; the steps that follow go to the same worker. One that is lost is like a
session that is lost: the device is examined, and an unconfirmed change reverts by the switch's timer.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from nornir.core.task import Result

from nornir_railweave.device.device import Attempt, WaveOrder
from nornir_railweave.device.jobs import DeployJob, DeviceJob, JobReading
from nornir_railweave.device.reading import Comparer
from nornir_railweave.events import Event, Events, Step
from nornir_railweave.rollout.soaking import SoakCheck, soak_check
from nornir_railweave.target.policy import Policy
from nornir_railweave.target.rollout import Rollout
from nornir_railweave.tasks.apply_change import ApplyResult, apply_change
from nornir_railweave.tasks.confirm_commit import assess_device, confirm_commit, rollback_device
from nornir_railweave.tasks.save_config import Saved, save_config
from nornir_railweave.workers.message import Request, decoded
from nornir_railweave.workers.reading_tasks import neighbors_in
from nornir_railweave.workers.spread_task import LostAsRefused, RefusedHereError
from nornir_railweave.workers.workbench import Begun, Workbench
from railweave.codec import as_json
from railweave.plan.expectation import expect
from railweave.plan.model import DevicePlan, DeviceState, Generation, Reading
from railweave.plan.outcome import DeviceOutcome, Outcome, VerifyCheck
from railweave.plan.resumption import changes_sha256
from railweave.sonic.delta.diff import NO_DIFFERENCE
from railweave.sonic.document import RunningConfig


@dataclass(frozen=True, slots=True)
class NamedJob(DeployJob):
    """A device's part of a plan, of which a worker knows only the digest, ``changes_sha256``.

    The worker finds the changes by comparing the device. ``cuts`` tells whether links and sessions go down with them.
    """

    changes_sha256: str = ""
    cuts: bool = False

    @property
    def disconnects(self) -> bool:
        """Return what the coordinator knows of the plan."""
        return self.cuts

    def moved(self, reading: JobReading) -> str:
        """Return a sentence if the device is not as the plan says, else an empty text."""
        if reading.sha256 != self.before_sha256:
            return "the device's configuration changed since the plan was made; nothing was done"
        if changes_sha256(reading.delta) != self.changes_sha256:
            return "the changes differ from those of the plan; nothing was done"
        return ""


_TIMES = (
    "revert_in_s",
    "verify_timeout_s",
    "verify_interval_s",
    "soak_s",
    "drain_timeout_s",
    "quiet_packets_per_s",
)


def job_json(job: DeployJob) -> dict[str, Any]:
    """Return a device's part of a plan as plain values, with the digest of its changes, which may have secrets."""
    return {
        "before_sha256": job.before_sha256,
        "changes_sha256": changes_sha256(job.delta),
        "disconnects": job.disconnects,
        "drain": list(job.drain),
        "generation": job.planned.reading.generation.number,
        "remove_conflicting": job.compare.remove_conflicting,
        "own": as_json(job.own),
    }


def order_json(device: str, order: WaveOrder) -> dict[str, Any]:
    """Return as plain values what the worker of ``device`` has to know of its wave."""
    policy = order.policy
    job = cast(DeployJob, order.jobs[device])
    return {
        "job": job_json(job),
        "settled": neighbors_in(job.compare.fabric, device, order.settled),
        "missing": order.missing,
        "times": {name: getattr(policy.rollout, name) for name in _TIMES},
        "reconnect_s": policy.reconnect_s,
        "message": policy.message,
        "hold": order.hold,
    }


def spreads(device: str, order: WaveOrder) -> bool:
    """Tell whether a device's job can be sent to a worker; a rollback cannot, as it holds secrets."""
    return isinstance(order.jobs[device], DeployJob)


def order_of(bench: Workbench, request: Request, announce: Events, job: DeviceJob | None = None) -> WaveOrder:
    """Return the order in a request, as this worker carries it out on the request's device.

    ``job`` is the job of the device if the worker has begun it already; otherwise it is made from the request. Raises
    RefusedHereError if this worker cannot resolve a secret that configurations need.
    """
    if bench.missing_secrets:
        raise RefusedHereError(f"it cannot resolve the secrets {', '.join(bench.missing_secrets)}")
    order = decoded(dict[str, Any], request.arguments["order"])
    if job is None:
        job = _job(bench, request.device, decoded(dict[str, Any], order["job"]))
    times = decoded(dict[str, float], order["times"])
    rollout = replace(Rollout(), **{name: times[name] for name in _TIMES}, max_failures=1)
    return WaveOrder(
        jobs={request.device: job},
        settled=decoded(frozenset[str], order["settled"]),
        missing=decoded(int, order["missing"]),
        policy=Policy(
            rollout=replace(rollout, revert_in_s=int(rollout.revert_in_s)),
            reconnect_s=decoded(float, order["reconnect_s"]),
            message=decoded(str, order["message"]),
            clock=bench.clock,
        ),
        announce=announce,
        # Nothing blocks here: the coordinator has written the step into its journal before it asked.
        blocker=str,
        hold=decoded(str, order["hold"]),
    )


def _job(bench: Workbench, device: str, document: Mapping[str, Any]) -> NamedJob:
    """Return a device's job from the plain values of ``job_json``."""
    planned = DevicePlan(
        DeviceState.CHANGED,
        reading=Reading(
            running_sha256=decoded(str, document["before_sha256"]),
            generation=Generation(number=decoded(int, document["generation"])),
        ),
        drain=decoded(tuple[str, ...], document["drain"]),
    )
    return NamedJob(
        Comparer(bench.fabric, bench.intended, decoded(bool, document["remove_conflicting"])),
        expect(bench.fabric, bench.fabric.switch_of[device], bench.scope),
        planned,
        decoded(Generation, document["own"]),
        changes_sha256=decoded(str, document["changes_sha256"]),
        cuts=decoded(bool, document["disconnects"]),
    )


class _RolloutStep:
    """What all steps of a rollout have in common."""

    changes = True

    def announce(self, params: Mapping[str, Any]) -> Events:
        """Return the rollout's listener."""
        order: WaveOrder = params["order"]
        return order.announce

    def lost(self, device: str, params: Mapping[str, Any], fault: ConnectionError) -> Result:
        """Raise ``fault``: the rollout examines the device."""
        raise fault


class ApplyChange(_RolloutStep):
    """``apply_change``: the change of a device, under its switch's timer and verified, or taken back."""

    name = apply_change.__name__

    def arguments(self, device: str, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the order."""
        order: WaveOrder = params["order"]
        if spreads(device, order):
            return {"order": order_json(device, order)}
        return None

    def perform(self, bench: Workbench, request: Request, announce: Events) -> Any:
        """Apply the change, and keep what the following steps need.

        Return the outcome if the device's part has ended, else the parts of the attempt that have no secrets.
        """
        order = order_of(bench, request, announce)
        applied: ApplyResult = bench.perform(apply_change, request.device, {"order": order}).result
        if applied.attempt is None:
            bench.forget(request.plan_digest, request.device)
            return {"outcome": as_json(applied.outcome)}
        attempt = applied.attempt
        until_s = bench.clock.monotonic() + order.policy.rollout.revert_in_s
        bench.keep(request.plan_digest, request.device, Begun(order.jobs[request.device], until_s, attempt))
        shared = {name: getattr(attempt, name) for name in _SHARED_OF_ATTEMPT}
        return {"attempt": shared, "cut": attempt.before.disconnects}

    def result(self, device: str, params: Mapping[str, Any], value: Any, *, asked_s: float) -> Result:
        """Return an ``ApplyResult``; its attempt has only what the coordinator may know.

        ``asked_s`` is when the request was made, in seconds of the steady clock.
        """
        answer = decoded(dict[str, Any], value)
        if "attempt" not in answer:
            outcome = decoded(DeviceOutcome, answer.get("outcome"))
            return Result(host=None, result=ApplyResult(outcome=outcome), failed=True)
        order: WaveOrder = params["order"]
        disconnects = decoded(bool, answer.get("cut"))
        before = JobReading(
            _UNREAD, order.jobs[device].before_sha256, NO_DIFFERENCE, done=False, disconnects=disconnects
        )
        shared: dict[str, Any] = decoded(dict[str, str | bool], answer["attempt"])
        # The switch's timer began after the request was made, so it ends no earlier than this.
        attempt = Attempt(before, ends_at_s=asked_s + order.policy.rollout.revert_in_s, **shared)
        return Result(host=None, result=ApplyResult(attempt), changed=True)

    def refused(self, device: str, params: Mapping[str, Any], why: str) -> Result:
        """Return the result of a device on which nothing was done, and announce its outcome."""
        outcome = DeviceOutcome(Outcome.OLD, f"{why}; nothing was done")
        self.announce(params)(Event(Step.OUTCOME, device, outcome.error, {"outcome": outcome.outcome.value}))
        return Result(host=None, result=ApplyResult(outcome=outcome), failed=True)


# A coordinator does not know what a device ran before.
_UNREAD = RunningConfig({}, None)
# The fields of an attempt that a worker answers with; the others hold configurations, with secrets.
_SHARED_OF_ATTEMPT = ("commit_id", "earlier_id", "message", "after_sha256", "drained", "complaint")


class _Continued(_RolloutStep):
    """A step that goes on with what a worker holds of a device."""

    def arguments(self, device: str, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the order, and why a device is rolled back."""
        order: WaveOrder = params["order"]
        if not spreads(device, order):
            return None
        return {"order": order_json(device, order), "why": params.get("why", "")}

    def refused(self, device: str, params: Mapping[str, Any], why: str) -> Result:
        """Raise ConnectionError: the worker does not know what was begun on the device, so the device is read."""
        raise ConnectionError(why)


def _begun(bench: Workbench, request: Request) -> Begun:
    """Return what this worker has begun on a request's device. Raises RefusedHereError if it has begun nothing."""
    begun = bench.begun.get((request.plan_digest, request.device))
    if begun is None:
        raise RefusedHereError(f"it holds nothing of {request.device} under plan {request.plan_digest[:12]}")
    return begun


class EndChange(_Continued):
    """``confirm_commit`` or ``rollback_device``: the end of a device's change."""

    def __init__(self, task: Any) -> None:
        """Keep the task function."""
        self._task = task
        self.name: str = task.__name__

    def perform(self, bench: Workbench, request: Request, announce: Events) -> Any:
        """Confirm the change or roll it back, and return the outcome as plain values.

        What was begun is kept for the soak of a confirmed device, and forgotten otherwise.
        """
        begun = _begun(bench, request)
        order = order_of(bench, request, announce, begun.job)
        params = {"order": order, "attempts": {request.device: begun.attempt}}
        if self._task is rollback_device:
            params["why"] = decoded(str, request.arguments["why"])
        outcome: DeviceOutcome = bench.perform(self._task, request.device, params).result
        soak_s = order.policy.rollout.soak_s
        is_confirmed = self._task is confirm_commit and outcome.ok
        if is_confirmed and soak_s:
            until_s = bench.clock.monotonic() + soak_s + order.policy.rollout.revert_in_s
            bench.keep(request.plan_digest, request.device, replace(begun, until_s=until_s))
        else:
            bench.forget(request.plan_digest, request.device)
        return as_json(outcome)

    def result(self, device: str, params: Mapping[str, Any], value: Any, *, asked_s: float) -> Result:
        """Return a ``DeviceOutcome``."""
        del device, params, asked_s
        outcome = decoded(DeviceOutcome, value)
        return Result(host=None, result=outcome, failed=self._task is confirm_commit and not outcome.ok)


class SoakDevice(_Continued):
    """``soak_check``: one look at a device that was confirmed; the worker keeps the counters of its last look."""

    name = soak_check.__name__

    def arguments(self, device: str, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the order, and whether the device was checked before."""
        order: WaveOrder = params["order"]
        if spreads(device, order):
            return {"order": order_json(device, order), "again": device in params["last"]}
        return None

    def perform(self, bench: Workbench, request: Request, announce: Events) -> Any:
        """Check the device once; return the checks that failed. Its counters stay here for the next check."""
        begun = _begun(bench, request)
        last_checks: dict[str, SoakCheck] = {}
        if decoded(bool, request.arguments["again"]) and begun.looked is not None:
            last_checks[request.device] = begun.looked
        params = {
            "order": order_of(bench, request, announce, begun.job),
            "attempts": {request.device: begun.attempt},
            "last": last_checks,
        }
        check: SoakCheck = bench.perform(soak_check, request.device, params).result
        bench.keep(request.plan_digest, request.device, replace(begun, looked=check))
        return as_json(check.failed)

    def result(self, device: str, params: Mapping[str, Any], value: Any, *, asked_s: float) -> Result:
        """Return a ``SoakCheck`` without counters."""
        del device, params, asked_s
        return Result(host=None, result=SoakCheck(decoded(tuple[VerifyCheck, ...], value)))


class AssessDevice(LostAsRefused, _RolloutStep):
    """``assess_device``: what a device holds after a worker or the program failed; any worker of its site can tell."""

    name = assess_device.__name__

    def arguments(self, device: str, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the order, and what failed."""
        order: WaveOrder = params["order"]
        if spreads(device, order):
            return {"order": order_json(device, order), "why": params["why"]}
        return None

    def perform(self, bench: Workbench, request: Request, announce: Events) -> Any:
        """Read the device; a commit of the rollout that waits there is rolled back first."""
        params = {"order": order_of(bench, request, announce), "why": decoded(str, request.arguments["why"])}
        bench.forget(request.plan_digest, request.device)
        return as_json(bench.perform(assess_device, request.device, params).result)

    def result(self, device: str, params: Mapping[str, Any], value: Any, *, asked_s: float) -> Result:
        """Return a ``DeviceOutcome``."""
        del device, params, asked_s
        return Result(host=None, result=decoded(DeviceOutcome, value))

    def refused(self, device: str, params: Mapping[str, Any], why: str) -> Result:
        """Return the result of a device that nobody can read, and announce its outcome."""
        order: WaveOrder = params["order"]
        reason = (
            f"{params['why']}; nobody there can examine it: {why}. The switch itself reverts a commit that was not "
            f"confirmed, {order.policy.rollout.revert_in_s} s after it began"
        )
        order.announce(Event(Step.OUTCOME, device, reason, {"outcome": Outcome.UNREACHABLE.value}))
        return Result(host=None, result=DeviceOutcome(Outcome.UNREACHABLE, reason))


class SaveConfig(LostAsRefused):
    """``save_config``: an unchanged device that would boot something else saves what it runs."""

    name = save_config.__name__
    changes = True

    def arguments(self, device: str, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the device's part of the plan."""
        job = params["jobs"][device]
        if isinstance(job, DeployJob):
            return {"job": job_json(job)}
        return None

    def announce(self, params: Mapping[str, Any]) -> Events:
        """Return the rollout's listener."""
        announce: Events = params["announce"]
        return announce

    def perform(self, bench: Workbench, request: Request, announce: Events) -> Any:
        """Save the running configuration unless the device boots it already; return the name of a ``Saved``."""
        job = _job(bench, request.device, decoded(dict[str, Any], request.arguments["job"]))
        saved: Saved = bench.perform(
            save_config, request.device, {"jobs": {request.device: job}, "announce": announce}
        ).result
        return saved.name

    def result(self, device: str, params: Mapping[str, Any], value: Any, *, asked_s: float) -> Result:
        """Return a ``Saved``."""
        del device, params, asked_s
        states = {state.name: state for state in Saved}
        return Result(host=None, result=states.get(value, Saved.UNKNOWN))

    def refused(self, device: str, params: Mapping[str, Any], why: str) -> Result:
        """Return that nobody could ask the device; the verification that follows finds why."""
        del device, params, why
        return Result(host=None, result=Saved.UNKNOWN)
