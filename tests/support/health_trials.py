"""Two readings of the switches of a small fabric, healthy until a test changes what a counter grew by."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.health.case import HealthCase, WatchedPort, watched_ports
from railweave.health.judge import CounterAnswer, compare_switches, health_gaps, judge_health
from railweave.health.model import HealthFinding, HealthGap, HealthRule
from railweave.health.registry import RULES
from railweave.intent.load import load_intent_text
from railweave.plan.outcome import CheckKind, VerifyCheck
from railweave.telemetry.thresholds import Thresholds

INTENTS = Path(__file__).resolve().parents[2] / "intent"
SECONDS = 30
LEAF = "lab-leaf1"
NODE_PORT = "Ethernet0"
UPLINKS = ("Ethernet112", "Ethernet116")

PORT = "SAI_PORT_STAT_"
QUEUE = "SAI_QUEUE_STAT_"
GROUP = "SAI_INGRESS_PRIORITY_GROUP_STAT_"
STORMS = "PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED"
RESTORED = "PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED"
WATERMARK = f"{QUEUE}SHARED_WATERMARK_BYTES"
MARKS = f"{QUEUE}WRED_ECN_MARKED_PACKETS"

# Values of the first reading: every counter that the rules use has counted for a while.
PORT_ROW = {
    f"{PORT}IF_IN_OCTETS": 10**15,
    f"{PORT}IF_OUT_OCTETS": 10**15,
    f"{PORT}IF_IN_UCAST_PKTS": 10**11,
    f"{PORT}IF_OUT_UCAST_PKTS": 10**11,
    f"{PORT}IF_IN_ERRORS": 12,
    f"{PORT}IF_OUT_ERRORS": 0,
    f"{PORT}IF_IN_DISCARDS": 5,
    f"{PORT}IF_OUT_DISCARDS": 7,
    f"{PORT}ETHER_RX_OVERSIZE_PKTS": 3,
    f"{PORT}PAUSE_RX_PKTS": 0,
    f"{PORT}IF_IN_FEC_NOT_CORRECTABLE_FRAMES": 4,
    "flap_count": 3,
    **{f"{PORT}PFC_{number}_{way}_PKTS": 1000 for number in range(8) for way in ("RX", "TX")},
}
QUEUE_ROW = {
    f"{QUEUE}PACKETS": 10**10,
    f"{QUEUE}BYTES": 10**14,
    f"{QUEUE}DROPPED_PACKETS": 9,
    MARKS: 10**6,
    WATERMARK: 100_000,
}
WATCHED_ROW = {STORMS: 2, RESTORED: 2}
GROUP_ROW = {f"{GROUP}DROPPED_PACKETS": 6, f"{GROUP}XOFF_ROOM_WATERMARK_BYTES": 2000}


@cache
def fabric_of(name: str, release: str = "") -> tuple[Fabric, Mapping[str, tuple[WatchedPort, ...]]]:
    text = (INTENTS / f"{name}.yml").read_text(encoding="utf-8")
    if release:
        text += f"sonic: {{release: '{release}'}}\n"
    fabric = design(load_intent_text(text, f"{name}.yml"), load_catalog()).fabric
    assert fabric is not None
    return fabric, watched_ports(Thresholds(fabric, load_catalog()))


class HealthTrial:
    """The readings of a fabric; tests change rows of ``before`` and ``after`` in place."""

    def __init__(self, intent: str = "lab-4", release: str = "") -> None:
        self.fabric, self.ports = fabric_of(intent, release)
        self.before = {name: self._reading(name, 1000.0) for name in self.ports}
        self.after = {name: self._reading(name, 1000.0 + SECONDS) for name in self.ports}
        self.checks: list[VerifyCheck] = []
        self.errors: dict[str, str] = {}

    def _reading(self, device: str, at: float) -> dict[str, Any]:
        reading: dict[str, Any] = {"at": at, "boot": "b", "ports": {}, "queues": {}, "groups": {}}
        for port in self.ports[device]:
            reading["ports"][port.port] = dict(PORT_ROW)
            for number in range(8):
                reading["queues"][f"{port.port}|{number}"] = dict(QUEUE_ROW)
                reading["groups"][f"{port.port}|{number}"] = dict(GROUP_ROW)
            reading["queues"][f"{port.port}|3"] |= WATCHED_ROW
        return reading

    def grow(self, row: str, counter: str, growth: int, *, device: str = LEAF) -> None:
        """Let a counter of ``PORT``, or of ``queues PORT|N`` or ``groups PORT|N``, grow between the readings."""
        table, _, name = row.rpartition(" ")
        self.after[device][table or "ports"][name][counter] += growth

    def set_both(self, row: str, counter: str, value: int, *, device: str = LEAF) -> None:
        table, _, name = row.rpartition(" ")
        for reading in (self.before, self.after):
            reading[device][table or "ports"][name][counter] = value

    def drop_counter(self, counter: str) -> None:
        """Take a counter away from all rows of all switches, as a release or ``counterpoll`` does."""
        for reading in (*self.before.values(), *self.after.values()):
            for table in ("ports", "queues", "groups"):
                for row in reading[table].values():
                    row.pop(counter, None)

    def fail(self, kind: CheckKind, subject: str, expected: str, actual: str, *, device: str = LEAF) -> None:
        self.checks.append(VerifyCheck(device, kind, subject, expected, actual, ok=False))

    def _answers(self, readings: Mapping[str, dict[str, Any]]) -> dict[str, CounterAnswer]:
        return {name: CounterAnswer(reading, self.errors.get(name, "")) for name, reading in readings.items()}

    @property
    def unread(self) -> dict[str, str]:
        return compare_switches(self.ports, self._answers(self.before), self._answers(self.after))[1]

    @property
    def case(self) -> HealthCase:
        switches, _ = compare_switches(self.ports, self._answers(self.before), self._answers(self.after))
        return HealthCase(self.fabric, self.ports, switches, tuple(self.checks))

    def findings(self, rules: tuple[HealthRule, ...] = RULES) -> tuple[HealthFinding, ...]:
        return judge_health(self.case, rules)

    def gaps(self) -> tuple[HealthGap, ...]:
        return health_gaps(self.case)

    def codes(self) -> list[str]:
        return [finding.code for finding in self.findings()]
