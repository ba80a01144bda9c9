"""Waits until drained ports carry nothing but their control packets, by the switch's own counters."""

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from napalm_sonic.clock import SYSTEM_CLOCK, Clock

QUIET_PACKETS_PER_S = 20.0
"""BGP, BFD-less, LLDP and ARP need a few packets a second on a link; applications send thousands."""

_PACKETS = ("unicast_packets", "multicast_packets", "broadcast_packets")


class CountsPackets(Protocol):
    """What is needed of a driver: NAPALM's counters."""

    def get_interfaces_counters(self) -> dict[str, dict[str, int]]:
        """Return the counters of the front-panel ports."""


def wait_until_quiet(
    driver: CountsPackets,
    ports: Collection[str],
    *,
    packets_per_s: float = QUIET_PACKETS_PER_S,
    timeout_s: float,
    interval_s: float = 2.0,
    clock: Clock = SYSTEM_CLOCK,
) -> str:
    """Return the empty text once every port carries less than ``packets_per_s`` each way, else what still flows.

    Rates are taken over ``interval_s``; SONiC renews its counters once a second. A port that the switch does not count
    is taken for quiet.
    """
    ends = clock.monotonic() + timeout_s
    before, read_at = _packets(driver, ports), clock.monotonic()
    while True:
        clock.sleep(interval_s)
        now, at = _packets(driver, ports), clock.monotonic()
        rates = _rates(before, now, max(at - read_at, 0.001))
        loud = {port: rate for port, rate in rates.items() if rate >= packets_per_s}
        if not loud:
            return ""
        if clock.monotonic() >= ends:
            return _told(loud, packets_per_s)
        before, read_at = now, at


def packet_rates(
    driver: CountsPackets, ports: Collection[str], *, interval_s: float, clock: Clock = SYSTEM_CLOCK
) -> dict[str, float]:
    """Return the packets a second of each port that the switch counts, the busier way, over ``interval_s``."""
    before, read_at = _packets(driver, ports), clock.monotonic()
    clock.sleep(interval_s)
    now = _packets(driver, ports)
    return _rates(before, now, max(clock.monotonic() - read_at, 0.001))


def _packets(driver: CountsPackets, ports: Collection[str]) -> dict[str, tuple[int, int]]:
    counters: Mapping[str, Mapping[str, Any]] = driver.get_interfaces_counters()
    return {port: (_sum(counters[port], "rx"), _sum(counters[port], "tx")) for port in ports if port in counters}


def _sum(counters: Mapping[str, Any], way: str) -> int:
    return sum(max(0, int(counters[f"{way}_{kind}"])) for kind in _PACKETS)


def _rates(
    before: Mapping[str, tuple[int, int]], now: Mapping[str, tuple[int, int]], seconds: float
) -> dict[str, float]:
    """Return packets a second of each port, the busier way; a counter that was cleared meanwhile counts from 0."""
    rates = {}
    for port, counts in now.items():
        earlier = before.get(port, (0, 0))
        ways = (count - was if count >= was else count for count, was in zip(counts, earlier, strict=True))
        rates[port] = max(ways) / seconds
    return rates


def _told(loud: Mapping[str, float], limit: float) -> str:
    worst = sorted(loud.items(), key=lambda item: -item[1])
    named = ", ".join(f"{port} {rate:.0f}" for port, rate in worst[:3])
    more = f" and {len(worst) - 3} more" if len(worst) > 3 else ""
    return f"packets a second still flow on {named}{more} (quiet: below {limit:g})"
