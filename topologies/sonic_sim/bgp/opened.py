"""The values that both ends of a BGP session agreed on as it opened, in force until it opens again.

FRR takes other timers at the next OPEN: the hold time is the smaller one of both ends, a keepalive interval at most a
third of it (RFC 4271 section 4.2; bgpd/bgp_packet.c bgp_open_receive; run on 8.4). Sessions are calculated when
somebody looks, so `remember_timers` is called before lines change that a session keeps.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from sonic_sim.device import Device, Fabric

End = tuple[str, str]
"""A switch and how it names the neighbor."""


@dataclass(frozen=True, slots=True)
class Timers:
    """Times in seconds."""

    keepalive_s: int
    hold_s: int

    def agreed_with(self, other: "Timers") -> "Timers":
        """Return the timers in force at the end that offers these if the other end offers ``other``."""
        # RFC 4271 section 4.2; a keepalive interval of at most a third of it is section 4.4.
        hold_s = min(self.hold_s, other.hold_s)
        return Timers(min(self.keepalive_s, hold_s // 3), hold_s)


@dataclass(frozen=True, slots=True)
class Offer:
    """The timers of an end, and ``resets``: values whose change opens the session again."""

    end: End
    timers: Timers
    resets: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Opened:
    """An open session: the values that reset it, the timers in force at each end, and how often it has opened."""

    resets: frozenset[tuple[End, tuple[object, ...]]]
    timers: dict[End, Timers]
    count: int


@dataclass(slots=True)
class _OpenSessions:
    """The sessions that are open, by either end, and how often each has opened."""

    open: dict[End, Opened] = field(default_factory=dict)
    counts: dict[End, int] = field(default_factory=dict)


_memories: WeakKeyDictionary[Fabric, _OpenSessions] = WeakKeyDictionary()


def opened(net: Fabric, here: Offer, there: Offer) -> Opened:
    """Return an established session with the values agreed on as it opened."""
    memory = _memories.setdefault(net, _OpenSessions())
    resets = frozenset({(here.end, here.resets), (there.end, there.resets)})
    session = memory.open.get(here.end)
    if session is not None and session.resets == resets:
        return session
    timers = {
        here.end: here.timers.agreed_with(there.timers),
        there.end: there.timers.agreed_with(here.timers),
    }
    session = Opened(resets, timers, memory.counts.get(here.end, 0) + 1)
    for end in timers:
        memory.open[end] = session
        memory.counts[end] = session.count
    return session


def forget(net: Fabric, end: End) -> None:
    """Note that a session is not established: it takes the configured values as it opens again."""
    memory = _memories.get(net)
    session = memory.open.pop(end, None) if memory else None
    if memory is not None and session is not None:
        for other in session.timers:
            memory.open.pop(other, None)


def times_opened(net: Fabric, end: End) -> int:
    """Return how often a session has opened."""
    memory = _memories.get(net)
    return memory.counts.get(end, 0) if memory else 0


def longest_hold_s(net: Fabric, device: Device, configured: Mapping[str, int]) -> int:
    """Return the longest hold time of a switch that is in force, in seconds; ``configured`` are those by neighbor."""
    memory = _memories.setdefault(net, _OpenSessions())
    longest = 0
    for peer, own in configured.items():
        session = memory.open.get((device.name, peer))
        longest = max(longest, own if session is None else session.timers[device.name, peer].hold_s)
    return longest
