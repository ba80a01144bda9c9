"""The switches of a fabric as the design sees them: cages, and the breakout that each direction's speed gives.

A tier is a model of the catalog or, for sizing only, an inline number of ports and their speed.
"""

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
    nic = intent.nodes[0].nics.speed_gbps
    models = [model_of(tier, catalog) for tier in (tiers.leaf, tiers.spine, tiers.super_spine or tiers.spine)]
    up_gbps = tiers.leaf.uplink_gbps or nic
    top_gbps = tiers.spine.uplink_gbps or up_gbps
    asked = (
        (0, tiers.leaf.downlink_gbps or nic, "leaf.downlink_speed"),
        (0, up_gbps, "leaf.uplink_speed"),
        (1, up_gbps, "spine.model"),
        (1, top_gbps, "spine.uplink_speed" if tiers.spine.uplink_gbps else "spine.model"),
        (2, top_gbps, "super_spine.model" if tiers.super_spine else "spine.model"),
    )
    breakouts = []
    for level, speed_gbps, key in asked:
        model = models[level]
        if model is None:
            return (), tuple(diagnostics)
        breakout, missing = breakout_of(intent, model, speed_gbps, f"topology.{key}")
        breakouts.append(breakout)
        diagnostics += missing
    if diagnostics:
        return (), tuple(dict.fromkeys(diagnostics))
    down, up, spine, spine_up, top = (one for one in breakouts if one is not None)
    directions = ((down, up), (spine, spine_up), (top, NO_UPLINKS))
    return tuple(
        hardware_of(name, model, *each)
        for name, model, each in zip(TIER_NAMES, models, directions, strict=True)
        if model is not None
    ), ()


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
    missing = _no_such_speed(model, speed_gbps) if isinstance(model, InlineModel) else no_such_speed(model, speed_gbps)
    return None, (error("P-3", f"{why}{missing.message}", intent.where(path), fix=missing.fix),)


def _per_cage(model: SwitchModel | InlineModel, speed_gbps: int) -> int | None:
    if isinstance(model, SwitchModel):
        return logical_ports_per_cage(model, speed_gbps)
    per_cage, rest = divmod(model.speed_gbps, speed_gbps)
    return per_cage if rest == 0 and per_cage in _INLINE_PORTS_PER_CAGE else None


def _no_such_speed(model: InlineModel, speed_gbps: int) -> Blocker:
    possible = [model.speed_gbps // ports for ports in _INLINE_PORTS_PER_CAGE if model.speed_gbps % ports == 0]
    return Blocker(
        f"an inline model has no {format_speed(speed_gbps)} ports",
        f"choose one of its speeds: {', '.join(map(format_speed, possible))}; or another model",
    )


def _node_speed_diagnostics(intent: Intent) -> list[Diagnostic]:
    """Return nodes whose NICs cannot link with the downlinks of their leaves."""
    common_gbps = intent.topology.leaf.downlink_gbps or intent.nodes[0].nics.speed_gbps
    found = []
    for index, entry in enumerate(intent.nodes):
        nic_gbps = entry.nics.speed_gbps
        down_gbps = common_gbps if entry.leaf is None else entry.leaf.downlink_gbps or nic_gbps
        # A cage is broken out for nodes that share leaves with others of another speed.
        if nic_gbps == down_gbps or (entry.share_leaves and index):
            continue
        speed = format_speed(nic_gbps)
        own = entry.leaf is None and index > 0
        fix = f"give the NICs {format_speed(down_gbps)}, or the leaves downlink_speed: {speed}"
        fix += f"; leaves of these nodes alone: nodes[{index}].leaf: {{downlink_speed: {speed}}}" if own else ""
        message = f"NIC ports of {speed} cannot link with leaf ports of {format_speed(down_gbps)}"
        found.append(error("RW208", message, intent.where(f"nodes[{index}].nics.speed"), fix=fix))
    return found
