"""Read a running fabric: the plan, the verification and the drift. Nothing is changed."""

from datetime import UTC, date, datetime
from pathlib import Path

from railweave.api.live import live_fabric
from railweave.api.phasing import live_phase
from railweave.api.project import Project
from railweave.diagnostics import Severity
from railweave.plan.drift import Drift, judge, load_rules
from railweave.plan.lineage import discarded
from railweave.plan.model import Plan
from railweave.plan.outcome import VerifyResult


def plan(
    project: Project,
    target: str,
    *,
    base: str = "",
    phase: int | None = None,
    remove_conflicting: bool = False,
    skip_unreachable: bool = False,
) -> Plan:
    """Read all devices of ``target`` and return what a deployment would change.

    ``base`` is the running intent, a git revision or a file, for a change in phases; the plan is then of ``phase``,
    by default of the next one. ``remove_conflicting`` plans the removal of unmanaged rows that hold a fabric port.
    A device that does not answer is ``unreachable`` in the plan; with ``skip_unreachable`` one that no running neighbor
    has a link to is planned as factory-fresh, for review alone, and needs no address. Raises RefusedError, UsageError.
    """
    fabric = live_phase(project, target, base, phase, partial=skip_unreachable)
    project.operator.warn([one._replace(severity=Severity.WARNING) for one in fabric.missing_secrets])
    with fabric.progress():
        made = fabric.plan(remove_conflicting=remove_conflicting, skip_unreachable=skip_unreachable)
    project.operator.warn([one._replace(severity=Severity.WARNING) for one in discarded(made, fabric.history)])
    return made


def verify(
    project: Project, target: str, *, base: str = "", phase: int | None = None, wait_s: float = 0
) -> VerifyResult:
    """Compare LLDP, BGP, MTU, addresses and links of the running fabric with the intent.

    ``base`` and ``phase`` as for `plan`, by default the last phase that all switches have. Devices are read again
    until every check passes, for ``wait_s`` seconds at most. Raises RefusedError, UsageError.
    """
    fabric = live_phase(project, target, base, phase, done=True)
    with fabric.progress():
        return fabric.verify(wait_s=wait_s)


def drift(project: Project, target: str, *, ignore: Path | None = None, today: date | None = None) -> Drift:
    """Return how the running configuration differs from the intent, without the exceptions in the file ``ignore``.

    An exception ends with its last day, as of ``today`` (UTC). Raises RefusedError, UsageError.
    """
    rules = load_rules(ignore) if ignore else ()
    fabric = live_fabric(project, target)
    project.operator.warn([one._replace(severity=Severity.WARNING) for one in fabric.missing_secrets])
    with fabric.progress():
        made = fabric.plan()
    return judge(made, rules, today or datetime.now(UTC).date())
