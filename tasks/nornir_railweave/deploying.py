"""Deployment of a plan: wave by wave, each device confirmed or rolled back, and a stop at the first failure."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from nornir.core import Nornir
from nornir.core.task import AggregatedResult

from nornir_railweave.connect import only
from nornir_railweave.events import Announcer, Event, Events, Step, silent
from nornir_railweave.journal import Journal
from nornir_railweave.policy import Policy
from nornir_railweave.reading import Comparer, Wanted
from nornir_railweave.runner import FabricRunner
from nornir_railweave.session import words
from nornir_railweave.tasks.apply import Order, apply
from nornir_railweave.tasks.read_running import read_running
from nornir_railweave.verifying import verify
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric
from railweave.plan.build import Reading
from railweave.plan.expectation import Expectation, expect
from railweave.plan.model import DeviceState, Plan
from railweave.plan.outcome import DeployResult, DeviceOutcome, Outcome, Result
from railweave.plan.pending import Expecting
from railweave.plan.refusal import refusals


def deploy(
    nr: Nornir,
    fabric: Fabric,
    plan: Plan,
    wanted: Wanted,
    *,
    policy: Policy,
    events: Events = silent,
    journal: Journal | None = None,
    expecting: Expecting = expect,
) -> DeployResult:
    """Carry out ``plan``, which was made through ``nr`` a moment ago, and verify the whole fabric afterwards.

    ``journal`` is that of a rollout which is carried on, or which does something else than bring devices to the intent.
    ``expecting`` tells what must be seen on a switch: less than all while cables are in somebody's hands.
    Raises RefusedError, with nothing done, where the plan holds conflicts or needs consent that ``policy`` does not
    give. Everything that happens on devices is in the result and, step by step, in the journal.
    """
    refused = refusals(plan, policy.consent)
    if refused:
        raise RefusedError(refused)
    with journal or Journal(policy.journal_dir, fabric.name, plan.target) as opened:
        announce = Announcer([opened, events])
        announce(opened.opening(plan))
        policy = replace(policy, message=f"{policy.message} {opened.name}")
        result = _Deployment(nr, Comparer(fabric, wanted, policy.take_ports), plan, policy, announce, expecting).run()
        step = Step.STOPPED if result.result is Result.STOPPED else Step.ENDED
        announce(Event(step, text=result.stopped_by, details={"result": result.result.value, "ok": result.ok}))
        return replace(result, journal=str(opened.path))


class _Deployment:
    """One deployment on its way: which device ended how."""

    def __init__(
        self, nr: Nornir, compare: Comparer, plan: Plan, policy: Policy, announce: Events, expecting: Expecting
    ) -> None:
        self._nr = nr
        self._expecting = expecting
        self._compare = compare
        self._fabric = compare.fabric
        self._plan = plan
        self._policy = policy
        self._announce = announce
        self._changes = plan.changes_by_device()
        self._ended: dict[str, DeviceOutcome] = {
            name: DeviceOutcome(Outcome.UNREACHABLE, device.error)
            for name, device in plan.devices.items()
            if device.state is DeviceState.UNREACHABLE
        }
        self._interrupted = False

    def run(self) -> DeployResult:
        """Return how the deployment ended."""
        unreachable = self._plan.names(DeviceState.UNREACHABLE)
        if unreachable and not self._policy.skip_unreachable:
            return self._stopped(f"{', '.join(unreachable)} could not be reached; nothing was changed")
        self._ended |= {name: DeviceOutcome(Outcome.NEW) for name in self._plan.names(DeviceState.UNCHANGED)}
        for number, wave in enumerate(self._plan.waves, start=1):
            details = {"wave": number, "of": len(self._plan.waves), "devices": list(wave)}
            self._announce(Event(Step.WAVE, text=f"wave {number} of {len(self._plan.waves)}", details=details))
            self._run_wave(wave)
            failed = [name for name in wave if not self._outcome(name).ok]
            if failed or self._interrupted:
                return self._stopped(self._reason(failed))
        return self._completed()

    def _run_wave(self, wave: tuple[str, ...]) -> None:
        rollout = self._policy.rollout
        order = Order(
            compare=self._compare,
            expectation=self._expectation,
            planned=self._plan.devices,
            changes=self._changes,
            settled=frozenset(name for name, end in self._ended.items() if end.outcome is Outcome.NEW),
            rollout=rollout,
            reconnect_s=self._policy.reconnect_s,
            message=self._policy.message,
            announce=self._announce,
        )
        runner = FabricRunner(rollout.workers, rollout.max_failures, finish_on_interrupt=True)
        results = only(self._nr, wave).with_runner(runner).run(apply, on_failed=True, order=order)
        self._interrupted = runner.interrupted
        self._ended |= self._outcomes(results, wave)

    def _expectation(self, name: str) -> Expectation:
        return self._expecting(self._fabric, self._fabric.switch_of[name])

    def _outcomes(self, results: AggregatedResult, wave: tuple[str, ...]) -> dict[str, DeviceOutcome]:
        found: dict[str, DeviceOutcome] = {}
        for name in wave:
            result = results[name][0]
            if result.exception is not None:
                found[name] = self._read_again(name, result.exception)
            elif isinstance(result.result, DeviceOutcome):
                found[name] = result.result
        return found

    def _read_again(self, name: str, fault: BaseException) -> DeviceOutcome:
        """Return which configuration a device has after a mistake of the program in the middle of its task."""
        why = f"railweave itself failed here: {words(fault)}"
        results = only(self._nr, (name,)).run(
            read_running,
            on_failed=True,
            compare=self._compare,
            announce=self._announce,
        )
        reading = results[name][0].result
        if not isinstance(reading, Reading) or reading.difference is None:
            return DeviceOutcome(Outcome.UNREACHABLE, why)
        if reading.running_sha256 == self._plan.devices[name].running_sha256:
            return DeviceOutcome(Outcome.OLD, why)
        if not reading.difference.changes:
            return DeviceOutcome(Outcome.NEW, why)
        return DeviceOutcome(Outcome.UNREACHABLE, f"{why}; the device holds neither configuration in full")

    def _outcome(self, name: str) -> DeviceOutcome:
        return self._ended.get(name, DeviceOutcome(Outcome.NOT_ATTEMPTED))

    def _reason(self, failed: Iterable[str]) -> str:
        first = next((name for name in failed if self._outcome(name).error), None)
        if first is None:
            return "interrupted; the devices at work were finished"
        return f"{first}: {self._outcome(first).error}"

    def _devices(self) -> Mapping[str, DeviceOutcome]:
        return {name: self._outcome(name) for name in self._plan.devices}

    def _stopped(self, reason: str) -> DeployResult:
        return DeployResult(Result.STOPPED, self._devices(), reason, interrupted=self._interrupted)

    def _completed(self) -> DeployResult:
        """Return the end of a deployment that went through, with the verification of every device reached."""
        rollout = self._policy.rollout
        reached = {name for name, end in self._ended.items() if end.outcome is Outcome.NEW}
        verification = verify(
            self._nr,
            self._fabric,
            reached,
            settled=reached,
            timeout_s=rollout.verify_timeout_s,
            interval_s=rollout.verify_interval_s,
            events=self._announce,
            expecting=self._expecting,
        )
        result = Result.DONE if self._plan.changes else Result.UNCHANGED
        return DeployResult(result, self._devices(), verification=verification)
