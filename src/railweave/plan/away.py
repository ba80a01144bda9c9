"""What carries no traffic: drained switches and links, switches in maintenance, and those whose daemons do not run.

A drain by hand, of this command or of a runner elsewhere, SONiC's TSA, and a daemon that an earlier change ended take
the same capacity as a rollout does.
Every floor counts them, when a plan is made and again right before something else is led away.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.plan.drain_planner import WHOLE, links_of_peers
from railweave.sonic.frr.maintenance import Maintenance

_WITHHELD = {
    Maintenance.ON: "in maintenance by TSA",
    Maintenance.LEFT: "withholds its routes (TSA)",
}


@dataclass(frozen=True, slots=True)
class Away:
    """Switches that carry no traffic, and further links that carry none.

    Some do so only until a hold or a commit of another runner ends: switches end both within ``ends_in_s`` seconds.
    """

    out: frozenset[str] = frozenset()
    down: tuple[Link, ...] = ()
    ends_in_s: float | None = None


NOTHING_AWAY = Away()


def withheld(maintenance: Maintenance) -> str:
    """Return how SONiC's maintenance mode keeps all traffic off a switch, as a phrase; empty if it does not."""
    return _WITHHELD.get(maintenance, "")


def away_of(fabric: Fabric, drained: Mapping[str, Collection[str]], ends_in_s: float | None = None) -> Away:
    """Return the switches and links that carry no traffic because they are drained.

    ``drained`` has the drained BGP peers of each switch: ``("*",)`` if it is drained as a whole, empty if nothing is
    drained. ``ends_in_s`` is when the last hold or unconfirmed commit among the drains ends; None if there is none.
    """
    switches: set[str] = set()
    # A link may be drained at both ends: a dictionary counts it once and keeps the order.
    links: dict[Link, None] = {}
    for name, peers in drained.items():
        if tuple(peers) == WHOLE:
            switches.add(name)
        elif peers:
            links.update(dict.fromkeys(links_of_peers(fabric, name, peers)))
    return Away(frozenset(switches), tuple(links), ends_in_s)
