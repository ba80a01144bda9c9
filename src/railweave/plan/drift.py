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
from railweave.plan.model import DevicePlan, DeviceState, Plan
from railweave.plan.unapplied import Unapplied
from railweave.sonic.delta.change import Change, Delta
from railweave.wording import command_line

_NOWHERE = Where()


@dataclass(frozen=True, slots=True)
class IgnoreRule:
    """One agreed exception; ``table``, ``key``, ``field`` and ``device`` are shell patterns, ``until`` is its last day.

    For FRR the table is ``frr``, the key the context and the field the line. A rule with a ``field`` other than ``*``
    does not match rows that are missing or extra as a whole.
    """

    table: str
    reason: str
    until: date
    key: str = "*"
    field: str = "*"
    device: str = "*"
    where: Where = _NOWHERE

    def matches(self, device: str, change: Change) -> bool:
        """Tell whether the rule matches ``change`` on ``device``, expired or not."""
        return self.matches_row(device, f"{change.table}|{change.key}", change.field or "")

    def matches_row(self, device: str, row: str, field: str) -> bool:
        """Tell whether the rule matches a field of a row, ``TABLE|KEY``; an empty field is the row as a whole."""
        # A rule about a field does not match a row as a whole.
        matches_field = self.field == "*" or (field != "" and fnmatchcase(field, self.field))
        if not matches_field:
            return False
        table, _, key = row.partition("|")
        return fnmatchcase(device, self.device) and fnmatchcase(table, self.table) and fnmatchcase(key, self.key)

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
    """The drift, and what the ignore rules had to do with it."""

    # The differences that no rule ignores; its deployment remediates them.
    plan: Plan
    ignored: tuple[Ignored, ...] = ()
    expired: tuple[IgnoreRule, ...] = ()
    # Rules that match no difference.
    idle: tuple[IgnoreRule, ...] = ()
    # Paths between tenants that no rule can ignore.
    leaks: tuple[Diagnostic, ...] = ()

    @property
    def found(self) -> bool:
        """Tell whether any device that was read runs otherwise than intended."""
        if self.leaks:
            return True
        return bool(self.plan.deltas) or any(
            device.difference.conflicts or device.reading.unapplied for device in self.plan.devices.values()
        )

    @property
    def unread(self) -> tuple[str, ...]:
        """Return the devices of which nothing is known."""
        return self.plan.names(DeviceState.UNREACHABLE)


def judge(plan: Plan, rules: Sequence[IgnoreRule], today: date) -> Drift:
    """Return the drift that ``plan`` shows, without the differences that rules still valid ``today`` ignore.

    A difference that several rules match counts for the first of them. A rule is idle if it matches no difference.
    """
    valid = [rule for rule in rules if rule.until >= today]
    matches: Counter[IgnoreRule] = Counter()
    deltas = _remaining_changes(plan, valid, matches)
    devices = _remaining_values(plan, valid, matches)
    return Drift(
        plan=_with_deltas_alone(replace(plan, devices=devices), deltas),
        ignored=tuple(Ignored(rule, matches[rule]) for rule in valid if rule in matches),
        expired=tuple(rule for rule in rules if rule.until < today),
        idle=_idle(plan, [rule for rule in valid if rule not in matches]),
    )


def _remaining_values(plan: Plan, rules: Sequence[IgnoreRule], matches: Counter[IgnoreRule]) -> dict[str, DevicePlan]:
    """Return the devices of ``plan`` without the values of daemons that a rule ignores.

    The ignored values are counted in ``matches``.
    """
    devices = {}
    for name, device in plan.devices.items():
        unapplied = _remaining_unapplied(rules, matches, name, device.reading.unapplied)
        devices[name] = replace(device, reading=replace(device.reading, unapplied=unapplied))
    return devices


def _idle(plan: Plan, unmatched: Iterable[IgnoreRule]) -> tuple[IgnoreRule, ...]:
    """Return the rules that match no difference, not even one that counts for an earlier rule."""
    # The difference may be on a device that was not read or that reverts by itself.
    if plan.names(DeviceState.UNREACHABLE) or plan.waiting:
        return ()
    return tuple(rule for rule in unmatched if not _matches_any(rule, plan))


def _matches_any(rule: IgnoreRule, plan: Plan) -> bool:
    """Tell whether a rule matches a difference, which may count for an earlier rule."""
    return any(rule.matches(name, change) for name, change in plan.changes())


def _remaining_changes(plan: Plan, rules: Sequence[IgnoreRule], matches: Counter[IgnoreRule]) -> Mapping[str, Delta]:
    """Return the changes of each device that no rule ignores; the ignored ones are counted in ``matches``."""
    remaining: dict[str, list[Change]] = {}
    for name, change in plan.changes():
        rule = next((rule for rule in rules if rule.matches(name, change)), None)
        if rule is None:
            remaining.setdefault(name, []).append(change)
        else:
            matches[rule] += 1
    return {name: Delta(tuple(changes)) for name, changes in remaining.items()}


