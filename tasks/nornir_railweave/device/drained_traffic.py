"""Waits until drained ports carry nothing but their control packets, by the switch's own counters."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from napalm_sonic.clock import SYSTEM_CLOCK, Clock
from napalm_sonic.observed import Counted
from nornir_railweave.device.observing import UNKNOWN, count_over
from railweave.wording import first_few

QUIET_PACKETS_PER_S = 20.0
"""BGP, BFD-less, LLDP and ARP need a few packets a second on a link; applications send thousands."""

_PACKETS = ("unicast_packets", "multicast_packets", "broadcast_packets")


def wait_until_drained(
    driver: Any,
    ports: Collection[str],
    *,
    packets_per_s: float = QUIET_PACKETS_PER_S,
    timeout_s: float,
    interval_s: float = 2.0,
    clock: Clock = SYSTEM_CLOCK,
    first: tuple[Counted, ...] = (),
) -> str:
    """Return the empty text once every port carries less than ``packets_per_s`` each way, else what still flows.

    Rates are taken over ``interval_s``; SONiC renews its counters once a second. ``first`` are counters of a while that
    somebody has read already. Of a port whose counters the switch does not show nobody knows whether it is quiet.
    """
    ends, looks = clock.monotonic() + timeout_s, timeout_s / interval_s
    counted = first or count_over(driver, interval_s, clock)
    while True:
        rates = packet_rates(counted, ports)
        loud = {port: rate for port, rate in rates.items() if rate >= packets_per_s}
        uncounted = [port for port in ports if port not in rates]
        if not loud and not uncounted:
            return ""
        looks -= 1
        if clock.monotonic() >= ends or looks <= 0:
            return "; ".join(filter(None, (_told(loud, packets_per_s), _unknown(uncounted))))
        counted = count_over(driver, interval_s, clock)


def packet_rates(counted: tuple[Counted, ...], ports: Collection[str]) -> dict[str, float]:
    """Return the packets a second of each port that the switch counts, the busier way, from first to last reading.

    A port without counters, or without those of its unicast packets, is left out.
    """
    if len(counted) < 2:
        return {}
    before, now = (_packets(one.ports, ports) for one in (counted[0], counted[-1]))
    return _rates(before, now, max(counted[-1].at_s - counted[0].at_s, 0.001))


def _packets(counters: Mapping[str, Mapping[str, Any]], ports: Collection[str]) -> dict[str, tuple[int, int]]:
    return {
        port: (_sum(counters[port], "rx"), _sum(counters[port], "tx"))
        for port in ports
        if port in counters and _is_counted(counters[port])
    }


def _is_counted(counters: Mapping[str, Any]) -> bool:
    """Tell whether unicast packets are counted both ways; what NAPALM does not know is -1."""
    return all(int(counters.get(f"{way}_unicast_packets", UNKNOWN)) >= 0 for way in ("rx", "tx"))


def _sum(counters: Mapping[str, Any], way: str) -> int:
    return sum(max(0, int(counters.get(f"{way}_{kind}", UNKNOWN))) for kind in _PACKETS)


def _rates(
    before: Mapping[str, tuple[int, int]], now: Mapping[str, tuple[int, int]], seconds: float
) -> dict[str, float]:
    """Return packets a second of each port, the busier way; a counter that was cleared meanwhile counts from 0."""
    rates = {}
    for port, counts in now.items():
        if port not in before:
            continue  # it is counted from now on
        earlier = before[port]
        ways = (count - was if count >= was else count for count, was in zip(counts, earlier, strict=True))
        rates[port] = max(ways) / seconds
    return rates


def _unknown(uncounted: Sequence[str]) -> str:
    if not uncounted:
        return ""
    return (
        f"whether traffic flows on {first_few(uncounted)} is unknown: the switch shows no counters of these ports, or"
        " renews them too rarely (`counterpoll show`)"
    )


def _told(loud: Mapping[str, float], limit: float) -> str:
    if not loud:
        return ""
    worst = sorted(loud.items(), key=lambda item: -item[1])
    named = ", ".join(f"{port} {rate:.0f}" for port, rate in worst[:3])
    more = f" and {len(worst) - 3} more" if len(worst) > 3 else ""
    return f"packets a second still flow on {named}{more} (quiet: below {limit:g})"
