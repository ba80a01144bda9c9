"""The values that both ends of a BGP session agreed on as it opened, in force until it opens again.

FRR takes other timers at the next OPEN: the hold time is the smaller one of both ends, a keepalive interval at most a
third of it (RFC 4271 section 4.2; bgpd/bgp_packet.c bgp_open_receive; run on 8.4). Sessions are calculated when
somebody looks, so `remember_timers` is called before lines change that a session keeps.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from weakref import WeakKeyDictionary

from sonic_sim.device import Device, Fabric


class SessionEnd(NamedTuple):
    """A switch, and the name of the neighbor in its configuration."""

    device: str
    peer: str


@dataclass(frozen=True, slots=True)
class Timers:
    """Times in seconds."""

    keepalive_s: int
    hold_s: int

    def agreed_with(self, other: "Timers") -> "Timers":
        """Return the timers in force at the end that offers ``self`` while the far end offers ``other``."""
        # RFC 4271 section 4.2; a keepalive interval of at most a third of it is section 4.4.
        hold_s = min(self.hold_s, other.hold_s)
        return Timers(min(self.keepalive_s, hold_s // 3), hold_s)


@dataclass(frozen=True, slots=True)
class Offer:
    """What an end of a session offers: its timers, and the values whose change opens the session again."""

    end: SessionEnd
    timers: Timers
    resets: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class EstablishedSession:
    """An open session: the values that reset it, the timers in force at each end, and how often it has opened."""

    resets: frozenset[tuple[SessionEnd, tuple[object, ...]]]
    timers: dict[SessionEnd, Timers]
    count: int


@dataclass(slots=True)
class _OpenSessions:
    """The sessions that are open, by either end, and how often each has opened."""

    open: dict[SessionEnd, EstablishedSession] = field(default_factory=dict)
    counts: dict[SessionEnd, int] = field(default_factory=dict)


_memories: WeakKeyDictionary[Fabric, _OpenSessions] = WeakKeyDictionary()


def establish(net: Fabric, here: Offer, there: Offer) -> EstablishedSession:
    """Return the open session of two ends; it is opened first if it is not open, or if ``resets`` of an end changed."""
    memory = _memories.setdefault(net, _OpenSessions())
    resets = frozenset({(here.end, here.resets), (there.end, there.resets)})
    session = memory.open.get(here.end)
    if session is not None and session.resets == resets:
        return session
    timers = {
        here.end: here.timers.agreed_with(there.timers),
        there.end: there.timers.agreed_with(here.timers),
    }
    session = EstablishedSession(resets, timers, memory.counts.get(here.end, 0) + 1)
    for end in timers:
        memory.open[end] = session
        memory.counts[end] = session.count
    return session


def forget(net: Fabric, end: SessionEnd) -> None:
    """Note that a session is not established, so that it takes the configured timers when it opens again."""
    memory = _memories.get(net)
    if memory is None:
        return
    session = memory.open.get(end)
    if session is not None:
        for either_end in session.timers:
            memory.open.pop(either_end, None)


def times_opened(net: Fabric, end: SessionEnd) -> int:
    """Return how often a session has opened."""
    memory = _memories.get(net)
    return memory.counts.get(end, 0) if memory else 0


def longest_hold_s(net: Fabric, device: Device, configured: Mapping[str, int]) -> int:
    """Return the longest hold time in force on a switch, in seconds.

    ``configured`` are the hold times by neighbor, which count for sessions that are not open.
    """
    memory = _memories.setdefault(net, _OpenSessions())
    longest_s = 0
    for peer, hold_s in configured.items():
        end = SessionEnd(device.name, peer)
        session = memory.open.get(end)
        hold_in_force_s = hold_s if session is None else session.timers[end].hold_s
        longest_s = max(longest_s, hold_in_force_s)
    return longest_s
