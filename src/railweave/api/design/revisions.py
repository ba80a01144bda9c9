"""Two revisions of an intent, compared without a device: what changes, and in which phases."""

from dataclasses import dataclass, replace

from railweave.api.design.earlier import earlier_defaults
from railweave.api.design.intent import Designed, designed_at
from railweave.api.project import Project
from railweave.checks.phases import check_phases
from railweave.design.keeping import keep_what_runs, kept_diagnostics
from railweave.diagnostics import has_errors
from railweave.errors import RefusedError, UsageError
from railweave.fabric.model import Fabric
from railweave.plan.earlier_default import TO_COMPARE, TO_STATE, ran_by_earlier_default
from railweave.plan.model import Plan
from railweave.plan.offline import plan_offline
from railweave.plan.phases import planning
from railweave.plan.phases.planning import Phase
from railweave.plan.stripes import moved_between, moved_stripe_diagnostics
from railweave.telemetry.alert_change import AlertChange


@dataclass(frozen=True, slots=True)
class PhasedChange:
    """The phases from the running intent ``running``, which the command calls ``base``, to that of ``designed``."""

    base: str
    running: Designed
    designed: Designed
    phases: tuple[Phase, ...]

    @property
    def before(self) -> Fabric:
        """Return the fabric that runs."""
        return self.running.fabric

    def phase(self, number: int) -> Phase:
        """Return a phase by its number from 1; raises UsageError for any other."""
        if not 1 <= number <= len(self.phases):
            available = f"phases 1 to {len(self.phases)}" if len(self.phases) > 1 else "phase 1 alone"
            raise UsageError(f"there is no phase {number}: from {self.base} there are {available}")
        return self.phases[number - 1]


def diff(project: Project, base: str, head: str = "", *, renumber: bool = False) -> Plan:
    """Return the plan that changes every device from the intent at ``base`` to that at ``head``.

    Both are a git revision or a file; an empty ``head`` is the working tree. Raises RefusedError if one of the two has
    errors, or, without ``renumber``, if an existing device would be renumbered or cables of an earlier default moved.
    """
    before = designed_at(base, project.intent)
    after = designed_at(head, project.intent)
    if not renumber:
        _refuse_earlier_default(before, after, TO_COMPARE)
        _refuse_other_automatic_values(before, after)
    plan = plan_offline(before.fabric, after.fabric, after.templates, before=before.templates, renumber=renumber)
    return replace(plan, intent_sha256=after.intent.sha256, alerts=_changed_alerts(before, after))


def _changed_alerts(before: Designed, after: Designed) -> tuple[AlertChange, ...]:
    """Return the alerts that change, none where the intent says nothing of monitoring."""
    if "telemetry" not in after.written.places:
        return ()
    # Late: nearly no command needs the rules.
    from railweave.telemetry.changes import MonitoredFabric, alert_changes

    return alert_changes(MonitoredFabric(before.fabric, before.catalog), MonitoredFabric(after.fabric, after.catalog))


def _refuse_other_automatic_values(before: Designed, after: Designed) -> None:
    """Raise RefusedError, with the lines that keep what runs, where growth changes what the intent leaves automatic."""
    kept_fabric = keep_what_runs(after.written, before.fabric, after.fabric, after.catalog)
    if kept_fabric is not None:
        moved = moved_stripe_diagnostics(moved_between(before.fabric, after.fabric))
        raise RefusedError((*kept_diagnostics(kept_fabric), *moved))


def phases(project: Project, base: str, head: str = "") -> tuple[Phase, ...]:
    """Return the phases of the change from the intent at ``base`` to that at ``head``, revisions or files as in `diff`.

    The operator receives warnings. Raises RefusedError if one of the two has errors, or if no sequence of phases leads
    from one to the other.
    """
    return phased_change(project, base, head).phases


def phased_change(project: Project, base: str, head: str = "") -> PhasedChange:
    """Return the phases of a change with the designs that it leads from and to. Raises as `phases` does."""
    running = designed_at(base, project.intent)
    designed = designed_at(head, project.intent)
    _refuse_earlier_default(running, designed, TO_STATE)
    steps = planning.phases(running.fabric, designed.fabric)
    diagnostics = check_phases(running.fabric, steps, designed.intent.where)
    if has_errors(diagnostics):
        raise RefusedError(diagnostics)
    project.operator.warn(diagnostics)
    return PhasedChange(base, running, designed, steps)


def _refuse_earlier_default(before: Designed, after: Designed, instead: str) -> None:
    """Raise RefusedError if cables move only because the later intent omits the lines that state an earlier default.

    ``instead`` says how to move the cables all the same.
    """
    intent = after.intent
    where = intent.where("topology")
    # Only defaults that the earlier intent states: nothing shows that the switches of another one run by them.
    dropped_defaults = (default for default in earlier_defaults(intent) if default.is_stated(before.intent.places))
    diagnostics = ran_by_earlier_default(before.fabric, after.fabric, dropped_defaults, where, instead)
    if diagnostics:
        raise RefusedError(diagnostics)
