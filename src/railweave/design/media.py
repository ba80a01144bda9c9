"""The media of the cables: one a node entry for its host links, one for all leaf-spine links."""

from collections.abc import Mapping
from dataclasses import dataclass

from railweave.cabling.media import LaneEnd, choose_medium, linking_pmds, nic_end, switch_end
from railweave.catalog.load import Catalog
from railweave.catalog.refusal import Refusal
from railweave.design.hardware import Hardware
from railweave.diagnostics import Diagnostic, error
from railweave.intent.model import Cable, Intent


@dataclass(frozen=True, slots=True)
class Media:
    """Media ids: ``host`` by the name of a node entry, ``leaf_spine`` of the fabric's own links."""

    host: Mapping[str, str]
    leaf_spine: str


def choose_media(intent: Intent, hardware: Hardware, catalog: Catalog) -> tuple[Media | None, tuple[Diagnostic, ...]]:
    """Return the media of all links, or why some link cannot be made; None without faults for inline models."""
    faults: list[Diagnostic] = []
    host: dict[str, str] = {}
    leaf_spine: str | None = None
    if hardware.leaf is not None:
        leaf = switch_end(hardware.leaf, hardware.down.speed_gbps)
        for index, entry in enumerate(intent.nodes):
            nic = catalog.find_nic(entry.nics.model)
            if nic is None:  # the intent's own checks name it
                continue
            end = nic_end(nic, entry.nics.ports, entry.nics.speed_gbps)
            path = f"nodes[{index}].nics.ports"
            chosen = _choose(intent, (end, leaf), intent.cabling.host, ("cabling.host", path), catalog)
            if isinstance(chosen, str):
                host[entry.name] = chosen
            else:
                faults.append(chosen)
    if hardware.leaf is not None and hardware.spine is not None:
        up = switch_end(hardware.leaf, hardware.up.speed_gbps)
        down = switch_end(hardware.spine, hardware.spine_down.speed_gbps)
        paths = ("cabling.leaf_spine", "topology.leaf")
        chosen = _choose(intent, (up, down), intent.cabling.leaf_spine, paths, catalog)
        if isinstance(chosen, str):
            leaf_spine = chosen
        else:
            faults.append(chosen)
    if faults or leaf_spine is None or len(host) < len({entry.name for entry in intent.nodes}):
        return None, tuple(dict.fromkeys(faults))
    return Media(host, leaf_spine), ()


def _choose(
    intent: Intent,
    ends: tuple[LaneEnd | Refusal, LaneEnd | Refusal],
    cable: Cable,
    paths: tuple[str, str],
    catalog: Catalog,
) -> str | Diagnostic:
    """Return the medium of a link; ``paths`` are of its cable and of its ends in the intent."""
    lower, upper = ends
    if isinstance(lower, Refusal):
        return error("P-2", lower.reason, intent.where(paths[1]), fix=lower.way_out)
    if isinstance(upper, Refusal):
        return error("P-3", upper.reason, intent.where(paths[1]), fix=upper.way_out)
    medium = choose_medium(lower, upper, cable.length_m, cable.media, catalog)
    if not isinstance(medium, Refusal):
        return medium.id
    if cable.media is None:
        links = any(linking_pmds(one, lower, upper) for one in catalog.media())
    else:
        wanted = catalog.find_medium(cable.media)
        if wanted is None:
            return error("RW101", medium.reason, intent.where(f"{paths[0]}.media"), fix=medium.way_out)
        links = linking_pmds(wanted, lower, upper) is not None
    key = "media" if cable.media else "length_m"
    code = "P-4" if links else "P-3"
    return error(code, medium.reason, intent.where(f"{paths[0]}.{key}"), fix=medium.way_out)
