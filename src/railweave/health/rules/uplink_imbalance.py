"""Uplinks of a switch that carry unequal loads: the hash spreads flows badly, or a path lacks."""

from collections.abc import Iterator
from operator import attrgetter
from typing import NamedTuple

from railweave.acceptance.counter_names import CounterMeaning
from railweave.diagnostics import Severity
from railweave.health.case import HealthCase, WatchedPort
from railweave.health.codes import UPLINK_IMBALANCE
from railweave.health.limits import LEAST_JAIN, LOADED_SHARE
from railweave.health.model import HealthFinding, HealthRule
from railweave.health.needs import SENT_BYTES
from railweave.health.reading import CountedSwitch
from railweave.plan.outcome import CheckKind
from railweave.wording import command_line


class UplinkLoad(NamedTuple):
    """The share of its line rate that an uplink sent."""

    port: WatchedPort
    load: float


def jain_index(loads: list[float]) -> float:
    """Return Jain's index of fairness: 1 if all loads are equal, 1/n if one of n carries everything."""
    squares = sum(load * load for load in loads)
    if not squares:
        return 1.0
    return sum(loads) ** 2 / (len(loads) * squares)


def _judge(case: HealthCase) -> Iterator[HealthFinding]:
    """Yield a finding for each switch whose uplinks are loaded unequally."""
    # A link that is down carries nothing, and is a finding of its own.
    down = {(check.device, check.subject) for check in case.checks if check.kind is CheckKind.LINK and not check.ok}
    for name, switch in case.switches.items():
        uplinks = [port for port in case.ports[name] if port.is_uplink and (name, port.port) not in down]
        uplink_loads = _loads(switch, uplinks)
        loads = [uplink.load for uplink in uplink_loads]
        # A few flows never spread evenly.
        is_loaded = sum(loads) >= LOADED_SHARE * len(loads)
        if len(loads) < 2 or not is_loaded:
            continue
        index = jain_index(loads)
        if index < LEAST_JAIN:
            yield _finding(name, uplink_loads, index)


def _loads(switch: CountedSwitch, uplinks: list[WatchedPort]) -> list[UplinkLoad]:
    """Return the load of each of ``uplinks``; those without a counter are left out."""
    loads = []
    for port in uplinks:
        sent_bytes = switch.port(port.port).growth(CounterMeaning.SENT_BYTES)
        if sent_bytes is not None:
            loads.append(UplinkLoad(port, sent_bytes / (port.bytes_per_s * switch.seconds)))
    return loads


def _finding(name: str, uplink_loads: list[UplinkLoad], index: float) -> HealthFinding:
    """Return the finding of a switch, with its most and its least loaded uplink; ``index`` is that of Jain."""
    by_load = attrgetter("load")
    idlest, least_load = min(uplink_loads, key=by_load)
    busiest, most_load = max(uplink_loads, key=by_load)
    message = (
        f"{name} spreads its load unevenly over {len(uplink_loads)} uplinks: {most_load:.0%} of the rate at"
        f" {busiest.port}, {least_load:.0%} at {idlest.port} (Jain's index {index:.2f}, at least {LEAST_JAIN})"
    )
    fix = (
        f"use more queue pairs per connection, check the hash (`{command_line('check')}`, L-1 to L-3) and"
        " `show ip route`"
    )
    ports = (busiest, idlest)
    return HealthFinding(
        code=UPLINK_IMBALANCE,
        severity=Severity.WARNING,
        message=message,
        devices=(name,),
        ports=tuple(port.name for port in ports),
        cables=tuple(dict.fromkeys(port.cable for port in ports)),
        fix=fix,
    )


RULE = HealthRule(UPLINK_IMBALANCE, "loaded uplinks carry equal loads", _judge, (SENT_BYTES,))
