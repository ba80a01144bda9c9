"""Manual drain and undrain: the checks, the question to the operator, the wait, the verification."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from nornir_railweave.tasks import draining
from nornir_railweave.tasks.holding import MANUAL_S, Holding
from nornir_railweave.tasks.verifying import verify
from railweave.api.journal.audit import audited_action
from railweave.api.journal.folder import holding_capacity
from railweave.api.project import Project
from railweave.api.targets.fabric import LiveFabric, live_fabric
from railweave.diagnostics import Diagnostic
from railweave.errors import RailweaveError, RefusedError
from railweave.fabric.model import Fabric
from railweave.fabric.names import known_switches
from railweave.plan.expectation import skipping
from railweave.plan.manual_drain import (
    DrainResult,
    DrainTarget,
    check_drain,
    choose,
    neighborhood,
    uplinks_left_percent,
)
from railweave.plan.outcome import CheckKind, VerifyResult

_OF_TRAFFIC = ("reachable", "link", "bgp", "bfd", "ipv6", "prefixes")
"""The kinds of checks that show whether traffic can flow."""
_OF_OTHER_THINGS = {kind.value: "no matter of traffic" for kind in CheckKind if kind.value not in _OF_TRAFFIC}


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
    """Drain by BGP graceful shutdown and wait until the traffic is gone; None if the operator declined.

    Raises RefusedError if the remaining paths do not suffice, UsageError for unknown names, RailweaveError if a switch
    cannot be read.
    """
    live = live_fabric(project, target)
    fabric = live.designed.fabric
    targets = choose(fabric, request.devices, request.links)
    with live.progress():
        around = _drained_around(live, targets, several=request.several)
    if not project.operator.approves_drain(targets, around, uplinks_left_percent(fabric, targets, around)):
        return None
    rollout = live.target.rollout
    wait_s = rollout.drain_timeout_s if request.wait_s is None else request.wait_s
    command = " ".join(["drain", *request.devices, *(["--links", ",".join(request.links)] if request.links else [])])
    with ExitStack() as stack:
        stack.enter_context(holding_capacity(fabric.name, target, command, project.operator))
        record = stack.enter_context(audited_action(command, fabric.name, target, live.designed.intent.sha256))
        stack.enter_context(live.progress())
        holding = Holding(live.nornir, fabric, command, MANUAL_S + wait_s)
        results = draining.drain(
            live.nornir,
            targets,
            wait_s=wait_s,
            packets_per_s=rollout.quiet_packets_per_s,
            forbidden=forbidding(live, targets, several=request.several, hold=holding.name),
            holding=holding,
        )
        record(_outcomes(results, "drained"))
        return results


def drained(project: Project, target: str) -> tuple[DrainResult, ...]:
    """Return what is drained on each switch of the fabric."""
    live = live_fabric(project, target)
    with live.progress():
        found = draining.read(live.nornir, [switch.name for switch in live.designed.fabric.switches])
    return tuple(found.values())


def undrain(
    project: Project, target: str, devices: Sequence[str], *, wait_s: float | None = None
) -> tuple[tuple[DrainResult, ...], VerifyResult | None]:
    """Undrain these switches and verify their links and sessions, None if none could be undrained.

    ``wait_s`` None is the target's. Raises UsageError for unknown names.
    """
    live = live_fabric(project, target)
    fabric = live.designed.fabric
    names = known_switches(fabric, devices)
    command = " ".join(["undrain", *names])
    with audited_action(command, fabric.name, target, live.designed.intent.sha256) as record, live.progress():
        results = draining.undrain(live.nornir, names)
        record(_outcomes(results, "undrained"))
        done = [one.device for one in results if not one.error]
        if not done:
            return results, None
        seconds = live.target.rollout.verify_timeout_s if wait_s is None else wait_s
        # What traffic does not depend on, and what the target skips, is not waited for.
        expecting = skipping(live.expecting, {**live.target.skip_checks, **_OF_OTHER_THINGS})
        seen = verify(live.nornir, fabric, done, timeout_s=seconds, expecting=expecting)
        return results, VerifyResult(tuple(check for check in seen.checks if check.kind.value in _OF_TRAFFIC))


def forbidding(
    live: LiveFabric, targets: Sequence[DrainTarget], *, several: bool, hold: str = ""
) -> Callable[[], tuple[Diagnostic, ...]]:
    """Return a function that reads the switches around ``targets`` and returns why these must not be drained now.

    ``hold`` is the name of the caller's own hold.
    """

    def forbidden() -> tuple[Diagnostic, ...]:
        return _refused(live.designed.fabric, targets, _around(live, targets, hold), several=several)

    return forbidden


def _around(live: LiveFabric, targets: Sequence[DrainTarget], hold: str = "") -> dict[str, DrainResult]:
    return draining.read(live.nornir, neighborhood(live.designed.fabric, targets), hold)


def _refused(
    fabric: Fabric, targets: Sequence[DrainTarget], found: Mapping[str, DrainResult], *, several: bool
) -> tuple[Diagnostic, ...]:
    silent = [name for name, one in found.items() if one.error]
    soon = {name: one.held_by for name, one in found.items() if one.held and not one.withheld and not one.after}
    return check_drain(fabric, targets, _drained_of(found), silent, several=several, soon=soon)


def _drained_of(found: Mapping[str, DrainResult]) -> dict[str, tuple[str, ...]]:
    return {name: one.away for name, one in found.items() if not one.error}


def _drained_around(
    live: LiveFabric, targets: Sequence[DrainTarget], *, several: bool
) -> Mapping[str, tuple[str, ...]]:
    """Return what is drained around the targets; raises RefusedError if the remaining paths do not suffice."""
    found = _around(live, targets)
    for target in targets:
        if why := found[target.device].error:
            raise RailweaveError(f"{target.device}: {why}")
    if refused := _refused(live.designed.fabric, targets, found, several=several):
        raise RefusedError(refused)
    return _drained_of(found)


def _outcomes(results: Sequence[DrainResult], done: str) -> dict[str, dict[str, str]]:
    return {
        one.device: {
            "outcome": "failed" if one.error else done if one.changed else "unchanged",
            **({"error": one.error or one.flows} if not one.ok else {}),
        }
        for one in results
    }