def _remaining_unapplied(
    rules: Iterable[IgnoreRule], matches: Counter[IgnoreRule], device: str, unapplied: Iterable[Unapplied]
) -> tuple[Unapplied, ...]:
    """Return the values of daemons that no rule ignores; the ignored ones are counted in ``matches``."""
    remaining = []
    for value in unapplied:
        rule = next((rule for rule in rules if rule.matches_row(device, value.row, value.field)), None)
        if rule is None:
            remaining.append(value)
        else:
            matches[rule] += 1
    return tuple(remaining)


def _with_deltas_alone(plan: Plan, deltas: Mapping[str, Delta]) -> Plan:
    """Return ``plan`` with ``deltas`` as its only changes.

    A device without changes counts as unchanged and is in no wave.
    """
    remaining = plan.with_deltas(deltas)
    devices = dict(remaining.devices)
    for name in devices.keys() - deltas.keys():
        devices[name] = _as_unchanged(devices[name])
    waves = []
    for wave in plan.waves:
        remaining_wave = tuple(name for name in wave if name in deltas)
        if remaining_wave:
            waves.append(remaining_wave)
    return replace(remaining, devices=devices, waves=tuple(waves))


def _as_unchanged(device: DevicePlan) -> DevicePlan:
    if device.state is not DeviceState.CHANGED:
        return device
    state = DeviceState.WAITING if device.reading.pending else DeviceState.UNCHANGED
    return replace(device, state=state)


def remarks(drift: Drift) -> tuple[Diagnostic, ...]:
    """Return an error for each path between tenants and each expired rule, and a warning for each idle rule."""
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
    return (*drift.leaks, *expired, *idle)


Pattern = Annotated[str, Field(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _RuleDocument(_Strict):
    table: Pattern
    key: Pattern = "*"
    field: Pattern = "*"
    device: Pattern = "*"
    reason: Annotated[str, Field(min_length=3)]
    until: date

    @field_validator("key", "field", mode="before")
    @classmethod
    def _numbers_are_names_here(cls, value: Any) -> Any:
        # Keys and fields of maps are often numbers: DSCP_TO_TC_MAP has a field 24. True is an integer to Python.
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        return value

    @field_validator("until", mode="before")
    @classmethod
    def _a_day(cls, value: Any) -> Any:
        # pydantic would also take a number, as seconds since 1970.
        if not isinstance(value, str):
            raise ValueError("a day, such as 2026-12-31")
        try:
            return date.fromisoformat(value)
        except ValueError:
            raise ValueError(f"{value!r} is not a date; write it as 2026-12-31") from None


class _Rules(_Strict):
    ignore: list[_RuleDocument] = []


def load_rules(path: Path) -> tuple[IgnoreRule, ...]:
    """Return the rules in the file ``path``; empty if there is no such file.

    Raises RefusedError with all errors of the file.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ()
    except OSError as exc:
        message = f"{path} cannot be read: {exc.strerror}"
        raise RefusedError([error("RW510", message, fix="name a file of ignore rules")]) from None
    return parse_rules(decode(data, str(path)), str(path))


def parse_rules(text: str, file: str) -> tuple[IgnoreRule, ...]:
    """Return the rules in ``text``, which was read from ``file``. Raises RefusedError with all errors of the text."""
    # A file of comments alone is valid: `init` writes one as an example.
    if not any(line.split("#")[0].strip() for line in text.splitlines()):
        return ()
    document = read_document(text, file, "file of ignore rules", "ignore:")
    try:
        parsed = _Rules.model_validate(document.value)
    except ValidationError as exc:
        details = exc.errors(include_url=False, include_input=False)
        invalid = [_diagnostic(document, file, detail) for detail in details]
        raise RefusedError([*document.diagnostics, *invalid]) from None
    if document.diagnostics:
        raise RefusedError(document.diagnostics)
    return tuple(
        IgnoreRule(**rule.model_dump(), where=_place(document, file, index)) for index, rule in enumerate(parsed.ignore)
    )


def _place(document: Document, file: str, index: int) -> Where:
    return document.places.get(path_text(("ignore", index)), Where(file, 1, 1))


def _diagnostic(document: Document, file: str, detail: Any) -> Diagnostic:
    """Return an error of pydantic as a diagnostic, at its place in the document."""
    key_path = tuple(detail["loc"])
    key = key_path[-1] if key_path else "the file"
    # An unknown key is shown at the key itself, any other error at the value.
    places = document.places
    if detail["type"] == "missing":
        message = f"`{key}` is missing in a rule"
        fix = f"add `{key}:`; every rule has a reason and an end"
    elif detail["type"] == "extra_forbidden":
        places = document.keys
        message = f"unknown key `{key}`"
        fix = f"known here: {', '.join(_RuleDocument.model_fields)}, in a list `ignore:`"
    else:
        message = f"{key}: {str(detail['msg']).removeprefix('Value error, ')}"
        fix = "see docs/how-to/drift.md"
    return error("RW510", message, _nearest_place(places, key_path, file), fix=fix)


def _nearest_place(places: Mapping[str, Where], key_path: Sequence[str | int], file: str) -> Where:
    """Return the place of a key, else of the nearest value around it: a missing key has no place of its own."""
    for end in range(len(key_path), 0, -1):
        path = path_text(tuple(key_path[:end]))
        if path in places:
            return places[path]
    return Where(file, 1, 1)
