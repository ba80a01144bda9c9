"""Waits until drained ports carry nothing but their control packets, by the switch's own counters."""

from collections.abc import Collection, Mapping, Sequence
from math import isfinite
from typing import Any

from napalm_sonic.clock import SYSTEM_CLOCK, Clock
from nornir_railweave.checked_driver import CheckedDriver
from nornir_railweave.device.counting import count_of, count_over
from railweave.switch_driver import PortCounters
from railweave.wording import first_few

# BGP, BFD-less, LLDP and ARP need a few packets a second on a link; applications send thousands.
QUIET_PACKETS_PER_S = 20.0

_PACKETS = ("unicast_packets", "multicast_packets", "broadcast_packets")
# The shortest time between two readings: rates are never divided by 0.
_SHORTEST_S = 0.001


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
    """Return the empty text once every port carries less than ``packets_per_s`` each way, else what still flows.

    Rates are taken over ``interval_s``; SONiC renews its counters once a second. ``first`` are counters that somebody
    has read already. A port whose counters the switch does not show is not taken for quiet.
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
    loud = {port: rate for port, rate in rates.items() if rate >= packets_per_s}
    uncounted = [port for port in ports if port not in rates]
    return "; ".join(filter(None, (_still_flowing(loud, packets_per_s), _not_counted(uncounted))))


def packet_rates(counted: tuple[PortCounters, ...], ports: Collection[str]) -> dict[str, float]:
    """Return the packets a second of each port that the switch counts, the busier way, from first to last reading.

    A port without counters, or without those of its unicast packets, is left out.
    """
    if len(counted) < 2:
        return {}
    first = counted[0]
    last = counted[-1]
    seconds = last.at_s - first.at_s
    # A clock that shows no number: over an unknown time every rate is unknown.
    if not isfinite(seconds):
        return {}
    return _rates(_packets(first.ports, ports), _packets(last.ports, ports), max(seconds, _SHORTEST_S))


def _packets(counters: Mapping[str, Mapping[str, Any]], ports: Collection[str]) -> dict[str, tuple[int, int]]:
    """Return the packets that each port received and sent."""
    return {
        port: (_sum(counters[port], "rx"), _sum(counters[port], "tx"))
        for port in ports
        if port in counters and _is_counted(counters[port])
    }


def _is_counted(counters: Mapping[str, Any]) -> bool:
    """Tell whether unicast packets are counted both ways; what NAPALM does not know is -1."""
    return all(count_of(counters, f"{way}_unicast_packets") >= 0 for way in ("rx", "tx"))


def _sum(counters: Mapping[str, Any], way: str) -> int:
    return sum(max(0, count_of(counters, f"{way}_{kind}")) for kind in _PACKETS)


def _rates(
    before: Mapping[str, tuple[int, int]], now: Mapping[str, tuple[int, int]], seconds: float
) -> dict[str, float]:
    """Return packets a second of each port, the busier way."""
    rates: dict[str, float] = {}
    for port, counts in now.items():
        # A port that was not counted before has a rate from the next reading on.
        if port in before:
            received, sent = (_counted_since(count, was) for count, was in zip(counts, before[port], strict=True))
            rates[port] = max(received, sent) / seconds
    return rates


def _counted_since(count: int, before: int) -> int:
    """Return the packets between two readings; a counter that was cleared in between counts from 0."""
    if count < before:
        return count
    return count - before


def _not_counted(ports: Sequence[str]) -> str:
    if not ports:
        return ""
    return (
        f"whether traffic flows on {first_few(ports)} is unknown: the switch shows no counters of these ports, or"
        " renews them too rarely (`counterpoll show`)"
    )


def _still_flowing(loud: Mapping[str, float], limit: float) -> str:
    if not loud:
        return ""
    busiest = sorted(loud.items(), key=lambda item: -item[1])
    named = ", ".join(f"{port} {rate:.0f}" for port, rate in busiest[:3])
    more = f" and {len(busiest) - 3} more" if len(busiest) > 3 else ""
    return f"packets a second still flow on {named}{more} (quiet: below {limit:g})"
