"""A document that takes an earlier change back, as the changes that it makes on a device."""

from railweave.names import natural_key
from railweave.sonic.change import FRR_TABLE, Change, Op
from railweave.sonic.diff import DeviceDiff, not_ours
from railweave.sonic.document import BGPRAW, RunningConfig
from railweave.sonic.drain import drained_peers
from railweave.sonic.edits import Edit
from railweave.sonic.frr import parse_frr
from railweave.sonic.merge import MergeDocument, edits
from railweave.sonic.methods import settle
from railweave.sonic.rows import DeviceConfig


def restoring_diff(
    device: str, running: RunningConfig, document: MergeDocument, wanted: DeviceConfig, reason: str
) -> DeviceDiff:
    """Return what merging ``document`` changes on a device that runs ``running``; every change carries ``reason``.

    ``wanted`` only tells which rows are ours. A switch that goes back to a configuration that is none of ours reloads,
    as it did when it came. Raises DocumentError where the document is none or FRR's configuration is unknown.
    """
    found = sorted(edits(document, running), key=_place)
    changes = tuple(
        Change(
            device,
            edit.op,
            edit.table,
            edit.key,
            edit.field,
            edit.before,
            edit.after,
            treatment.disruption,
            treatment.method,
            reason,
        )
        for edit, treatment in zip(found, settle(found, running.config_db), strict=True)
    )
    drained = () if running.frr is None else drained_peers(parse_frr(running.frr))
    return DeviceDiff(
        changes, not_ours(running, wanted), (), False, (), str(document.get(BGPRAW) or ""), drained=drained
    )


def _place(edit: Edit) -> tuple[object, ...]:
    """Order tables by name, rows and fields naturally, FRR last: removals first, as they are applied."""
    of_frr = edit.table == FRR_TABLE
    return (
        of_frr,
        edit.table,
        natural_key(edit.key),
        natural_key(edit.field or ""),
        of_frr and edit.op is not Op.REMOVE,
    )
