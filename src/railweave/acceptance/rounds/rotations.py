"""Rounds in which every NIC port sends once and receives once: rotations of lanes.

Within a stripe the ports stand on a circle and each sends to the one t places further (the circle method): t = 1 to
n - 1 are all ordered pairs. Between stripes a rotation by whole stripes matches each stripe with another one. Where
switches serve one rail, ports also send to another rail: in a fabric of one stripe nothing else reaches a spine.
"""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from railweave.acceptance.endpoints import Endpoint, Lane, Pair


class RotationKind(StrEnum):
    """Between which ports a rotation pairs."""

    # Of one stripe and rail.
    WITHIN = "within"
    # Of one rail, in different stripes as far as there are any.
    ACROSS = "across"
    # Of different rails, in different stripes as far as there are any.
    RAILS = "rails"
    # Of one rail, whatever their speeds: only where nothing else reaches a link.
    MIXED = "mixed"
    # Of one rail, every port with the one that is ``step`` further.
    EVERY = "every"


class Rotation(NamedTuple):
    """A rotation of all lanes at once; each lane takes ``step`` modulo the rotations that it has."""

    kind: RotationKind
    step: int


def pairs_of(lanes: Sequence[Lane], rotation: Rotation) -> list[Pair]:
    """Return the pairs of a round: every port sends at most once and receives at most once."""
    pairs: list[Pair] = []
    if rotation.kind is RotationKind.RAILS:
        for rails in _rails(lanes):
            pairs += _between_rails(rails, rotation.step)
        return pairs
    if rotation.kind is RotationKind.MIXED:
        lanes = tuple(_joined_speeds(lanes))
    for lane in lanes:
        if rotation.kind is RotationKind.WITHIN:
            for ports in lane.stripes:
                pairs += _rotated(ports, _circle_shift(ports, rotation.step))
        elif rotation.kind is RotationKind.EVERY:
            pairs += _rotated(lane.ports, _circle_shift(lane.ports, rotation.step))
        else:
            pairs += _rotated(lane.ports, _stripe_shift(lane, rotation.step))
    return pairs


def steps(kind: RotationKind, count: int, seed: int) -> list[int]:
    """Return the numbers below ``count`` in the order in which rotations are taken: the middle one, then by the seed.

    A rotation by half of the stripes crosses most tiers: every pair is of two pods where there are any. Within a stripe
    it comes last: it pairs ports that send to each other, so the results of a pair do not show which port is slow.
    """
    if count < 1:
        return []
    middle = (count - 1) // 2
    shuffled = [step for step in range(count) if step != middle]
    random.Random(seed).shuffle(shuffled)  # noqa: S311  equal seeds give equal plans
    if kind is RotationKind.WITHIN:
        return [*shuffled, middle]
    return [middle, *shuffled]


def within_steps(lanes: Iterable[Lane]) -> int:
    """Return the number of rotations of the largest stripe."""
    sizes = (len(ports) for lane in lanes for ports in lane.stripes)
    return max(sizes, default=1) - 1


def across_steps(lanes: Iterable[Lane]) -> int:
    """Return the number of rotations that match each stripe with every other one."""
    return max((len(lane.stripes) for lane in lanes), default=1) - 1


def rail_steps(lanes: Sequence[Lane]) -> int:
    """Return the number of rotations between rails; 0 if they are not joined, or have no switches of their own."""
    most_rails = max((len(rails) for rails in _rails(lanes)), default=1)
    return (most_rails - 1) * max(1, across_steps(lanes))


def _circle_shift(ports: Sequence[Endpoint], step: int) -> int:
    """Return the shift of a rotation on a circle of ``ports``, from 1 up to one less than their number."""
    return 1 + step % max(1, len(ports) - 1)


def _rotated(ports: Sequence[Endpoint], shift: int) -> Iterator[Pair]:
    """Yield each port with the one that is ``shift`` further on a circle; a single port has no pair."""
    if len(ports) < 2:
        return
    for index, sender in enumerate(ports):
        yield sender, ports[(index + shift) % len(ports)]


