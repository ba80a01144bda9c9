"""Identical changes of many devices, shown once.

A plan of a thousand devices is read by a person. Changes that are the same everywhere become one group with a list of
devices; changes that are each device's own (its addresses, its neighbors) become one group that counts them and shows
the first few.
"""

import re
from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

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
    """Return what ``plan`` configures on switches that are provisioned for the first time; None if there are none."""
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
    """A group of changes while it is collected. Rows and devices are ordered sets."""

    uniform: bool
    # The number of changes, and the first few of them.
    count: int = 0
    samples: list[Change] = field(default_factory=list)
    rows: dict[str, None] = field(default_factory=dict)
    reasons: set[str] = field(default_factory=set)
    devices: dict[str, None] = field(default_factory=dict)

    @property
    def first(self) -> Change:
        """Return the first change, which represents all changes of the bucket in what they have in common."""
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
    unprovisioned = {name for name, device in plan.devices.items() if device.difference.unprovisioned}
    buckets = _identical_changes(plan, plan.deltas.keys() - unprovisioned)
    # Rows that get the same values on the same devices.
    buckets = _join(buckets, _kind_value_and_devices, uniform=True)
    # Changes that are each device's own, such as its addresses.
    buckets = _sum_up(buckets, lambda bucket: len(bucket.devices) == 1, _kind_of_bucket, at_least=2)
    # Fields that have many different values on the same devices.
    buckets = _sum_up(buckets, lambda _: True, _kind_and_devices, at_least=MOST_VARIANTS + 1)
    # Values that differ are shown once, whether they differ by device, by row or by plane.
    buckets = _sum_up(buckets, lambda bucket: not bucket.uniform, _kind_of_bucket, at_least=2)
    return tuple(sorted(map(_group, buckets), key=_sort_key))


def _row(change: Change) -> str:
    """Return the row of a change as it is shown: its key, the line of FRR, or the port that its field names."""
    if change.table == FRR_TABLE or _field_is_port(change):
        return change.field or ""
    return change.key


def _field_is_port(change: Change) -> bool:
    """Tell whether the field is the name of a port, as in CABLE_LENGTH: such a field is shown like a row."""
    return change.field is not None and change.field == change.subject.port


def context_of(change: Change) -> str:
    """Return the FRR context without the device's own AS number; empty for CONFIG_DB."""
    if change.table != FRR_TABLE:
        return ""
    return _AS_NUMBER.sub("router bgp", change.key)


def _field(change: Change) -> str | None:
    """Return the field that is shown beside the row of a change.

    Returns None for the change of a whole row, and where ``_row`` is the field already.
    """
    if change.table == FRR_TABLE or _field_is_port(change):
        return None
    return change.field


def _kind(change: Change) -> tuple[Hashable, ...]:
    """Return what changes of one group have in common, as a key that is independent of device, row and value."""
    return (change.op, change.table, context_of(change), _field(change), change.disruption, change.method)


def _value(change: Change) -> tuple[Hashable, ...]:
    """Return the values before and after a change, as part of a key.

    Returns nothing for an FRR line that is added or removed: the line itself is the row.
    """
    if change.table == FRR_TABLE and change.op is not Op.UPDATE:
        return ()
    return (_frozen(change.before), _frozen(change.after))


def _frozen(value: Value | Fields | None) -> Hashable:
    if isinstance(value, Mapping):
        return tuple(sorted(value.items()))
    return value


def _identical_changes(plan: Plan, names: Container[str]) -> list[_Bucket]:
    """Return a bucket for each change of these devices, with all devices that have the same change.

    Buckets are in the order of their first change; secrets are marked.
    """
    collector = _Collector()
    for name, delta in plan.deltas.items():
        if name in names:
            collector.add(name, delta)
    return list(collector.buckets.values())


class _ChangesOfBucket(NamedTuple):
    """The changes of one delta that belong to one bucket."""

    bucket: _Bucket
    changes: list[Change]


