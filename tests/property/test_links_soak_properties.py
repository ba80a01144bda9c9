"""`links soak` over any course of a repaired link: it may return exactly if nothing of that would have hidden a fault.

The course of each port is an account of its own: what arrived, what was lost, when the link went down, and what the
switch failed to report. A cable passes exactly if its account is clean.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from examples import many, more
from health_trials import LEAF, fabric_of
from hypothesis import event, example, given
from hypothesis import strategies as st

from railweave.cabling.cable_names import cable_names
from railweave.catalog.load import load_catalog
from railweave.fabric.link_limits import LimitsOf
from railweave.fabric.link_policy import LinkPolicy
from railweave.fabric.model import Fabric
from railweave.links.grades import Grade
from railweave.links.soak import Soak, SoakReading

FABRIC, _ = fabric_of("lab-4")
NAMES = cable_names(FABRIC, load_catalog())
CABLE = "lab-leaf1 Ethernet112"
SPINE = "lab-spine1"
ENDS = ((LEAF, "Ethernet112"), (SPINE, "Ethernet0"))
OF_NODE = "gpu1 rail0"
FEC = "SAI_PORT_STAT_IF_IN_FEC_"
BINS = [f"{FEC}CODEWORD_ERRORS_S{count}" for count in range(16)]
LOST = f"{FEC}NOT_CORRECTABLE_FRAMES"
OCTETS = "SAI_PORT_STAT_IF_IN_OCTETS"
SECONDS = 30.0
TOP = 2**64
COUNTED = (BINS[0], BINS[1], LOST)
GARBAGE = ("N/A", TOP - 1, -1, 1.5)


def fabric_with(policy: LinkPolicy) -> Fabric:
    return replace(FABRIC, policies=FABRIC.policies._replace(links=policy))


@dataclass
class Port:
    """A port with its counters, and what a switch does to them."""

    row: dict[str, int]
    transitions: int = 3
    down_at: float | None = None
    oper: str = "up"
    # Names that the next reading lacks.
    missing: dict[str, Any] = field(default_factory=dict)

    def receive(self, codewords: int, wrong: int, lost: int) -> None:
        """Count codewords in counters of 64 bits: clean ones, those with a wrong symbol, and those that are lost."""
        for name, grown in ((BINS[0], codewords), (BINS[1], wrong), (LOST, lost), (OCTETS, 400)):
            self.row[name] = (self.row[name] + grown) % TOP

    def clear(self) -> None:
        self.row = dict.fromkeys(self.row, 0)


# A switch counts for more than one reading when a soak begins, or is about to wrap.
STARTS = st.one_of(st.integers(10**12, 10**15), st.integers(TOP - 10**10, TOP - 2))
EVENTS = (
    "lost", "rate", "varied", "flap", "down", "cleared", "boot", "unread", "missing", "garbled", "no-state", "clock",
    "no-row", "frozen",
)  # fmt: skip


@st.composite
def courses(draw: st.DrawFn) -> tuple[int, dict[int, tuple[str, int, Any]]]:
    """Return how many readings follow the first, and what happens before each: the event, its end, and a number."""
    readings = draw(st.integers(1, 6))
    turns = st.dictionaries(
        st.integers(1, readings),
        st.tuples(st.sampled_from(EVENTS), st.integers(0, 1), st.integers(1, 1000)),
        max_size=2,
    )
    return readings, draw(turns)


class Course:
    """Both ends of the cable over a soak."""

    def __init__(self, fabric: Fabric, starts: list[int]) -> None:
        link = next(link for link, name in zip(fabric.links, NAMES, strict=True) if name == CABLE)
        self.limits = LimitsOf(fabric).of(link)
        assert self.limits.fec.name == "RS(528,514)"
        self.codewords = int(self.limits.codewords_per_s * SECONDS)
        self.ports = []
        for start in starts:
            row = dict.fromkeys(BINS, 0) | {BINS[0]: start, BINS[1]: start, LOST: start, OCTETS: start}
            self.ports.append(Port(row))
        self.at = 10**9 * 1.0
        self.boot = ["b", "b"]
        self.unread: set[int] = set()
        self.frozen: set[int] = set()
        self.no_state: set[int] = set()
        self.no_row: set[int] = set()

    def pass_time(self, happening: tuple[str, int, int] | None) -> None:
        """Let the time between two readings pass, with an event at one end."""
        self.at += SECONDS
        self.unread, self.no_state, self.no_row = set(), set(), set()
        for port in self.ports:
            port.missing = {}
        name, at, number = happening or ("", 0, 0)
        for place, port in enumerate(self.ports):
            if place in self.frozen or (name == "frozen" and place == at):
                continue
            wrong = 0
            if place == at and name in ("rate", "varied"):
                wrong = self._wrong_symbols(name)
            port.receive(self.codewords - wrong, wrong, number if name == "lost" and place == at else 0)
        self._happens(name, at, number)

    def _wrong_symbols(self, name: str) -> int:
        rate = 1.1 * self.limits.repair
        if name == "varied":
            # All other readings are without an error.
            rate = min(2e-9, self.limits.watch / 2)
        return int(rate * 10 * 528 * self.codewords)

    def _happens(self, name: str, at: int, number: int) -> None:
        port = self.ports[at]
        match name:
            case "flap":
                port.transitions += 2 * number
                port.down_at = self.at - 1
            case "down":
                port.oper = "down"
            case "cleared":
                port.clear()
                # Time goes on after it, but not for as long as a reading lasts.
                port.receive(self.codewords * (number % 1000) // 1000, 0, 0)
            case "boot":
                self.boot[at] += "'"
            case "missing":
                port.missing = {COUNTED[number % 3]: None}
            case "garbled":
                port.missing = {COUNTED[number % 3]: GARBAGE[number % 4]}
            case "clock":
                self.at -= 2 * SECONDS
            case "unread" | "no-state" | "no-row" | "frozen":
                getattr(self, name.replace("-", "_")).add(at)

    def reading(self) -> SoakReading:
        counters: dict[str, Mapping[str, Any]] = {}
        states: dict[str, Mapping[str, Any]] = {}
        for place, ((device, name), port) in enumerate(zip(ENDS, self.ports, strict=True)):
            if place in self.unread:
                continue
            row: dict[str, Any] = dict(port.row)
            for counter, value in port.missing.items():
                row[counter] = value
                if value is None:
                    del row[counter]
            ports = {name: row} if place not in self.no_row else {}
            counters[device] = {"at": self.at, "boot": self.boot[place], "ports": ports}
            state = {"flap_count": str(port.transitions), "oper_status": port.oper}
            states[device] = {name: state} if place not in self.no_state else {}
        return SoakReading(counters, states)


@many
@given(
    course=courses(),
    starts=st.tuples(STARTS, STARTS),
    job_loss=st.sampled_from((1e-4, 1e-2, 0.5)),
    drain_ber=st.sampled_from((None, 1e-6, 5e-5, 1e-4)),
)
# One end gets better while the other one gets worse.
@example(course=(2, {1: ("varied", 0, 1), 2: ("varied", 1, 1)}), starts=(10**12, 10**12), job_loss=1e-4, drain_ber=None)
@example(course=(2, {1: ("varied", 0, 1), 2: ("varied", 0, 1)}), starts=(10**12, 10**12), job_loss=1e-4, drain_ber=None)
def test_a_cable_returns_exactly_if_nothing_happened_to_it(
    course: tuple[int, dict[int, tuple[str, int, int]]],
    starts: tuple[int, int],
    job_loss: float,
    drain_ber: float | None,
) -> None:
    readings, happenings = course
    # A rate that every reading has at one end varies from nothing.
    places = {(name, at) for name, at, _ in happenings.values()}
    if len(happenings) == readings and places in ({("varied", 0)}, {("varied", 1)}):
        happenings = {}
    fabric = fabric_with(LinkPolicy(job_loss=job_loss, drain_ber=drain_ber))
    link = Course(fabric, list(starts))
    soak = Soak(fabric, NAMES, [CABLE])
    soak.add(link.reading())
    for turn in range(1, readings + 1):
        link.pass_time(happenings.get(turn))
        soak.add(link.reading())
    assert soak.readings == readings
    (cable,) = soak.worst()
    passed = cable.grade <= Grade.B and CABLE not in soak.unmeasured
    for name, _, _ in happenings.values():
        event(name)
    assert passed == (not happenings), (cable.reasons, soak.unmeasured)


@more
@given(readings=st.integers(1, 4), lacking=st.integers(0, 4), start=STARTS)
def test_a_switch_that_cannot_be_read_passes_no_cable(readings: int, lacking: int, start: int) -> None:
    link = Course(FABRIC, [start, start])
    soak = Soak(FABRIC, NAMES, [CABLE, OF_NODE])
    for turn in range(readings + 1):
        if turn:
            link.pass_time(None)
        link.unread = {1} if turn == lacking % (readings + 1) else set()
        soak.add(link.reading())
    assert CABLE in soak.unmeasured
    # The leaf has no counters of the port of the node.
    assert OF_NODE in soak.unmeasured
    assert set(soak.switches) == {LEAF, SPINE}


def test_the_flap_of_the_repair_does_not_count_and_one_during_the_soak_does() -> None:
    for down_at, grade in ((10**9 - 60, Grade.A), (10**9 + 10, Grade.C)):
        link = Course(FABRIC, [10**12, 10**12])
        soak = Soak(FABRIC, NAMES, [CABLE])
        for turn in range(3):
            if turn:
                link.pass_time(None)
            reading = link.reading()
            for ports in reading.ports.values():
                for state in ports.values():
                    # As orchagent writes it, UTC.
                    state["last_down_time"] = utc(down_at)
            soak.add(reading)
        assert [cable.grade for cable in soak.worst()] == [grade]


def utc(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%a %b %d %H:%M:%S %Y")
