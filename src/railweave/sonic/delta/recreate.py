"""Rows that are deleted and set again, because orchagent takes no change of them, or clears what another row says.

Between the two the switch waits until the deletion was taken: a deletion and a setting that arrive together are one
setting (run on 202505; sonic-swss-common common/consumerstatetable, subscriberstatetable). What loses its buffer or
scheduler meanwhile is the queues of one port at a time.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from railweave.sonic.delta.change import Edit
from railweave.sonic.delta.daemon_rows import made_between
from railweave.sonic.delta.lossless import LosslessChange, lossless_change
from railweave.sonic.delta.methods import RULES, find_rule
from railweave.sonic.delta.order import Phase
from railweave.sonic.delta.spans import SPANNED, cleared_rows
from railweave.sonic.ownership import PRIORITY_GROUPS, port_of
from railweave.sonic.rows import FRR_TABLE, ConfigDb, Fields, Value
from railweave.wording import natural_key

RowName = tuple[str, str]
_RECREATING = frozenset(table for rule in RULES if rule.recreates for table in rule.tables)
"""Tables of which a change may recreate rows: most changes are of others, and there are thousands of them."""


@dataclass(frozen=True, slots=True)
class Recreation:
    """Rows of one table. ``unbound`` are fields of other rows that refer to them and let go meanwhile; ``rows`` is what
    is set after the wait, by table."""

    table: str
    phase: Phase
    deleted: tuple[str, ...]
    unbound: tuple[tuple[RowName, str], ...] = ()
    rows: Mapping[str, Mapping[str, Fields]] = field(default_factory=dict, repr=False)

    @property
    def covered(self) -> Iterator[RowName]:
        """Yield the rows whose edits the recreation carries out."""
        for key in (*self.deleted, *self.rows.get(self.table, ())):
            yield self.table, key


def recreated_rows(edits: Iterable[Edit], before: ConfigDb, after: ConfigDb) -> dict[str, list[str]]:
    """Return the rows, by table, that are there before and after ``edits`` and have to be set again for them."""
    found: dict[str, dict[str, None]] = {}
    for edit in edits:
        rule = find_rule(edit) if edit.table in _RECREATING else None
        table = rule.recreates if rule else ""
        if table and edit.key in before.get(table, {}) and edit.key in after.get(table, {}):
            found.setdefault(table, {})[edit.key] = None
    return {table: list(keys) for table, keys in found.items()}


def set_again(edits: Iterable[Edit], before: ConfigDb, after: ConfigDb) -> Iterator[tuple[str, str, Fields]]:
    """Yield table, key and fields of the rows that are set again, most of which no edit names: they are missing for a
    moment, so who checks or restores a change has to know them."""
    rows = [edit for edit in edits if edit.table != FRR_TABLE]
    for one in recreations(rows, before, after, lossless_change(before, after)):
        for table, found in one.rows.items():
            yield from ((table, key, fields) for key, fields in found.items())


def recreations(
    edits: Iterable[Edit], before: ConfigDb, after: ConfigDb, change: LosslessChange
) -> Iterator[Recreation]:
    """Yield what is recreated when ``edits`` lead from ``before`` to ``after``."""
    edits = tuple(edits)
    for table, keys in recreated_rows(edits, before, after).items():
        unbound = tuple(_bindings(before, keys)) if table == "SCHEDULER" else ()
        rows = {table: {key: after[table][key] for key in keys}}
        for (other, key), name in unbound:
            if name in after.get(other, {}).get(key, {}):
                rows.setdefault(other, {})[key] = {name: after[other][key][name]}
        phase = Phase.RESTORE if table == "PFC_WD" else Phase.CONFIGURE
        yield Recreation(table, phase, tuple(keys), unbound, rows)
    for table in sorted(SPANNED):
        own = [edit for edit in edits if edit.table == table]
        if table == PRIORITY_GROUPS:
            own += made_between(edits, before, after)
        yield from _split_ranges(table, own, after.get(table, {}), change)


def _bindings(tables: ConfigDb, schedulers: Collection[Value]) -> Iterator[tuple[RowName, str]]:
    for table in ("QUEUE", "PORT_QOS_MAP"):
        for key, fields in tables.get(table, {}).items():
            if fields.get("scheduler") in schedulers:
                yield (table, key), "scheduler"


def _split_ranges(
    table: str, edits: Collection[Edit], intended: Mapping[str, Fields], change: LosslessChange
) -> Iterator[Recreation]:
    """Yield port by port the rows whose removal clears groups or queues that other rows name, with those rows."""
    cleared = cleared_rows(edits, intended)
    if not cleared:
        return
    late = _with_neighbors({edit.key for edit in edits if change.takes_away(edit)} & cleared.keys(), cleared)
    ports: dict[tuple[Phase, str], dict[str, None]] = {}
    for key in cleared:
        phase = Phase.REMOVE if key in late else Phase.CONFIGURE
        ports.setdefault((phase, port_of(key)), {})[key] = None
    for phase, port in sorted(ports, key=lambda place: (place[0], natural_key(place[1]))):
        gone = ports[phase, port]
        others = dict.fromkeys(other for key in gone for other in cleared[key])
        # orchagent takes a row that it has already for one that does not change, so those that stay go as well.
        deleted = (*gone, *others)
        yield Recreation(table, phase, deleted, (), {table: {key: intended[key] for key in others}})


def _with_neighbors(keys: set[str], split: Mapping[str, list[str]]) -> set[str]:
    """Return rows with those that have a row of the other side in common: they are set again together."""
    common = {key for one in keys for key in split[one]}
    found = {one for one, others in split.items() if not common.isdisjoint(others)}
    return found if found == keys else _with_neighbors(found, split)
