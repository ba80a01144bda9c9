"""When the rounds of a block start and end. Nodes follow these times by their own clocks, without a controller."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from railweave.acceptance.model import AcceptanceRound

CLOCK_LIMIT_S = 30.0
"""How far a node's clock may differ: less than the minute that the judge allows between devices."""

BLOCK_S = 1200.0
"""The least length of a block. A node whose controller is gone ends with its block at the latest."""

# Blocks of a level at most: starting one and fetching its results costs each node one task of Ansible.
_BLOCKS = 2


class Pace(NamedTuple):
    """How much time the parts of a round take, in real seconds."""

    # Real seconds in which a second of a test passes; less than 1 on a simulator that hurries.
    factor: float = 1.0
    # Reading the counters of all devices between two rounds.
    read_s: float = 2.0
    # By which servers start before clients, with the largest difference of clocks.
    start_s: float = 1.0
    # By how much a tool may last longer than planned, its start included, with the largest difference of clocks.
    end_s: float = 2.0
    # For each test of the round, before clients start and again before it ends: programs start one after another.
    program_s: float = 0.0
    # From the end of a round until all switches have polled what it counted.
    poll_s: float = 0.0


class RoundTimes(NamedTuple):
    """The moments of a round in Unix seconds."""

    round: str
    # All devices read their counters, which also are those after the round before.
    read: float
    # Servers start.
    serve: float
    # Clients and collectives start.
    send: float
    # Whatever still runs is ended.
    end: float


class TimedRound(NamedTuple):
    """A round of a block with its moments."""

    planned: AcceptanceRound
    times: RoundTimes


def split_rounds(rounds: Sequence[AcceptanceRound], pace: Pace) -> list[tuple[AcceptanceRound, ...]]:
    """Return the rounds in blocks of about the same length: at most two, unless a round is longer than a block."""
    total_s = sum(_length_s(planned, pace) for planned in rounds)
    block_s = max(BLOCK_S, total_s / _BLOCKS)
    blocks: list[list[AcceptanceRound]] = []
    free_s = 0.0
    for planned in rounds:
        length_s = _length_s(planned, pace)
        # A block may be longer by half of a round, so that no third block is needed for the last one.
        if not blocks or free_s < length_s / 2:
            blocks.append([])
            free_s = block_s
        blocks[-1].append(planned)
        free_s -= length_s
    return [tuple(block) for block in blocks]


def round_times(rounds: Iterable[AcceptanceRound], start: float, pace: Pace) -> Iterator[RoundTimes]:
    """Yield the times of rounds that follow each other from ``start`` on."""
    for planned in rounds:
        serve = start + pace.read_s
        starting_s = len(planned.tests) * pace.program_s
        send = serve + pace.start_s + starting_s
        end = send + planned.seconds * pace.factor + pace.end_s + starting_s
        yield RoundTimes(planned.id, start, serve, send, end)
        start = end + pace.poll_s


def _length_s(planned: AcceptanceRound, pace: Pace) -> float:
    """Return the seconds of a round, from the reading before it until the next one can start."""
    starting_s = 2 * len(planned.tests) * pace.program_s
    return pace.read_s + pace.start_s + planned.seconds * pace.factor + pace.end_s + starting_s + pace.poll_s


def pace_of(factor: float, reading_s: float, offsets: Iterable[float]) -> Pace:
    """Return the pace for devices that took ``reading_s`` at most to read their counters.

    ``offsets`` are the measured differences of the nodes' clocks.
    """
    differences = list(offsets) or [0.0]
    # The node whose clock is ahead of all others starts clients and ends servers before them.
    spread_s = max(differences) - min(differences)
    return Pace(
        factor=factor,
        read_s=round(0.5 + 2 * reading_s, 2),
        start_s=round(1.0 + spread_s, 2),
        end_s=round(2.0 + spread_s, 2),
    )


# What it takes two cores to start both simulated tools of a test, and the one that reads the counters of a NIC.
_PROGRAM_S = 0.02
_COUNTERS_S = 0.01


def simulated_pace(factor: float, switch_s: float, nics: int, slowness: float) -> Pace:
    """Return the pace for nodes that one machine simulates, on which programs run ``slowness`` times slower than alone.

    ``switch_s`` is what the switches took to read their counters. All nodes have the machine's clock.
    """
    read_s = slowness * (0.4 + _COUNTERS_S * nics) + 1.5 * switch_s
    return Pace(
        factor=factor,
        read_s=round(read_s, 2),
        start_s=0.5 * slowness,
        end_s=1.0 * slowness,
        program_s=_PROGRAM_S * slowness,
    )
