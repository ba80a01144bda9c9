"""The switches of a fabric as the design sees them: cages, and the breakout that each direction's speed gives.

A tier is a model of the catalog or, for sizing only, an inline number of ports and their speed.
"""

from collections.abc import Iterator
from typing import NamedTuple

from railweave.catalog.load import Catalog
from railweave.catalog.model import SwitchModel
from railweave.catalog.panel import logical_ports_per_cage, no_such_speed
from railweave.design.split import NO_UPLINKS, Breakout
from railweave.diagnostics import Blocker, Diagnostic, error
from railweave.fabric.devices import TIER_NAMES
from railweave.intent.model import InlineModel, Intent, TierIntent
from railweave.units import format_speed

_INLINE_PORTS_PER_CAGE = (1, 2, 4, 8)


class TierHardware(NamedTuple):
    """The hardware of a tier. ``model`` is None for an inline one, which can only be sized and counted; ``down`` and
    ``up`` are the breakouts of each direction, ``cage_gbps`` is the speed of an inline model's ports. ``name`` is the
    tier's."""

    name: str
    model: SwitchModel | None
    cages: int
    down: Breakout
    up: Breakout
    cage_gbps: int = 0

    @property
    def ports(self) -> int:
        """Return the logical ports of a switch that has downlinks only."""
        return self.cages * self.down.per_cage


def choose_hardware(intent: Intent, catalog: Catalog) -> tuple[tuple[TierHardware, ...], tuple[Diagnostic, ...]]:
    """Return the hardware of three tiers, the lowest first, whether or not the third is built, or none and why.

    Super-spines that the intent does not name are switches like the spines. All links of two tiers run at one speed. A
    model that the catalog does not have is not an error here: check_intent reports it.
    """
    diagnostics = _node_speed_diagnostics(intent)
    tiers = intent.topology
    models = []
    for tier in (tiers.leaf, tiers.spine, tiers.super_spine or tiers.spine):
        model = model_of(tier, catalog)
        if model is None:
            return (), tuple(diagnostics)
        models.append(model)
    breakouts: list[list[Breakout]] = [[] for _ in models]
    for level, speed_gbps, key in _directions(intent):
        breakout, missing = breakout_of(intent, models[level], speed_gbps, f"topology.{key}")
        diagnostics += missing
        if breakout is not None:
            breakouts[level].append(breakout)
    if diagnostics:
        return (), tuple(dict.fromkeys(diagnostics))
    breakouts[-1].append(NO_UPLINKS)
    hardware = zip(TIER_NAMES, models, breakouts, strict=True)
    return tuple(hardware_of(name, model, down, up) for name, model, (down, up) in hardware), ()


def _directions(intent: Intent) -> Iterator[tuple[int, int, str]]:
    """Yield the directions of each tier, downwards first, as its level, speed and the key that decides on it."""
    tiers = intent.topology
    nic_gbps = intent.nodes[0].nics.speed_gbps
    up_gbps = tiers.leaf.uplink_gbps or nic_gbps
    top_gbps = tiers.spine.uplink_gbps or up_gbps
    yield 0, tiers.leaf.downlink_gbps or nic_gbps, "leaf.downlink_speed"
    yield 0, up_gbps, "leaf.uplink_speed"
    yield 1, up_gbps, "spine.model"
    if tiers.spine.uplink_gbps:
        yield 1, top_gbps, "spine.uplink_speed"
    else:
        yield 1, top_gbps, "spine.model"
    if tiers.super_spine:
        yield 2, top_gbps, "super_spine.model"
    else:
        yield 2, top_gbps, "spine.model"


def hardware_of(name: str, model: SwitchModel | InlineModel, down: Breakout, up: Breakout) -> TierHardware:
    """Return a model as the hardware of a tier."""
    if isinstance(model, InlineModel):
        return TierHardware(name, None, model.ports, down, up, cage_gbps=model.speed_gbps)
    return TierHardware(name, model, len(model.cages), down, up)


def model_of(tier: TierIntent, catalog: Catalog) -> SwitchModel | InlineModel | None:
    """Return the switches of a tier, None if the catalog does not have them."""
    return tier.inline or catalog.find_switch(str(tier.model))


def breakout_of(
    intent: Intent, model: SwitchModel | InlineModel, speed_gbps: int, path: str, why: str = ""
) -> tuple[Breakout | None, tuple[Diagnostic, ...]]:
    """Return the breakout of a model's cages at a speed, or why there is none."""
    per_cage = _per_cage(model, speed_gbps)
    if per_cage is not None:
        return Breakout(speed_gbps, per_cage), ()
    if isinstance(model, InlineModel):
        missing = _no_such_speed(model, speed_gbps)
    else:
        missing = no_such_speed(model, speed_gbps)
    return None, (error("P-3", f"{why}{missing.message}", intent.where(path), fix=missing.fix),)


def _per_cage(model: SwitchModel | InlineModel, speed_gbps: int) -> int | None:
    if isinstance(model, SwitchModel):
        return logical_ports_per_cage(model, speed_gbps)
    per_cage, rest = divmod(model.speed_gbps, speed_gbps)
    if rest or per_cage not in _INLINE_PORTS_PER_CAGE:
        return None
    return per_cage


def _no_such_speed(model: InlineModel, speed_gbps: int) -> Blocker:
    possible = [model.speed_gbps // ports for ports in _INLINE_PORTS_PER_CAGE if model.speed_gbps % ports == 0]
    return Blocker(
        f"an inline model has no {format_speed(speed_gbps)} ports",
        f"choose one of its speeds: {', '.join(map(format_speed, possible))}; or another model",
    )


def _node_speed_diagnostics(intent: Intent) -> list[Diagnostic]:
    """Return nodes whose NICs cannot link with the downlinks of their leaves."""
    common_gbps = intent.topology.leaf.downlink_gbps or intent.nodes[0].nics.speed_gbps
    diagnostics = []
    for index, entry in enumerate(intent.nodes):
        nic_gbps = entry.nics.speed_gbps
        down_gbps = common_gbps
        if entry.leaf is not None:
            down_gbps = entry.leaf.downlink_gbps or nic_gbps
        # A cage is broken out for nodes that share leaves with others of another speed.
        if nic_gbps == down_gbps or (entry.share_leaves and index):
            continue
        speed = format_speed(nic_gbps)
        fix = f"give the NICs {format_speed(down_gbps)}, or the leaves downlink_speed: {speed}"
        if entry.leaf is None and index > 0:
            fix += f"; leaves of these nodes alone: nodes[{index}].leaf: {{downlink_speed: {speed}}}"
        message = f"NIC ports of {speed} cannot link with leaf ports of {format_speed(down_gbps)}"
        diagnostics.append(error("RW208", message, intent.where(f"nodes[{index}].nics.speed"), fix=fix))
    return diagnostics
