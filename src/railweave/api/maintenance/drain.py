"""Manual drain and undrain: check, ask the operator, wait until the traffic has moved, verify."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial

from nornir_railweave.tasks import draining
from nornir_railweave.tasks.holding import MANUAL_S, Holding
from nornir_railweave.tasks.verifying import verify
from railweave.api.journal.audit import audited_action
from railweave.api.journal.folder import holding_capacity
from railweave.api.project import Project
from railweave.api.targets.fabric import LiveFabric, live_fabric
from railweave.diagnostics import Diagnostic
from railweave.errors import RailweaveError, RefusedError
from railweave.fabric.names import known_switches
from railweave.plan.manual_drain import (
    DrainLimits,
    DrainResult,
    DrainTarget,
    check_around,
    choose,
    drained_peers_of,
    neighborhood,
    uplinks_left_percent,
)
from railweave.plan.outcome import CheckKind, VerifyResult

_TRAFFIC_CHECKS = ("reachable", "link", "bgp", "bfd", "ipv6", "prefixes")
"""The kinds of checks that show whether traffic can flow."""
_OTHER_CHECKS = {kind.value: "no matter of traffic" for kind in CheckKind if kind.value not in _TRAFFIC_CHECKS}


@dataclass(frozen=True, slots=True)
class DrainRequest:
    """The switches to drain, or only some ``links`` of one. ``wait_s`` None is the target's.

    ``several`` agrees to more than one switch of a plane.
    """

    devices: tuple[str, ...]
    links: tuple[str, ...] = ()
    wait_s: float | None = None
    several: bool = False


def drain(project: Project, target: str, request: DrainRequest) -> tuple[DrainResult, ...] | None:
    """Drain by BGP graceful shutdown, wait until the traffic is gone, and return the result of each switch.

    Returns None if the operator declined.
    Raises RefusedError if the remaining paths do not suffice, UsageError for unknown names, RailweaveError if a switch
    cannot be read.
    """
    live = live_fabric(project, target)
    fabric = live.designed.fabric
    targets = choose(fabric, request.devices, request.links)
    limits = DrainLimits(fabric, several=request.several)
    # Checked before the operator is asked, and again when the capacity is held.
    with live.progress():
        around = _drained_around(live, targets, limits)
    if not project.operator.approves_drain(targets, around, uplinks_left_percent(fabric, targets, around)):
        return None
    rollout = live.target.rollout
    wait_s = request.wait_s
    if wait_s is None:
        wait_s = rollout.drain_timeout_s
    command = " ".join(["drain", *request.devices])
    if request.links:
        command += f" --links {','.join(request.links)}"
    with ExitStack() as stack:
        stack.enter_context(holding_capacity(fabric.name, target, command, project.operator))
        record = stack.enter_context(audited_action(command, fabric.name, target, live.designed.intent.sha256))
        stack.enter_context(live.progress())
        holding = Holding(live.nornir, fabric, message=command, seconds=MANUAL_S + wait_s)
        results = draining.drain(
            live.nornir,
            targets,
            wait_s=wait_s,
            packets_per_s=rollout.quiet_packets_per_s,
            limits=limits,
            holding=holding,
        )
        record(_outcomes(results, "drained"))
        return results


def drained(project: Project, target: str) -> tuple[DrainResult, ...]:
    """Return what is drained on each switch of the fabric."""
    live = live_fabric(project, target)
    with live.progress():
        states = draining.read(live.nornir, [switch.name for switch in live.designed.fabric.switches])
    return tuple(states.values())


def undrain(
    project: Project, target: str, devices: Sequence[str], *, wait_s: float | None = None
) -> tuple[tuple[DrainResult, ...], VerifyResult | None]:
    """Undrain switches and verify their links and sessions; return the results and the verification.

    The verification is None if no switch could be undrained. It waits ``wait_s`` seconds at most, by default as long as
    the target says. Raises UsageError for unknown names.
    """
    live = live_fabric(project, target)
    fabric = live.designed.fabric
    names = known_switches(fabric, devices)
    command = " ".join(["undrain", *names])
    with audited_action(command, fabric.name, target, live.designed.intent.sha256) as record, live.progress():
        results = draining.undrain(live.nornir, names)
        record(_outcomes(results, "undrained"))
        undrained = [result.device for result in results if not result.error]
        if not undrained:
            return results, None
        timeout_s = live.target.rollout.verify_timeout_s if wait_s is None else wait_s
        # Wait only for checks that traffic depends on, and that the target does not skip.
        scope = replace(live.scope, skipped={**live.target.skip_checks, **_OTHER_CHECKS})
        verified = verify(live.nornir, fabric, undrained, timeout_s=timeout_s, scope=scope)
        traffic_checks = tuple(check for check in verified.checks if check.kind.value in _TRAFFIC_CHECKS)
        return results, VerifyResult(traffic_checks)


def forbidding(
    live: LiveFabric, targets: Sequence[DrainTarget], *, several: bool, hold: str = ""
) -> Callable[[], Sequence[Diagnostic]]:
    """Return a function that reads the switches around ``targets`` and returns why these must not be drained now.

    For programs that were written for 0.1; it ends with 0.3. `DrainLimits` says the same as a value.
    """
    return partial(draining.refusal, live.nornir, DrainLimits(live.designed.fabric, several=several), targets, hold)


def _drained_around(
    live: LiveFabric, targets: Sequence[DrainTarget], limits: DrainLimits
) -> Mapping[str, tuple[str, ...]]:
    """Return what is drained around the targets, by switch.

    Raises RefusedError if the remaining paths do not suffice, RailweaveError if a target cannot be read.
    """
    states = draining.read(live.nornir, neighborhood(limits.fabric, targets))
    for target in targets:
        read_error = states[target.device].error
        if read_error:
            raise RailweaveError(f"{target.device}: {read_error}")
    diagnostics = check_around(limits, targets, states)
    if diagnostics:
        raise RefusedError(diagnostics)
    return drained_peers_of(states)


def _outcomes(results: Sequence[DrainResult], changed_word: str) -> dict[str, dict[str, str]]:
    """Return what the audit log records of each device; ``changed_word`` is the word for a device that was changed."""
    outcomes = {}
    for result in results:
        if result.error:
            outcome = {"outcome": "failed"}
        elif result.changed:
            outcome = {"outcome": changed_word}
        else:
            outcome = {"outcome": "unchanged"}
        if not result.ok:
            outcome["error"] = result.error or result.flows
        outcomes[result.device] = outcome
    return outcomes
