"""Automatic values of an intent that growth changes, on switches that run: the lines that keep what runs.

The intent that was deployed is not known. The plan tells which nodes and leaves run, and an intent of these alone is
what automatic values were computed from.
"""

import re
from collections.abc import Set

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.design.growth import has_automatic_ports, of_nodes
from railweave.design.keeping import KeptFabric, cables_and_addresses, keep_what_runs
from railweave.fabric.model import Fabric
from railweave.fabric.moves import End, Ends
from railweave.intent.model import Intent
from railweave.plan.cables import node_cables
from railweave.plan.model import Plan


def kept_on_switches(plan: Plan, intent: Intent, fabric: Fabric) -> KeptFabric | None:
    """Return how ``intent``, of ``fabric``, keeps the cables of nodes that ``plan`` would move; None where it moves
    none, or where no automatic value is the reason."""
    if not has_automatic_ports(intent):
        return None
    before, after = node_cables(plan)
    if not before:
        return None
    catalog = load_catalog()
    running = _of_running(plan, intent, fabric, _devices(before), _devices(after))
    if running is None:
        return None
    runs = design(running, catalog).fabric
    if runs is None or not before <= _ends(runs):
        return None
    return keep_what_runs(intent, runs, fabric, catalog)


def _of_running(plan: Plan, intent: Intent, fabric: Fabric, before: Set[str], after: Set[str]) -> Intent | None:
    """Return the intent of the nodes and leaves that run; ``before`` and ``after`` are the nodes of changed cables."""
    nodes = before | {host.name for host in fabric.hosts if host.name not in after}
    counts = {entry.name: _last_number(entry.name, nodes) for entry in intent.nodes}
    lowest = fabric.tier_switches[0]
    switches = sum(switch.name not in plan.unprovisioned for switch in lowest if switch.plane == 0)
    return of_nodes(intent, counts, switches)


def _devices(cables: Set[Ends]) -> set[str]:
    return {str(ends.lower.device) for ends in cables}


def _last_number(kind: str, names: Set[str]) -> int:
    """Return the highest number of the nodes of a kind, 0 where there is none."""
    matches = (re.fullmatch(rf"{re.escape(kind)}(\d+)", name) for name in names)
    return max((int(match[1]) for match in matches if match), default=0)


def _ends(fabric: Fabric) -> Set[Ends]:
    """Return all cables by SONiC's names of their ports, as a plan has them."""
    return {
        Ends(End(lower, lower_port), End(upper, upper_port))
        for lower, lower_port, upper, upper_port, _ in cables_and_addresses(fabric)
    }
