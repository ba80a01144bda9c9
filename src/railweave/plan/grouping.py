"""Identical changes of many devices, shown once.

A plan of a thousand devices is read by a person. Changes that are the same everywhere become one group with a list of
devices; changes that are each device's own (its addresses, its neighbors) become one group that counts them and shows
the first few.
"""

import re
from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Mapping
from dataclasses import dataclass, field

from railweave.plan.model import DISRUPTION_RANK, Plan, Summary
from railweave.sonic.delta.change import Change, Delta, Disruption, Method, Op
from railweave.sonic.rows import FRR_TABLE, Fields, Value
from railweave.wording import natural_key

MOST_VARIANTS = 4
"""How many different values of one table and field the same devices may have before they are summed up."""

_SAMPLES = 3
_AS_NUMBER = re.compile(r"^router bgp \d+")


@dataclass(frozen=True, slots=True)
class ChangeGroup:
    """Changes that are shown in one line."""

    op: Op
    table: str
    # FRR's context without the device's own AS number; empty for CONFIG_DB.
    context: str
    # The rows of all devices together; for FRR the lines, for CABLE_LENGTH the ports.
    keys: tuple[str, ...]
    field: str | None
    # Every device gets the same value.
    uniform: bool
    disruption: Disruption
    method: Method
    # Empty if the changes have several reasons.
    reason: str
    devices: tuple[str, ...]
    # The number of changes.
    count: int
    # The first few changes.
    samples: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Provisioning:
    """First provisioning, summed up over devices: how many rows and FRR lines change, in how many tables."""

    devices: tuple[str, ...]
    rows: int
    tables: int
    lines: int
    disruption: Disruption
    methods: tuple[Method, ...]


def first_provisioning(plan: Plan) -> Provisioning | None:
    """Return all first provisioning of ``plan`` in one value, None if there is none."""
    deltas = {name: delta for name, delta in plan.deltas.items() if plan.devices[name].difference.unprovisioned}
    if not deltas:
        return None
    # Devices share equal deltas, so each is counted once: a fabric has thousands of rows on every switch.
    counts = {id(delta): Counter(change.table for change in delta) for delta in deltas.values()}
    tables: Counter[str] = Counter()
    disruptions: set[Disruption] = set()
    methods: set[Method] = set()
    for delta in deltas.values():
        tables.update(counts[id(delta)])
        disruptions.update(delta.disruptions)
        methods.update(delta.methods)
    lines = tables.pop(FRR_TABLE, 0)
    return Provisioning(
        devices=tuple(deltas),
        rows=tables.total(),
        tables=len(tables),
        lines=lines,
        disruption=max(disruptions, key=DISRUPTION_RANK.__getitem__),
        methods=tuple(sorted(methods)),
    )


@dataclass(slots=True)
class _Bucket:
    """A group in the making: how many changes it has and the first few, their rows, reasons and devices, in order."""

    uniform: bool
    count: int = 0
    samples: list[Change] = field(default_factory=list)
    rows: dict[str, None] = field(default_factory=dict)
    reasons: set[str] = field(default_factory=set)
    devices: dict[str, None] = field(default_factory=dict)

    @property
    def first(self) -> Change:
        """Return a change that stands for the others where all of them are alike."""
        return self.samples[0]


def shown_changes(plan: Plan, name: str) -> tuple[Change, ...]:
    """Return the changes of a device as they are shown and counted.

    On a running switch an FRR line that replaces another one is one update; first provisioning only counts edits.
    """
    if plan.devices[name].difference.unprovisioned:
        return plan.deltas[name].changes
    return plan.deltas[name].shown


def shown_summary(plan: Plan) -> Summary:
    """Return the numbers of changes as they are shown."""
    counts: Counter[Op] = Counter()
    for name in plan.deltas:
        counts.update(change.op for change in shown_changes(plan, name))
    return Summary(counts[Op.ADD], counts[Op.UPDATE], counts[Op.REMOVE])


def group_changes(plan: Plan) -> tuple[ChangeGroup, ...]:
    """Return the groups of all changes of ``plan``: the most disruptive first, then by table, FRR last.

    Secrets are marked, since groups are for showing. Devices that are provisioned for the first time are left out.
    """
    fresh = {name for name, device in plan.devices.items() if device.difference.unprovisioned}
    buckets = _gathered(plan, plan.deltas.keys() - fresh)
    buckets = _join(buckets, _by_value_and_devices, uniform=True)
    buckets = _sum_up(buckets, lambda bucket: len(bucket.devices) == 1, _by_kind, at_least=2)
    buckets = _sum_up(buckets, lambda _: True, _by_kind_and_devices, at_least=MOST_VARIANTS + 1)
    # Values that differ are shown once, whether they differ by device, by row or by plane.
    buckets = _sum_up(buckets, lambda bucket: not bucket.uniform, _by_kind, at_least=2)
    return tuple(sorted(map(_group, buckets), key=_order))


def _row(change: Change) -> str:
    """Return what a change is about within its table: the row's key, FRR's line, or the port that a field is of."""
    if change.table == FRR_TABLE or _is_of_a_port(change):
        return change.field or ""
    return change.key


def _is_of_a_port(change: Change) -> bool:
    """Tell whether a field is named for a port, so that it is what a row is in other tables."""
    return change.field is not None and change.field == change.subject.port


def context_of(change: Change) -> str:
    """Return the FRR context without the device's own AS number; empty for CONFIG_DB."""
    if change.table != FRR_TABLE:
        return ""
    return _AS_NUMBER.sub("router bgp", change.key)


