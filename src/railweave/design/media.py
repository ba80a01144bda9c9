"""The media of links: the cheapest that links both ends, or the one that the intent names."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from railweave.cabling.media import LaneEnd, choose_medium, linking_pmds, nic_end, open_end, switch_end
from railweave.catalog.load import Catalog
from railweave.catalog.media import Medium
from railweave.design.crosswise import Crosswise
from railweave.design.hardware import TierHardware
from railweave.design.leaf_class import LeafClass, NodePorts
from railweave.design.split import Breakout
from railweave.diagnostics import Blocker, Diagnostic, error
from railweave.intent.model import Intent, Nodes


class Media(NamedTuple):
    """Media ids: ``access`` by the name of an entry of nodes, ``uplinks`` of each tier to the one above: of leaves by
    their class, of spines one."""

    access: Mapping[str, str]
    uplinks: tuple[tuple[str, ...], ...]


_Choice = str | Diagnostic | None
"""The id of a medium, or why there is none; None where check_intent reports it."""


def choose_media(
    intent: Intent,
    hardware: Sequence[TierHardware],
    classes: Sequence[LeafClass],
    node_ports: Sequence[NodePorts],
    catalog: Catalog,
    shared: Crosswise,
) -> tuple[Media | None, tuple[Diagnostic, ...]]:
    """Return the media of all links, or why some link cannot be made; ``shared`` are those that share cages crosswise.

    None without an error where the catalog does not have a NIC, its ports or a medium: these are reported by
    check_intent. Where an end is no model, a medium is of the catalog but no promise, and None if there is none.
    """
    tiers = [[leaf.hardware for leaf in classes], *([tier] for tier in hardware[1:])]
    host, *between = intent.cabling.by_level
    access: dict[str, _Choice] = {}
    for ports in node_ports:
        leaf = classes[ports.leaf]
        name = ports.entry.name
        ends = _nic_end(ports.entry, catalog), _end(leaf.hardware, leaf.breakout_of(name), catalog)
        access[name] = _choose(intent, *ends, host, catalog, crosswise=name in shared.access)
    uplinks: list[list[_Choice]] = []
    for level, (layer, lower, (upper, *_)) in enumerate(zip(between, tiers, tiers[1:], strict=False)):
        media = []
        for number, switch in enumerate(lower):
            # Both ends of an uplink run at its speed.
            ends = _end(switch, switch.up, catalog), _end(upper, switch.up, catalog)
            media.append(_choose(intent, *ends, layer, catalog, crosswise=(level, number) in shared.uplinks))
        uplinks.append(media)
    return _media(access, uplinks)


def _media(
    access: Mapping[str, _Choice], uplinks: Sequence[Sequence[_Choice]]
) -> tuple[Media | None, tuple[Diagnostic, ...]]:
    """Return what was chosen, or all reasons why something was not; links of one kind have the same reason."""
    chosen = (*access.values(), *chain.from_iterable(uplinks))
    if not all(isinstance(medium, str) for medium in chosen):
        return None, tuple(dict.fromkeys(medium for medium in chosen if isinstance(medium, Diagnostic)))
    by_entry = {name: str(medium) for name, medium in access.items()}
    return Media(by_entry, tuple(tuple(map(str, tier)) for tier in uplinks)), ()


class _End(NamedTuple):
    """An end of a link; of a device without a model it is ``open``: what can be plugged there is not known."""

    lanes: LaneEnd | Blocker | None
    is_open: bool = False


def _nic_end(entry: Nodes, catalog: Catalog) -> _End:
    nics = entry.nics
    if nics.model is None:
        return _End(open_end("a NIC", nics.speed_gbps, catalog), is_open=True)
    nic = catalog.find_nic(nics.model)
    if nic is None:
        return _End(None)
    return _End(nic_end(nic, nics.ports, nics.speed_gbps, nics.ports_of_a_cage))


def _end(switch: TierHardware, breakout: Breakout, catalog: Catalog) -> _End:
    if switch.model is None:
        return _End(open_end(f"a {switch.name}", breakout.speed_gbps, catalog), is_open=True)
    return _End(switch_end(switch.model, breakout.speed_gbps))


def _choose(
    intent: Intent, lower_end: _End, upper_end: _End, layer: str, catalog: Catalog, *, crosswise: bool
) -> _Choice:
    cable = intent.cabling.by_level[layer]
    lower = lower_end.lanes
    upper = upper_end.lanes
    if not isinstance(lower, LaneEnd) or not isinstance(upper, LaneEnd):
        return None
    candidates: Sequence[Medium] = catalog.media()
    key = "length_m"
    if cable.media:
        intended = catalog.find_medium(cable.media)
        if intended is None:
            return None
        candidates = (intended,)
        key = "media"
    length_m = cable.length_m
    if intent.racks is not None:
        # Racks give each link its own length, and a medium by it: here it is only asked whether there is one at all.
        length_m = 1
    medium = choose_medium(lower, upper, length_m, cable.media, catalog, crosswise=crosswise)
    if not isinstance(medium, Blocker):
        return medium.id
    if lower_end.is_open or upper_end.is_open:
        return None
    code = "P-3"
    if any(linking_pmds(candidate, lower, upper) for candidate in candidates):
        code = "P-4"
    return error(code, medium.message, intent.where(f"cabling.{layer}.{key}"), fix=medium.fix)
