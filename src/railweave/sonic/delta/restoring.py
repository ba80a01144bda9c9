"""A document that takes an earlier change back, as the changes that it makes on a device."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from railweave.sonic.delta.delta import judged
from railweave.sonic.delta.diff import DeviceDiff, sort_key, unmanaged_rows
from railweave.sonic.delta.edits import frr_edits
from railweave.sonic.delta.merge import MergeDocument, apply, edits
from railweave.sonic.document import BGPRAW, DocumentError, RunningConfig
from railweave.sonic.frr import FrrEntry, frr_difference, parse_frr
from railweave.sonic.frr.drain import drained_peers
from railweave.sonic.ownership import with_unmanaged_frr
from railweave.sonic.rows import DeviceConfig


@dataclass(frozen=True, slots=True)
class Goal:
    """What a way back leads to: ``rows`` is a merge document of tables alone, ``frr`` FRR's whole configuration then.

    A document's FRR lines only say what to do to the configuration that they were made for; where that leads to is
    what can be compared later.
    """

    rows: MergeDocument = field(repr=False)
    frr: str = field(repr=False)


def goal_of(document: MergeDocument, running: RunningConfig) -> Goal:
    """Return where ``document`` leads a device that runs ``running``; raises DocumentError where that is unknown."""
    restored = apply(document, running)
    if restored.frr is None:
        raise DocumentError("FRR's running configuration is unknown, so it could not be restored")
    return Goal({table: rows for table, rows in document.items() if table != BGPRAW}, restored.frr)


def restoring_diff(running: RunningConfig, goal: Goal, wanted: DeviceConfig, reason: str) -> DeviceDiff:
    """Return what ``goal`` changes on a device that runs ``running``; every change carries ``reason``.

    ``wanted`` only tells which rows and FRR lines are ours. Where FRR's configuration is unknown its lines are left
    out. Raises DocumentError where the rows are none.
    """
    document = running.frr_document
    lines: tuple[Sequence[FrrEntry], Sequence[FrrEntry]] = ((), ())
    drained: tuple[str, ...] = ()
    if document is not None:
        target = with_unmanaged_frr(parse_frr(goal.frr), document, wanted.frr_document)
        lines, drained = frr_difference(document, target), drained_peers(document)
    found = sorted([*edits(goal.rows, running), *frr_edits(*lines)], key=sort_key)
    delta = judged(found, running.config_db, lambda _: reason)
    return DeviceDiff(delta, unmanaged_rows(running, wanted), (), False, drained=drained)