class _Collector:
    """Collects the changes of devices in buckets.

    Devices share equal deltas and deltas share equal changes, so each object is evaluated once, by its identity.
    """

    def __init__(self) -> None:
        self.buckets: dict[Hashable, _Bucket] = {}
        self._bucket_of: dict[int, _Bucket] = {}
        self._by_bucket: dict[int, list[_ChangesOfBucket]] = {}

    def add(self, device: str, delta: Delta) -> None:
        """Add the changes of one device."""
        if id(delta) not in self._by_bucket:
            self._by_bucket[id(delta)] = self._sorted_by_bucket(delta)
        for bucket, changes in self._by_bucket[id(delta)]:
            bucket.count += len(changes)
            bucket.devices[device] = None
            if len(bucket.samples) < _SAMPLES:
                bucket.samples += changes[: _SAMPLES - len(bucket.samples)]

    def _sorted_by_bucket(self, delta: Delta) -> list[_ChangesOfBucket]:
        """Return the changes of a delta by bucket, with secrets marked."""
        by_bucket: dict[int, _ChangesOfBucket] = {}
        # The deltas of the plan keep their shown changes, so identities stay valid.
        for change in delta.shown:
            bucket = self._bucket_of.get(id(change))
            if bucket is None:
                bucket = self._bucket_with(change)
                self._bucket_of[id(change)] = bucket
            if id(bucket) not in by_bucket:
                by_bucket[id(bucket)] = _ChangesOfBucket(bucket, [])
            by_bucket[id(bucket)].changes.append(change)
        return list(by_bucket.values())

    def _bucket_with(self, change: Change) -> _Bucket:
        """Return the bucket of a change, to which the row and the reason of the change are added."""
        key = (_kind(change), _row(change), _value(change))
        bucket = self.buckets.setdefault(key, _Bucket(uniform=True))
        bucket.rows[_row(change)] = None
        bucket.reasons.add(change.reason)
        return bucket


def _kind_value_and_devices(bucket: _Bucket) -> Hashable:
    return (_kind(bucket.first), _value(bucket.first), tuple(bucket.devices))


def _kind_of_bucket(bucket: _Bucket) -> Hashable:
    return _kind(bucket.first)


def _kind_and_devices(bucket: _Bucket) -> Hashable:
    return (_kind(bucket.first), tuple(bucket.devices))


def _join(buckets: Iterable[_Bucket], key: Callable[[_Bucket], Hashable], *, uniform: bool) -> list[_Bucket]:
    """Return the buckets with those of equal key joined, each at the position of the first one.

    ``uniform`` tells whether all changes of a joined bucket have the same value.
    """
    joined: dict[Hashable, _Bucket] = {}
    for bucket in buckets:
        first = joined.setdefault(key(bucket), bucket)
        if first is not bucket:
            first.count += bucket.count
            first.samples = [*first.samples, *bucket.samples][:_SAMPLES]
            first.rows |= bucket.rows
            first.reasons |= bucket.reasons
            first.devices |= bucket.devices
            first.uniform = first.uniform and bucket.uniform and uniform
    return list(joined.values())


def _sum_up(
    buckets: list[_Bucket],
    is_candidate: Callable[[_Bucket], bool],
    key: Callable[[_Bucket], Hashable],
    at_least: int,
) -> list[_Bucket]:
    """Return ``buckets`` with the candidates of equal key joined, where ``at_least`` candidates have that key.

    The other buckets come first, unchanged; the joined ones follow, marked as not uniform.
    """
    counts = Counter(key(bucket) for bucket in buckets if is_candidate(bucket))
    unchanged: list[_Bucket] = []
    to_join: list[_Bucket] = []
    for bucket in buckets:
        if is_candidate(bucket) and counts[key(bucket)] >= at_least:
            to_join.append(bucket)
        else:
            unchanged.append(bucket)
    return [*unchanged, *_join(to_join, key, uniform=False)]


def _group(bucket: _Bucket) -> ChangeGroup:
    """Return the group of a bucket that is complete."""
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


def _sort_key(group: ChangeGroup) -> tuple[object, ...]:
    """Return the sort key of ``group_changes``; within a context removals come first and additions last."""
    return (
        -DISRUPTION_RANK[group.disruption],
        group.table == FRR_TABLE,
        group.table,
        group.context,
        _OP_RANK[group.op],
        group.field or "",
        natural_key(group.keys[0]) if group.keys else (),
    )
