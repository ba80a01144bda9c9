"""Incast rounds: several senders to one port of each leaf, from other leaves where there are any.

They are the only rounds in which a port is used more than once: as the receiver of its senders.
"""

from collections.abc import Callable, Iterator, Sequence

from railweave.acceptance.endpoints import Endpoint, Lane, Pair, ports_by_switch

_LEAST_SENDERS = 2


def incasts(
    lanes: Sequence[Lane], number: int, senders_of: Callable[[Endpoint], int]
) -> Iterator[tuple[Endpoint, list[Pair]]]:
    """Yield the receiver and the pairs of each incast of a round; ``number`` chooses the port of each switch.

    A port sends to one receiver, and no receiver sends. A switch whose port finds fewer than two senders has no incast.
    """
    receivers = [ports[number % len(ports)] for ports in ports_by_switch(lanes).values()]
    # Ports of the same stripe are passed over at first.
    ahead_of = {lane.key: len(lane.stripes[0]) for lane in lanes}
    used = {lane.ports[place].nic_port for lane, place in receivers}
    for lane, place in receivers:
        receiver = lane.ports[place]
        most = senders_of(receiver)
        senders: list[Endpoint] = []
        for sender in _candidates(lanes, lane, place + ahead_of[lane.key]):
            if len(senders) == most:
                break
            if sender.nic_port not in used and sender.nic_port.node != receiver.nic_port.node:
                senders.append(sender)
                used.add(sender.nic_port)
        if len(senders) >= _LEAST_SENDERS:
            yield receiver, [(sender, receiver) for sender in senders]


def _candidates(lanes: Sequence[Lane], lane: Lane, start: int) -> Iterator[Endpoint]:
    """Yield the ports that may send to one of ``lane``: of it from ``start`` on, then of other lanes of its network."""
    yield from _in_circle(lane, start)
    for other in lanes:
        if other is not lane and other.network == lane.network and other.key.tool is lane.key.tool:
            yield from _in_circle(other, start)


def _in_circle(lane: Lane, start: int) -> Iterator[Endpoint]:
    count = len(lane.ports)
    for step in range(count):
        yield lane.ports[(start + step) % count]
