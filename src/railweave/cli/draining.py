"""``railweave drain`` and ``undrain`` as a person meets them: what it takes, the question, the wait, the way back."""

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.api.auditing import audited_action
from railweave.cli.reaching import ReachedFabric, reached_fabric
from railweave.errors import RailweaveError, RefusedError, UsageError

if TYPE_CHECKING:
    from railweave.plan.drains import DrainResult, DrainTarget
    from railweave.plan.outcome import VerifyResult


_OF_TRAFFIC = ("reachable", "link", "bgp", "prefixes")
"""The kinds of checks that tell whether traffic can flow."""


@dataclass(frozen=True, slots=True)
class DrainWish:
    """What is asked for. ``links`` empty: the switches as a whole; ``wait_s`` None: as the target says.

    ``several`` agrees to more than one switch of a plane; ``quiet`` prints nothing but the result.
    """

    devices: tuple[str, ...]
    links: tuple[str, ...] = ()
    wait_s: float | None = None
    yes: bool = False
    several: bool = False
    quiet: bool = False


def run_drain(path: Path, target: str, wish: DrainWish) -> "tuple[DrainResult, ...] | None":
    """Drain; None when the person said no. Raises RefusedError, UsageError and RailweaveError as the words say."""
    from nornir_railweave import draining
    from railweave.plan.drains import choose

    reached = reached_fabric(path, target)
    targets = choose(reached.designed.fabric, wish.devices, wish.links)
    with reached.progress():
        drained = _refuse(reached, targets, several=wish.several)
    if not _agreed(reached, targets, drained, wish):
        return None
    rollout = reached.target.rollout
    wait_s = rollout.drain_timeout_s if wish.wait_s is None else wish.wait_s
    command = " ".join(["drain", *wish.devices, *(["--links", ",".join(wish.links)] if wish.links else [])])
    fabric = reached.designed.fabric.name
    with audited_action(command, fabric, target, reached.designed.intent.sha256) as note, reached.progress():
        results = draining.drain(reached.nornir, targets, wait_s=wait_s, packets_per_s=rollout.quiet_packets_per_s)
        note(_outcomes(results, "drained"))
        return results


def read_drained(path: Path, target: str) -> "tuple[DrainResult, ...]":
    """Return what is drained on each switch of the fabric."""
    from nornir_railweave import draining

    reached = reached_fabric(path, target)
    with reached.progress():
        found = draining.read(reached.nornir, [switch.name for switch in reached.designed.fabric.switches])
    return tuple(found.values())


def run_undrain(
    path: Path, target: str, devices: Sequence[str], wait_s: float | None
) -> "tuple[tuple[DrainResult, ...], VerifyResult | None]":
    """Undrain these switches and verify them; raises UsageError for names that are not there."""
    from nornir_railweave import draining
    from nornir_railweave.verifying import verify
    from railweave.plan.outcome import VerifyResult

    reached = reached_fabric(path, target)
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
    from nornir_railweave import draining
    from railweave.plan.drains import neighbourhood, refusals

    fabric = reached.designed.fabric
    found = draining.read(reached.nornir, neighbourhood(fabric, targets))
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


def _agreed(
    reached: ReachedFabric,
    targets: "Sequence[DrainTarget]",
    drained: Mapping[str, tuple[str, ...]],
    wish: DrainWish,
) -> bool:
    """Show what will be and ask, unless the command line agreed; raises RailweaveError without a terminal."""
    from railweave.cli.show import print_view
    from railweave.plan.drains import uplinks_left_percent
    from railweave.report.draining import intention_view

    if not wish.quiet:
        left = uplinks_left_percent(reached.designed.fabric, targets, drained)
        print_view(intention_view(targets, drained, left))
    if wish.yes:
        return True
    if not sys.stdin.isatty():
        raise RailweaveError("without a terminal to ask on, drain needs --yes")
    import typer

    return typer.confirm(f"Drain {', '.join(wish.devices)}?")


def _outcomes(results: "Sequence[DrainResult]", done: str) -> dict[str, dict[str, str]]:
    return {
        one.device: {
            "outcome": "failed" if one.error else done if one.changed else "unchanged",
            **({"error": one.error or one.flows} if not one.ok else {}),
        }
        for one in results
    }
