"""What others led traffic away from since the plan was made: looked at anew right before a wave takes more away.

Where a few switches show that all others carry traffic, these are the only ones that are asked: the cost of a rollout
is not that of all switches times all waves. Where one of them misses a way, or does not say, each switch is asked.
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
    """Return which of some switches others led traffic away from, or are about to under another hold than ``hold``.

    It is nothing where all ``witnesses`` say so. A switch that does not say counts as out of service.
    """
    if witnesses and _all_carry(nr, witnesses):
        return NOTHING_AWAY
    asked = [name for name in names if name in nr.inventory.hosts]
    return _away(fabric, list(draining.read(nr, asked, hold).values()))


def _all_carry(nr: Nornir, witnesses: Collection[Witness]) -> bool:
    """Tell whether each of these sends over all of its ports; not where one cannot be asked or does not say."""
    prefixes = {witness.device: witness.prefix for witness in witnesses}
    if not prefixes.keys() <= nr.inventory.hosts.keys():
        return False
    used = run_on(nr, prefixes, ports_towards, prefixes=prefixes)
    return all(witness.ports <= used[witness.device] for witness in witnesses)


def ports_towards(task: Task, *, prefixes: Mapping[str, str]) -> Result:
    """Return the ports over which a device sends to its prefix; none where it does not say."""
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
    """Return what some switches do not carry; a driver that cannot drain says nothing of it."""
    away: dict[str, tuple[str, ...]] = {}
    ends: list[float] = []
    for result in results:
        if result.unable:
            continue
        away[result.device] = result.away
        if result.error:
            away[result.device] = WHOLE
        if result.ends_in_s is not None:
            ends.append(result.ends_in_s)
    return away_of(fabric, away, max(ends, default=None))
