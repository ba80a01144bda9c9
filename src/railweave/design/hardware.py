"""The switches of a fabric as the design sees them: cages, and the breakout that each direction's speed gives.

A tier is a model of the catalog or, for sizing only, an inline number of ports and their speed.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from railweave.cabling.media import LaneEnd, choose_medium, linking_pmds, nic_end, switch_end
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
    """The hardware of a tier. ``model`` is None for an inline one, which can only be sized; ``down`` and ``up`` are the
    breakouts of each direction. ``name`` is the tier's. ``far`` is stated of leaves that an entry of nodes has for
    itself: the breakout of the spines' cages that meet their uplinks."""

    name: str
    model: SwitchModel | None
    cages: int
    down: Breakout
    up: Breakout
    far: Breakout = NO_UPLINKS

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
    tiers, nic = intent.topology, intent.nodes[0].nics.speed_gbps
    models = [_model(tier, catalog) for tier in (tiers.leaf, tiers.spine, tiers.super_spine or tiers.spine)]
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
        breakout, missing = _breakout(intent, model, speed_gbps, f"topology.{key}")
        breakouts.append(breakout)
        diagnostics += missing
    if diagnostics:
        return (), tuple(dict.fromkeys(diagnostics))
    down, up, spine, spine_up, top = (one for one in breakouts if one is not None)
    directions = ((down, up), (spine, spine_up), (top, NO_UPLINKS))
    return tuple(
        _tier(name, model, *each)
        for name, model, each in zip(TIER_NAMES, models, directions, strict=True)
        if model is not None
    ), ()


def choose_leaves(
    intent: Intent, hardware: Sequence[TierHardware], catalog: Catalog
) -> tuple[tuple[TierHardware | None, ...] | None, tuple[Diagnostic, ...]]:
    """Return the leaves of every entry of nodes that has its own, None of one without; or none at all and why.
    ``hardware`` is that of all tiers.

    A model that the catalog does not have is reported by check_intent.
    """
    found: list[TierHardware | None] = []
    diagnostics: list[Diagnostic] = []
    leaf, spine = hardware[0], _model(intent.topology.spine, catalog)
    for index, entry in enumerate(intent.nodes):
        own, path = entry.leaf, f"nodes[{index}].leaf"
        if own is None:
            found.append(None)
            continue
        if index == 0:
            diagnostics.append(_first_entry(intent))
            continue
        model = catalog.find_switch(own.model) if own.model else _model(intent.topology.leaf, catalog)
        if model is None or spine is None:
            return None, tuple(diagnostics)
        key = "downlink_speed" if own.downlink_gbps else "model" if own.model else ""
        down, missing = _breakout(intent, model, own.downlink_gbps or entry.nics.speed_gbps, f"{path}.{key}".strip("."))
        up_gbps, key = own.uplink_gbps or leaf.up.speed_gbps, "uplink_speed" if own.uplink_gbps else "model"
        up, no_uplinks = _breakout(intent, model, up_gbps, f"{path}.{key}")
        far, no_far = _breakout(intent, spine, up_gbps, f"{path}.{key}", "spines meet these uplinks: ")
        diagnostics += (*missing, *no_uplinks, *no_far)
        if down and up and far:
            found.append(_tier(leaf.name, model, down, up)._replace(far=far))
    return (None if diagnostics else tuple(found)), tuple(diagnostics)


def _first_entry(intent: Intent) -> Diagnostic:
    return error(
        "RW213",
        "the leaves of the first entry of nodes are those of topology.leaf",
        intent.where("nodes[0].leaf"),
        fix="write its model and downlink_speed under topology.leaf",
    )


def _tier(name: str, model: SwitchModel | InlineModel, down: Breakout, up: Breakout) -> TierHardware:
    return TierHardware(name, model if isinstance(model, SwitchModel) else None, _cages(model), down, up)


def _model(tier: TierIntent, catalog: Catalog) -> SwitchModel | InlineModel | None:
    return tier.inline or catalog.find_switch(str(tier.model))


def _cages(model: SwitchModel | InlineModel) -> int:
    return model.ports if isinstance(model, InlineModel) else len(model.cages)


