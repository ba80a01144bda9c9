"""Uplinks of a switch that carry unequal loads: the hash spreads flows badly, or a path lacks."""

from collections.abc import Iterator

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


def jain_index(loads: list[float]) -> float:
    """Return Jain's index of fairness: 1 if all loads are equal, 1/n if one of n carries everything."""
    squares = sum(load * load for load in loads)
    if not squares:
        return 1.0
    return sum(loads) ** 2 / (len(loads) * squares)


def _judge(case: HealthCase) -> Iterator[HealthFinding]:
    # A link that is down carries nothing, and is a finding of its own.
    down = {(check.device, check.subject) for check in case.checks if check.kind is CheckKind.LINK and not check.ok}
    for name, switch in case.switches.items():
        uplinks = [port for port in case.ports[name] if port.is_uplink and (name, port.port) not in down]
        loaded = _loads(switch, uplinks)
        loads = [load for load, _ in loaded]
        if len(loads) < 2 or sum(loads) < LOADED_SHARE * len(loads):
            continue
        index = jain_index(loads)
        if index < LEAST_JAIN:
            yield _finding(name, loaded, index)


def _loads(switch: CountedSwitch, uplinks: list[WatchedPort]) -> list[tuple[float, WatchedPort]]:
    """Return what uplinks sent as shares of their line rates; uplinks without a counter are left out."""
    loads = []
    for port in uplinks:
        sent_bytes = switch.port(port.port).growth(CounterMeaning.SENT_BYTES)
        if sent_bytes is not None:
            loads.append((sent_bytes / (port.bytes_per_s * switch.seconds), port))
    return loads


def _load(loaded: tuple[float, WatchedPort]) -> float:
    return loaded[0]


def _finding(name: str, loaded: list[tuple[float, WatchedPort]], index: float) -> HealthFinding:
    least_load, least = min(loaded, key=_load)
    most_load, most = max(loaded, key=_load)
    message = (
        f"{name} spreads its load unevenly over {len(loaded)} uplinks: {most_load:.0%} of the rate at {most.port},"
        f" {least_load:.0%} at {least.port} (Jain's index {index:.2f}, at least {LEAST_JAIN})"
    )
    fix = (
        f"use more queue pairs per connection, check the hash (`{command_line('check')}`, L-1 to L-3) and"
        " `show ip route`"
    )
    ports = (most, least)
    return HealthFinding(
        UPLINK_IMBALANCE,
        Severity.WARNING,
        message,
        (name,),
        tuple(port.name for port in ports),
        tuple(dict.fromkeys(port.cable for port in ports)),
        fix,
    )


RULE = HealthRule(UPLINK_IMBALANCE, "loaded uplinks carry equal loads", _judge, (SENT_BYTES,))
