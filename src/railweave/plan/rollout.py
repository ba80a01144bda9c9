"""A rollout, read back from its journal: which device ended how, and what is left to do.

Nothing here raises for what a file holds. A line that a kill cut short, steps that a newer version writes and lines of
anything else are counted and told, so that whoever acts upon the value can see how much of it is known.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from railweave.jsonable import object_of
from railweave.plan.rollout_step import Step
from railweave.plan.signed import Signed, parse_signed

FORMAT_VERSION = 1
"""Of the journal; its opening lines name it. Another one is shown as far as it is understood, and never acted upon."""

_HEAD = frozenset({"at", "step", "device", "text"})
_STEPS = frozenset(step.value for step in Step)
NAME = re.compile(r"^[0-9]{8}T[0-9]{6}Z-(?P<fabric>.+)-[0-9a-f]{6}$")


class Kind(StrEnum):
    """What a rollout does: bring devices to the intent, or bring back what an earlier rollout changed."""

    DEPLOY = "deploy"
    ROLLBACK = "rollback"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line: ``at`` is UTC in ISO form, ``device`` empty where the whole rollout is meant, ``details`` the rest."""

    at: str
    step: str
    device: str
    text: str
    details: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DeviceRecord:
    """What the journal knows of one device.

    ``wave`` counts from 1 and is 0 for a device that no wave has. ``before_sha256``, ``after_sha256`` and
    ``changes_sha256`` are digests of what ran, of what is kept and of the planned changes, empty where no line tells.
    ``commit_ids`` are all commits made for the rollout and ``commit_id`` the one that was kept. ``held`` is kind and
    subject of the checks that held right before the change. ``step`` is the last step told. ``outcome`` is ``new``,
    ``old``, ``unreachable``, ``not-attempted``, or empty where the rollout was cut off in the middle of the device or
    of its soak: then only the device knows. ``drained``: the rollout drained it, and no line says that this ended.
    """

    wave: int = 0
    before_sha256: str = ""
    changes_sha256: str = ""
    drain: tuple[str, ...] = ()
    after_sha256: str = ""
    commit_id: str = ""
    commit_ids: tuple[str, ...] = ()
    held: frozenset[tuple[str, str]] = frozenset()
    step: str = ""
    outcome: str = "not-attempted"
    error: str = ""
    drained: bool = False

    @property
    def in_doubt(self) -> bool:
        """Tell whether the rollout was cut off while it worked on the device."""
        return not self.outcome


@dataclass(frozen=True, slots=True)
class Rollout:
    """One rollout as its journal tells it.

    ``sources_sha256`` is of the intent and the project's templates. ``signed`` is the plan, or the order to roll
    back, that somebody signed; whether that counts only the target's allowed signers say.
    ``phase`` is that of a change in phases from ``base``, 0 where the rollout is of a whole intent.
    ``finished``: it came to its planned end. ``stopped``: it ended before that, by a failure or by a person, and
    ``stopped_by`` says why. Neither: it runs (``alive``), or its process was lost. ``torn``: the last line is cut.
    ``unread`` counts the other lines that are no journal's, ``unknown`` names steps of a newer version. ``version`` is
    that of the journal's format, 0 for one that names none.
    """

    name: str
    path: Path
    fabric: str = ""
    target: str = ""
    intent: str = ""
    intent_sha256: str = ""
    sources_sha256: str = ""
    plan_digest: str = ""
    kind: Kind = Kind.DEPLOY
    of: str = ""
    remove_conflicting: bool = False
    base: str = ""
    phase: int = 0
    signed: Signed | None = field(default=None, repr=False)
    by: str = ""
    begun_at: str = ""
    last_at: str = ""
    waves: tuple[tuple[str, ...], ...] = ()
    devices: Mapping[str, DeviceRecord] = field(default_factory=dict)
    result: str = ""
    stopped_by: str = ""
    finished: bool = False
    stopped: bool = False
    paused: bool = False
    alive: bool = False
    torn: bool = False
    unread: int = 0
    unknown: tuple[str, ...] = ()
    version: int = FORMAT_VERSION
    entries: tuple[Entry, ...] = field(default=(), repr=False)

    @property
    def state(self) -> str:
        """Return ``running``, ``paused``, ``interrupted``, ``stopped``, or the result of a finished rollout."""
        if self.alive:
            return "paused" if self.paused else "running"
        if self.finished:
            # A rollout that was carried on and found all its devices done changed them all the same.
            return "done" if self.changed else self.result or "done"
        return "stopped" if self.stopped else "interrupted"

    @property
    def changed(self) -> bool:
        """Tell whether any device may hold something of this rollout."""
        return any(record.outcome in ("new", "unreachable", "") for record in self.devices.values())

    @property
    def never_started(self) -> bool:
        """Tell whether it stopped before any device was started, so that nothing of it is left to carry on."""
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
    """Return the rollout that the bytes of a journal tell; never raises for what they hold."""
    lines = data.split(b"\n")
    tail = lines.pop()
    entries, unread = [], 0
    for line in lines:
        entry = _entry(line)
        if entry is not None:
            entries.append(entry)
        elif line.strip():
            unread += 1
    last = _entry(tail)
    # A line that lacks nothing but its end is whole: no beginning of a JSON object is one.
    entries += [last] if last is not None else []
    return _told(path, entries, alive=alive, torn=last is None and bool(tail.strip()), unread=unread)


