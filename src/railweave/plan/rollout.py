"""A rollout, read back from its journal: the outcome of each device, and what is left to do.

Nothing here raises for the content of a file. A line that a kill cut short, steps that a newer version writes and
foreign lines are counted, so that whoever acts upon the rollout can see how much of it is known.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from railweave.codec import Record, texts
from railweave.plan.rollout_step import Step
from railweave.plan.signed import Signed, parse_signed

FORMAT_VERSION = 1
"""Of the journal; its opening lines name it. Another one is shown as far as it is understood, and never acted upon."""

_HEAD = frozenset({"at", "step", "device", "text"})
_STEPS = frozenset(step.value for step in Step)
_OPENINGS = frozenset({Step.STARTED, Step.RESUMED})
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
        begun = {record.step for record in self.devices.values()} - {"", Step.OUTCOME.value}
        held = {record.outcome for record in self.devices.values()} & {"new", "old"}
        return self.stopped and not begun and not held

    def names(self, outcome: str) -> tuple[str, ...]:
        """Return the devices with ``outcome``, in the order of the waves."""
        return tuple(name for name, record in self.devices.items() if record.outcome == outcome)

    def owns(self, commit_id: str, message: str) -> bool:
        """Tell whether a commit that a switch reports was made for this rollout."""
        made = any(commit_id in record.commit_ids for record in self.devices.values())
        return bool(commit_id and made) or self.name in message.split()


def parse_rollout(path: Path, data: bytes, *, alive: bool = False) -> Rollout:
    """Return the rollout that the bytes of a journal record; never raises for their content."""
    # Whatever follows the last line end may be cut: journals are appended to line by line.
    *lines, tail = data.split(b"\n")
    entries = []
    unread = 0
    for line in lines:
        entry = _journal_line(line)
        if entry is not None:
            entries.append(entry)
        elif line.strip():
            unread += 1
    last = _journal_line(tail)
    if last is not None:
        # It lacks nothing but its line end: no beginning of a JSON object is an object itself.
        entries.append(last)
    torn = last is None and bool(tail.strip())
    return replace(_rollout(path, tuple(entries)), alive=alive, torn=torn, unread=unread)


def _journal_line(line: bytes) -> JournalLine | None:
    record = Record.of_line(line)
    if not isinstance(record.values.get("step"), str):
        return None
    return JournalLine(
        record.text("at"),
        record.text("step"),
        record.text("device"),
        record.text("text"),
        {name: value for name, value in record.values.items() if name not in _HEAD},
    )


def _rollout(path: Path, entries: tuple[JournalLine, ...]) -> Rollout:
    """Return the rollout of a journal's lines."""
    rollout = Rollout(
        name=path.stem,
        path=path,
        fabric=_fabric_of(path.stem),
        devices=_devices(entries),
        paused=_paused(entries),
        unknown=tuple(dict.fromkeys(entry.step for entry in entries if entry.step not in _STEPS)),
        entries=entries,
    )
    if not entries:
        return rollout
    rollout = replace(rollout, begun_at=entries[0].at, last_at=entries[-1].at)
    openings = [Record(entry.details) for entry in entries if entry.step in _OPENINGS]
    if openings:
        rollout = _opened(rollout, openings)
    closing = _closing(entries)
    if closing is not None:
        rollout = _closed(rollout, closing)
    return rollout


def _closed(rollout: Rollout, closing: JournalLine) -> Rollout:
    """Return ``rollout`` with its end."""
    result = Record(closing.details).text("result")
    if closing.step == Step.STOPPED:
        return replace(rollout, result=result, stopped_by=closing.text, stopped=True)
    is_stopped = result == "stopped"
    return replace(rollout, result=result, finished=not is_stopped, stopped=is_stopped)


def _fabric_of(name: str) -> str:
    """Return the fabric in a rollout's name: a journal whose first line is unreadable still has one."""
    match = NAME.match(name)
    if match is None:
        return ""
    return match["fabric"]


def _opened(rollout: Rollout, openings: Sequence[Record]) -> Rollout:
    """Return ``rollout`` with the values of its opening lines, the first of which says what was planned."""
    opening = openings[0]
    versions = [record.number("version") for record in openings]
    return replace(
        rollout,
        fabric=opening.text("fabric") or rollout.fabric,
        target=opening.text("target"),
        intent_sha256=opening.text("intent_sha256"),
        plan_digest=opening.text("plan_digest"),
        metadata=_metadata(opening),
        # Another process may have resumed it.
        by=openings[-1].text("by"),
        waves=tuple(map(texts, opening.items("waves"))),
        behind=openings[-1].texts("behind"),
        # One line of another version is enough: this railweave must not act upon the journal.
        version=next((version for version in versions if version != FORMAT_VERSION), FORMAT_VERSION),
    )


