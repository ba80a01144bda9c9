"""The media of the cables: one a node entry for its access links, one for all links between two tiers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from railweave.cabling.media import LaneEnd, choose_medium, linking_pmds, nic_end, switch_end
from railweave.catalog.load import Catalog
from railweave.design.hardware import TierHardware
from railweave.diagnostics import Blocker, Diagnostic, error
from railweave.intent.model import Intent


@dataclass(frozen=True, slots=True)
class Media:
    """Media ids: ``access`` by the name of a node entry, ``uplinks`` of each tier's links to the one above."""

    access: Mapping[str, str]
    uplinks: tuple[str, ...]


def choose_media(
    intent: Intent, hardware: Sequence[TierHardware], catalog: Catalog
) -> tuple[Media | None, tuple[Diagnostic, ...]]:
    """Return the media of all links, or why some link cannot be made.

    None without an error for inline models, and where the catalog does not know a NIC, its ports or a medium: these
    are reported by check_intent.
    """
    models = [tier.model for tier in hardware if tier.model is not None]
    if len(models) < len(hardware):
        return None, ()
    down = [switch_end(model, tier.down.speed_gbps) for model, tier in zip(models, hardware, strict=True)]
    up = [switch_end(model, tier.up.speed_gbps) for model, tier in zip(models[:-1], hardware[:-1], strict=True)]
    access: dict[str, str | Diagnostic | None] = {}
    for entry in intent.nodes:
        nic = catalog.find_nic(entry.nics.model)
        end = None if nic is None else nic_end(nic, entry.nics.ports, entry.nics.speed_gbps)
        access[entry.name] = _choose(intent, end, down[0], "cabling.host", catalog)
    uplinks = [
        _choose(intent, lower, upper, "cabling.leaf_spine", catalog) for lower, upper in zip(up, down[1:], strict=True)
    ]
    chosen = (*access.values(), *uplinks)
    if all(isinstance(one, str) for one in chosen):
        by_entry = {name: str(medium) for name, medium in access.items()}
        return Media(by_entry, tuple(map(str, uplinks))), ()
    return None, tuple(dict.fromkeys(one for one in chosen if isinstance(one, Diagnostic)))


def _choose(
    intent: Intent, lower: LaneEnd | Blocker | None, upper: LaneEnd | Blocker, path: str, catalog: Catalog
) -> str | Diagnostic | None:
    cable = intent.cabling.host if path.endswith("host") else intent.cabling.leaf_spine
    intended = None if cable.media is None else catalog.find_medium(cable.media)
    if not isinstance(lower, LaneEnd) or not isinstance(upper, LaneEnd) or (cable.media and intended is None):
        return None
    medium = choose_medium(lower, upper, cable.length_m, cable.media, catalog)
    if not isinstance(medium, Blocker):
        return medium.id
    links = any(linking_pmds(one, lower, upper) for one in (catalog.media() if intended is None else (intended,)))
    key = "media" if cable.media else "length_m"
    return error("P-4" if links else "P-3", medium.message, intent.where(f"{path}.{key}"), fix=medium.fix)
