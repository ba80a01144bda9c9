"""What a file of a test tool says: values, or why there is none.

A measurement that could not run is not zero, and a counter that a device does not have is not zero either: each answer
keeps its own class, and only a value is compared with a limit.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from railweave.diagnostics import Diagnostic

Scalar = float | int | str | bool | tuple[str, ...] | tuple[int, ...]
"""A value that a reader takes from a file; its unit stands at the end of its name."""


class Answer(StrEnum):
    """The class of what a reader reports instead of a value, or beside it."""

    OK = "ok"
    # There is no result in the file: the test did not run, or this side of it does not measure.
    NOT_MEASURED = "not-measured"
    # A number that cannot be true.
    INVALID = "invalid"
    # The file was cut short, or a part of it is missing.
    INCOMPLETE = "incomplete"
    # A unit, host or direction is not in the file: the plan's record decides.
    AMBIGUOUS = "ambiguous"
    # The program or the device says that it does not have the value; N/A is not 0.
    NOT_SUPPORTED = "not-supported"
    # A counter went past its last value (2^32 or 2^64) between two readings.
    WRAP = "wrap"
    # The test itself reports an error.
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class ToolReading:
    """What one file of a tool says.

    ``values`` has flat names with units: ``avg_Gbps``, ``busbw_GBps_at_8589934592_oop``, ``p999_us``. Gb/s are 1e9
    bit/s of payload, GB/s 1e9 byte/s. A value that the file states as absent is the word ``not-measured`` or
    ``not-supported``.
    """

    # The reader that took the file, such as ``perftest-text``; empty if no reader did.
    format: str
    answer: Answer
    values: Mapping[str, Scalar]
    # Sentences for people: why there is no value, warnings of the tool, doubts about the value.
    remarks: tuple[str, ...] = ()


class ResultMeta(NamedTuple):
    """``NODE.meta.json`` beside a result: when and how it was made. What the file lacks is None or empty."""

    started: float | None
    ended: float | None
    rc: int | None
    tool_version: str
    host: str
    plan_sha256: str


class NodeResult(NamedTuple):
    """The result of one node of one test."""

    test: str
    node: str
    reading: ToolReading
    # None without a meta file: the test counts, with a warning.
    meta: ResultMeta | None


class CounterDelta(NamedTuple):
    """How much a counter grew over a round.

    ``answer`` is OK, WRAP (``grown`` is right) or INVALID (0).
    """

    grown: int
    answer: Answer


Column = tuple[int | None, ...]
"""A counter of every row of a table; None where a row does not have it, which is not 0."""


class TableGrowth(NamedTuple):
    """How much the counters of a table of one device grew over a round."""

    # Names of ports, queues (``Ethernet0|3``), priority groups or NICs.
    rows: tuple[str, ...]
    # By the name of the counter, in the order of the rows; None also where the row restarted, or the counter fell.
    columns: Mapping[str, Column]
    # Rows whose counters restarted between the readings.
    restarted: tuple[str, ...] = ()
    # Rows, each with the counter that fell without a wrap or a restart.
    backwards: tuple[str, ...] = ()
    # Rows that the later reading lacks.
    lost: tuple[str, ...] = ()


class DeviceCounters(NamedTuple):
    """The counters of a device over one round."""

    round: str
    device: str
    # By table: "ports", "queues", "groups" or "nics", as in the files.
    growth: Mapping[str, TableGrowth]
    # Unix seconds of both readings by the clock of the device.
    began: float = 0.0
    ended: float = 0.0
    # Why its files are missing or unreadable; it has no growth then.
    unread: str = ""
    # What is wrong with its counters.
    diagnostics: tuple[Diagnostic, ...] = ()
    # The directory of the round.
    folder: str = ""

    @property
    def seconds(self) -> float:
        """Return the time between both readings."""
        return self.ended - self.began

    def without_growth(self) -> "DeviceCounters":
        """Return when the device was read, and what was wrong."""
        return DeviceCounters(self.round, self.device, {}, *self[3:])
