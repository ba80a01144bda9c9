"""What others drained since the plan was made: read again right before a wave takes more out of service.

Where the routes of a few switches show that all others carry traffic, only these few are asked, so that the cost of a
rollout does not grow with switches times waves. Where one of them lacks a path, or does not answer, every switch is.
"""

from collections.abc import Collection, Mapping, Sequence

from nornir.core import Nornir
from nornir.core.task import Result, Task

from nornir_railweave.device.session import DEVICE_ERRORS, session
from nornir_railweave.target.connect import run_on
from nornir_railweave.tasks import draining
from railweave.fabric.model import Fabric
from railweave.plan.away import NOTHING_AWAY, Away, away_of
from railweave.plan.manual_drain import WHOLE, DrainResult
from railweave.plan.witness import Witness
from railweave.switch_driver import Capability


def read_away(nr: Nornir, fabric: Fabric, names: Collection[str], witnesses: Collection[Witness], hold: str) -> Away:
    """Return which of the switches ``names`` others have drained, or are about to drain.

    ``hold`` is our own hold, which does not count. If all ``witnesses`` use all of their paths, no switch is drained,
    and none is asked. A switch that does not answer counts as out of service.
    """
    if witnesses and _all_carry(nr, witnesses):
        return NOTHING_AWAY
    asked = [name for name in names if name in nr.inventory.hosts]
    return _away(fabric, list(draining.read(nr, asked, hold).values()))


def _all_carry(nr: Nornir, witnesses: Collection[Witness]) -> bool:
    """Tell whether each witness sends over all of its ports; False if one cannot be asked or does not answer."""
    prefixes = {witness.device: witness.prefix for witness in witnesses}
    if not prefixes.keys() <= nr.inventory.hosts.keys():
        return False
    used = run_on(nr, prefixes, ports_towards, prefixes=prefixes)
    return all(witness.ports <= used[witness.device] for witness in witnesses)


def ports_towards(task: Task, *, prefixes: Mapping[str, str]) -> Result:
    """Return the ports over which a device sends to its prefix in ``prefixes``.

    The set is empty if the device does not answer, or its driver cannot tell.
    """
    ports: frozenset[str] = frozenset()
    with session(task) as opened:
        try:
            driver = opened.driver
            if driver.can(Capability.ROUTES):
                ports = driver.ports_towards(prefixes[task.host.name])
        except DEVICE_ERRORS:
            opened.close()
    return Result(host=task.host, result=ports)


def _away(fabric: Fabric, results: Sequence[DrainResult]) -> Away:
    """Return which switches and links carry no traffic, according to ``results``."""
    drained_peers: dict[str, tuple[str, ...]] = {}
    ends_in_s: list[float] = []
    for result in results:
        # A driver that cannot drain cannot tell whether its switch is drained.
        if result.unable:
            continue
        drained_peers[result.device] = WHOLE if result.error else result.away
        if result.ends_in_s is not None:
            ends_in_s.append(result.ends_in_s)
    return away_of(fabric, drained_peers, max(ends_in_s, default=None))
