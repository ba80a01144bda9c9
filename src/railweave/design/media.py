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
    """The ids of the media of all links."""

    # Of links to nodes, by the name of their entry.
    access: Mapping[str, str]
    # Of the uplinks of each tier: of leaves by the number of their class, of spines one.
    uplinks: tuple[tuple[str, ...], ...]


_Choice = str | Diagnostic | None
"""The id of a medium, or why there is none; None if check_intent reports why."""


def choose_media(
    intent: Intent,
    hardware: Sequence[TierHardware],
    classes: Sequence[LeafClass],
    node_ports: Sequence[NodePorts],
    catalog: Catalog,
    shared: Crosswise,
) -> tuple[Media | None, tuple[Diagnostic, ...]]:
    """Return the media of all links, or None and the errors; ``shared`` are the links that share cages crosswise.

    The media are also None, with no error, if the catalog does not have a NIC, its ports or a stated medium, which
    check_intent reports. So they are if there is no medium for a device that is not a model: a medium of such a device
    is only an assumption.
    """
    host_layer, *fabric_layers = intent.cabling.by_level
    access: dict[str, _Choice] = {}
    for ports in node_ports:
        leaf = classes[ports.leaf]
        name = ports.entry.name
        nic_end = _nic_end(ports.entry, catalog)
        leaf_end = _switch_end(leaf.hardware, leaf.breakout_of(name), catalog)
        access[name] = _choose(intent, nic_end, leaf_end, host_layer, catalog, crosswise=name in shared.access)
    uplinks: list[list[_Choice]] = []
    lower_switches = [leaf.hardware for leaf in classes]
    for level, (layer, upper) in enumerate(zip(fabric_layers, hardware[1:], strict=False)):
        choices = []
        for number, lower in enumerate(lower_switches):
            # Both ends of an uplink run at its speed.
            lower_end = _switch_end(lower, lower.up, catalog)
            upper_end = _switch_end(upper, lower.up, catalog)
            crosswise = (level, number) in shared.uplinks
            choices.append(_choose(intent, lower_end, upper_end, layer, catalog, crosswise=crosswise))
        uplinks.append(choices)
        lower_switches = [upper]
    return _media(access, uplinks)


def _media(
    access: Mapping[str, _Choice], uplinks: Sequence[Sequence[_Choice]]
) -> tuple[Media | None, tuple[Diagnostic, ...]]:
    """Return the chosen media; if a choice failed, None and each different error once."""
    choices = (*access.values(), *chain.from_iterable(uplinks))
    if not all(isinstance(choice, str) for choice in choices):
        errors = (choice for choice in choices if isinstance(choice, Diagnostic))
        return None, tuple(dict.fromkeys(errors))
    medium_of_entry = {name: str(medium) for name, medium in access.items()}
    media_of_tiers = tuple(tuple(map(str, choices_of_tier)) for choices_of_tier in uplinks)
    return Media(medium_of_entry, media_of_tiers), ()


class _End(NamedTuple):
    """An end of a link."""

    # None if the catalog does not have the NIC, a `Blocker` if it cannot have the ports that are asked for.
    lanes: LaneEnd | Blocker | None
    # The device is not a model of the catalog: what can be plugged in there is not known.
    is_open: bool = False


def _nic_end(entry: Nodes, catalog: Catalog) -> _End:
    """Return the end of a link at the NICs of an entry of nodes."""
    nics = entry.nics
    if nics.model is None:
        return _End(open_end("a NIC", nics.speed_gbps, catalog), is_open=True)
    nic = catalog.find_nic(nics.model)
    if nic is None:
        return _End(None)
    return _End(nic_end(nic, nics.ports, nics.speed_gbps, nics.ports_of_a_cage))


def _switch_end(switch: TierHardware, breakout: Breakout, catalog: Catalog) -> _End:
    """Return the end of a link at a switch, at the speed of ``breakout``."""
    if switch.model is None:
        return _End(open_end(f"a {switch.name}", breakout.speed_gbps, catalog), is_open=True)
    return _End(switch_end(switch.model, breakout.speed_gbps))


def _choose(
    intent: Intent, lower_end: _End, upper_end: _End, layer: str, catalog: Catalog, *, crosswise: bool
) -> _Choice:
    """Return the medium of links between two ends, or why there is none.

    ``layer`` is the key of ``cabling`` for these links. None if check_intent reports why, and if an end is open and no
    medium joins the two.
    """
    cabling = intent.cabling.by_level[layer]
    lower = lower_end.lanes
    upper = upper_end.lanes
    if not isinstance(lower, LaneEnd) or not isinstance(upper, LaneEnd):
        return None
    candidates: Sequence[Medium] = catalog.media()
    key = "length_m"
    if cabling.media:
        stated_medium = catalog.find_medium(cabling.media)
        if stated_medium is None:
            return None
        candidates = (stated_medium,)
        key = "media"
    length_m = cabling.length_m
    if intent.racks is not None:
        # Racks later give each link its own length and medium. Here it only matters whether any medium joins the ends.
        length_m = 1
    medium = choose_medium(lower, upper, length_m, cabling.media, catalog, crosswise=crosswise)
    if not isinstance(medium, Blocker):
        return medium.id
    if lower_end.is_open or upper_end.is_open:
        return None
    # P-4: a medium joins the ends but does not reach; P-3: none joins them.
    code = "P-3"
    if any(linking_pmds(candidate, lower, upper) for candidate in candidates):
        code = "P-4"
    return error(code, medium.message, intent.where(f"cabling.{layer}.{key}"), fix=medium.fix)
