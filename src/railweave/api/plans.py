"""Plans of a live fabric: what a deployment would change."""

from collections.abc import Iterable

from railweave.api.project import Project
from railweave.api.targets.limit import refuse_limited_phase, selected_switches
from railweave.api.targets.selection import live_phase
from railweave.diagnostics import Diagnostic, Severity
from railweave.errors import UsageError
from railweave.plan.lineage import discarded
from railweave.plan.model import Plan


def plan(
    project: Project,
    target: str,
    *,
    base: str = "",
    phase: int | None = None,
    remove_conflicting: bool = False,
    skip_unreachable: bool = False,
    limit: str = "",
    since: str = "",
) -> Plan:
    """Read all devices of ``target`` and return what a deployment would change.

    For a change in phases, ``base`` is the running intent: a git revision or a file. The plan is then of ``phase``, by
    default of the next one. ``since`` is the running intent too: then only switches whose configuration differs from it
    are read, and neighbors whose links change. ``remove_conflicting`` plans the removal of unmanaged rows that hold a
    fabric port. ``limit`` names the switches that may be changed, as in `deploy`.

    A device that does not answer is ``unreachable`` in the plan. With ``skip_unreachable`` one that no running neighbor
    has a link to is planned as factory-fresh, for review alone, and needs no address. Raises RefusedError, UsageError.
    """
    if since and (limit or base or phase is not None):
        raise UsageError("--since limits the plan by itself: omit --limit, --from and --phase")
    refuse_limited_phase(limit, base, phase)
    fabric = live_phase(project, target, base, phase, partial=skip_unreachable)
    names = selected_switches(fabric.designed.fabric, limit)
    project.operator.warn(as_warnings(fabric.missing_secrets))
    with fabric.progress():
        result = None
        if since:
            # Imported late: most plans compare no revisions.
            from railweave.api.targets.since import plan_since

            result = plan_since(project, fabric, since, remove_conflicting=remove_conflicting)
        # Without --since, and where the plan depends on all switches.
        if result is None:
            result = fabric.plan(remove_conflicting=remove_conflicting, skip_unreachable=skip_unreachable, limit=names)
    project.operator.warn(as_warnings(fabric.earlier_default(result)))
    project.operator.warn(as_warnings(discarded(result, fabric.history(result))))
    return result


def as_warnings(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return what refuses a deployment as warnings, because a plan changes nothing."""
    return [diagnostic._replace(severity=Severity.WARNING) for diagnostic in diagnostics]
