"""Two readings of a switch as growth of its counters: what was cleared, wrapped or not counted is no growth.

A counter that a switch does not have is None, never 0, so that no rule takes a missing counter for a healthy one.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import isfinite
from typing import Any

from railweave.acceptance.counter_names import CounterMeaning, counter_name
from railweave.acceptance.deltas import counter_delta, integers_of, row_has_restarted
from railweave.acceptance.readings import Answer
from railweave.wording import first_few

CounterKind = CounterMeaning | str
"""A meaning, or the name of a counter that no meaning covers."""

FLAPS = "flap_count"
"""Changes of a link's state (APPL_DB ``PORT_TABLE``): a flap is two of them, down and up."""


def with_flaps(counters: Mapping[str, Any], link_state: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a reading of counters with the flaps of its ports, which SONiC keeps in APPL_DB.

    Both are as `SwitchDriver.all_counters` and `SwitchDriver.link_state` return them. A port that never changed its
    state has no such counter.
    """
    states = link_state.get("ports", {})
    ports = counters.get("ports", {})
    if not isinstance(states, Mapping) or not isinstance(ports, Mapping):
        return counters
    ports_with_flaps = dict(ports)
    for name, row in ports.items():
        state = states.get(name)
        if not isinstance(state, Mapping) or not isinstance(row, Mapping):
            continue
        flaps = str(state.get(FLAPS, ""))
        if flaps.isascii() and flaps.isdecimal():
            ports_with_flaps[name] = {**row, FLAPS: int(flaps)}
    return {**counters, "ports": ports_with_flaps}


_TABLES = ("ports", "queues", "groups")
_MOST_NAMED = 3


class CountedRow:
    """The counters of a port, queue or priority group in both readings."""

    __slots__ = ("after", "before", "restarted")

    def __init__(self, before: Mapping[str, int], after: Mapping[str, int], *, restarted: bool = False) -> None:
        self.before = before
        self.after = after
        # Somebody cleared them between the readings: no growth is known.
        self.restarted = restarted

    def has(self, kind: CounterKind) -> bool:
        """Tell whether the later reading has a counter of this kind, of any priority."""
        if isinstance(kind, CounterMeaning):
            return any(meaning is kind for meaning, _ in _names_of(tuple(self.after)))
        return kind in self.after

    def grown(self, name: str) -> int | None:
        """Return how much the counter ``name`` grew; None if that is not known."""
        if self.restarted or name not in self.before or name not in self.after:
            return None
        delta = counter_delta(name, self.before[name], self.after[name])
        if delta.answer is Answer.INVALID:
            return None
        return delta.grown

    def growth(self, meaning: CounterMeaning, priority: int | None = None) -> int | None:
        """Return the sum of the growth of all counters of a meaning, or None if no growth is known.

        With ``priority`` they are the counters of a PFC priority, without it those that have none.
        """
        growths = [self.grown(name) for name in _names_of(tuple(self.after)).get((meaning, priority), ())]
        known_growths = [growth for growth in growths if growth is not None]
        if not known_growths:
            return None
        return sum(known_growths)

    def value(self, meaning: CounterMeaning) -> int | None:
        """Return the largest counter of a meaning in the later reading; None if there is none."""
        names = _names_of(tuple(self.after)).get((meaning, None), ())
        return max((self.after[name] for name in names), default=None)

    def value_before(self, meaning: CounterMeaning) -> int | None:
        """Return the largest counter of a meaning in the earlier reading; None if there is none."""
        names = _names_of(tuple(self.before)).get((meaning, None), ())
        return max((self.before[name] for name in names), default=None)


NO_ROW = CountedRow({}, {})


@cache
def _names_of(names: tuple[str, ...]) -> Mapping[tuple[CounterMeaning, int | None], tuple[str, ...]]:
    """Return the names of counters by meaning and PFC priority (None without one).

    It is cached, because most rows of a switch have the same names.
    """
    by_meaning: dict[tuple[CounterMeaning, int | None], tuple[str, ...]] = {}
    for name in names:
        entry = counter_name(name)
        if entry is not None:
            key = (entry.meaning, entry.priority)
            by_meaning[key] = (*by_meaning.get(key, ()), name)
    return by_meaning


@dataclass(frozen=True, slots=True)
class CountedSwitch:
    """What a switch counted between two readings, ``seconds`` apart by its own clock."""

    device: str
    seconds: float
    ports: Mapping[str, CountedRow]
    # By port and number.
    queues: Mapping[tuple[str, int], CountedRow]
    groups: Mapping[tuple[str, int], CountedRow]
    # Sentences on rows that cannot be judged.
    remarks: tuple[str, ...] = ()

    def port(self, port: str) -> CountedRow:
        """Return the counters of a port, empty if it was not counted."""
        return self.ports.get(port, NO_ROW)

    def queue(self, port: str, number: int) -> CountedRow:
        """Return the counters of an egress queue, empty if it was not counted."""
        return self.queues.get((port, number), NO_ROW)

    def group(self, port: str, number: int) -> CountedRow:
        """Return the counters of a priority group, empty if it was not counted."""
        return self.groups.get((port, number), NO_ROW)

    def rows(self, table: str) -> Iterator[CountedRow]:
        """Yield the rows of ``ports``, ``queues`` or ``groups``."""
        tables: dict[str, Mapping[Any, CountedRow]] = {
            "ports": self.ports,
            "queues": self.queues,
            "groups": self.groups,
        }
        yield from tables[table].values()


def compare_readings(
    device: str, ports: Collection[str], before: Mapping[str, Any], after: Mapping[str, Any]
) -> CountedSwitch | str:
    """Return the growth of a switch's counters on its cabled ``ports``, or a sentence on why it is not known.

    The readings are as `SwitchDriver.all_counters` returns them.
    """
    for reading in (before, after):
        reason = _unusable_reason(reading, ports)
        if reason:
            return reason
    if before.get("boot") != after.get("boot"):
        return "its counters restarted between the readings: a reboot, `config reload` or restart of swss"
    seconds = float(after["at"]) - float(before["at"])
    if seconds <= 0:
        return f"its clock went back by {-seconds:g} s between the readings"
    names = frozenset(ports)
    tables = {table: _counted_rows(before.get(table), after.get(table), names) for table in _TABLES}
    return CountedSwitch(
        device=device,
        seconds=seconds,
        ports=tables["ports"],
        queues=_numbered(tables["queues"]),
        groups=_numbered(tables["groups"]),
        remarks=tuple(_remarks(tables, ports)),
    )


def _unusable_reason(reading: Mapping[str, Any], ports: Collection[str]) -> str:
    """Return why a reading cannot be used; empty if it can."""
    at = reading.get("at")
    is_time = isinstance(at, int | float) and not isinstance(at, bool) and isfinite(at)
    if not is_time or not isinstance(reading.get("ports"), Mapping):
        return "its answer has no counters: expected `at` and `ports`"
    if ports and not any(port in reading["ports"] for port in ports):
        return "it has none of the ports of the design: the address may belong to another switch"
    return ""


def _counted_rows(before: Any, after: Any, ports: frozenset[str]) -> dict[str, CountedRow]:
    """Return the rows of a table that belong to ``ports`` and are in both readings."""
    rows: dict[str, CountedRow] = {}
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return rows
    for name, row in after.items():
        # Queues and groups are ``Ethernet0|3``.
        port, _, _ = name.partition("|")
        if port not in ports:
            continue
        row_before = integers_of(before.get(name))
        row_after = integers_of(row)
        if row_before is None or row_after is None:
            continue
        # Comparing the rows first is faster: most of them did not change.
        restarted = row_before != row_after and row_has_restarted(row_before, row_after)
        rows[name] = CountedRow(row_before, row_after, restarted=restarted)
    return rows


def _numbered(rows: Mapping[str, CountedRow]) -> dict[tuple[str, int], CountedRow]:
    """Return the rows of queues or groups by port and number."""
    numbered = {}
    for name, row in rows.items():
        port, _, number = name.partition("|")
        if number.isdecimal():
            numbered[port, int(number)] = row
    return numbered


def _remarks(tables: Mapping[str, Mapping[str, CountedRow]], ports: Collection[str]) -> Iterator[str]:
    """Yield a sentence each on ports without counters, on rows that were cleared, and on counters that fell alone."""
    uncounted_ports = [port for port in ports if port not in tables["ports"]]
    if uncounted_ports:
        yield f"does not count {first_few(uncounted_ports, _MOST_NAMED)}"
    cleared_rows = []
    fallen_counters = []
    for rows in tables.values():
        for name, row in rows.items():
            if row.restarted:
                cleared_rows.append(name)
            elif row.before != row.after:
                fallen_counters += [f"{name} {counter}" for counter in _fallen(row)]
    if cleared_rows:
        yield f"counters were cleared between the readings: {first_few(cleared_rows, _MOST_NAMED)}"
    if fallen_counters:
        yield f"counters went backwards: {first_few(fallen_counters, _MOST_NAMED)}"


def _fallen(row: CountedRow) -> Iterator[str]:
    """Yield the counters of a row that fell without a wrap."""
    for name, value in row.before.items():
        later = row.after.get(name)
        if later is not None and later < value and row.grown(name) is None:
            yield name