def _field(change: Change) -> str | None:
    if change.table == FRR_TABLE or _is_of_a_port(change):
        return None
    return change.field


def _kind(change: Change) -> tuple[Hashable, ...]:
    return (change.op, change.table, context_of(change), _field(change), change.disruption, change.method)


def _value(change: Change) -> tuple[Hashable, ...]:
    if change.table == FRR_TABLE and change.op is not Op.UPDATE:
        return ()
    return (_frozen(change.before), _frozen(change.after))


def _frozen(value: Value | Fields | None) -> Hashable:
    if isinstance(value, Mapping):
        return tuple(sorted(value.items()))
    return value


def _gathered(plan: Plan, names: Container[str]) -> list[_Bucket]:
    """Return the changes of these devices, those that differ in nothing else together, in order; those with secrets as
    they may be shown."""
    gathering = _Gathering()
    for name, delta in plan.deltas.items():
        if name in names:
            gathering.add(name, delta)
    return list(gathering.buckets.values())


class _Gathering:
    """Buckets in the making.

    Devices share equal deltas and deltas share equal changes, so each of them is looked at once, by its identity.
    """

    def __init__(self) -> None:
        self.buckets: dict[Hashable, _Bucket] = {}
        self._bucket_of: dict[int, tuple[Change, _Bucket]] = {}
        self._parts_of: dict[int, list[tuple[_Bucket, list[Change]]]] = {}

    def add(self, device: str, delta: Delta) -> None:
        """Add the changes of one device."""
        if id(delta) not in self._parts_of:
            self._parts_of[id(delta)] = self._parts(delta)
        for bucket, changes in self._parts_of[id(delta)]:
            bucket.count += len(changes)
            bucket.devices[device] = None
            if len(bucket.samples) < _SAMPLES:
                bucket.samples += changes[: _SAMPLES - len(bucket.samples)]

    def _parts(self, delta: Delta) -> list[tuple[_Bucket, list[Change]]]:
        """Return the changes of a delta by bucket, with secrets marked."""
        parts: dict[int, tuple[_Bucket, list[Change]]] = {}
        for change in delta.shown:
            if id(change) not in self._bucket_of:
                self._bucket_of[id(change)] = self._sorted_in(change)
            shown, bucket = self._bucket_of[id(change)]
            parts.setdefault(id(bucket), (bucket, []))[1].append(shown)
        return list(parts.values())

    def _sorted_in(self, shown: Change) -> tuple[Change, _Bucket]:
        bucket = self.buckets.setdefault(_alike(shown), _Bucket(uniform=True))
        bucket.rows[_row(shown)] = None
        bucket.reasons.add(shown.reason)
        return shown, bucket


def _alike(change: Change) -> Hashable:
    """Return what changes have in common that differ in nothing but the device."""
    return (_kind(change), _row(change), _value(change))


def _by_value_and_devices(bucket: _Bucket) -> Hashable:
    return (_kind(bucket.first), _value(bucket.first), tuple(bucket.devices))


def _by_kind(bucket: _Bucket) -> Hashable:
    return _kind(bucket.first)


def _by_kind_and_devices(bucket: _Bucket) -> Hashable:
    return (_kind(bucket.first), tuple(bucket.devices))


def _join(buckets: Iterable[_Bucket], key: Callable[[_Bucket], Hashable], *, uniform: bool) -> list[_Bucket]:
    """Return the buckets with those of one key joined, each where its first one stood."""
    joined: dict[Hashable, _Bucket] = {}
    for bucket in buckets:
        into = joined.setdefault(key(bucket), bucket)
        if into is not bucket:
            into.count += bucket.count
            into.samples = [*into.samples, *bucket.samples][:_SAMPLES]
            into.rows |= bucket.rows
            into.reasons |= bucket.reasons
            into.devices |= bucket.devices
            into.uniform = into.uniform and bucket.uniform and uniform
    return list(joined.values())


def _sum_up(
    buckets: list[_Bucket],
    candidate: Callable[[_Bucket], bool],
    key: Callable[[_Bucket], Hashable],
    at_least: int,
) -> list[_Bucket]:
    """Return the buckets with ``at_least`` candidates of one key summed up, without their single changes."""
    counts = Counter(key(bucket) for bucket in buckets if candidate(bucket))
    summed = [bucket for bucket in buckets if candidate(bucket) and counts[key(bucket)] >= at_least]
    chosen = {id(bucket) for bucket in summed}
    return [*(bucket for bucket in buckets if id(bucket) not in chosen), *_join(summed, key, uniform=False)]


def _group(bucket: _Bucket) -> ChangeGroup:
    first = bucket.first
    return ChangeGroup(
        op=first.op,
        table=first.table,
        context=context_of(first),
        keys=tuple(sorted(bucket.rows, key=natural_key)),
        field=_field(first),
        uniform=bucket.uniform,
        disruption=first.disruption,
        method=first.method,
        reason=first.reason if len(bucket.reasons) == 1 else "",
        devices=tuple(bucket.devices),
        count=bucket.count,
        samples=tuple(bucket.samples),
    )


_OP_RANK = {Op.REMOVE: 0, Op.UPDATE: 1, Op.ADD: 2}


def _order(group: ChangeGroup) -> tuple[object, ...]:
    return (
        -DISRUPTION_RANK[group.disruption],
        group.table == FRR_TABLE,
        group.table,
        group.context,
        _OP_RANK[group.op],
        group.field or "",
        natural_key(group.keys[0]) if group.keys else (),
    )
