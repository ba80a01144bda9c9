"""The switches that `--limit` names."""

from railweave.diagnostics import error
from railweave.errors import RefusedError, UsageError
from railweave.fabric.model import Fabric
from railweave.wording import command_line


def selected_switches(fabric: Fabric, limit: str) -> frozenset[str]:
    """Return the switches that a comma-separated list of names, patterns and tiers names; none for an empty list.

    Raises RefusedError (RW807) if one of them names a node, or no switch.
    """
    if not limit.strip(" ,"):
        return frozenset()
    # Imported late: most commands have no limit, and need nothing that reaches nodes.
    from railweave.api.hosts import selected

    parts = [part.strip() for part in limit.split(",")]
    nodes = [part for part in parts if part in fabric.host_of]
    if nodes:
        message = f"{', '.join(nodes)}: --limit of a deployment names switches, not nodes"
        fix = f"`{command_line('hosts', 'apply', '--limit', ','.join(nodes))}` changes nodes"
        raise RefusedError([error("RW807", message, fix=fix)])
    return selected({switch.name: switch.tier.name for switch in fabric.switches}, limit)


def refuse_limited_phase(limit: str, base: str, phase: int | None) -> None:
    """Raise UsageError for a limit of a change in phases: a phase begins once every switch has the one before."""
    if limit and (base or phase is not None):
        raise UsageError("a phase is complete only on all its switches: omit --limit with --from and --phase")
