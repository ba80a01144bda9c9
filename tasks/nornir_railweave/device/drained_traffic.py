"""Waits until drained ports carry nothing but their control packets, by the switch's own counters."""

from collections.abc import Collection, Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

from napalm_sonic.clock import SYSTEM_CLOCK, Clock
from nornir_railweave.checked_driver import CheckedDriver
from nornir_railweave.device.counting import count_of, count_over
from railweave.switch_driver import PortCounters
from railweave.wording import first_few

# BGP, LLDP and ARP (without BFD) need a few packets a second on a link; applications send thousands.
QUIET_PACKETS_PER_S = 20.0

_SHOWN_PORTS = 3
_PACKETS = ("unicast_packets", "multicast_packets", "broadcast_packets")
# The shortest time between two readings: rates are never divided by 0.
_SHORTEST_S = 0.001


class _PortPackets(NamedTuple):
    """The packet counters of a port."""

    received: int
    sent: int


def wait_until_drained(
    driver: CheckedDriver,
    ports: Collection[str],
    *,
    packets_per_s: float = QUIET_PACKETS_PER_S,
    timeout_s: float,
    interval_s: float = 2.0,
    clock: Clock = SYSTEM_CLOCK,
    first: tuple[PortCounters, ...] = (),
) -> str:
    """Wait until every port carries less than ``packets_per_s`` in each direction; return an empty text then.

    Once ``timeout_s`` is over, return in words what still flows. Rates are measured over ``interval_s``; SONiC renews
    its counters once a second. ``first`` are counters that the caller has read already. A port without counters is not
    quiet.
    """
    deadline = clock.monotonic() + timeout_s
    # Readings are counted too: a driver may return its counters before the interval is over.
    readings_left = timeout_s / interval_s
    counted = first or count_over(driver, interval_s)
    while True:
        remaining = _remaining_traffic(counted, ports, packets_per_s)
        readings_left -= 1
        if not remaining or clock.monotonic() >= deadline or readings_left <= 0:
            return remaining
        counted = count_over(driver, interval_s)


def _remaining_traffic(counted: tuple[PortCounters, ...], ports: Collection[str], packets_per_s: float) -> str:
    """Describe the ports that carry ``packets_per_s`` or more, or are not counted; empty if all are quiet."""
    rates = packet_rates(counted, ports)
    busy = {port: rate for port, rate in rates.items() if rate >= packets_per_s}
    uncounted = [port for port in ports if port not in rates]
    parts: list[str] = []
    if busy:
        parts.append(_still_flowing(busy, packets_per_s))
    if uncounted:
        parts.append(_not_counted(uncounted))
    return "; ".join(parts)


def packet_rates(counted: tuple[PortCounters, ...], ports: Collection[str]) -> dict[str, float]:
    """Return the packets a second of each port in its busier direction, between the first and the last reading.

    A port whose unicast packets are not counted is left out. The result is empty with fewer than two readings.
    """
    if len(counted) < 2:
        return {}
    first = counted[0]
    last = counted[-1]
    seconds = last.at_s - first.at_s
    # A driver may give NaN or infinity as the time of a reading.
    if not isfinite(seconds):
        return {}
    return _rates(_packets(first.ports, ports), _packets(last.ports, ports), max(seconds, _SHORTEST_S))


def _packets(counters: Mapping[str, Mapping[str, Any]], ports: Collection[str]) -> dict[str, _PortPackets]:
    """Return the packets of each port whose unicast packets are counted."""
    return {
        port: _PortPackets(_sum(counters[port], "rx"), _sum(counters[port], "tx"))
        for port in ports
        if port in counters and _is_counted(counters[port])
    }


def _is_counted(counters: Mapping[str, Any]) -> bool:
    """Tell whether unicast packets are counted in both directions; NAPALM gives -1 for a counter that is unknown."""
    return all(count_of(counters, f"{direction}_unicast_packets") >= 0 for direction in ("rx", "tx"))


def _sum(counters: Mapping[str, Any], direction: str) -> int:
    """Return the packets of all kinds in one direction (``rx`` or ``tx``); kinds that are not counted are 0."""
    return sum(max(0, count_of(counters, f"{direction}_{kind}")) for kind in _PACKETS)


def _rates(first: Mapping[str, _PortPackets], last: Mapping[str, _PortPackets], seconds: float) -> dict[str, float]:
    """Return the packets a second of each port that both readings count, in its busier direction."""
    rates: dict[str, float] = {}
    for port, packets in last.items():
        if port in first:
            received = _counted_since(packets.received, first[port].received)
            sent = _counted_since(packets.sent, first[port].sent)
            rates[port] = max(received, sent) / seconds
    return rates


def _counted_since(count: int, before: int) -> int:
    """Return the packets between two readings; a counter that was cleared in between counts from 0."""
    if count < before:
        return count
    return count - before


def _not_counted(ports: Sequence[str]) -> str:
    return (
        f"whether traffic flows on {first_few(ports)} is unknown: the switch shows no counters of these ports, or"
        " renews them too rarely (`counterpoll show`)"
    )


def _still_flowing(rates: Mapping[str, float], limit: float) -> str:
    """Describe the traffic on the busiest ports; ``rates`` and ``limit`` are packets a second."""
    busiest = sorted(rates, key=lambda port: -rates[port])
    named = ", ".join(f"{port} {rates[port]:.0f}" for port in busiest[:_SHOWN_PORTS])
    hidden = len(busiest) - _SHOWN_PORTS
    more = f" and {hidden} more" if hidden > 0 else ""
    return f"packets a second still flow on {named}{more} (quiet: below {limit:g})"
