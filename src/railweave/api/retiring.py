"""Asking the devices whether what an intent gives up is still in use."""

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.api.comparing import designed_at
from railweave.api.project import Project, find_target
from railweave.plan.retirement import Leaving, Proof, Use, leaving, proofs

if TYPE_CHECKING:
    from nornir.core import Nornir

    from nornir_railweave.target.model import Target
    from railweave.fabric.model import Fabric

INTERVAL_S = 1.0
"""Between two readings of the counters."""


def prove_retirement(
    project: Project, target: str, base: str, head: str, wait_s: float
) -> tuple[Leaving, tuple[Proof, ...]]:
    """Return what leaves between two git revisions of the intent, and what proves that nothing uses it now.

    Raises RefusedError where one of the two does not stand, UsageError for an unknown target.
    """
    from nornir_railweave.target.connect import build
    from nornir_railweave.target.sessions import close_sessions
    from nornir_railweave.target.target_file import load_target

    before, after = designed_at(base, project.intent).fabric, designed_at(head, project.intent).fabric
    gone = leaving(before, after)
    chosen = load_target(find_target(target))
    if not gone.switches:
        return gone, ()
    shown = project.operator.progress()
    nornir = build(before, chosen, processors=[shown])
    try:
        with shown:
            seen = _uses(nornir, before, chosen, gone, wait_s)
    finally:
        close_sessions(nornir)
    return gone, proofs(before, gone, seen)


def _uses(nornir: "Nornir", fabric: "Fabric", target: "Target", gone: Leaving, wait_s: float) -> dict[str, Use]:
    from nornir_railweave.target.connect import only
    from nornir_railweave.tasks.afar import links_up_to
    from nornir_railweave.tasks.observe_use import observe_use

    names = [switch.name for switch in gone.switches]
    results = only(nornir, names).run(
        observe_use,
        on_failed=True,
        hosts_of={name: _hosts_by_port(fabric, name) for name in names},
        packets_per_s=target.rollout.quiet_packets_per_s,
        timeout_s=wait_s,
        interval_s=INTERVAL_S,
    )
    found: dict[str, Use] = {}
    for name in names:
        result = results[name][0]
        if result.exception is not None:
            raise result.exception
        found[name] = result.result
    silent = [name for name, use in found.items() if use.fault]
    seen = links_up_to(nornir, fabric, silent)
    return {**found, **{name: replace(found[name], far_ends_up=ends) for name, ends in seen.items()}}


def _hosts_by_port(fabric: "Fabric", switch: str) -> dict[str, str]:
    """Return the GPU node on each port of a switch that attaches some."""
    ports = fabric.ports_of[switch]
    return {ports[link.upper_port].name: link.lower for link in fabric.downlinks_of[switch] if link.is_access}
