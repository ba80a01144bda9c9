"""A rollout as its journal records it: the outcome of each device, and what is left to do."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from railweave.plan.rollout_step import Step
from railweave.plan.signed import Signed

FORMAT_VERSION = 1
"""Of the journal; its opening lines name it. Another one is shown as far as it is understood, and never acted upon."""

NAME = re.compile(r"^[0-9]{8}T[0-9]{6}Z-(?P<fabric>.+)-[0-9a-f]{6}$")


class RolloutKind(StrEnum):
    """Whether a rollout deploys the intent or restores what an earlier rollout changed."""

    DEPLOY = "deploy"
    ROLLBACK = "rollback"


@dataclass(frozen=True, slots=True)
class JournalLine:
    """One line: ``at`` is UTC in ISO form, ``device`` empty for the whole rollout, ``details`` the other values."""

    at: str
    step: str
    device: str
    text: str
    details: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DeviceRecord:
    """What the journal knows of one device; a value that no line has is empty."""

    # Counted from 1; 0 for a device that is in no wave.
    wave: int = 0
    # Digest of the configuration before the change.
    before_sha256: str = ""
    # Digest of the planned changes.
    changes_sha256: str = ""
    drain: tuple[str, ...] = ()
    # Digest of the configuration that was confirmed.
    after_sha256: str = ""
    # The commit that was confirmed.
    commit_id: str = ""
    # All commits that were made for the rollout.
    commit_ids: tuple[str, ...] = ()
    # Kind and subject of the checks that passed right before the change.
    held: frozenset[tuple[str, str]] = frozenset()
    # The last step in the journal.
    step: str = ""
    # ``new``, ``old``, ``unreachable``, ``not-attempted``; empty if the rollout was cut off while it changed the device
    # or during its soak: then only the device knows.
    outcome: str = "not-attempted"
    error: str = ""
    # The rollout drained it, and no line says that it undrained it.
    drained: bool = False

    @property
    def in_doubt(self) -> bool:
        """Tell whether the rollout was cut off while it worked on the device."""
        return not self.outcome


@dataclass(frozen=True, slots=True)
class RolloutMetadata:
    """What a rollout is about, beside its plan."""

    kind: RolloutKind = RolloutKind.DEPLOY
    # The rollout that is rolled back.
    of: str = ""
    # The intent's file.
    intent: str = ""
    # Conflicting unmanaged rows are removed: a resumed rollout has to plan with it again.
    remove_conflicting: bool = False
    # The revision that a change in phases begins from.
    base: str = ""
    # The commit which that revision named, as a branch moves on; empty for a file.
    base_commit: str = ""
    # The phase of such a change, from 1; 0 for a whole intent.
    phase: int = 0
    # The switches that may be changed (`deploy --limit`); empty for all.
    limit: tuple[str, ...] = ()
    # Of the intent and the project's templates together.
    sources_sha256: str = ""
    # The signed plan, or order to roll back; only the target's allowed signers decide whether the signature counts.
    signed: Signed | None = field(default=None, repr=False)


DEPLOYMENT = RolloutMetadata()


@dataclass(frozen=True, slots=True)
class Rollout:
    """One rollout as its journal records it.

    It is ``finished``, ``stopped`` or ``alive``; if it is none of these, its process was lost.
    """

    # The journal's file without its suffix.
    name: str
    path: Path
    fabric: str = ""
    target: str = ""
    intent_sha256: str = ""
    # Of the plan's document.
    plan_digest: str = ""
    metadata: RolloutMetadata = DEPLOYMENT
    # The process that runs or last resumed it: host, user and process number.
    by: str = ""
    # UTC, ISO form.
    begun_at: str = ""
    last_at: str = ""
    waves: tuple[tuple[str, ...], ...] = ()
    # Devices that its limit left behind with changes, when it began or was last resumed.
    behind: tuple[str, ...] = ()
    devices: Mapping[str, DeviceRecord] = field(default_factory=dict)
    result: str = ""
    # The reason of a stop.
    stopped_by: str = ""
    # It came to its planned end.
    finished: bool = False
    # It ended before that, by a failure or by a person.
    stopped: bool = False
    paused: bool = False
    # Its process runs.
    alive: bool = False
    # The last line is cut, as by a kill.
    torn: bool = False
    # Other lines that are not a journal's.
    unread: int = 0
    # Steps that only a newer version writes.
    unknown: tuple[str, ...] = ()
    # Of the journal's format; 0 for a journal that names none.
    version: int = FORMAT_VERSION
    entries: tuple[JournalLine, ...] = field(default=(), repr=False)

    @property
    def state(self) -> str:
        """Return ``running``, ``paused``, ``interrupted``, ``stopped``, or the result of a finished rollout."""
        if self.alive:
            return "paused" if self.paused else "running"
        if self.stopped and not self.finished:
            return "stopped"
        if not self.finished:
            return "interrupted"
        # A rollout that was resumed and found all its devices done has the result `unchanged`, but it changed them.
        if self.changed or not self.result:
            return "done"
        return self.result

    @property
    def changed(self) -> bool:
        """Tell whether any device may hold something of this rollout."""
        return any(record.outcome in ("new", "unreachable", "") for record in self.devices.values())

    @property
    def never_started(self) -> bool:
        """Tell whether it stopped before any device was started, so that there is nothing to resume."""
        # A device that was not started has at most the step that records its outcome.
        steps = {record.step for record in self.devices.values()} - {"", Step.OUTCOME.value}
        outcomes_of_started = {record.outcome for record in self.devices.values()} & {"new", "old"}
        return self.stopped and not steps and not outcomes_of_started

    def names(self, outcome: str) -> tuple[str, ...]:
        """Return the devices with ``outcome``, in the order of the waves."""
        return tuple(name for name, record in self.devices.items() if record.outcome == outcome)

    def owns(self, commit_id: str, message: str) -> bool:
        """Tell whether a commit that a switch reports was made for this rollout."""
        if commit_id and any(commit_id in record.commit_ids for record in self.devices.values()):
            return True
        return self.name in message.split()
