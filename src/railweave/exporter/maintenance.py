"""Which planned work a switch is in: the states of the metric that keeps its alerts, and those of its cables, quiet."""

from railweave.exporter.model import MonitoredReading
from railweave.plan.away import withheld
from railweave.plan.manual_drain import WHOLE
from railweave.sonic.delta.diff import drained, is_unprovisioned, maintenance
from railweave.telemetry.metrics import MAINTENANCE_STATES

DRAINED, TSA, ROLLING, REPLACED = MAINTENANCE_STATES


def maintenance_states(name: str, reading: MonitoredReading) -> frozenset[str]:
    """Return the states of the switch ``name``.

    A pending commit or a hold is a rollout, but a commit that only drains is a drain. A switch that was never deployed
    counts as replaced: it is new in the place of another one, or the fabric grows by it.
    """
    status = reading.status
    is_drained_whole = drained(reading.running) == tuple(WHOLE)
    changes_configuration = status.pending and not status.drains
    states = set()
    if is_drained_whole or status.drains:
        states.add(DRAINED)
    if withheld(maintenance(reading.running)):
        states.add(TSA)
    if status.hold or changes_configuration:
        states.add(ROLLING)
    if is_unprovisioned(name, reading.running):
        states.add(REPLACED)
    return frozenset(states)
