"""Design an intent: sizing and fabric, or every reason why there is none."""

from dataclasses import dataclass, replace

from railweave.catalog.load import Catalog
from railweave.catalog.model import SwitchModel
from railweave.catalog.panel import PortGroup, build_panel
from railweave.catalog.refusal import Refusal
from railweave.design.arrange import arrange
from railweave.design.expand import Panels, expand
from railweave.design.hardware import Hardware, choose_hardware
from railweave.design.layout import Layout
from railweave.design.media import choose_media
from railweave.design.nodes import spread_ports
from railweave.design.room import Designed
from railweave.design.sizing import size
from railweave.diagnostics import Diagnostic, error, has_errors, in_order
from railweave.fabric.model import Fabric, Panel
from railweave.fabric.sizing import Sizing
from railweave.intent.model import Intent


@dataclass(frozen=True, slots=True)
class Design:
    """The outcome of a design.

    ``sizing`` is None where the numbers do not come together; ``fabric`` is None then, where any error was found, and
    where a tier is an inline model, which can only be sized.
    """

    fabric: Fabric | None
    sizing: Sizing | None
    diagnostics: tuple[Diagnostic, ...]


def design(intent: Intent, catalog: Catalog) -> Design:
    """Return the two-tier fabric of ``intent`` with its sizing and everything found on the way.

    Faults that need no design (unknown ids, NIC ports that do not divide, a tier without a model) are told once, by
    ``checks.intent.check_intent``: where one of them stands in the way there is no fabric and no second report.
    """
    spread = spread_ports(intent)
    hardware, faults = choose_hardware(intent, catalog)
    if hardware is None or spread is None:
        return Design(None, None, in_order(faults))
    media, media_faults = choose_media(intent, hardware, catalog)
    layout, layout_faults = arrange(intent, spread, hardware)
    faults = (*media_faults, *layout_faults)
    if layout is None:
        return Design(None, None, in_order(faults))
    panels, panel_faults = _panels(intent, layout, hardware)
    sizing = size(Designed(intent, spread, hardware, layout), in_order((*faults, *panel_faults)))
    found = in_order(sizing.diagnostics)
    sizing = replace(sizing, diagnostics=found)
    if has_errors(found) or media is None or panels is None:
        return Design(None, sizing, found)
    fabric = expand(intent, layout, panels, media, sizing)
    # A graph needs names that mean one device; nodes that are named like switches are told by check_intent.
    unique = fabric.switch_of.keys().isdisjoint(fabric.host_of)
    return Design(fabric if unique else None, sizing, found)


def _panels(intent: Intent, layout: Layout, hardware: Hardware) -> tuple[Panels | None, tuple[Diagnostic, ...]]:
    """Return the panels of both tiers; None without faults where a tier is an inline model."""
    leaf_groups = [PortGroup(cages, breakout.speed_gbps) for cages, breakout in layout.leaf_ports.groups]
    spine_groups = [PortGroup(hardware.spine_cages, hardware.spine_down.speed_gbps)]
    leaf = _panel(intent, hardware.leaf, leaf_groups, "leaf")
    spine = _panel(intent, hardware.spine, spine_groups, "spine")
    faults = tuple(found for found in (leaf, spine) if isinstance(found, Diagnostic))
    if isinstance(leaf, Panel) and isinstance(spine, Panel):
        return Panels(leaf, spine), ()
    return None, faults


def _panel(intent: Intent, model: SwitchModel | None, groups: list[PortGroup], role: str) -> Panel | Diagnostic | None:
    if model is None:
        return None
    panel = build_panel(model, groups)
    if not isinstance(panel, Refusal):
        return panel
    return error("P-3", panel.reason, intent.where(f"topology.{role}"), fix=panel.way_out)
