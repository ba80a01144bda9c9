"""What leaves the fabric in a change in phases: drained, and shown to be out of use before ports close."""

from nornir_railweave.tasks import draining
from nornir_railweave.tasks.holding import MANUAL_S, Holding
from nornir_railweave.tasks.links_up_towards import links_up_towards
from railweave.api.auditing import audited_action
from railweave.api.draining import forbidding
from railweave.api.hosts import node_log
from railweave.api.journals import holding_capacity
from railweave.api.lifecycle import switch_uses
from railweave.api.live import LiveFabric
from railweave.api.phasing import LivePhases
from railweave.errors import RefusedError
from railweave.plan.lifecycle import Leaving, Proof, proofs
from railweave.plan.manual_drain import choose
from railweave.plan.phase_progress import OutOfUse, PhaseStep, Waiting, check_unused
from railweave.plan.phases import Phase
from railweave.wording import first_few
from railweave_hosts.hooks import HookRunner


def take_out(phases: LivePhases, phase: Phase) -> PhaseStep | Waiting:
    """Drain what leaves, nodes by the target's hook and switches by graceful shutdown, and prove that it is unused.

    Raises RefusedError where the remaining paths do not suffice.
    """
    live = phases.live(phase.number)
    found = _proofs(live, phase)
    drained = True
    if not all(one.ok for one in found):
        if not phases.project.operator.approves_removal(phase.leaving):
            return PhaseStep(phase, None)
        command = f"deploy --from {phases.change.base} --phase {phase.number}"
        designed = live.designed
        with audited_action(command, designed.fabric.name, phases.target, designed.intent.sha256) as record:
            failed = _drain(live, phase, command)
            record({name: {"outcome": "failed", "error": why} for name, why in failed.items()})
        found = (*(Proof(name, "drain", "done", why) for name, why in failed.items()), *_proofs(live, phase))
        drained = all(one.ok for one in found)
    return PhaseStep(phase, OutOfUse(found)) if drained else Waiting(phase, following=phase, proofs=found)


def is_unused(phases: LivePhases, phase: Phase) -> bool:
    """Tell whether nothing uses what ``phase`` takes out of use."""
    return all(one.ok for one in _proofs(phases.live(phase.number), phase))


def require_unused(phases: LivePhases, phase: Phase) -> None:
    """Raise RefusedError where something uses what ``phase`` takes out of use."""
    if refused := check_unused(phase, _proofs(phases.live(phase.number), phase), phases.change.base):
        raise RefusedError(refused)


def _proofs(live: LiveFabric, phase: Phase) -> tuple[Proof, ...]:
    fabric = live.designed.fabric
    with live.progress():
        if phase.leaving[0] in fabric.host_of:
            up = links_up_towards(live.nornir, fabric, phase.leaving)
            return tuple(
                Proof(name, "links", "down", f"up at {first_few(ends)}" if ends else "down")
                for name, ends in up.items()
            )
        gone = Leaving(tuple(fabric.switch_of[name] for name in phase.leaving), (), ())
        return proofs(fabric, gone, switch_uses(live, gone, live.target.rollout.drain_timeout_s))


def _drain(live: LiveFabric, phase: Phase, command: str) -> dict[str, str]:
    """Drain what leaves; return why that failed, by device. A switch that does not answer is left to its neighbors."""
    fabric, access, rollout = live.designed.fabric, live.target.hosts, live.target.rollout
    if phase.leaving[0] in fabric.host_of:
        if access is None:
            return {}
        hosts = [fabric.host_of[name] for name in phase.leaving]
        log = node_log(fabric.name, live.target.name)
        hooks = HookRunner(access.hooks, fabric.name, access.batches.forks, log)
        with log.held(command):
            return {name: why for name, why in hooks.drain(hosts).items() if why}
    with holding_capacity(fabric.name, live.target.name, command), live.progress():
        read = draining.read(live.nornir, phase.leaving)
        targets = choose(fabric, [name for name, one in read.items() if not one.error])
        holding = Holding(live.nornir, fabric, command, MANUAL_S + rollout.drain_timeout_s)
        forbidden = forbidding(live, targets, several=True, hold=holding.name)
        if refused := forbidden():
            raise RefusedError(refused)
        done = draining.drain(
            live.nornir,
            targets,
            wait_s=rollout.drain_timeout_s,
            packets_per_s=rollout.quiet_packets_per_s,
            forbidden=forbidden,
            holding=holding,
        )
        return {one.device: one.error for one in done if one.error}
