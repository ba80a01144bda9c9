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
    """Return how ``intent``, whose fabric is ``fabric``, keeps the cables of nodes that ``plan`` would move.

    None if the plan moves none, or if no automatic value is the reason.
    """
    if not has_automatic_ports(intent):
        return None
    old_cables, new_cables = node_cables(plan)
    if not old_cables:
        return None
    catalog = load_catalog()
    running_intent = _running_intent(plan, intent, fabric, _lower_devices(old_cables), _lower_devices(new_cables))
    if running_intent is None:
        return None
    running_fabric = design(running_intent, catalog).fabric
    # If the automatic values of that intent do not give the cables that run, they are not the reason.
    if running_fabric is None or not old_cables <= _ends(running_fabric):
        return None
    return keep_what_runs(intent, running_fabric, fabric, catalog)


def _running_intent(
    plan: Plan, intent: Intent, fabric: Fabric, old_nodes: Set[str], new_nodes: Set[str]
) -> Intent | None:
    """Return the intent of the nodes and leaves that run today.

    ``old_nodes`` are the nodes with a cable that the plan takes out, ``new_nodes`` those with a cable that it plugs. A
    node runs if one of its cables is taken out, or if none of them changes. None if no node runs.
    """
    running_nodes = old_nodes | {host.name for host in fabric.hosts if host.name not in new_nodes}
    counts = {entry.name: _last_number(entry.name, running_nodes) for entry in intent.nodes}
    # An intent states the leaves of one plane.
    plane_leaves = [switch for switch in fabric.tier_switches[0] if switch.plane == 0]
    running_leaves = sum(leaf.name not in plan.unprovisioned for leaf in plane_leaves)
    return of_nodes(intent, counts, running_leaves)


def _lower_devices(cables: Set[Ends]) -> set[str]:
    return {str(ends.lower.device) for ends in cables}


def _last_number(kind: str, names: Set[str]) -> int:
    """Return the highest number among the nodes of a kind in ``names``, 0 if there are none."""
    matches = (re.fullmatch(rf"{re.escape(kind)}(\d+)", name) for name in names)
    return max((int(match[1]) for match in matches if match), default=0)


def _ends(fabric: Fabric) -> Set[Ends]:
    """Return all cables by SONiC's names of their ports, as a plan has them."""
    return {
        Ends(End(lower, lower_port), End(upper, upper_port))
        for lower, lower_port, upper, upper_port, _ in cables_and_addresses(fabric)
    }
