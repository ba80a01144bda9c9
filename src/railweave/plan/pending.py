"""What a deployment may expect while the cables of some links are in somebody's hands.

The configuration of both ends is put in place first, the cables follow. Until then the ports of these links must be set
up, and nothing more can be asked of them: no neighbor, no session, no light.
"""

from collections.abc import Callable, Collection
from dataclasses import replace

from railweave.fabric.model import Fabric, Link, Switch
from railweave.plan.expectation import Expectation, expect

Expecting = Callable[[Fabric, Switch], Expectation]
"""What must be seen on a switch of a fabric: ``railweave.plan.expectation.expect``, or less, or only a part of it."""


def expecting_without(pending: Collection[Link]) -> Expecting:
    """Return what must be seen on a switch while the cables of ``pending`` are not where they belong."""
    away = frozenset((link.lower, link.lower_port) for link in pending)

    def expected(fabric: Fabric, switch: Switch) -> Expectation:
        whole = expect(fabric, switch)
        links = fabric.links_of.get(switch.name, ())
        present = tuple(link for link in links if (link.lower, link.lower_port) not in away)
        if len(present) == len(links):
            return whole
        settled = expect(fabric, switch, present)
        firm = {port.port for port in settled.ports}
        ports = tuple(port if port.port in firm else replace(port, required=False) for port in whole.ports)
        return replace(whole, neighbors=settled.neighbors, sessions=settled.sessions, ports=ports)

    return expected


def expecting_only(links: Collection[Link]) -> Expecting:
    """Return what must be seen on a switch of ``links`` alone: the proof that their cables are where they belong."""
    chosen = frozenset((link.lower, link.lower_port) for link in links)

    def expected(fabric: Fabric, switch: Switch) -> Expectation:
        own = tuple(link for link in fabric.links_of.get(switch.name, ()) if (link.lower, link.lower_port) in chosen)
        return replace(expect(fabric, switch, own), addresses=())

    return expected
