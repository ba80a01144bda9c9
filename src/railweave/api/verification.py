"""Running fabrics compared with the intent: verification and drift. Nothing is changed."""

import os
from collections.abc import Collection, Iterator, Set
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from napalm_sonic.clock import SYSTEM_CLOCK, Clock
from railweave.api.project import JOURNALS, Project
from railweave.api.targets.fabric import LiveFabric, live_fabric
from railweave.api.targets.limit import refuse_limited_phase, selected_switches
from railweave.api.targets.selection import live_phase
from railweave.plan.rollout import Rollout
from railweave.wording import command_line, compact

if TYPE_CHECKING:
    from railweave.plan.drift import Drift
    from railweave.plan.outcome import VerifyResult


def verify(
    project: Project,
    target: str,
    *,
    base: str = "",
    phase: int | None = None,
    wait_s: float = 0,
    limit: str = "",
    counters: bool = True,
    clock: Clock = SYSTEM_CLOCK,
) -> "VerifyResult":
    """Compare LLDP, BGP, MTU, addresses and links of the running fabric with the intent.

    Counters are read before and after, at least two seconds apart by ``clock``: errors that grow and PFC storms fail
    by the rules of `health`. Without ``counters`` the state alone is compared.

    ``base`` and ``phase`` select a phase as for `plan`, by default the last one that all switches have. Devices are
    read again until every check passes, for ``wait_s`` seconds at most. ``limit`` names the switches to verify, as in
    `deploy`. By default all are verified but those that the limit of the last deployment left behind, which a warning
    names. Raises RefusedError, UsageError.
    """
    refuse_limited_phase(limit, base, phase)
    fabric = live_phase(project, target, base, phase, done=True)
    names = selected_switches(fabric.designed.fabric, limit)
    rollout = None
    if not base and phase is None:
        rollout = _limited_rollout(fabric)
    settled = _settled(fabric, rollout, names)
    # Empty for all switches: there is neither a limit now nor a switch that an earlier one left behind.
    devices = names or settled
    with fabric.progress():
        if counters:
            result = _verify_with_counters(fabric, devices, settled, wait_s, clock)
        else:
            result = fabric.verify(wait_s=wait_s, devices=devices or None, settled=settled)
    if rollout is None:
        return result
    unverified = [name for name in rollout.behind if name not in names]
    return replace(result, warnings=(*result.warnings, *_left_behind_warnings(rollout, unverified)))


def _settled(fabric: LiveFabric, rollout: Rollout | None, names: Set[str]) -> Set[str]:
    """Return the switches whose links are verified: ``names``, and all that ``rollout`` did not leave behind.

    Without a rollout the result is empty, which stands for all switches.
    """
    if rollout is None:
        return frozenset()
    deployed = fabric.designed.fabric.switch_of.keys() - rollout.behind
    return deployed | names


def _verify_with_counters(
    fabric: LiveFabric, devices: Set[str], settled: Set[str], wait_s: float, clock: Clock
) -> "VerifyResult":
    """Verify ``devices``, all switches if it is empty, and judge what they counted meanwhile."""
    # Late: the rules of health take long to import.
    from railweave.api.error_watch import ErrorWatch

    watch = ErrorWatch(fabric, sorted(devices or fabric.designed.fabric.switch_of), clock)
    result = fabric.verify(wait_s=wait_s, devices=devices or None, settled=settled)
    checks, fixes = watch.checks()
    return replace(result, checks=(*result.checks, *checks), advice=(*result.advice, *fixes))


def _limited_rollout(fabric: LiveFabric) -> Rollout | None:
    """Return the last rollout if its limit left switches behind the intent; else None."""
    folder = Path(os.environ.get("RAILWEAVE_JOURNALS") or JOURNALS)
    # Few rollouts are limited, and the first line of a journal tells: most commands need not import what reads
    # journals, which takes long. Journals in a store are not in a folder, and always read.
    if folder.is_dir() and not any(map(_is_limited, folder.glob("*.jsonl"))):
        return None
    from nornir_railweave.rollout.rollouts import leaving_behind
    from railweave.api.journal.folder import journal_folder

    designed = fabric.designed
    return leaving_behind(journal_folder(), designed.fabric.name, fabric.target.name, designed.intent.sha256)


def _is_limited(journal: Path) -> bool:
    try:
        with journal.open("rb") as lines:
            return b'"limit"' in lines.readline()
    except OSError:
        return False


def _left_behind_warnings(rollout: Rollout, unverified: Collection[str]) -> Iterator[str]:
    """Yield a warning that names the switches that are not verified; nothing if all are."""
    if unverified:
        yield (
            f"not verified, left behind by the limit of rollout {rollout.name}: {compact(unverified)}; "
            f"`{command_line('plan')}` shows the remaining changes"
        )


def drift(project: Project, target: str, *, ignore: Path | None = None, today: date | None = None) -> "Drift":
    """Return how the running configuration differs from the intent, without the exceptions in the file ``ignore``.

    An exception ends with its last day, as of ``today`` (UTC). Raises RefusedError, UsageError.
    """
    # Imported late: a verification makes no plan.
    from railweave.api.plans import as_warnings
    from railweave.plan.drift import judge, load_rules
    from railweave.plan.leaks import leak_warnings, leaks_before

    rules = load_rules(ignore) if ignore else ()
    fabric = live_fabric(project, target)
    project.operator.warn(as_warnings(fabric.missing_secrets))
    with fabric.progress():
        plan = fabric.plan()
    # In UTC, so that a pipeline and a workstation agree on the last day of an exception.
    drift = judge(plan, rules, today or datetime.now(UTC).date())
    leaks = leaks_before(fabric.designed.fabric, plan.deltas, lambda name: fabric.intended(name).config_db())
    return replace(drift, leaks=tuple(leak_warnings(leaks, fabric.designed.intent.where("tenants"))))
