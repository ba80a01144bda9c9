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
    """Return the rollout that the journal ``path`` records; ``data`` are its bytes, ``alive`` tells whether it runs.

    Raises nothing for the content of the journal.
    """
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
    last_entry = _journal_line(tail)
    if last_entry is not None:
        # It lacks nothing but its line end: no beginning of a JSON object is an object itself.
        entries.append(last_entry)
    torn = last_entry is None and bool(tail.strip())
    return replace(_rollout(path, tuple(entries)), alive=alive, torn=torn, unread=unread)


def _journal_line(line: bytes) -> JournalLine | None:
    """Return a line of a journal; None if ``line`` is not a JSON object with a step."""
    record = Record.of_line(line)
    if not isinstance(record.values.get("step"), str):
        return None
    return JournalLine(
        at=record.text("at"),
        step=record.text("step"),
        device=record.text("device"),
        text=record.text("text"),
        details={name: value for name, value in record.values.items() if name not in _HEAD},
    )


def _rollout(path: Path, entries: tuple[JournalLine, ...]) -> Rollout:
    """Return the rollout of a journal's lines."""
    rollout = Rollout(
        name=path.stem,
        path=path,
        fabric=_fabric_of(path.stem),
        devices=_devices(entries),
        paused=_is_paused(entries),
        unknown=tuple(dict.fromkeys(entry.step for entry in entries if entry.step not in _STEPS)),
        entries=entries,
    )
    if not entries:
        return rollout
    rollout = replace(rollout, begun_at=entries[0].at, last_at=entries[-1].at)
    openings = [Record(entry.details) for entry in entries if entry.step in _OPENINGS]
    if openings:
        rollout = _with_openings(rollout, openings)
    closing = _closing_line(entries)
    if closing is not None:
        rollout = _with_result(rollout, closing)
    return rollout


def _with_result(rollout: Rollout, closing: JournalLine) -> Rollout:
    """Return ``rollout`` with the result that its closing line records."""
    result = Record(closing.details).text("result")
    if closing.step == Step.STOPPED:
        return replace(rollout, result=result, stopped_by=closing.text, stopped=True)
    is_stopped = result == "stopped"
    return replace(rollout, result=result, finished=not is_stopped, stopped=is_stopped)


def _fabric_of(name: str) -> str:
    """Return the fabric in a rollout's name, for a journal whose first line is unreadable; empty if it has none."""
    match = NAME.match(name)
    if match is None:
        return ""
    return match["fabric"]


def _with_openings(rollout: Rollout, openings: Sequence[Record]) -> Rollout:
    """Return ``rollout`` with the values of its opening lines. The first one has the plan, the others resume it."""
    first = openings[0]
    last = openings[-1]
    return replace(
        rollout,
        fabric=first.text("fabric") or rollout.fabric,
        target=first.text("target"),
        intent_sha256=first.text("intent_sha256"),
        plan_digest=first.text("plan_digest"),
        metadata=_metadata(first),
        # Another process may have resumed it.
        by=last.text("by"),
        waves=tuple(map(texts, first.items("waves"))),
        behind=last.texts("behind"),
        version=_format_version(openings),
    )


def _format_version(openings: Iterable[Record]) -> int:
    """Return the format version of the journal: the first one that this railweave does not write, if there is any."""
    for opening in openings:
        version = opening.number("version")
        # One line of another version is enough: this railweave must not act upon the journal.
        if version != FORMAT_VERSION:
            return version
    return FORMAT_VERSION


def _metadata(opening: Record) -> RolloutMetadata:
    """Return what an opening line says of the rollout, beside its plan. An unknown kind counts as a deployment."""
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


def _closing_line(entries: tuple[JournalLine, ...]) -> JournalLine | None:
    """Return the line that ended the rollout; None if it was resumed afterwards or never ended."""
    closing: JournalLine | None = None
    for entry in entries:
        if entry.step in _OPENINGS:
            closing = None
        elif entry.step in (Step.STOPPED, Step.ENDED):
            # A stopped rollout logs both steps; only the first, STOPPED, has the reason.
            has_reason = closing is not None and closing.step == Step.STOPPED
            if not has_reason:
                closing = entry
    return closing