def _breakout(
    intent: Intent, model: SwitchModel | InlineModel, speed_gbps: int, path: str, why: str = ""
) -> tuple[Breakout | None, tuple[Diagnostic, ...]]:
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
        if nic_gbps == down_gbps:
            continue
        speed, own = format_speed(nic_gbps), entry.leaf is None and index > 0
        fix = f"give the NICs {format_speed(down_gbps)}, or the leaves downlink_speed: {speed}"
        fix += f"; leaves of these nodes alone: nodes[{index}].leaf: {{downlink_speed: {speed}}}" if own else ""
        message = f"NIC ports of {speed} cannot link with leaf ports of {format_speed(down_gbps)}"
        found.append(error("RW208", message, intent.where(f"nodes[{index}].nics.speed"), fix=fix))
    return found


class Media(NamedTuple):
    """Media ids: ``access`` by the name of a node entry, ``uplinks`` of each tier's links to the one above, and
    ``leaf_uplinks`` of the leaves that an entry has for itself, by its name."""

    access: Mapping[str, str]
    uplinks: tuple[str, ...]
    leaf_uplinks: Mapping[str, str]


def choose_media(
    intent: Intent, hardware: Sequence[TierHardware], leaves: Sequence[TierHardware | None], catalog: Catalog
) -> tuple[Media | None, tuple[Diagnostic, ...]]:
    """Return the media of all links, or why some link cannot be made.

    None without an error for inline models, and where the catalog does not know a NIC, its ports or a medium: these
    are reported by check_intent.
    """
    models = [tier.model for tier in hardware if tier.model is not None]
    if len(models) < len(hardware) or any(leaf and leaf.model is None for leaf in leaves):
        return None, ()
    down = [switch_end(model, tier.down.speed_gbps) for model, tier in zip(models, hardware, strict=True)]
    up = [switch_end(model, tier.up.speed_gbps) for model, tier in zip(models[:-1], hardware[:-1], strict=True)]
    host, *between = intent.cabling.by_level
    access: dict[str, str | Diagnostic | None] = {}
    leaf_uplinks: dict[str, str | Diagnostic | None] = {}
    for entry, leaf in zip(intent.nodes, leaves, strict=True):
        nic = catalog.find_nic(entry.nics.model)
        end = None if nic is None else nic_end(nic, entry.nics.ports, entry.nics.speed_gbps, entry.nics.ports_of_a_cage)
        far = switch_end(leaf.model, leaf.down.speed_gbps) if leaf and leaf.model else down[0]
        access[entry.name] = _choose(intent, end, far, host, catalog)
        if leaf and leaf.model and up:
            own, spine = (switch_end(model, leaf.up.speed_gbps) for model in (leaf.model, models[1]))
            leaf_uplinks[entry.name] = _choose(intent, own, spine, between[0], catalog)
    uplinks = [
        _choose(intent, lower, upper, key, catalog)
        for lower, upper, key in zip(up, down[1:], between[: len(up)], strict=True)
    ]
    chosen = (*access.values(), *uplinks, *leaf_uplinks.values())
    if all(isinstance(one, str) for one in chosen):
        by_entry, own_uplinks = ({name: str(one) for name, one in found.items()} for found in (access, leaf_uplinks))
        return Media(by_entry, tuple(map(str, uplinks)), own_uplinks), ()
    return None, tuple(dict.fromkeys(one for one in chosen if isinstance(one, Diagnostic)))


def _choose(
    intent: Intent, lower: LaneEnd | Blocker | None, upper: LaneEnd | Blocker, layer: str, catalog: Catalog
) -> str | Diagnostic | None:
    cable = intent.cabling.by_level[layer]
    intended = None if cable.media is None else catalog.find_medium(cable.media)
    if not isinstance(lower, LaneEnd) or not isinstance(upper, LaneEnd) or (cable.media and intended is None):
        return None
    # Racks give each link its own length, and a medium by it: here it is only asked whether there is one at all.
    length_m = cable.length_m if intent.racks is None else 1
    medium = choose_medium(lower, upper, length_m, cable.media, catalog)
    if not isinstance(medium, Blocker):
        return medium.id
    links = any(linking_pmds(one, lower, upper) for one in (catalog.media() if intended is None else (intended,)))
    key = "media" if cable.media else "length_m"
    return error("P-4" if links else "P-3", medium.message, intent.where(f"cabling.{layer}.{key}"), fix=medium.fix)
