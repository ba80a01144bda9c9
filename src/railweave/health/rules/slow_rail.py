"""A rail that carries less than its peers: collectives load all rails alike, so the slowest one sets the pace."""

from collections import defaultdict
from collections.abc import Iterator
from statistics import fmean, median

from railweave.acceptance.counter_names import CounterMeaning
from railweave.diagnostics import Severity
from railweave.health.case import HealthCase
from railweave.health.codes import SLOW_RAIL
from railweave.health.limits import LEAST_RAIL_SHARE, LOADED_SHARE
from railweave.health.model import HealthFinding, HealthRule
from railweave.health.needs import RECEIVED_BYTES
from railweave.wording import command_line


def _judge(case: HealthCase) -> Iterator[HealthFinding]:
    """Yield a finding for each rail that carries less than its peers of the same plane, if these are loaded."""
    for plane, loads in _mean_loads(case).items():
        for rail, load in sorted(loads.items()):
            peer_loads = [peer_load for peer, peer_load in loads.items() if peer != rail]
            usual_load = median(peer_loads or [0.0])
            if usual_load > LOADED_SHARE and load < LEAST_RAIL_SHARE * usual_load:
                yield _finding(case, plane, rail, load / usual_load)


def _mean_loads(case: HealthCase) -> dict[int, dict[int, float]]:
    """Return the mean load of the ports of nodes in each rail, as a share of the line rate, by plane and rail.

    It is what the nodes send. Ports without a counter are left out.
    """
    shares: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for port, switch in case.counted():
        if not port.to_node or port.rail is None:
            continue
        received = switch.port(port.port).growth(CounterMeaning.RECEIVED_BYTES)
        if received is not None:
            shares[port.plane][port.rail].append(received / (port.bytes_per_s * switch.seconds))
    mean_loads = {}
    for plane, rails in shares.items():
        mean_loads[plane] = {rail: fmean(loads) for rail, loads in rails.items()}
    return mean_loads


def _finding(case: HealthCase, plane: int, rail: int, share: float) -> HealthFinding:
    """Return the finding of a rail that carries ``share`` of what its peers carry."""
    devices: dict[str, None] = {}
    for port, _ in case.counted():
        if port.to_node and (port.plane, port.rail) == (plane, rail):
            devices[port.device] = None
    message = f"rail {rail} of plane {plane} carries {share:.0%} of what its peers carry ({', '.join(devices)})"
    fix = (
        "look for other findings at these switches and at the NICs of the rail; an acceptance finds the cable"
        f" (`{command_line('acceptance', 'plan', '--out', 'DIR')}`)"
    )
    return HealthFinding(
        code=SLOW_RAIL, severity=Severity.WARNING, message=message, devices=tuple(devices), ports=(), cables=(), fix=fix
    )


RULE = HealthRule(SLOW_RAIL, "loaded rails carry equal loads", _judge, (RECEIVED_BYTES,))
