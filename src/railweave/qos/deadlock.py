"""Deadlock by PFC: a cycle of buffers of which each waits for the next to be emptied (check D-1).

A switch that receives pause frames keeps the packets for that neighbor, which fill the buffer of the port on which it
came. So the buffer of a channel (from a device to the next one) waits for every channel into which its packets go on.
A ring of such waits may stop for ever (Hu et al., Deadlocks in Datacenter Networks, HotNets 2016).

In a Clos whose routes go up and then down, no ring exists: number the channels by their tier on the way up and, beyond
that, by the reverse on the way down, and every turn leads to a higher number. That holds for all routes that such
routing can choose, also after any failure. Only a turn from a way down to a way up breaks it: a switch in transit.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from railweave.fabric.model import Fabric

Channel = tuple[str, str]
"""A way from one device to a neighbor: the packets that stand in the neighbor's buffer of that port."""

Transits = Mapping[str, frozenset[str]]
"""Switches that send upwards what came from above, each with the upper neighbors that get it."""


def waits_for(fabric: Fabric, channel: Channel, transits: Transits) -> Iterator[Channel]:
    """Yield the channels into which packets of ``channel`` may go on, by the routes of every failure.

    A switch sends what comes from below up or down again, what comes from above down, and up only in transit; nothing
    goes back where it came from.
    """
    origin, here = channel
    above, below = fabric.above(here), fabric.below(here)
    ways = below if origin in above else (*above, *below)
    upwards = transits.get(here, frozenset()) if origin in above else frozenset()
    yield from ((here, there) for there in (*ways, *sorted(upwards)) if there != origin)


def find_deadlock(fabric: Fabric, transits: Transits) -> tuple[str, ...]:
    """Return the devices of a cycle of buffers that may wait for each other, empty where there is none.

    Without a switch in transit every turn leads to a channel of a higher number, so nothing is searched.
    """
    starts = ((here, there) for here in transits for there in sorted(transits[here]))
    ring = find_ring(starts, lambda channel: waits_for(fabric, channel, transits))
    return tuple(here for here, _ in ring)


def find_ring(starts: Iterable[Channel], after: Callable[[Channel], Iterable[Channel]]) -> tuple[Channel, ...]:
    """Return the first ring of channels that can be reached from ``starts``, empty where there is none.

    Every channel is entered once; ``after`` gives those for which one waits.
    """
    done: set[Channel] = set()
    for start in starts:
        if start in done:
            continue
        path: list[Channel] = [start]
        on_path = {start}
        open_ways = [iter(after(start))]
        while path:
            following = next(open_ways[-1], None)
            if following is None:
                done.add(path[-1])
                on_path.discard(path.pop())
                open_ways.pop()
            elif following in on_path:
                return tuple(path[path.index(following) :])
            elif following not in done:
                path.append(following)
                on_path.add(following)
                open_ways.append(iter(after(following)))
    return ()
