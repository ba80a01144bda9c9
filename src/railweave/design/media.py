"""The media of links: the cheapest that links both ends, or the one that the intent names."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from railweave.cabling.media import LaneEnd, choose_medium, linking_pmds, nic_end, switch_end
from railweave.catalog.load import Catalog
from railweave.design.crosswise import Crosswise
from railweave.design.hardware import TierHardware
from railweave.design.leaf_class import LeafClass
from railweave.design.nodes import NodePorts
from railweave.design.split import Breakout
from railweave.diagnostics import Blocker, Diagnostic, error
from railweave.intent.model import Intent, Nodes


class Media(NamedTuple):
    """Media ids: ``access`` by the name of an entry of nodes, ``uplinks`` of each tier to the one above: of leaves by
    their class, of spines one."""

    access: Mapping[str, str]
    uplinks: tuple[tuple[str, ...], ...]


def choose_media(
    intent: Intent,
    hardware: Sequence[TierHardware],
    classes: Sequence[LeafClass],
    node_ports: Sequence[NodePorts],
    catalog: Catalog,
    shared: Crosswise,
) -> tuple[Media | None, tuple[Diagnostic, ...]]:
    """Return the media of all links, or why some link cannot be made; ``shared`` are those that share cages crosswise.

    None without an error for inline models, and where the catalog does not know a NIC, its ports or a medium: these
    are reported by check_intent.
    """
    tiers = [[leaf.hardware for leaf in classes], *([tier] for tier in hardware[1:])]
    if any(switch.model is None for tier in tiers for switch in tier):
        return None, ()
    host, *between = intent.cabling.by_level
    access: dict[str, str | Diagnostic | None] = {}
    for ports in node_ports:
        leaf, name = classes[ports.leaf].hardware, ports.entry.name
        ends = _nic_end(ports.entry, catalog), _end(leaf, leaf.down)
        access[name] = _choose(intent, *ends, host, catalog, crosswise=name in shared.access)
    uplinks: list[list[str | Diagnostic | None]] = []
    for level, (layer, lower, (upper, *_)) in enumerate(zip(between, tiers, tiers[1:], strict=False)):
        media = []
        for number, switch in enumerate(lower):
            # Both ends of an uplink run at its speed.
            ends = _end(switch, switch.up), _end(upper, switch.up)
            media.append(_choose(intent, *ends, layer, catalog, crosswise=(level, number) in shared.uplinks))
        uplinks.append(media)
    chosen = (*access.values(), *chain.from_iterable(uplinks))
    if not all(isinstance(medium, str) for medium in chosen):
        return None, tuple(dict.fromkeys(medium for medium in chosen if isinstance(medium, Diagnostic)))
    by_entry = {name: str(medium) for name, medium in access.items()}
    return Media(by_entry, tuple(tuple(map(str, tier)) for tier in uplinks)), ()


def _nic_end(entry: Nodes, catalog: Catalog) -> LaneEnd | Blocker | None:
    nics, nic = entry.nics, catalog.find_nic(entry.nics.model)
    return None if nic is None else nic_end(nic, nics.ports, nics.speed_gbps, nics.ports_of_a_cage)


def _end(switch: TierHardware, breakout: Breakout) -> LaneEnd | Blocker:
    assert switch.model is not None  # noqa: S101  inline models have no media
    return switch_end(switch.model, breakout.speed_gbps)


def _choose(
    intent: Intent,
    lower: LaneEnd | Blocker | None,
    upper: LaneEnd | Blocker,
    layer: str,
    catalog: Catalog,
    *,
    crosswise: bool,
) -> str | Diagnostic | None:
    cable = intent.cabling.by_level[layer]
    intended = None if cable.media is None else catalog.find_medium(cable.media)
    if not isinstance(lower, LaneEnd) or not isinstance(upper, LaneEnd) or (cable.media and intended is None):
        return None
    # Racks give each link its own length, and a medium by it: here it is only asked whether there is one at all.
    length_m = cable.length_m if intent.racks is None else 1
    medium = choose_medium(lower, upper, length_m, cable.media, catalog, crosswise=crosswise)
    if not isinstance(medium, Blocker):
        return medium.id
    links = any(linking_pmds(one, lower, upper) for one in (catalog.media() if intended is None else (intended,)))
    key = "media" if cable.media else "length_m"
    return error("P-4" if links else "P-3", medium.message, intent.where(f"cabling.{layer}.{key}"), fix=medium.fix)
