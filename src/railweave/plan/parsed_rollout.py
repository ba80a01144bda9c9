"""A rollout, read back from the lines of its journal.

Nothing here raises for the content of a file. A line that a kill cut short, steps that a newer version writes and
foreign lines are counted, so that whoever acts upon the rollout can see how much of it is known.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from railweave.codec import Record, texts
from railweave.plan.rollout import (
    FORMAT_VERSION,
    NAME,
    DeviceRecord,
    JournalLine,
    Rollout,
    RolloutKind,
    RolloutMetadata,
)
from railweave.plan.rollout_step import Step
from railweave.plan.signed import parse_signed

_HEAD = frozenset({"at", "step", "device", "text"})
_STEPS = frozenset(step.value for step in Step)
_OPENINGS = frozenset({Step.STARTED, Step.RESUMED})


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
