"""Re-striping: cables between switches that move, in as few steps as keep every leaf on the air.

A cable moves to another spine where their number changes, to another port of its leaf where the reserve lays out the
ports anew, and at both ends where a pair gets more links (``fabric.moves`` tells which cable becomes which).

In one step a leaf has at most 1/M of the uplinks that it still has away, M the spines of a plane before the change, and
a leaf-spine pair at most one link of its bundle; so a step costs no more than one spine that fails.
Ports are given away before they are taken: a cable one of whose new ports is still in use waits for a later step.
Where cables exchange their ports in a ring, the ring goes in one step.

The order is fixed: by leaf port, then by leaf. So all leaves move the same uplinks in the same step, and at its end
a new spine is reached from every leaf.

A cable that keeps both ends is exchanged where it gets another medium, because the other port of its cage no longer
goes to the same switch: two ports of a cage at both ends may be one cable, which cannot lead to two switches.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from railweave.diagnostics import error
from railweave.errors import RefusedError
from railweave.fabric.devices import Switch
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.fabric.moves import End, Ends
from railweave.fabric.moves import moves as cable_moves
from railweave.wording import command_line, first_few

_Port = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Move:
    """An uplink that gets one or two other ends, or another medium between the same ends.

    ``after`` is None if the link is removed.
    """

    before: Link
    after: Link | None

    @property
    def lower_end(self) -> tuple[str, int]:
        """Return the lower switch and its port before, which identify the move."""
        return _lower(self.before)

    @property
    def is_exchange(self) -> bool:
        """Tell whether both ends stay, and another medium joins them."""
        return self.after is not None and _end_ports(self.after) == self.old_ports

    @property
    def new_ports(self) -> tuple[tuple[str, int], ...]:
        """Return the ports that the cable needs and does not have yet."""
        if self.after is None:
            return ()
        return tuple(port for port in _end_ports(self.after) if port not in self.old_ports)

    @property
    def old_ports(self) -> tuple[tuple[str, int], tuple[str, int]]:
        """Return the two ports that the cable has before the move."""
        return _end_ports(self.before)


def with_switches(fabric: Fabric, added: Sequence[Switch]) -> Fabric:
    """Return ``fabric`` with more switches that have no link yet."""
    if not added:
        return fabric
    switches = sorted((*fabric.switches, *added), key=lambda switch: (switch.tier.level, switch.number))
    return replace(fabric, switches=tuple(switches))


def with_tier_above(fabric: Fabric, head: Fabric) -> Fabric:
    """Return ``fabric`` with the tiers of ``head``, which has one more, and still without links to the new tier.

    Pod membership is taken from ``head``.
    """
    switches = (head.switch_of.get(switch.name, switch) for switch in fabric.switches)
    lowest, *above = head.tiers
    # Until the last cable has moved, a spine may still announce all of today's leaves, so keep the larger prefix limit.
    lowest = replace(lowest, group_reserve=max(lowest.group_reserve, fabric.lowest.count))
    return replace(fabric, tiers=(lowest, *above), switches=tuple(switches))


def joined(fabric: Fabric, head: Fabric) -> Fabric:
    """Return ``fabric`` with those links of ``head`` above its spines for which both ports are free.

    Returns ``fabric`` itself if there are none.
    """
    used = {end for link in fabric.links for end in _end_ports(link)}
    top = len(fabric.tiers) - 1
    added = []
    for link in head.fabric_links:
        has_both_ends = link.lower in fabric.switch_of and link.upper in fabric.switch_of
        if link.level == top and has_both_ends and used.isdisjoint(_end_ports(link)):
            added.append(link)
    if not added:
        return fabric
    return replace(fabric, links=(*fabric.links, *added))


def rewired(fabric: Fabric, moves: Iterable[Move]) -> Fabric:
    """Return ``fabric`` with the cables of ``moves`` at their new ends."""
    moved = {move.lower_end: move for move in moves}
    after = (_after(link, moved) for link in fabric.links)
    return replace(fabric, links=tuple(link for link in after if link is not None))


def _after(link: Link, moved: dict[_Port, Move]) -> Link | None:
    move = moved.get(_lower(link))
    if move is None:
        return link
    return move.after


def restriping_steps(base: Fabric, head: Fabric) -> tuple[tuple[Move, ...], ...]:
    """Return the moves of each step, in the order in which a person makes them; none where no cable moves.

    Raises RefusedError where ports and cables would change together, and where a ring of cables is too long for one
    step.
    """
    moves = _moves(base, head)
    if not moves:
        return ()
    _refuse_other_ports(base, head)
    return tuple(_Schedule(base, moves).steps())


def _moves(base: Fabric, head: Fabric) -> tuple[Move, ...]:
    """Return the uplinks that move, and with them those that are exchanged, or removed to free a port.

    They are sorted by leaf port, then by leaf. Empty if no uplink moves.
    """
    links_before = _by_ends(base, head)
    links_after = _by_ends(head, base)
    new_ends = cable_moves(links_before, links_after)
    # Without a cable that moves, new media need no order: an ordinary deployment configures them.
    if not new_ends:
        return ()
    moved = [Move(links_before[before], links_after[after]) for before, after in new_ends.items()]
    exchanged = _exchanged(links_before, links_after)
    needed_ports = {port for move in moved for port in move.new_ports}
    freeing_ports = []
    for ends in links_before.keys() - links_after.keys() - new_ends.keys():
        removal = Move(links_before[ends], None)
        if not needed_ports.isdisjoint(removal.old_ports):
            freeing_ports.append(removal)
    number = {switch.name: switch.number for switch in base.switches}
    all_moves = (*moved, *exchanged, *freeing_ports)
    return tuple(sorted(all_moves, key=lambda move: (move.before.lower_port, number[move.before.lower])))


def _exchanged(links_before: Mapping[Ends, Link], links_after: Mapping[Ends, Link]) -> list[Move]:
    """Return the cables whose ends stay and that get another medium."""
    exchanged = []
    for ends, before in links_before.items():
        after = links_after.get(ends)
        if after is not None and after.media != before.media:
            exchanged.append(Move(before, after))
    return exchanged


def cables_change_switches(base: Fabric, head: Fabric) -> bool:
    """Tell whether a cable of ``base`` goes to another switch above in ``head``, whatever ports it has there."""
    new_ends = cable_moves(_by_ends(base, head), _by_ends(head, base))
    return any(before.upper.device != after.upper.device for before, after in new_ends.items())


def _by_ends(fabric: Fabric, other: Fabric) -> dict[Ends, Link]:
    """Return the links between switches of ``fabric`` by their ends, if ``other`` has the lower switch as well."""
    links = {}
    for link in fabric.fabric_links:
        if link.lower in other.switch_of:
            lower = _place(fabric, link.lower, link.lower_port)
            upper = _place(fabric, link.upper, link.upper_port)
            links[Ends(lower, upper)] = link
    return links


def _place(fabric: Fabric, switch: str, index: int) -> End:
    """Return a port by its place on the panel: another breakout or model numbers ports anew, and moves no cable."""
    return End(switch, fabric.switch_of[switch].panel.place_of(index))


def _lower(link: Link) -> _Port:
    return link.lower, link.lower_port


def _upper(link: Link) -> _Port:
    return link.upper, link.upper_port


def _end_ports(link: Link) -> tuple[_Port, _Port]:
    return _lower(link), _upper(link)


def _refuse_other_ports(base: Fabric, head: Fabric) -> None:
    changed = []
    for switch in base.switches:
        new = head.switch_of.get(switch.name)
        if new is not None and new.panel.ports != switch.panel.ports:
            changed.append(switch.name)
    if changed:
        raise RefusedError(
            [
                error(
                    "RW519",
                    f"cables move while the ports of {first_few(changed, 1)} change: in between, there"
                    " is not a port name that is valid before and after",
                    devices=tuple(changed),
                    fix="change ports (model, speeds, split) and what moves cables (spines, links_per_pair, reserve) in"
                    " two changes",
                )
            ]
        )


class _Schedule:
    """Moves that are left to do, and the spine ports in use meanwhile."""

    def __init__(self, base: Fabric, moves: Iterable[Move]) -> None:
        self._left = {move.lower_end: move for move in moves}
        self._holder = {port: move for move in self._left.values() for port in move.old_ports}
        """The moves by the ports that their cables still use."""
        self._uplinks = Counter({name: len(uplinks) for name, uplinks in base.uplinks_of.items() if uplinks})
        """The number of uplinks that each switch still has."""
        self._upper_counts = {name: len(base.above(name)) for name in self._uplinks}
        """The number of switches above each switch."""

    def steps(self) -> Iterator[tuple[Move, ...]]:
        """Yield the steps until nothing is left."""
        while self._left:
            step = _MoveStep(self._most_away())
            self._fill(step)
            if not step.moves:
                # Every cable waits for the port of another one.
                step.add(*self._ring(step))
            for move in step.moves:
                self._finish(move)
            yield tuple(step.moves)

    def _finish(self, move: Move) -> None:
        del self._left[move.lower_end]
        for port in move.old_ports:
            del self._holder[port]
        if move.after is None:
            self._uplinks[move.before.lower] -= 1

    def _most_away(self) -> dict[str, int]:
        """Return how many uplinks of each leaf may be away in the next step.

        1/M of those that it still has, M its spines: no more than the failure of one spine takes away.
        """
        return {name: max(1, count // self._upper_counts[name]) for name, count in self._uplinks.items()}

    def _fill(self, step: "_MoveStep") -> None:
        """Add all moves that fit; each one added may free a port for another, so try again until none is added."""
        waiting = list(self._left.values())
        while True:
            later = []
            for move in waiting:
                if self._is_free(move, step) and step.fits(move):
                    step.add(move)
                else:
                    later.append(move)
            if len(later) == len(waiting):
                return
            waiting = later

    def _is_free(self, move: Move, step: "_MoveStep") -> bool:
        """Tell whether the ports that ``move`` needs are free by then."""
        return all(holder.lower_end in step.ports for holder in self._holders(move))

    def _holders(self, move: Move) -> list[Move]:
        """Return the moves whose cables have the ports that ``move`` needs."""
        return [self._holder[port] for port in move.new_ports if port in self._holder]

    def _ring(self, step: "_MoveStep") -> tuple[Move, ...]:
        """Return cables that exchange their ports in a ring and fit into an empty step; raises RefusedError."""
        for move in self._left.values():
            ring = self._ring_of(move)
            if step.fits(*ring):
                return ring
        first = next(iter(self._left.values())).before
        raise RefusedError(
            [
                error(
                    "RW519",
                    f"{len(self._left)} cables, the first at {first.lower}, exchange their ports in rings that "
                    "are too long to be moved without taking more than one link of a pair away",
                    devices=(first.lower,),
                    fix="choose another number of spines, or move these cables in a maintenance window with plain "
                    f"`{command_line('deploy')}`",
                )
            ]
        )

    def _ring_of(self, first: Move) -> tuple[Move, ...]:
        """Return ``first`` and every cable that it waits for, in the order in which they can be moved."""
        ring: dict[_Port, Move] = {}
        waiting = [first]
        while waiting:
            move = waiting.pop()
            if move.lower_end not in ring:
                ring[move.lower_end] = move
                waiting += self._holders(move)
        return tuple(reversed(ring.values()))


class _MoveStep:
    """The moves of one step, and what they take from each leaf and pair."""

    def __init__(self, most: Mapping[str, int]) -> None:
        self.moves: list[Move] = []
        self.ports: set[_Port] = set()
        self._most = most
        self._away: Counter[str] = Counter()
        self._pairs: set[tuple[str, str]] = set()

    def fits(self, *moves: Move) -> bool:
        """Tell whether all of ``moves`` may be away as well."""
        pairs = {(move.before.lower, move.before.upper) for move in moves}
        # A pair loses one link at most, so each move must be of a pair of its own.
        if len(pairs) < len(moves) or not pairs.isdisjoint(self._pairs):
            return False
        moves_per_leaf = Counter(move.before.lower for move in moves)
        return all(self._away[leaf] + count <= self._most[leaf] for leaf, count in moves_per_leaf.items())

    def add(self, *moves: Move) -> None:
        """Add ``moves``."""
        for move in moves:
            self.moves.append(move)
            self.ports.add(move.lower_end)
            self._away[move.before.lower] += 1
            self._pairs.add((move.before.lower, move.before.upper))