def _metadata(opening: Record) -> RolloutMetadata:
    is_rollback = opening.text("kind") == RolloutKind.ROLLBACK
    return RolloutMetadata(
        kind=RolloutKind.ROLLBACK if is_rollback else RolloutKind.DEPLOY,
        of=opening.text("of"),
        intent=opening.text("intent"),
        remove_conflicting=opening.flag("remove_conflicting"),
        base=opening.text("base"),
        base_commit=opening.text("base_commit"),
        phase=opening.number("phase"),
        limit=opening.texts("limit"),
        sources_sha256=opening.text("sources_sha256"),
        signed=parse_signed(opening.values.get("signed")),
    )


def _closing(entries: tuple[JournalLine, ...]) -> JournalLine | None:
    """Return the line that ended the rollout; None if it was resumed afterwards or never ended."""
    closing: JournalLine | None = None
    for entry in entries:
        if entry.step in _OPENINGS:
            closing = None
        # A stopped rollout logs both steps; the first has the reason.
        elif entry.step in (Step.STOPPED, Step.ENDED) and (closing is None or closing.step != Step.STOPPED):
            closing = entry
    return closing


def _paused(entries: Iterable[JournalLine]) -> bool:
    paused = False
    for entry in entries:
        if entry.step == Step.PAUSED:
            paused = True
        elif entry.step in (Step.CONTINUED, Step.RESUMED, Step.STOPPED, Step.ENDED, Step.WAVE):
            paused = False
    return paused


def _devices(entries: Iterable[JournalLine]) -> dict[str, DeviceRecord]:
    # Fields of each device's record so far; a device without a line has the defaults.
    drafts: dict[str, dict[str, Any]] = {}
    for entry in entries:
        if entry.step in _OPENINGS:
            _open(drafts, entry.details)
        elif entry.step == Step.CONFIRMING:
            # One line for a wave: its devices are confirmed together.
            for name, details in Record(entry.details).records("devices"):
                if name in drafts:
                    _advance(drafts[name], replace(entry, device=name, details=details.values))
        elif entry.step in (Step.SOAKING, Step.SOAKED):
            _soak(drafts, entry)
        elif entry.device in drafts:
            _advance(drafts[entry.device], entry)
    ordered = sorted(drafts.items(), key=lambda item: item[1]["wave"])
    return {name: DeviceRecord(**draft) for name, draft in ordered}


def _open(drafts: dict[str, dict[str, Any]], details: Mapping[str, Any]) -> None:
    """Add the devices of an opening line; an earlier opening has precedence, since it planned the whole rollout."""
    for name, device in Record(details).records("devices"):
        draft = {
            "wave": device.number("wave"),
            "before_sha256": device.text("before_sha256"),
            "changes_sha256": device.text("changes_sha256"),
            "drain": device.texts("drain"),
        }
        drafts.setdefault(name, draft)


def _soak(drafts: dict[str, dict[str, Any]], entry: JournalLine) -> None:
    """Take the outcome of devices back while they soak, and restore it afterwards."""
    # A fault during the soak rolls the wave back, and a journal that fails meanwhile does not record that.
    outcome, next_outcome = ("new", "") if entry.step == Step.SOAKING else ("", "new")
    for name in Record(entry.details).texts("devices"):
        if name in drafts and drafts[name].get("outcome") == outcome:
            drafts[name]["outcome"] = next_outcome


_WORKING = frozenset(
    step.value
    for step in (Step.DRAINING, Step.APPLYING, Step.APPLIED, Step.ROLLING_BACK, Step.CONFIRMING, Step.CONFIRMED)
)


def _advance(draft: dict[str, Any], entry: JournalLine) -> None:
    """Add what one more line records of a device."""
    details = Record(entry.details)
    _note_outcome(draft, entry, details)
    commit = details.text("commit_id")
    if commit and commit not in draft.get("commit_ids", ()):
        draft["commit_ids"] = (*draft.get("commit_ids", ()), commit)
    match entry.step:
        case Step.DRAINING:
            draft["drained"] = True
        case Step.UNDRAINED | Step.ROLLED_BACK:
            draft["drained"] = False
        case Step.APPLYING:
            draft["held"] = _held(details.items("held"))
        case Step.CONFIRMING:
            draft["after_sha256"] = details.text("after_sha256")
        case Step.CONFIRMED:
            draft["after_sha256"] = details.text("after_sha256")
            if commit:
                draft["commit_id"] = commit


def _note_outcome(draft: dict[str, Any], entry: JournalLine, details: Record) -> None:
    """Add the last step and the outcome after one more line."""
    if entry.step in _WORKING:
        draft["step"] = entry.step
        draft["outcome"] = ""
        draft["error"] = ""
    elif not draft.get("outcome"):
        # Once a device has an outcome, only the verification of the whole fabric reports on it.
        draft["step"] = entry.step
    if entry.step == Step.OUTCOME:
        draft["outcome"] = details.text("outcome")
        draft["error"] = details.text("error") or entry.text


def _held(pairs: Iterable[Any]) -> frozenset[tuple[str, str]]:
    held = (texts(pair) for pair in pairs)
    return frozenset((pair[0], pair[1]) for pair in held if len(pair) == 2)
