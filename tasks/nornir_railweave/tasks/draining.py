"""Draining by hand over a fabric: read what is drained, drain one switch after the other, undrain."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from nornir.core import Nornir

from nornir_railweave.target.connect import only
from nornir_railweave.tasks.drain_device import drain_device, read_drained, undrain_device
from railweave.plan.manual_drain import DrainResult, DrainTarget


def read(nr: Nornir, names: Collection[str]) -> dict[str, DrainResult]:
    """Return what is drained on these switches, or why one does not say."""
    return _run(nr, names, read_drained)


def drain(
    nr: Nornir, targets: Sequence[DrainTarget], *, wait_s: float, packets_per_s: float
) -> tuple[DrainResult, ...]:
    """Drain one switch after the other and wait until each is quiet; the first that is not as asked ends it."""
    results: list[DrainResult] = []
    for target in targets:
        done = _run(
            nr,
            (target.device,),
            drain_device,
            peers=target.peers,
            ports=target.ports,
            wait_s=wait_s,
            packets_per_s=packets_per_s,
        )[target.device]
        results.append(done)
        if not done.ok:
            break
    return tuple(results)


def undrain(nr: Nornir, names: Sequence[str]) -> tuple[DrainResult, ...]:
    """Remove all that drains on these switches; each is tried, whatever comes of the others."""
    done = _run(nr, names, undrain_device)
    return tuple(done[name] for name in names)


def _run(nr: Nornir, names: Collection[str], task: Callable[..., Any], **arguments: Any) -> dict[str, DrainResult]:
    results = only(nr, names).run(task, on_failed=True, **arguments)
    found: dict[str, DrainResult] = {}
    for name in names:
        result = results[name][0]
        if result.exception is not None:
            raise result.exception
        found[name] = result.result
    return found
