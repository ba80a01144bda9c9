"""How many rounds of each kind a level has, and how long they take."""

from collections.abc import Sequence
from itertools import zip_longest
from math import ceil
from typing import NamedTuple

from railweave.acceptance.endpoints import Lane
from railweave.acceptance.model import Level
from railweave.acceptance.rounds.rotations import (
    Rotation,
    RotationKind,
    across_steps,
    rail_steps,
    steps,
    within_steps,
)
from railweave.fabric.acceptance import AcceptancePolicy
from railweave.fabric.counter_groups import ALL_KEPT, GROUP_OF, CounterPolicy

# Tests that a plan writes down, about a kilobyte each: where that is fewer than the rounds have, it has fewer rounds.
_MOST_TESTS = {Level.SMOKE: 70_000, Level.QUICK: 80_000, Level.SOAK: 80_000, Level.FULL: 250_000}

EVERY_PAIR_NODES = 512
"""Nodes of a lane up to which level full has a round for each of its pairs; beyond, stripes are matched."""

# Start-up of the programs and counters read before and after, with sessions to this many nodes and switches a second.
_START_S = 6
_NODES_PER_SECOND = 400

_HOUR_S = 3600

COUNTED = tuple(GROUP_OF[key] for key in ("port", "queue", "pg_drop", "wred_queue"))
"""The groups of counters that the rules judge."""


class LevelSizes(NamedTuple):
    """The rounds of a level."""

    # At most; the tests of isolated rounds are at most an eighth of `tests`, those of loaded rounds three quarters.
    isolated: int
    loaded: int
    tests: int
    incast: int
    latency: int
    # Operations of each entry of nodes.
    collectives: int
    soak: int


def sizes_of(level: Level, policy: AcceptancePolicy) -> LevelSizes:
    """Return the rounds of a level.

    Smoke has fixed numbers. Quick and soak follow the intent. Full has all that its budget of tests allows.
    """
    tests = _MOST_TESTS[level]
    if level is Level.SMOKE:
        # Of each kind: a round within the leaves gives every NIC a path of its own in both directions, and three rounds
        # between them show two uplinks that carry nothing.
        return LevelSizes(isolated=2, loaded=4, tests=tests, incast=1, latency=1, collectives=1, soak=0)
    if level is Level.FULL:
        rounds = 4 * policy.isolated_rounds
        return LevelSizes(isolated=rounds, loaded=10_000, tests=tests, incast=4, latency=4, collectives=3, soak=0)
    soak = policy.soak_hours if level is Level.SOAK else 0
    return LevelSizes(
        isolated=policy.isolated_rounds,
        loaded=policy.loaded_rounds,
        tests=tests,
        incast=2,
        latency=2,
        collectives=3,
        soak=soak,
    )


def round_overhead_s(nodes: int, switches: int, poll_s: int) -> int:
    """Return the seconds that a round takes beside its tests: start-up, and fetching of results and counters.

    ``poll_s`` is how long switches may take until they have polled what a round counted.
    """
    return _START_S + (nodes + switches) // _NODES_PER_SECOND + poll_s


def planned_poll_s(counters: CounterPolicy | None, release: str) -> int:
    """Return the longest interval in which switches poll the counters that rules judge, in whole seconds.

    ``counters`` is the policy of the intent, or None for the defaults of SONiC; ``release`` is that of the switches.
    """
    policy = counters or ALL_KEPT
    intervals_ms = [group.interval_ms(policy.of(group)) for group in COUNTED if policy.polls(group, release)]
    return ceil(max(intervals_ms, default=0) / 1000)


def soak_seconds(hours: int) -> int:
    """Return the seconds of all soak rounds together, which last ``hours``."""
    return hours * _HOUR_S


# What mpirun and NCCL take to start, and a second more for so many nodes.
_COLLECTIVE_S = 30
_COLLECTIVE_NODES_PER_SECOND = 64


def collective_seconds(nodes: int) -> int:
    """Return the seconds that a collective among ``nodes`` nodes takes, mostly for the start of NCCL."""
    return _COLLECTIVE_S + nodes // _COLLECTIVE_NODES_PER_SECOND


def rotation_counts(lanes: Sequence[Lane]) -> dict[RotationKind, int]:
    """Return how many rotations of each kind lanes have, the kinds in the order of use."""
    return {
        RotationKind.ACROSS: across_steps(lanes),
        RotationKind.RAILS: rail_steps(lanes),
        RotationKind.WITHIN: within_steps(lanes),
    }


def rotations(lanes: Sequence[Lane], level: Level, seed: int) -> list[Rotation]:
    """Return the rotations of loaded rounds in the order in which a level takes them; the kinds take turns.

    Level full has a rotation for each pair of a lane if no lane has more than `EVERY_PAIR_NODES` ports.
    """
    longest_lane = max(len(lane.ports) for lane in lanes)
    counts = rotation_counts(lanes)
    if level is Level.FULL and longest_lane <= EVERY_PAIR_NODES:
        counts = {RotationKind.EVERY: longest_lane - 1, RotationKind.RAILS: counts[RotationKind.RAILS]}
    rotations_of_kinds = []
    for kind, count in counts.items():
        rotations_of_kinds.append([Rotation(kind, step) for step in steps(kind, count, seed)])
    ordered = []
    for turn in zip_longest(*rotations_of_kinds):
        ordered += [rotation for rotation in turn if rotation is not None]
    if level is not Level.SMOKE:
        return ordered
    # Smoke has few rounds: after the first turn, those that load uplinks come before those within a leaf.
    kinds = len(rotations_of_kinds)
    return ordered[:kinds] + sorted(ordered[kinds:], key=lambda rotation: rotation.kind is RotationKind.WITHIN)
