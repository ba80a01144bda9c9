"""Whether an earlier rollout can be rolled back, device by device, from what each device says of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto

from railweave.diagnostics import Diagnostic, Where, error
from railweave.plan.rollout import DeviceRecord, Rollout

_EARLIER = "deploy the earlier revision of the intent: `railweave deploy` plans what that takes"
_SHOWN = 8


class Holds(Enum):
    """What a device holds of a rollout."""

    OLD = auto()
    NEW = auto()
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class Seen:
    """What a device that was read says: the digest of what it runs, whether it knows a commit of the rollout as its
    own, and whether its way back is there (``gone`` says why not) and leads to what the device held before."""

    sha256: str
    committed: bool
    gone: str = ""
    leads_back: bool = True


def nothing_to_roll_back(fabric: str, target: str) -> Diagnostic:
    """Return that no rollout of this fabric and target changed anything."""
    return error(
        "RW536",
        f"nothing to roll back: no rollout of {fabric} on {target} that this project has a journal of changed a device",
        fix="name a rollout of `railweave rollout list`; without its journal: `railweave rollback --last`",
    )


def changed_nothing(rollout: Rollout) -> Diagnostic:
    """Return that the rollout left no device in a new configuration."""
    return error(
        "RW536",
        f"nothing to roll back: rollout {rollout.name} left no device changed",
        Where(str(rollout.path)),
        fix="name another rollout of `railweave rollout list`",
    )


def holds(record: DeviceRecord, seen: Seen) -> Holds:
    """Return what a device holds of the rollout that ``record`` is of."""
    if seen.sha256 == record.before_sha256:
        return Holds.OLD
    if record.after_sha256:
        return Holds.NEW if seen.sha256 == record.after_sha256 else Holds.OTHER
    # Its journal was cut before it could tell; what the switch knows of its last commit has to do.
    return Holds.NEW if seen.committed else Holds.OTHER


def rollback_refusals(rollout: Rollout, seen: Mapping[str, Seen], newer: Iterable[Rollout]) -> tuple[Diagnostic, ...]:
    """Return why ``rollout`` cannot be rolled back, by device; nothing where it can.

    ``newer`` are the rollouts of the same fabric and target that came after it, newest first.
    """
    newer = tuple(newer)
    stands = {name: holds(rollout.devices[name], one) for name, one in seen.items()}
    moved = [name for name, state in stands.items() if state is Holds.OTHER]
    touched = {name: by for name in moved if (by := _touched_by(name, newer))}
    found: list[Diagnostic] = []
    for by in dict.fromkeys(touched.values()):
        names = [name for name, one in touched.items() if one == by]
        found.append(
            _refused(
                rollout,
                "RW535",
                names,
                f"changed by a newer rollout, {by}",
                f"roll that back first: `railweave rollback {by}`",
            )
        )
    drifted = [name for name in moved if name not in touched]
    if drifted:
        found.append(_refused(rollout, "RW537", drifted, f"changed since rollout {rollout.name}", _EARLIER))
    new = [name for name, state in stands.items() if state is Holds.NEW]
    for name in new:
        if seen[name].gone:
            found.append(
                _refused(rollout, "RW539", [name], f"its rollback document is gone: {seen[name].gone}", _EARLIER)
            )
        elif not seen[name].leads_back:
            why = f"its rollback document does not restore what it ran before rollout {rollout.name}"
            found.append(_refused(rollout, "RW539", [name], why, _EARLIER))
    return tuple(found)


def _touched_by(name: str, newer: Iterable[Rollout]) -> str:
    """Return the newest rollout that changed a device, empty where none did."""
    for rollout in newer:
        record = rollout.devices.get(name)
        if record is not None and record.outcome in ("new", "unreachable", ""):
            return rollout.name
    return ""


def _refused(rollout: Rollout, code: str, names: list[str], why: str, fix: str) -> Diagnostic:
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    return error(code, f"{shown}: {why}", Where(str(rollout.path)), devices=tuple(names), fix=fix)
