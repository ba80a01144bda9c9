"""Drift: what runs otherwise than the intent says, without what people agreed to leave for a while.

A plan against the running devices holds every difference. Rules take some of them out, each with a reason and a last
day; from the day after it, a rule matches nothing and is reported as an error, so that no exception is permanent.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from railweave.diagnostics import Diagnostic, Where, error, warning
from railweave.errors import RefusedError
from railweave.intent.paths import path_text
from railweave.intent.positions import Document, decode, read_document
from railweave.plan.model import DevicePlan, DeviceState, Plan, Unapplied
from railweave.sonic.delta.change import Change, Delta
from railweave.wording import command_line

_NOWHERE = Where()


@dataclass(frozen=True, slots=True)
class IgnoreRule:
    """One agreed exception; ``table``, ``key``, ``field`` and ``device`` are shell patterns, ``until`` is its last day.

    For FRR the table is ``frr``, the key the context and the field the line. A rule with a ``field`` other than ``*``
    does not reach rows that are missing or too many as a whole.
    """

    table: str
    reason: str
    until: date
    key: str = "*"
    field: str = "*"
    device: str = "*"
    where: Where = _NOWHERE

    def matches(self, device: str, change: Change) -> bool:
        """Tell whether the rule speaks of ``change`` on ``device``, expired or not."""
        return self.matches_row(device, f"{change.table}|{change.key}", change.field or "")

    def matches_row(self, device: str, row: str, field: str) -> bool:
        """Tell whether the rule speaks of a field of a row, ``TABLE|KEY``; an empty field is the row as a whole."""
        table, _, key = row.partition("|")
        return (
            fnmatchcase(device, self.device)
            and fnmatchcase(table, self.table)
            and fnmatchcase(key, self.key)
            and (self.field == "*" or (bool(field) and fnmatchcase(field, self.field)))
        )

    def __str__(self) -> str:
        """Return what the rule matches, as a person would point at it."""
        return f"{self.table}|{self.key} {self.field} on {self.device}"


@dataclass(frozen=True, slots=True)
class Ignored:
    """An active rule and how many differences it matches."""

    rule: IgnoreRule
    changes: int


@dataclass(frozen=True, slots=True)
class Drift:
    """The drift: ``plan`` holds what remains and remediates it; ``expired`` and ``idle`` are rules."""

    plan: Plan
    ignored: tuple[Ignored, ...] = ()
    expired: tuple[IgnoreRule, ...] = ()
    idle: tuple[IgnoreRule, ...] = ()

    @property
    def found(self) -> bool:
        """Tell whether any device that was read runs otherwise than intended."""
        return bool(self.plan.deltas) or any(one.conflicts or one.unapplied for one in self.plan.devices.values())

    @property
    def unread(self) -> tuple[str, ...]:
        """Return the devices of which nothing is known."""
        return self.plan.names(DeviceState.UNREACHABLE)


def judge(plan: Plan, rules: Sequence[IgnoreRule], today: date) -> Drift:
    """Return the drift that ``plan`` shows, without what rules that hold ``today`` ignore.

    A difference that several rules match counts for the first of them. A rule is idle where it matches no difference;
    that is not said while devices are unread or go back by themselves, because the difference may be theirs.
    """
    valid = [rule for rule in rules if rule.until >= today]
    taken: Counter[IgnoreRule] = Counter()
    changes = tuple(plan.changes())
    left: dict[str, list[Change]] = {}
    for name, change in changes:
        rule = _first(valid, name, change)
        if rule is None:
            left.setdefault(name, []).append(change)
        else:
            taken[rule] += 1
    whole = not plan.names(DeviceState.UNREACHABLE) and not plan.waiting
    applied = {name: _left(valid, taken, name, device.unapplied) for name, device in plan.devices.items()}
    plan = replace(plan, devices={name: replace(one, unapplied=applied[name]) for name, one in plan.devices.items()})
    return Drift(
        plan=_only(plan, {name: Delta(tuple(own)) for name, own in left.items()}),
        ignored=tuple(Ignored(rule, taken[rule]) for rule in valid if taken[rule]),
        expired=tuple(rule for rule in rules if rule.until < today),
        idle=tuple(
            rule for rule in valid if whole and not taken[rule] and not any(rule.matches(*one) for one in changes)
        ),
    )


def _left(
    rules: Iterable[IgnoreRule], taken: Counter[IgnoreRule], device: str, unapplied: Iterable[Unapplied]
) -> tuple[Unapplied, ...]:
    """Return what no rule ignores; what a rule ignores is counted for it."""
    left = []
    for one in unapplied:
        rule = next((rule for rule in rules if rule.matches_row(device, one.row, one.field)), None)
        if rule is None:
            left.append(one)
        else:
            taken[rule] += 1
    return tuple(left)


def _first(rules: Iterable[IgnoreRule], device: str, change: Change) -> IgnoreRule | None:
    return next((rule for rule in rules if rule.matches(device, change)), None)


def _only(plan: Plan, deltas: Mapping[str, Delta]) -> Plan:
    """Return ``plan`` with these deltas alone; a device whose every difference is ignored counts as unchanged."""
    devices = {name: device if name in deltas else _without_changes(device) for name, device in plan.devices.items()}
    waves = (tuple(name for name in wave if name in deltas) for wave in plan.waves)
    return replace(plan, devices=devices, deltas=deltas, waves=tuple(wave for wave in waves if wave))


def _without_changes(device: DevicePlan) -> DevicePlan:
    if device.state is not DeviceState.CHANGED:
        return device
    return replace(device, state=DeviceState.WAITING if device.pending else DeviceState.UNCHANGED)


def remarks(drift: Drift) -> tuple[Diagnostic, ...]:
    """Return what is to be said of the rules: expired ones are errors, idle ones warnings."""
    expired = (
        error(
            "RW511",
            f"this rule ended on {rule.until}: {rule} ({rule.reason})",
            rule.where,
            fix=f"remediate the drift with `{command_line('deploy')}`, or agree on a new date",
        )
        for rule in drift.expired
    )
    idle = (
        warning("RW512", f"no drift matches this rule: {rule}", rule.where, fix="remove the rule")
        for rule in drift.idle
    )
    return (*expired, *idle)


Pattern = Annotated[str, Field(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Rule(_Strict):
    table: Pattern
    key: Pattern = "*"
    field: Pattern = "*"
    device: Pattern = "*"
    reason: Annotated[str, Field(min_length=3)]
    until: date

    @field_validator("key", "field", mode="before")
    @classmethod
    def _numbers_are_names_here(cls, value: Any) -> Any:
        # Keys and fields of maps are often numbers: DSCP_TO_TC_MAP has a field 24.
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value

    @field_validator("until", mode="before")
    @classmethod
    def _a_day(cls, value: Any) -> Any:
        if not isinstance(value, str):
            raise ValueError("a day, such as 2026-12-31")
        try:
            return date.fromisoformat(value)
        except ValueError:
            raise ValueError(f"{value!r} is no day; write it as 2026-12-31") from None


class _Rules(_Strict):
    ignore: list[_Rule] = []


def load_rules(path: Path) -> tuple[IgnoreRule, ...]:
    """Return the rules in ``path``, none where there is no such file. Raises RefusedError with every error."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ()
    except OSError as exc:
        message = f"{path} cannot be read: {exc.strerror}"
        raise RefusedError([error("RW510", message, fix="name a file of ignore rules")]) from None
    return parse_rules(decode(data, str(path)), str(path))


