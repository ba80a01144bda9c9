"""What others led traffic away from since the plan was made: looked at anew right before a wave takes more away.

Where a few switches show that all others carry traffic, these are the only ones that are asked: the cost of a rollout
is not that of all switches times all waves. Where one of them misses a way, or does not say, each switch is asked.
"""

from collections.abc import Collection, Sequence

from nornir.core import Nornir

from nornir_railweave.tasks import draining
from nornir_railweave.tasks.ports_towards import all_carry
from railweave.fabric.model import Fabric
from railweave.plan.away import NOTHING_AWAY, Away, away_of
from railweave.plan.manual_drain import WHOLE, DrainResult
from railweave.plan.witness import Witness


def read_away(nr: Nornir, fabric: Fabric, names: Collection[str], witnesses: Collection[Witness], hold: str) -> Away:
    """Return which of some switches others led traffic away from, or are about to under another hold than ``hold``.

    It is nothing where all ``witnesses`` say so. A switch that does not say counts as out of service.
    """
    if witnesses and all_carry(nr, witnesses):
        return NOTHING_AWAY
    asked = [name for name in names if name in nr.inventory.hosts]
    return _away(fabric, list(draining.read(nr, asked, hold).values()))


def _away(fabric: Fabric, results: Sequence[DrainResult]) -> Away:
    """Return what some switches do not carry; a driver that cannot drain says nothing of it."""
    drains = [result for result in results if not result.unable]
    away = {result.device: WHOLE if result.error else result.away for result in drains}
    ends = [result.ends_in_s for result in drains if result.ends_in_s is not None]
    return away_of(fabric, away, max(ends, default=None))
