"""The order of a rollout: canary first, spines and leaves apart, parallel within a wave.

A wave never holds two devices that share a link, so each device of a wave can be verified against neighbours that
stand still. Devices whose change disturbs traffic that they may be carrying go one spine at a time, and one leaf of a
stripe at a time: the fabric loses one path of M, and a node one of its rails, never more.
"""

from collections.abc import Callable, Collection, Hashable, Iterable

from railweave.fabric.model import Fabric, Role, Switch

Wave = tuple[str, ...]


def plan_waves(fabric: Fabric, changed: Collection[str], careful: Collection[str] = ()) -> tuple[Wave, ...]:
    """Return the waves of the changed devices: canary spine, other spines, canary leaf, other leaves.

    ``careful`` are those among them that carry traffic and that the change disturbs.
    """
    switches = [switch for switch in fabric.switches if switch.name in changed]
    spines = [switch for switch in switches if switch.role is not Role.LEAF]
    leaves = [switch for switch in switches if switch.role is Role.LEAF]
    return (*_tier(spines, careful, lambda _: None), *_tier(leaves, careful, lambda leaf: leaf.stripe))


def _tier(switches: list[Switch], careful: Collection[str], exclusive: Callable[[Switch], Hashable]) -> Iterable[Wave]:
    """Yield one tier's waves: its canary, then everything undisturbed at once, then the disturbed ones apart."""
    if not switches:
        return
    calm = [switch for switch in switches if switch.name not in careful]
    disturbed = [switch for switch in switches if switch.name in careful]
    canary = calm[0] if calm else disturbed[0]
    yield (canary.name,)
    rest = tuple(switch.name for switch in calm if switch is not canary)
    if rest:
        yield rest
    yield from _apart([switch for switch in disturbed if switch is not canary], exclusive)


def _apart(switches: list[Switch], exclusive: Callable[[Switch], Hashable]) -> Iterable[Wave]:
    """Yield waves that hold at most one switch of each group, in the order of the switches."""
    turns: dict[Hashable, int] = {}
    waves: list[list[str]] = []
    for switch in switches:
        turn = turns.get(exclusive(switch), 0)
        turns[exclusive(switch)] = turn + 1
        if turn == len(waves):
            waves.append([])
        waves[turn].append(switch.name)
    yield from map(tuple, waves)