def parse_rules(text: str, file: str) -> tuple[IgnoreRule, ...]:
    """Return the rules that ``text`` of ``file`` holds. Raises RefusedError with every error."""
    if not any(line.split("#")[0].strip() for line in text.splitlines()):
        return ()
    document = read_document(text, file, "file of ignore rules", "ignore:")
    try:
        parsed = _Rules.model_validate(document.value)
    except ValidationError as exc:
        found = [_diagnostic(document, file, each) for each in exc.errors(include_url=False, include_input=False)]
        raise RefusedError([*document.diagnostics, *found]) from None
    if document.diagnostics:
        raise RefusedError(document.diagnostics)
    return tuple(
        IgnoreRule(
            rule.table, rule.reason, rule.until, rule.key, rule.field, rule.device, _place(document, file, index)
        )
        for index, rule in enumerate(parsed.ignore)
    )


def _place(document: Document, file: str, index: int) -> Where:
    return document.places.get(path_text(("ignore", index)), Where(file, 1, 1))


def _diagnostic(document: Document, file: str, detail: Any) -> Diagnostic:
    parts = tuple(detail["loc"])
    places = document.keys if detail["type"] == "extra_forbidden" else document.places
    paths = (path_text(parts[:end]) for end in range(len(parts), 0, -1))
    where = next((places[path] for path in paths if path in places), Where(file, 1, 1))
    key = parts[-1] if parts else "the file"
    if detail["type"] == "missing":
        message, fix = (
            f"`{key}` is missing in a rule",
            f"add `{key}:`; every rule has a reason and an end",
        )
    elif detail["type"] == "extra_forbidden":
        message, fix = f"unknown key `{key}`", f"known here: {', '.join(_Rule.model_fields)}, in a list `ignore:`"
    else:
        message = f"{key}: {str(detail['msg']).removeprefix('Value error, ')}"
        fix = "see docs/how-to/drift.md"
    return error("RW510", message, where, fix=fix)