def _is_paused(entries: Iterable[JournalLine]) -> bool:
    """Tell whether the rollout is paused after its last line."""
    paused = False
    for entry in entries:
        if entry.step == Step.PAUSED:
            paused = True
        elif entry.step in (Step.CONTINUED, Step.RESUMED, Step.STOPPED, Step.ENDED, Step.WAVE):
            paused = False
    return paused


def _devices(entries: Iterable[JournalLine]) -> dict[str, DeviceRecord]:
    """Return what the journal records of each device, in the order of the waves."""
    # Fields of each device's record so far; a device without a line has the defaults.
    drafts: dict[str, dict[str, Any]] = {}
    for entry in entries:
        if entry.step in _OPENINGS:
            _add_devices(drafts, entry.details)
        elif entry.step == Step.CONFIRMING:
            # One line for a wave: its devices are confirmed together.
            for name, details in Record(entry.details).records("devices"):
                if name in drafts:
                    _advance(drafts[name], replace(entry, device=name, details=details.values))
        elif entry.step in (Step.SOAKING, Step.SOAKED):
            _follow_soak(drafts, entry)
        elif entry.device in drafts:
            _advance(drafts[entry.device], entry)
    names = sorted(drafts, key=lambda name: drafts[name]["wave"])
    return {name: DeviceRecord(**drafts[name]) for name in names}


def _add_devices(drafts: dict[str, dict[str, Any]], details: Mapping[str, Any]) -> None:
    """Add the devices of an opening line to ``drafts``, ``details`` being the values of the line.

    A device of an earlier opening line keeps its values, since that line planned the whole rollout.
    """
    for name, device in Record(details).records("devices"):
        draft = {
            "wave": device.number("wave"),
            "before_sha256": device.text("before_sha256"),
            "changes_sha256": device.text("changes_sha256"),
            "drain": device.texts("drain"),
        }
        drafts.setdefault(name, draft)


def _follow_soak(drafts: dict[str, dict[str, Any]], entry: JournalLine) -> None:
    """Clear the outcome of new devices when their soak begins, and restore it when it ends."""
    # A fault during the soak rolls the wave back, and a journal that fails meanwhile does not record that.
    if entry.step == Step.SOAKING:
        outcome_before, outcome_after = "new", ""
    else:
        outcome_before, outcome_after = "", "new"
    for name in Record(entry.details).texts("devices"):
        if name in drafts and drafts[name].get("outcome") == outcome_before:
            drafts[name]["outcome"] = outcome_after


_WORK_STEPS = frozenset(
    step.value
    for step in (Step.DRAINING, Step.APPLYING, Step.APPLIED, Step.ROLLING_BACK, Step.CONFIRMING, Step.CONFIRMED)
)


def _advance(draft: dict[str, Any], entry: JournalLine) -> None:
    """Add what the next line ``entry`` records of a device to ``draft``."""
    details = Record(entry.details)
    _set_outcome(draft, entry, details)
    commit = details.text("commit_id")
    if commit and commit not in draft.get("commit_ids", ()):
        draft["commit_ids"] = (*draft.get("commit_ids", ()), commit)
    match entry.step:
        case Step.DRAINING:
            draft["drained"] = True
        case Step.UNDRAINED | Step.ROLLED_BACK:
            draft["drained"] = False
        case Step.APPLYING:
            draft["held"] = _passed_checks(details.items("held"))
        case Step.CONFIRMING:
            draft["after_sha256"] = details.text("after_sha256")
        case Step.CONFIRMED:
            draft["after_sha256"] = details.text("after_sha256")
            if commit:
                draft["commit_id"] = commit


def _set_outcome(draft: dict[str, Any], entry: JournalLine, details: Record) -> None:
    """Set the last step, the outcome and the error in ``draft`` to those after the next line ``entry``."""
    if entry.step in _WORK_STEPS:
        draft["step"] = entry.step
        draft["outcome"] = ""
        draft["error"] = ""
    elif not draft.get("outcome"):
        # Once a device has an outcome, only the verification of the whole fabric reports on it.
        draft["step"] = entry.step
    if entry.step == Step.OUTCOME:
        draft["outcome"] = details.text("outcome")
        draft["error"] = details.text("error") or entry.text


def _passed_checks(pairs: Iterable[Any]) -> frozenset[tuple[str, str]]:
    """Return the kind and subject of each check in a journal's list; anything that is not a pair is left out."""
    checks = set()
    for pair in pairs:
        match texts(pair):
            case (kind, subject):
                checks.add((kind, subject))
    return frozenset(checks)
