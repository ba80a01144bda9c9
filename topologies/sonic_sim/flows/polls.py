"""What syncd has polled: COUNTERS_DB shows counters of queues and groups as they were at the last poll of their group.

A poll begins at each multiple of POLL_INTERVAL (sonic-sairedis syncd/FlexCounter.cpp); the default intervals are those
of sonic-swss orchagent/portsorch.cpp. Ports, polled every second, are shown as they are.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from sonic_sim.device import Device, Fabric
from sonic_sim.flows.charging import GROUP, QUEUE
from sonic_sim.flows.ledger import GROUPS, QUEUES, Ledger, Row, RowKey
from sonic_sim.flows.rows import polls


class PolledGroup(NamedTuple):
    """A group of FLEX_COUNTER_TABLE: the rows and counters that it polls."""

    key: str
    table: str
    names: frozenset[str]
    interval_ms: int = 10_000


POLLED = (
    PolledGroup("QUEUE", QUEUES, frozenset(f"{QUEUE}{name}" for name in ("PACKETS", "BYTES", "DROPPED_PACKETS"))),
    PolledGroup(
        "WRED_ECN_QUEUE",
        QUEUES,
        frozenset(f"{QUEUE}WRED_{name}" for name in ("ECN_MARKED_PACKETS", "DROPPED_PACKETS")),
    ),
    PolledGroup("PG_DROP", GROUPS, frozenset({f"{GROUP}DROPPED_PACKETS"})),
)


class _PollIntervals(NamedTuple):
    """The seconds between two polls of each group that a switch polls, by a version of its CONFIG_DB."""

    version: int
    seconds: Mapping[str, float]


class Polls:
    """The last poll of each group on each switch. Times are seconds of tests, as those of the flows."""

    def __init__(self, net: Fabric, ledger: Ledger) -> None:
        self._net = net
        self._ledger = ledger
        # By group and switch: the number of the last poll since time 0, and what it read.
        self._last: dict[tuple[str, str], int] = {}
        self._rows: dict[tuple[str, str], Mapping[RowKey, Row]] = {}
        # By switch.
        self._intervals: dict[str, _PollIntervals] = {}

    def follow(self, before: float, at: float) -> None:
        """Carry out the polls that are due from ``before`` until ``at``, while counters grow as they do now.

        Of several polls of a group only the last one matters.
        """
        # The switches of each poll, by group and time: they are read together.
        due: defaultdict[tuple[PolledGroup, float], list[str]] = defaultdict(list)
        for device in self._net.devices.values():
            intervals = self._intervals_of(device)
            for group in POLLED:
                interval_s = intervals.get(group.key, 0.0)
                if not interval_s:
                    continue
                number = int(at / interval_s)
                if self._last.get((group.key, device.name)) != number:
                    self._last[group.key, device.name] = number
                    polled_at = max(before, number * interval_s)
                    due[group, polled_at].append(device.name)
        for (group, polled_at), devices in due.items():
            polled = self._ledger.rows_in(group.table, group.names, devices, polled_at - before)
            for name in devices:
                self._rows[group.key, name] = polled.get(name, {})

    def _intervals_of(self, device: Device) -> Mapping[str, float]:
        """Return the seconds between two polls of each group that a switch polls."""
        intervals = self._intervals.get(device.name)
        if intervals is None or intervals.version != device.db.version:
            intervals = _PollIntervals(device.db.version, _read_intervals(device))
            self._intervals[device.name] = intervals
        return intervals.seconds

    def forget(self, device: str) -> None:
        """Show nothing of a switch until the next poll: its swss started again."""
        for group in POLLED:
            self._rows.pop((group.key, device), None)

    def shown(self, key: RowKey) -> Row:
        """Return the counters of a row as COUNTERS_DB shows them.

        Counters of a polled group are as they were at its last poll, the others as they are now.
        """
        row = dict(self._ledger.counts(key))
        for group in POLLED:
            if group.table == key.table:
                for name in group.names:
                    row.pop(name, None)
                row |= self._rows.get((group.key, key.device), {}).get(key, {})
        return row


def _read_intervals(device: Device) -> dict[str, float]:
    """Read from CONFIG_DB the seconds between two polls of each group that a switch polls."""
    intervals = {}
    for group in POLLED:
        text = device.db.get(f"FLEX_COUNTER_TABLE|{group.key}").get("POLL_INTERVAL", "")
        if polls(device, group.key):
            intervals[group.key] = int(text or group.interval_ms) / 1000
    return intervals