def _stripe_shift(lane: Lane, step: int) -> int:
    """Return by how many ports a rotation shifts a lane, so that each port is paired with one of another stripe.

    If one stripe has more than half of the ports, no shift does that for all of them: then it is half of their number.
    """
    count = len(lane.ports)
    longest = max(map(len, lane.stripes))
    if count < 2 * longest:
        return max(1, count // 2)
    # A shift from the longest stripe up to all other ports moves every port out of its stripe, whatever the sizes are.
    largest_shift = count - longest
    turns = max(1, len(lane.stripes) - 1)
    return min(largest_shift, longest * (1 + step % turns))


def _rails(lanes: Sequence[Lane]) -> Iterator[tuple[Lane, ...]]:
    """Yield groups of lanes that differ only in their rail.

    Each rail of a group has switches of its own, and the rails are of one network, so switches above join them.
    """
    lanes_of_rails: dict[tuple[object, ...], list[Lane]] = {}
    for lane in lanes:
        if lane.has_rail:
            key_of_all_rails = lane.key._replace(rail=0)
            lanes_of_rails.setdefault((lane.network, key_of_all_rails), []).append(lane)
    for rails in lanes_of_rails.values():
        if len(rails) > 1:
            yield tuple(rails)


def _between_rails(rails: Sequence[Lane], step: int) -> Iterator[Pair]:
    """Yield each port as a sender to a port of another rail and another node.

    Surplus ports of the longer of two rails stay idle.
    """
    # Consecutive steps change the rail first, so that the middle of all steps is a rotation by half of the stripes.
    turns = len(rails) - 1
    turn = 1 + step % turns
    for rail_index, lane in enumerate(rails):
        peers = rails[(rail_index + turn) % len(rails)].ports
        count = min(len(lane.ports), len(peers))
        shift = _stripe_shift(lane, step // turns)
        for port_index in range(count):
            sender = lane.ports[port_index]
            receiver = peers[(port_index + shift) % count]
            if sender.nic_port.node != receiver.nic_port.node:
                yield sender, receiver


def _joined_speeds(lanes: Iterable[Lane]) -> Iterator[Lane]:
    """Yield each lane joined with the lanes that differ only in their speed.

    Ports are sorted by stripe, whatever their speeds, so that a rotation pairs ports of different speeds.
    """
    lanes_of_speeds: dict[tuple[object, ...], list[Lane]] = {}
    for lane in lanes:
        key_of_all_speeds = lane.key._replace(speed_gbps=0)
        lanes_of_speeds.setdefault((lane.network, key_of_all_speeds), []).append(lane)
    for speed_lanes in lanes_of_speeds.values():
        ports = [port for lane in speed_lanes for port in lane.ports]
        ports.sort(key=lambda port: (port.stripe, port.nic_port))
        yield speed_lanes[0].with_ports(ports)


def isolated(pairs: Iterable[Pair], most_inside: int = 1) -> list[list[Pair]]:
    """Return the pairs in groups, in each of which a switch has at most one sender and one receiver.

    Pairs within one switch share no link, whatever its hash is, so a switch may have up to ``most_inside`` in a group.
    """
    groups: list[list[Pair]] = []
    # The first group in which a switch has no sender or receiver yet.
    next_sender: Counter[str] = Counter()
    next_receiver: Counter[str] = Counter()
    pairs_inside: Counter[str] = Counter()
    for sender, receiver in pairs:
        if sender.switch == receiver.switch and most_inside > 1:
            number = pairs_inside[sender.switch] // most_inside
            pairs_inside[sender.switch] += 1
        else:
            number = max(next_sender[sender.switch], next_receiver[receiver.switch])
            next_sender[sender.switch] = number + 1
            next_receiver[receiver.switch] = number + 1
        if number == len(groups):
            groups.append([])
        groups[number].append((sender, receiver))
    return groups


def spread(count: int, most: int) -> list[int]:
    """Return up to ``most`` of the numbers below ``count``, evenly spaced."""
    if count <= most:
        return list(range(count))
    return [number * count // most for number in range(most)]
