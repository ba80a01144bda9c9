"""Running fabrics compared with the intent: verification and drift. Nothing is changed."""

from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.api.project import Project
from railweave.api.targets.fabric import live_fabric
from railweave.api.targets.selection import live_phase

if TYPE_CHECKING:
    from railweave.plan.drift import Drift
    from railweave.plan.outcome import VerifyResult


def verify(
    project: Project, target: str, *, base: str = "", phase: int | None = None, wait_s: float = 0
) -> "VerifyResult":
    """Compare LLDP, BGP, MTU, addresses and links of the running fabric with the intent.

    ``base`` and ``phase`` as for `plan`, by default the last phase that all switches have. Devices are read again
    until every check passes, for ``wait_s`` seconds at most. Raises RefusedError, UsageError.
    """
    fabric = live_phase(project, target, base, phase, done=True)
    with fabric.progress():
        return fabric.verify(wait_s=wait_s)


def drift(project: Project, target: str, *, ignore: Path | None = None, today: date | None = None) -> "Drift":
    """Return how the running configuration differs from the intent, without the exceptions in the file ``ignore``.

    An exception ends with its last day, as of ``today`` (UTC). Raises RefusedError, UsageError.
    """
    # Imported late: a verification makes no plan.
    from railweave.api.plans import as_warnings
    from railweave.plan.drift import judge, load_rules

    rules = load_rules(ignore) if ignore else ()
    fabric = live_fabric(project, target)
    project.operator.warn(as_warnings(fabric.missing_secrets))
    with fabric.progress():
        made = fabric.plan()
    # In UTC, so that a pipeline and a workstation agree on the last day of an exception.
    return judge(made, rules, today or datetime.now(UTC).date())
