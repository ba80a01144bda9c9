"""Incast rounds: several senders to one port of each leaf, from other leaves where there are any.

They are the only rounds in which a port is used more than once: as the receiver of its senders.
"""

from collections.abc import Callable, Iterator, Sequence

from railweave.acceptance.endpoints import Endpoint, Lane, Pair, ports_by_switch

_LEAST_SENDERS = 2


def incasts(
    lanes: Sequence[Lane], number: int, senders_of: Callable[[Endpoint], int]
) -> Iterator[tuple[Endpoint, list[Pair]]]:
    """Yield the receiver and the pairs of each incast of a round: one for each switch that attaches nodes.

    ``number`` chooses the receiving port of each switch, and ``senders_of`` tells how many senders it takes. A port
    sends to one receiver at most, and no receiver sends. A port that finds fewer than two senders has no incast.
    """
    receivers = [ports[number % len(ports)] for ports in ports_by_switch(lanes).values()]
    used_ports = {lane.ports[index].nic_port for lane, index in receivers}
    for lane, index in receivers:
        receiver = lane.ports[index]
        most_senders = senders_of(receiver)
        senders: list[Endpoint] = []
        # Start a stripe further, so that the ports of the receiver's own stripe come last.
        for sender in _candidates(lanes, lane, index + len(lane.stripes[0])):
            if len(senders) == most_senders:
                break
            if sender.nic_port not in used_ports and sender.nic_port.node != receiver.nic_port.node:
                senders.append(sender)
                used_ports.add(sender.nic_port)
        if len(senders) >= _LEAST_SENDERS:
            yield receiver, [(sender, receiver) for sender in senders]


def _candidates(lanes: Sequence[Lane], lane: Lane, start: int) -> Iterator[Endpoint]:
    """Yield the ports of ``lane`` from ``start`` on, then those of other lanes of its network and tool."""
    yield from _in_circle(lane, start)
    for peer_lane in lanes:
        if peer_lane is lane:
            continue
        if peer_lane.network == lane.network and peer_lane.key.tool is lane.key.tool:
            yield from _in_circle(peer_lane, start)


def _in_circle(lane: Lane, start: int) -> Iterator[Endpoint]:
    """Yield all ports of a lane, from ``start`` on and then from the first one."""
    count = len(lane.ports)
    for step in range(count):
        yield lane.ports[(start + step) % count]
