"""Draining by hand and back: what it takes, the question to the operator, the wait, the verification."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.api.auditing import audited_action
from railweave.api.project import Project
from railweave.api.reaching import ReachedFabric, reached_fabric
from railweave.errors import RailweaveError, RefusedError, UsageError

if TYPE_CHECKING:
    from railweave.plan.drains import DrainResult, DrainTarget
    from railweave.plan.outcome import VerifyResult


_OF_TRAFFIC = ("reachable", "link", "bgp", "prefixes")
"""The kinds of checks that tell whether traffic can flow."""


@dataclass(frozen=True, slots=True)
class DrainWish:
    """What is asked for. ``links`` empty: the switches as a whole; ``wait_s`` None: as the target says.

    ``several`` agrees to more than one switch of a plane.
    """

    devices: tuple[str, ...]
    links: tuple[str, ...] = ()
    wait_s: float | None = None
    several: bool = False


def drain(project: Project, target: str, wish: DrainWish) -> "tuple[DrainResult, ...] | None":
    """Drain; None when the operator said no. Raises RefusedError, UsageError and RailweaveError as the words say."""
    from nornir_railweave.tasks import draining
    from railweave.plan.drains import choose, uplinks_left_percent

    reached = reached_fabric(project, target)
    targets = choose(reached.designed.fabric, wish.devices, wish.links)
    with reached.progress():
        drained = _refuse(reached, targets, several=wish.several)
    left = uplinks_left_percent(reached.designed.fabric, targets, drained)
    if not project.operator.approves_drain(targets, drained, left):
        return None
    rollout = reached.target.rollout
    wait_s = rollout.drain_timeout_s if wish.wait_s is None else wish.wait_s
    command = " ".join(["drain", *wish.devices, *(["--links", ",".join(wish.links)] if wish.links else [])])
    fabric = reached.designed.fabric.name
    with audited_action(command, fabric, target, reached.designed.intent.sha256) as note, reached.progress():
        results = draining.drain(reached.nornir, targets, wait_s=wait_s, packets_per_s=rollout.quiet_packets_per_s)
        note(_outcomes(results, "drained"))
        return results


def drained(project: Project, target: str) -> "tuple[DrainResult, ...]":
    """Return what is drained on each switch of the fabric."""
    from nornir_railweave.tasks import draining

    reached = reached_fabric(project, target)
    with reached.progress():
        found = draining.read(reached.nornir, [switch.name for switch in reached.designed.fabric.switches])
    return tuple(found.values())


def undrain(
    project: Project, target: str, devices: Sequence[str], wait_s: float | None
) -> "tuple[tuple[DrainResult, ...], VerifyResult | None]":
    """Undrain these switches and verify them; raises UsageError for names that are not there."""
    from nornir_railweave.tasks import draining
    from nornir_railweave.tasks.verifying import verify
    from railweave.plan.outcome import VerifyResult

    reached = reached_fabric(project, target)
    fabric = reached.designed.fabric
    names = tuple(dict.fromkeys(devices))
    if unknown := [name for name in names if name not in fabric.switch_of]:
        raise UsageError(f"{fabric.name} has no switch {', '.join(unknown)}")
    command = " ".join(["undrain", *names])
    with audited_action(command, fabric.name, target, reached.designed.intent.sha256) as note, reached.progress():
        results = draining.undrain(reached.nornir, names)
        note(_outcomes(results, "undrained"))
        done = [one.device for one in results if not one.error]
        seconds = reached.target.rollout.verify_timeout_s if wait_s is None else wait_s
        if not done:
            return results, None
        seen = verify(reached.nornir, fabric, done, timeout_s=seconds)
        return results, VerifyResult(tuple(check for check in seen.checks if check.kind.value in _OF_TRAFFIC))


def _refuse(
    reached: ReachedFabric, targets: "Sequence[DrainTarget]", *, several: bool
) -> Mapping[str, tuple[str, ...]]:
    """Return what is drained around the targets; raises RefusedError where the traffic would lack another way."""
    from nornir_railweave.tasks import draining
    from railweave.plan.drains import neighborhood, refusals

    fabric = reached.designed.fabric
    found = draining.read(reached.nornir, neighborhood(fabric, targets))
    _refuse_silent(found, [target.device for target in targets])
    drained = {name: one.after for name, one in found.items() if not one.error}
    silent = [name for name, one in found.items() if one.error]
    if refused := refusals(fabric, targets, drained, silent, several=several):
        raise RefusedError(refused)
    return drained


def _refuse_silent(found: "Mapping[str, DrainResult]", names: Collection[str]) -> None:
    for name in names:
        if found[name].error:
            raise RailweaveError(f"{name}: {found[name].error}")


def _outcomes(results: "Sequence[DrainResult]", done: str) -> dict[str, dict[str, str]]:
    return {
        one.device: {
            "outcome": "failed" if one.error else done if one.changed else "unchanged",
            **({"error": one.error or one.flows} if not one.ok else {}),
        }
        for one in results
    }
