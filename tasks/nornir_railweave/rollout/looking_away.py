"""What others led traffic away from since the plan was made: read anew right before a wave takes more away."""

from collections.abc import Callable, Collection

from nornir.core import Nornir

from nornir_railweave.tasks import draining
from railweave.fabric.model import Fabric
from railweave.plan.away import Away, away_of
from railweave.plan.manual_drain import WHOLE


def looking_away(nr: Nornir, fabric: Fabric, unread: Collection[str] = ()) -> Callable[[Collection[str]], Away]:
    """Return a function that reads some switches and returns what of them carries no traffic.

    A switch that does not say counts as out of service, unless it is among the ``unread``, of which the plan judged.
    """

    def look(names: Collection[str]) -> Away:
        found = draining.read(nr, [name for name in names if name not in unread and name in nr.inventory.hosts])
        return away_of(
            fabric,
            {name: WHOLE if one.error else one.away for name, one in found.items() if not one.unable},
        )

    return look
