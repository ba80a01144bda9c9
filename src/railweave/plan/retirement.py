"""Taking switches out of a fabric for good: which ones the newer intent has no more, and the proof that nothing uses
them.

A spine leaves when it is drained and its ports are quiet; a leaf when no GPU node is up on it and its ports are quiet.
A switch that does not answer is proven unused by its neighbors: every link to it is down at their ends.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from railweave.design.renumbering import MovedCable, moved_cables
from railweave.fabric.model import Fabric, Switch
from railweave.wording import first_few


@dataclass(frozen=True, slots=True)
class Leaving:
    """What ``base`` has and the newer intent has not, and the cables that the newer intent wants elsewhere."""

    switches: tuple[Switch, ...]
    hosts: tuple[str, ...]
    moved: tuple[MovedCable, ...]


@dataclass(frozen=True, slots=True)
class Use:
    """What was seen of a switch that is to leave. ``busy`` says what still flows, empty where its ports are quiet;
    ``hosts_up`` names GPU nodes whose links are up; ``far_ends_up`` the neighbors' ports where links to it are up,
    read only where it does not answer, with the reason in ``error``."""

    drained: bool = False
    busy: str = ""
    hosts_up: tuple[str, ...] = ()
    far_ends_up: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Proof:
    """One thing that must be so before a switch may leave, and how it is."""

    device: str
    what: str
    expected: str
    actual: str

    @property
    def ok(self) -> bool:
        """Tell whether it is so."""
        return self.expected == self.actual


def leaving(base: Fabric, head: Fabric) -> Leaving:
    """Return what leaves on the way from ``base`` to ``head``; identities are compared, not names alone."""
    kept = {(switch.tier, switch.number) for switch in head.switches}
    return Leaving(
        switches=tuple(switch for switch in base.switches if (switch.tier, switch.number) not in kept),
        hosts=tuple(host.name for host in base.hosts if host.name not in head.host_of),
        moved=moved_cables(base, head),
    )


def proofs(base: Fabric, gone: Leaving, seen: Mapping[str, Use]) -> tuple[Proof, ...]:
    """Return what proves of each leaving switch that nothing uses it; ``seen`` has each of them."""
    return tuple(proof for switch in gone.switches for proof in _of_switch(base, gone, switch, seen[switch.name]))


def _of_switch(base: Fabric, gone: Leaving, switch: Switch, use: Use) -> Iterator[Proof]:
    if use.error:
        yield Proof(switch.name, "links to it at the far ends", "down", first_few(use.far_ends_up) or "down")
        return
    if switch.tier.attaches_nodes:
        staying = sorted(set(base.nodes_on(switch.name)) - set(gone.hosts), key=lambda host: base.host_of[host].number)
        yield Proof(switch.name, "GPU nodes of the newer intent on it", "none", first_few(staying) or "none")
        yield Proof(switch.name, "GPU nodes that are up on it", "none", first_few(use.hosts_up) or "none")
    else:
        yield Proof(switch.name, "out of traffic", "drained", "drained" if use.drained else "not drained")
    yield Proof(switch.name, "traffic on its ports", "quiet", use.busy or "quiet")
