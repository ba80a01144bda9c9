"""Random intents brought to fabrics, for properties that hold for every fabric that the design lets pass."""

from typing import Protocol

from hypothesis import assume

from railweave.catalog.load import load_catalog
from railweave.design.build import Design, design
from railweave.fabric.model import Fabric
from railweave.intent.model import Intent

CATALOG = load_catalog()


class Wish(Protocol):
    """The parts of an intent that a property draws."""

    def intent(self) -> Intent: ...


def outcome(wish: Wish) -> Design:
    return design(wish.intent(), CATALOG)


def built(wish: Wish) -> Fabric:
    """Return the fabric of a wish; a refused one is no example of the property."""
    found = outcome(wish)
    assume(found.fabric is not None)
    assert found.fabric is not None
    return found.fabric


def check_built_or_refused_with_a_fix(wish: Wish) -> None:
    found = outcome(wish)
    assert found.fabric is not None or any(one.fix for one in found.diagnostics)


def check_nothing_is_given_twice(fabric: Fabric) -> None:
    """Check names, ports and addresses: of switches, nodes and both ends of every link."""
    names = [switch.name for switch in fabric.switches] + [host.name for host in fabric.hosts]
    assert len(set(names)) == len(names)
    ends = [(link.lower, link.lower_port) for link in fabric.links]
    ends += [(link.upper, link.upper_port) for link in fabric.links]
    assert len(set(ends)) == len(ends)
    addresses = [one.loopback for one in fabric.switches]
    addresses += [address for link in fabric.links for address in (link.network, link.network + 1)]
    assert len(set(addresses)) == len(addresses)
    assert all(link.network % 2 == 0 for link in fabric.links)
    networks = list(fabric.host_blocks.values())
    assert len(set(networks)) == len(networks)
