"""The switches of each tier as the design uses them: their cages, and the breakout for the speed of each direction.

The switches of a tier are a model of the catalog or, for sizing only, an inline number of ports with their speed.
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
    """The hardware of a tier."""

    # Of the tier.
    name: str
    # None for an inline model, which can only be sized and counted.
    model: SwitchModel | None
    cages: int
    # The breakout of each direction.
    down: Breakout
    up: Breakout
    # The speed of an inline model's ports; 0 for a model of the catalog.
    cage_gbps: int = 0

    @property
    def ports(self) -> int:
        """Return the logical ports of a switch that has downlinks only."""
        return self.cages * self.down.per_cage


def choose_hardware(intent: Intent, catalog: Catalog) -> tuple[tuple[TierHardware, ...], tuple[Diagnostic, ...]]:
    """Return the hardware of three tiers, the lowest first, whether or not the third is built.

    Super-spines that the intent does not state are of the spines' model. All links between two tiers run at one speed.
    The hardware is empty if there are errors, and if the catalog does not have a model, which check_intent reports.
    """
    diagnostics = _node_speed_diagnostics(intent)
    topology = intent.topology
    models = []
    for tier in (topology.leaf, topology.spine, topology.super_spine or topology.spine):
        model = model_of(tier, catalog)
        if model is None:
            return (), tuple(diagnostics)
        models.append(model)
    breakouts: list[list[Breakout]] = [[] for _ in models]
    for direction in _directions(intent):
        model = models[direction.level]
        breakout, missing = breakout_of(intent, model, direction.speed_gbps, f"topology.{direction.key}")
        diagnostics += missing
        if breakout is not None:
            breakouts[direction.level].append(breakout)
    if diagnostics:
        # Both directions of a spine may have the same error.
        return (), tuple(dict.fromkeys(diagnostics))
    breakouts[-1].append(NO_UPLINKS)
    hardware = []
    for name, model, (down, up) in zip(TIER_NAMES, models, breakouts, strict=True):
        hardware.append(hardware_of(name, model, down, up))
    return tuple(hardware), ()


class _Direction(NamedTuple):
    """One direction of the ports of a tier: its speed, and the key of ``topology`` that decides on it."""

    level: int
    speed_gbps: int
    key: str


def _directions(intent: Intent) -> Iterator[_Direction]:
    """Yield the directions of three tiers, the lowest tier first, and of each tier downwards first.

    Super-spines have no ports upwards.
    """
    topology = intent.topology
    nic_gbps = intent.nodes[0].nics.speed_gbps
    up_gbps = topology.leaf.uplink_gbps or nic_gbps
    top_gbps = topology.spine.uplink_gbps or up_gbps
    spine_up_key = "spine.model"
    if topology.spine.uplink_gbps:
        spine_up_key = "spine.uplink_speed"
    top_key = "spine.model"
    if topology.super_spine:
        top_key = "super_spine.model"
    yield _Direction(0, topology.leaf.downlink_gbps or nic_gbps, "leaf.downlink_speed")
    yield _Direction(0, up_gbps, "leaf.uplink_speed")
    yield _Direction(1, up_gbps, "spine.model")
    yield _Direction(1, top_gbps, spine_up_key)
    yield _Direction(2, top_gbps, top_key)


def hardware_of(name: str, model: SwitchModel | InlineModel, down: Breakout, up: Breakout) -> TierHardware:
    """Return a model as the hardware of a tier."""
    if isinstance(model, InlineModel):
        return TierHardware(name, None, model.ports, down, up, cage_gbps=model.speed_gbps)
    return TierHardware(name, model, len(model.cages), down, up)


def model_of(tier: TierIntent, catalog: Catalog) -> SwitchModel | InlineModel | None:
    """Return the switch model of a tier, None if the catalog does not have it."""
    return tier.inline or catalog.find_switch(str(tier.model))


def breakout_of(
    intent: Intent, model: SwitchModel | InlineModel, speed_gbps: int, path: str, prefix: str = ""
) -> tuple[Breakout | None, tuple[Diagnostic, ...]]:
    """Return the breakout of a model's cages at a speed, or an error at the intent ``path`` if there is none.

    ``prefix`` begins its message.
    """
    per_cage = _per_cage(model, speed_gbps)
    if per_cage is not None:
        return Breakout(speed_gbps, per_cage), ()
    if isinstance(model, InlineModel):
        missing = _no_such_speed(model, speed_gbps)
    else:
        missing = no_such_speed(model, speed_gbps)
    return None, (error("P-3", f"{prefix}{missing.message}", intent.where(path), fix=missing.fix),)


def _per_cage(model: SwitchModel | InlineModel, speed_gbps: int) -> int | None:
    """Return the ports of a cage at a speed, None if a cage does not have it."""
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
    """Return an error for each entry of nodes whose NICs do not have the speed of the downlinks of their leaves."""
    common_gbps = intent.topology.leaf.downlink_gbps or intent.nodes[0].nics.speed_gbps
    diagnostics = []
    for index, entry in enumerate(intent.nodes):
        nic_gbps = entry.nics.speed_gbps
        down_gbps = common_gbps
        if entry.leaf is not None:
            down_gbps = entry.leaf.downlink_gbps or nic_gbps
        # Nodes on the leaves of the first entry get cages that are broken out for their speed.
        has_own_cages = entry.share_leaves and index > 0
        if nic_gbps == down_gbps or has_own_cages:
            continue
        speed = format_speed(nic_gbps)
        fix = f"give the NICs {format_speed(down_gbps)}, or the leaves downlink_speed: {speed}"
        if entry.leaf is None and index > 0:
            fix += f"; leaves of these nodes alone: nodes[{index}].leaf: {{downlink_speed: {speed}}}"
        message = f"NIC ports of {speed} cannot link with leaf ports of {format_speed(down_gbps)}"
        diagnostics.append(error("RW208", message, intent.where(f"nodes[{index}].nics.speed"), fix=fix))
    return diagnostics
