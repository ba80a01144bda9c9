"""Deadlock by PFC: a cycle of buffers of which each waits for the next to be emptied (check D-1).

A switch that receives pause frames keeps the packets for that neighbor, which fill the buffers of the ports on which
they arrived. So the buffer of a channel (from a device to the next one) waits for every channel that its packets take
next. A ring of such waits may stop forever (Hu et al., Deadlocks in Datacenter Networks, HotNets 2016).

In a Clos whose routes go up and then down, no ring exists: number the channels by their tier on the way up and, beyond
that, by the reverse on the way down, and every turn leads to a higher number. That holds for all routes that such
routing can choose, also after any failure. Only a turn from a way down to a way up breaks it: a switch in transit.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from railweave.fabric.model import Fabric

Channel = tuple[str, str]
"""The link from a device to a neighbor, which stores its packets in the buffer of the port."""

Transits = Mapping[str, frozenset[str]]
"""Switches that send packets from above up again, with the upper neighbors that get them."""


def waits_for(fabric: Fabric, channel: Channel, transits: Transits) -> Iterator[Channel]:
    """Yield the channels that packets of ``channel`` may take next, after any failure.

    A switch sends packets from below up or down, and packets from above down; in transit also up. It never sends them
    back to the neighbor that they came from.
    """
    origin, switch = channel
    above = fabric.above(switch)
    below = fabric.below(switch)
    if origin in above:
        neighbors = (*below, *sorted(transits.get(switch, ())))
    else:
        neighbors = (*above, *below)
    for neighbor in neighbors:
        if neighbor != origin:
            yield switch, neighbor


def find_deadlock(fabric: Fabric, transits: Transits) -> tuple[str, ...]:
    """Return the devices of a cycle of buffers that may wait for each other, in order; empty if there is no cycle."""
    # Every cycle has a turn from down to up, so the search starts with the channels after such turns.
    starts = ((switch, neighbor) for switch, neighbors in transits.items() for neighbor in sorted(neighbors))
    ring = find_ring(starts, lambda channel: waits_for(fabric, channel, transits))
    return tuple(device for device, _ in ring)


def find_ring(starts: Iterable[Channel], after: Callable[[Channel], Iterable[Channel]]) -> tuple[Channel, ...]:
    """Return the first ring of channels that can be reached from ``starts``; empty if there is no ring.

    ``after`` returns the channels that a channel waits for. The search goes depth-first and visits each channel once.
    """
    without_ring: set[Channel] = set()
    for start in starts:
        if start in without_ring:
            continue
        path: list[Channel] = [start]
        on_path = {start}
        # An explicit stack: a path can be longer than Python's recursion limit.
        unvisited = [iter(after(start))]
        while path:
            following = next(unvisited[-1], None)
            if following is None:
                # Nothing that this channel waits for is left to visit.
                channel = path.pop()
                without_ring.add(channel)
                on_path.discard(channel)
                unvisited.pop()
            elif following in on_path:
                return tuple(path[path.index(following) :])
            elif following not in without_ring:
                path.append(following)
                on_path.add(following)
                unvisited.append(iter(after(following)))
    return ()