def _entry(line: bytes) -> Entry | None:
    record = object_of(line)
    if not isinstance(record.get("step"), str):
        return None
    return Entry(
        _text(record, "at"),
        _text(record, "step"),
        _text(record, "device"),
        _text(record, "text"),
        {name: value for name, value in record.items() if name not in _HEAD},
    )


def _told(path: Path, entries: Iterable[Entry], *, alive: bool, torn: bool, unread: int) -> Rollout:
    entries = tuple(entries)
    openings = [entry for entry in entries if entry.step in (Step.STARTED, Step.RESUMED)]
    opening = openings[0].details if openings else {}
    named = NAME.match(path.stem)
    closing = _closing(entries)
    kind = _text(opening, "kind")
    versions = [_number(one.details, "version") for one in openings]
    return Rollout(
        name=path.stem,
        path=path,
        fabric=_text(opening, "fabric") or (named["fabric"] if named else ""),
        target=_text(opening, "target"),
        intent=_text(opening, "intent"),
        intent_sha256=_text(opening, "intent_sha256"),
        sources_sha256=_text(opening, "sources_sha256"),
        plan_digest=_text(opening, "plan_digest"),
        kind=Kind.ROLLBACK if kind == Kind.ROLLBACK else Kind.DEPLOY,
        of=_text(opening, "of"),
        remove_conflicting=opening.get("remove_conflicting") is True,
        base=_text(opening, "base"),
        phase=_number(opening, "phase"),
        signed=parse_signed(opening.get("signed")),
        by=_text(openings[-1].details, "by") if openings else "",
        begun_at=entries[0].at if entries else "",
        last_at=entries[-1].at if entries else "",
        waves=tuple(_texts(wave) for wave in _list(opening.get("waves"))),
        devices=_devices(entries),
        result=_text(closing.details, "result") if closing else "",
        stopped_by=closing.text if closing and closing.step == Step.STOPPED else "",
        finished=closing is not None and closing.step == Step.ENDED and _text(closing.details, "result") != "stopped",
        stopped=closing is not None and (closing.step == Step.STOPPED or closing.details.get("result") == "stopped"),
        paused=_paused(entries),
        alive=alive,
        torn=torn,
        unread=unread,
        unknown=tuple(dict.fromkeys(entry.step for entry in entries if entry.step not in _STEPS)),
        version=next((v for v in versions if v != FORMAT_VERSION), FORMAT_VERSION),
        entries=entries,
    )


def _closing(entries: tuple[Entry, ...]) -> Entry | None:
    """Return the line that ended the rollout; none where it was carried on afterwards or never ended."""
    found: Entry | None = None
    for entry in entries:
        if entry.step in (Step.STOPPED, Step.ENDED):
            # A rollout that stops may say both; the reason stands in the first.
            found = found if found is not None and found.step == Step.STOPPED else entry
        elif entry.step in (Step.STARTED, Step.RESUMED):
            found = None
    return found


