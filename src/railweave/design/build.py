"""Design an intent: sizing and fabric, or every reason why there is none."""

from collections.abc import Iterable
from typing import NamedTuple

from railweave.catalog.load import Catalog
from railweave.catalog.model import SwitchModel
from railweave.catalog.panel import PortGroup, build_panel
from railweave.design.graph import build_fabric
from railweave.design.hardware import TierHardware, choose_hardware, choose_media
from railweave.design.layout import TierLayout
from railweave.design.nodes import distribute_ports
from railweave.design.room import Designed
from railweave.design.sizing import size
from railweave.design.tiers import lay_out
from railweave.diagnostics import Blocker, Diagnostic, error, has_errors, in_order
from railweave.fabric.model import Fabric, Panel
from railweave.fabric.sizing import Sizing
from railweave.intent.model import Intent


class Design(NamedTuple):
    """The outcome of a design.

    ``sizing`` is None where the numbers do not come together; ``fabric`` is None then, where any error was found, and
    where a tier is an inline model, which can only be sized.
    """

    fabric: Fabric | None
    sizing: Sizing | None
    diagnostics: tuple[Diagnostic, ...]


def design(intent: Intent, catalog: Catalog) -> Design:
    """Return the fabric of ``intent`` with its sizing and everything found on the way.

    Faults that need no design (unknown ids, NIC ports that do not divide, a tier without a model) are reported once, by
    ``checks.intent.check_intent``: one of them prevents a fabric, and is not reported again.
    """
    node_ports = distribute_ports(intent)
    hardware, diagnostics = choose_hardware(intent, catalog)
    if not hardware or node_ports is None:
        return Design(None, None, in_order(diagnostics))
    layout, layout_diagnostics = lay_out(intent, node_ports, hardware)
    built = hardware[: len(layout.tiers) if layout else intent.topology.tiers or 2]
    media, media_diagnostics = choose_media(intent, built, catalog)
    diagnostics = (*media_diagnostics, *layout_diagnostics)
    if layout is None:
        return Design(None, None, in_order(diagnostics))
    panels, panel_diagnostics = _panels(intent, layout.tiers, built)
    sizing = size(Designed(intent, node_ports, hardware, layout), in_order((*diagnostics, *panel_diagnostics)))
    found = in_order(sizing.diagnostics)
    sizing = sizing._replace(diagnostics=found)
    if has_errors(found) or media is None or panels is None:
        return Design(None, sizing, found)
    fabric = build_fabric(intent, layout, panels, media, sizing)
    # A graph needs names that mean one device; check_intent reports nodes that are named like switches.
    unique = fabric.switch_of.keys().isdisjoint(fabric.host_of)
    return Design(fabric if unique else None, sizing, found)


def _panels(
    intent: Intent, tiers: Iterable[TierLayout], hardware: Iterable[TierHardware]
) -> tuple[tuple[Panel, ...] | None, tuple[Diagnostic, ...]]:
    found = [_panel(intent, tier, one.model) for tier, one in zip(tiers, hardware, strict=True)]
    panels = tuple(one for one in found if isinstance(one, Panel))
    diagnostics = tuple(one for one in found if isinstance(one, Diagnostic))
    return (panels if len(panels) == len(found) else None), diagnostics


def _panel(intent: Intent, tier: TierLayout, model: SwitchModel | None) -> Panel | Diagnostic | None:
    if model is None:
        return None
    panel = build_panel(model, [PortGroup(cages, breakout.speed_gbps) for cages, breakout in tier.ports.groups])
    if not isinstance(panel, Blocker):
        return panel
    return error("P-3", panel.message, intent.where(f"topology.{tier.name.replace('-', '_')}"), fix=panel.fix)
