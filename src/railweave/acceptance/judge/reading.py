"""Cases from results and counters: of values in memory, or of a directory, whose files several processes read."""

from collections.abc import Collection, Iterable
from pathlib import Path

from railweave.acceptance.counters import counted_rounds
from railweave.acceptance.jobs import JobResult
from railweave.acceptance.judge.case import Case
from railweave.acceptance.judge.collisions import with_counted_limits
from railweave.acceptance.judge.outcomes import outcomes
from railweave.acceptance.judge.paths import PlanIndex
from railweave.acceptance.judge.tally import Tallier, TallyPart
from railweave.acceptance.model import AcceptancePlan, RoundKind
from railweave.acceptance.readings import DeviceCounters, NodeResult
from railweave.forks import forked, processes_for, slice_of

SHARED_ABOVE = 8_000
"""Files of counters above which several processes pay for their start."""


def case_of(
    plan: AcceptancePlan,
    results: Iterable[NodeResult],
    counters: Iterable[DeviceCounters],
    job: JobResult | None = None,
) -> Case:
    """Return the case of a plan with its results and counters, disturbed rounds included."""
    index = PlanIndex(plan)
    tallier = _tallier(index)
    for device_counters in counters:
        tallier.add(device_counters)
    return _case(index, tallier, results, job)


def case_in(
    root: Path,
    plan: AcceptancePlan,
    results: Iterable[NodeResult],
    *,
    job: JobResult | None = None,
    rounds: Collection[str] | None = None,
    processes: int | None = None,
) -> Case:
    """Return the case of a plan with its ``results`` and the counters below ``root``, of all rounds or of ``rounds``.

    ``processes`` is how many read the files: by default one for each core, or a single one for few files.
    """
    files = counted_rounds(root, plan, rounds)
    index = PlanIndex(plan)
    tallier = _tallier(index)
    if processes is None:
        processes = processes_for(2 * len(files.devices) * len(files.folders), SHARED_ABOVE)
    if processes == 1:
        for counters in files.read(files.devices):
            tallier.add(counters)
        return _case(index, tallier, results, job)

    def tally_part(part: int, parts: int) -> TallyPart:
        part_tallier = _tallier(PlanIndex(plan))
        part_devices = files.devices[slice_of(len(files.devices), part, parts)]
        for counters in files.read(part_devices):
            part_tallier.add(counters)
        return part_tallier.part()

    with forked(tally_part, processes) as parts:
        for part in parts:
            tallier.add_part(part)
    return _case(index, tallier, results, job)


def _tallier(index: PlanIndex) -> Tallier:
    """Return a new tallier for a plan; it fills the places of ``index``."""
    plan = index.plan
    lossless = frozenset(planned.priority for planned in plan.classes if planned.lossless)
    # Traffic in a wrong queue shows at the ports to nodes; incasts are judged by the marks of every queue.
    node_ports = frozenset(link.upper for link in index.host_link.values())
    incasts = {planned.id for planned in plan.rounds if planned.kind is RoundKind.INCAST}
    return Tallier(lossless, index.places, node_ports, incasts)


def _case(index: PlanIndex, tallier: Tallier, results: Iterable[NodeResult], job: JobResult | None) -> Case:
    """Return the case of what ``tallier`` has counted, with collectives judged by it."""
    tallies = tallier.finished(index.rounds, index.link_at)
    measured = with_counted_limits(index, outcomes(index.plan, results), tallies)
    return Case(index, measured, tallies, job)
