"""Counters of all ports, queues, groups and NICs, which grow while flows send."""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from sonic_sim.flows.nics import FlowNic
from sonic_sim.flows.vendors import vendor_counters
from sonic_sim.network import End

PORTS = "ports"
QUEUES = "queues"
GROUPS = "groups"
NICS = "nics"


class RowKey(NamedTuple):
    """A row of counters: of a port or NIC, or of its queue or group with a number."""

    table: str
    device: str
    port: str
    number: int = -1


Row = dict[str, float]
_NOTHING: Mapping[RowKey, Row] = {}


class Ledger:
    """Counts of every row, and how fast they grow now."""

    def __init__(self) -> None:
        # By device.
        self._rows: dict[str, dict[RowKey, Row]] = {}
        # How much each counter of a row grows a second.
        self._growing: dict[tuple[RowKey, str], float] = {}
        # The same as rows, counters and rates, made once for all seconds that pass: plain tuples, as they are many.
        self._rates: list[tuple[Row, str, float]] = []
        # The rows of NICs that were published.
        self._shown: set[RowKey] = set()
        # When the counters of each switch began: its swss started.
        self._began: dict[str, float] = {}

    def row(self, key: RowKey) -> Row:
        """Return the counts of a row."""
        return self._rows.setdefault(key.device, {}).setdefault(key, {})

    def begin(self, device: str, at: float) -> bool:
        """Note that the counters of a switch began at ``at``; set them to 0 and return True if it started again."""
        last_began = self._began.get(device, at)
        self._began[device] = at
        if last_began == at:
            return False
        for row in self._rows.get(device, {}).values():
            row.clear()
        return True

    def add(self, key: RowKey, name: str, amount: float) -> None:
        """Let a counter grow once."""
        if amount:
            row = self.row(key)
            row[name] = row.get(name, 0.0) + amount

    def raise_to(self, key: RowKey, name: str, value: float) -> None:
        """Raise a watermark."""
        row = self.row(key)
        row[name] = max(row.get(name, 0.0), value)

    def forget_rates(self) -> None:
        """Let nothing grow; `grow` says what does from now on."""
        self._growing.clear()
        self._rates.clear()

    def grow(self, key: RowKey, name: str, per_s: float) -> None:
        """Let a counter grow faster than before, by ``per_s`` a second."""
        if per_s:
            self._growing[key, name] = self._growing.get((key, name), 0.0) + per_s

    def pass_seconds(self, seconds: float) -> None:
        """Let all counters grow for so many seconds."""
        if self._growing and not self._rates:
            self._rates = [(self.row(key), name, rate) for (key, name), rate in self._growing.items()]
        for row, name, rate in self._rates:
            row[name] = row.get(name, 0.0) + rate * seconds

    def rows_in(
        self, table: str, names: Collection[str], devices: Collection[str], seconds: float
    ) -> dict[str, dict[RowKey, Row]]:
        """Return the counters ``names`` of the rows of a table, by device and row, as they will be in ``seconds``."""
        rows_of: dict[str, dict[RowKey, Row]] = {device: {} for device in devices}
        for device, rows in rows_of.items():
            for key, row in self._rows.get(device, {}).items():
                if key.table == table:
                    rows[key] = {name: row[name] for name in names if name in row}
        for (key, name), per_s in self._growing.items():
            if key.table == table and name in names and key.device in rows_of:
                row = rows_of[key.device].setdefault(key, {})
                row[name] = row.get(name, 0.0) + per_s * seconds
        return rows_of

    def counts(self, key: RowKey) -> Mapping[str, float]:
        """Return the counts of a row; empty if it has never counted anything."""
        return self._rows.get(key.device, _NOTHING).get(key, {})

    def publish(self, node: str, nics: Iterable[FlowNic]) -> None:
        """Write the counts of NICs into the counters that their node shows."""
        for nic in nics:
            key = nic_row(End(node, nic.name))
            row = self.row(key)
            if key in self._shown and not nic.counters:
                # The node has lost power, and its counters begin again.
                row.clear()
            self._shown.add(key)
            nic.counters.update(vendor_counters(nic.vendor, nic.pfc, row))


def nic_row(end: End) -> RowKey:
    """Return the row of a NIC."""
    return RowKey(NICS, end.node, end.port)
