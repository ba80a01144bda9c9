"""The media of the cables: one a node entry for its host links, one for all leaf-spine links."""

from collections.abc import Mapping
from dataclasses import dataclass

from railweave.cabling.media import LaneEnd, choose_medium, linking_pmds, nic_end, switch_end
from railweave.catalog.load import Catalog
from railweave.catalog.refusal import Refusal
from railweave.design.hardware import Hardware
from railweave.diagnostics import Diagnostic, error
from railweave.intent.model import Intent


@dataclass(frozen=True, slots=True)
class Media:
    """Media ids: ``host`` by the name of a node entry, ``leaf_spine`` of the fabric's own links."""

    host: Mapping[str, str]
    leaf_spine: str


def choose_media(intent: Intent, hardware: Hardware, catalog: Catalog) -> tuple[Media | None, tuple[Diagnostic, ...]]:
    """Return the media of all links, or why some link cannot be made.

    None without a fault for inline models, and where the catalogue does not know a NIC, its ports or a medium: these
    are told by check_intent.
    """
    if hardware.leaf is None or hardware.spine is None:
        return None, ()
    leaf = switch_end(hardware.leaf, hardware.down.speed_gbps)
    up = switch_end(hardware.leaf, hardware.up.speed_gbps)
    down = switch_end(hardware.spine, hardware.spine_down.speed_gbps)
    chosen: dict[str, str | Diagnostic | None] = {}
    for entry in intent.nodes:
        nic = catalog.find_nic(entry.nics.model)
        end = None if nic is None else nic_end(nic, entry.nics.ports, entry.nics.speed_gbps)
        chosen[entry.name] = _choose(intent, end, leaf, "cabling.host", catalog)
    leaf_spine = _choose(intent, up, down, "cabling.leaf_spine", catalog)
    faults = tuple(dict.fromkeys(one for one in (*chosen.values(), leaf_spine) if isinstance(one, Diagnostic)))
    host = {name: medium for name, medium in chosen.items() if isinstance(medium, str)}
    if len(host) == len(chosen) and isinstance(leaf_spine, str):
        return Media(host, leaf_spine), ()
    return None, faults


def _choose(
    intent: Intent, lower: LaneEnd | Refusal | None, upper: LaneEnd | Refusal, path: str, catalog: Catalog
) -> str | Diagnostic | None:
    """Return the medium of the links whose cable stands at ``path``, or why there is none."""
    cable = intent.cabling.host if path.endswith("host") else intent.cabling.leaf_spine
    wanted = None if cable.media is None else catalog.find_medium(cable.media)
    if not isinstance(lower, LaneEnd) or not isinstance(upper, LaneEnd) or (cable.media and wanted is None):
        return None
    medium = choose_medium(lower, upper, cable.length_m, cable.media, catalog)
    if not isinstance(medium, Refusal):
        return medium.id
    links = any(linking_pmds(one, lower, upper) for one in (catalog.media() if wanted is None else (wanted,)))
    key = "media" if cable.media else "length_m"
    return error("P-4" if links else "P-3", medium.reason, intent.where(f"{path}.{key}"), fix=medium.way_out)