def _paused(entries: Iterable[Entry]) -> bool:
    paused = False
    for entry in entries:
        if entry.step == Step.PAUSED:
            paused = True
        elif entry.step in (Step.CONTINUED, Step.RESUMED, Step.STOPPED, Step.ENDED, Step.WAVE):
            paused = False
    return paused


def _devices(entries: Iterable[Entry]) -> dict[str, DeviceRecord]:
    drafts: dict[str, dict[str, Any]] = {}
    for entry in entries:
        if entry.step in (Step.STARTED, Step.RESUMED):
            _open(drafts, entry.details)
        elif entry.step == Step.CONFIRMING:
            for name, told in _mapping(entry.details.get("devices")).items():
                if name in drafts:
                    _advance(drafts[name], replace(entry, device=name, details=_mapping(told)))
        elif entry.step in (Step.SOAKING, Step.SOAKED):
            # A fault of the soak rolls the wave back, and a journal that fails meanwhile does not tell it.
            told = {Step.SOAKING: ("new", ""), Step.SOAKED: ("", "new")}[Step(entry.step)]
            for name in _texts(entry.details.get("devices")):
                if name in drafts and drafts[name].get("outcome") == told[0]:
                    drafts[name]["outcome"] = told[1]
        elif entry.device in drafts:
            _advance(drafts[entry.device], entry)
    ordered = sorted(drafts.items(), key=lambda item: item[1]["wave"])
    return {name: DeviceRecord(**draft) for name, draft in ordered}


def _open(drafts: dict[str, dict[str, Any]], details: Mapping[str, Any]) -> None:
    """Take the devices of an opening; what an earlier one says of a device holds: it is of the whole rollout."""
    for name, told in _mapping(details.get("devices")).items():
        part = _mapping(told)
        drafts.setdefault(
            name,
            {
                "wave": _number(part, "wave"),
                "before_sha256": _text(part, "before_sha256"),
                "changes_sha256": _text(part, "changes_sha256"),
                "drain": _texts(part.get("drain")),
            },
        )


_WORKING = frozenset(
    step.value
    for step in (Step.DRAINING, Step.APPLYING, Step.APPLIED, Step.ROLLING_BACK, Step.CONFIRMING, Step.CONFIRMED)
)


def _advance(draft: dict[str, Any], entry: Entry) -> None:
    step, details = entry.step, entry.details
    if step in _WORKING or not draft.get("outcome"):
        # Once a device has ended, only the verification of the whole fabric reports on it.
        draft["step"] = step
    if step in _WORKING:
        draft["outcome"] = draft["error"] = ""
    commit = _text(details, "commit_id")
    if commit and commit not in draft.get("commit_ids", ()):
        draft["commit_ids"] = (*draft.get("commit_ids", ()), commit)
    if step == Step.DRAINING:
        draft["drained"] = True
    elif step in (Step.UNDRAINED, Step.ROLLED_BACK):
        draft["drained"] = False
    if step == Step.APPLYING:
        draft["held"] = _held(details.get("held"))
    if step == Step.CONFIRMED:
        draft["commit_id"] = commit or draft.get("commit_id", "")
    if step in (Step.CONFIRMING, Step.CONFIRMED):
        draft["after_sha256"] = _text(details, "after_sha256")
    elif step == Step.OUTCOME:
        draft["outcome"] = _text(details, "outcome")
        draft["error"] = _text(details, "error") or entry.text


def _held(told: Any) -> frozenset[tuple[str, str]]:
    pairs = (_texts(pair) for pair in _list(told))
    return frozenset((pair[0], pair[1]) for pair in pairs if len(pair) == 2)


def _text(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    return value if isinstance(value, str) else ""


def _number(record: Mapping[str, Any], name: str) -> int:
    value = record.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(member for member in _list(value) if isinstance(member, str))
