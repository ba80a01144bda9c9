"""Design an intent: sizing and fabric, or every reason why there is none."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from railweave.catalog.inline_panel import inline_panel
from railweave.catalog.load import Catalog
from railweave.catalog.panel import PortGroup, build_panel
from railweave.design.as_built import with_as_built
from railweave.design.contradictions import name_contradictions
from railweave.design.crosswise import NOT_CROSSWISE, crosswise
from railweave.design.graph import Panels, build_fabric
from railweave.design.hardware import TierHardware, choose_hardware
from railweave.design.identity import host_block_size
from railweave.design.layout import Layout
from railweave.design.leaf_class import choose_leaf_classes
from railweave.design.lengths import with_racks
from railweave.design.management import with_management
from railweave.design.media import Media, choose_media
from railweave.design.nodes import distribute_ports
from railweave.design.room import CountedDesign
from railweave.design.sizing import size
from railweave.design.split import TierPorts
from railweave.design.tiers import lay_out
from railweave.diagnostics import Blocker, Diagnostic, error, has_errors, in_order
from railweave.fabric.model import Fabric
from railweave.fabric.panel import Panel
from railweave.fabric.sizing import Sizing
from railweave.intent.model import Intent


class Design(NamedTuple):
    """The outcome of a design.

    ``sizing`` is None where the numbers do not come together; ``fabric`` is None then, where any error was found, and
    where switches or NICs are no models: such a fabric can be counted (``countable``), but not configured.
    """

    fabric: Fabric | None
    sizing: Sizing | None
    diagnostics: tuple[Diagnostic, ...]


class _Basis(NamedTuple):
    """What a fabric is built of, once its numbers come together."""

    layout: Layout
    panels: Panels
    media: Media
    sizing: Sizing


def design(intent: Intent, catalog: Catalog) -> Design:
    """Return the fabric of ``intent`` with its sizing and everything found on the way.

    Faults that need no design (unknown ids, NIC ports that do not divide, a tier without a model) are reported once, by
    ``checks.intent.check_intent``: one of them prevents a fabric, and is not reported again.
    """
    basis, outcome = _calculate(intent, catalog)
    if basis is None or not _has_models(intent, basis.panels):
        return outcome
    sizing = basis.sizing
    fabric = build_fabric(intent, basis.layout, basis.panels, basis.media, sizing)
    # A graph needs names that mean one device; check_intent reports nodes that are named like switches.
    if not fabric.switch_of.keys().isdisjoint(fabric.host_of):
        return outcome
    slots = host_block_size(basis.layout) // 2
    fabric, diagnostics = _with_sites(intent, fabric, outcome.diagnostics, catalog, slots)
    sizing = sizing._replace(diagnostics=diagnostics)
    if has_errors(diagnostics):
        return Design(None, sizing, diagnostics)
    if diagnostics != outcome.diagnostics:
        fabric = replace(fabric, sizing=sizing)
    return Design(fabric, sizing, diagnostics)


def _with_sites(
    intent: Intent, fabric: Fabric, diagnostics: tuple[Diagnostic, ...], catalog: Catalog, slots: int
) -> tuple[Fabric, tuple[Diagnostic, ...]]:
    """Return the fabric with what its site adds: racks, cables as they were built, and the management network."""
    if intent.racks is not None:
        fabric, rack_diagnostics = with_racks(intent, intent.racks, fabric, catalog)
        diagnostics = in_order((*diagnostics, *rack_diagnostics))
    if intent.as_built and not has_errors(diagnostics):
        fabric, length_diagnostics = with_as_built(fabric, intent.as_built, catalog)
        diagnostics = in_order((*diagnostics, *length_diagnostics))
    if intent.management is not None and not has_errors(diagnostics):
        fabric, management_diagnostics = with_management(intent, intent.management, fabric, slots)
        diagnostics = in_order((*diagnostics, *management_diagnostics))
    return fabric, diagnostics


def countable(intent: Intent, catalog: Catalog) -> Fabric | None:
    """Return the fabric of an intent in which switches or NICs are no models, None where all are, where the numbers do
    not come together, and where no medium of the catalog is of a link's speed and length.

    Racks, measured lengths and a management network are of models.
    """
    basis, _ = _calculate(intent, catalog)
    if basis is None or _has_models(intent, basis.panels):
        return None
    return build_fabric(intent, basis.layout, basis.panels, basis.media, basis.sizing)


def calculate(intent: Intent, catalog: Catalog) -> Sizing | None:
    """Return the sizing of an intent whose numbers come together and whose tiers are models of the catalog, None of any
    other. It builds no graph, which is most of the time of ``design``; that one looks at racks and names as well."""
    basis, _ = _calculate(intent, catalog)
    if basis is None or not _has_models(intent, basis.panels):
        return None
    return basis.sizing


def _has_models(intent: Intent, panels: Panels) -> bool:
    """Tell whether all switches and NICs are models of the catalog."""
    of_switches = all(panel.is_model for panel in (*panels.leaves, *panels.above))
    return of_switches and all(entry.nics.model for entry in intent.nodes)


def _calculate(intent: Intent, catalog: Catalog) -> tuple[_Basis | None, Design]:
    """Return what a fabric can be built of, None where an error was found, and the outcome as far as it goes."""
    node_ports = distribute_ports(intent)
    hardware, diagnostics = choose_hardware(intent, catalog)
    if not hardware or node_ports is None:
        return None, Design(None, None, in_order(diagnostics))
    classes, diagnostics = choose_leaf_classes(intent, hardware, catalog)
    if classes is None:
        return None, Design(None, None, in_order(diagnostics))
    layout, layout_diagnostics = lay_out(intent, node_ports, classes, hardware)
    if has_errors(layout_diagnostics):
        layout_diagnostics = name_contradictions(
            intent, layout_diagnostics, lambda other: _lay_out(other, hardware, catalog)
        )
    if layout is None:
        # Without a layout nothing shares cages, and a medium that does not exist is reported all the same.
        built = hardware[: intent.topology.tiers or 2]
        _, media_diagnostics = choose_media(intent, built, classes, node_ports, catalog, NOT_CROSSWISE)
        return None, Design(None, None, in_order((*media_diagnostics, *layout_diagnostics)))
    built = hardware[: len(layout.tiers)]
    media, media_diagnostics = choose_media(intent, built, classes, node_ports, catalog, crosswise(layout))
    panels, panel_diagnostics = _panels(intent, layout, built)
    before = in_order((*media_diagnostics, *layout_diagnostics, *panel_diagnostics))
    sizing = size(CountedDesign(intent, node_ports, classes, hardware, layout), before)
    diagnostics = in_order(sizing.diagnostics)
    sizing = sizing._replace(diagnostics=diagnostics)
    outcome = Design(None, sizing, diagnostics)
    if has_errors(diagnostics) or media is None or panels is None:
        return None, outcome
    return _Basis(layout, panels, media, sizing), outcome


def _lay_out(
    intent: Intent, hardware: Sequence[TierHardware], catalog: Catalog
) -> tuple[Layout | None, tuple[Diagnostic, ...]]:
    """Return the layout of an intent with other counts, or why there is none."""
    node_ports = distribute_ports(intent)
    classes, diagnostics = choose_leaf_classes(intent, hardware, catalog)
    if node_ports is None or classes is None:
        return None, diagnostics
    return lay_out(intent, node_ports, classes, hardware)


def _panels(
    intent: Intent, layout: Layout, hardware: Sequence[TierHardware]
) -> tuple[Panels | None, tuple[Diagnostic, ...]]:
    leaves = [_panel(intent, leaf.path, leaf.ports, leaf.hardware) for leaf in layout.classes]
    above = [
        _panel(intent, f"topology.{tier.name.replace('-', '_')}", tier.ports, switch)
        for tier, switch in zip(layout.tiers[1:], hardware[1:], strict=True)
    ]
    panels = [panel for panel in (*leaves, *above) if isinstance(panel, Panel)]
    if len(panels) < len(leaves) + len(above):
        return None, tuple(panel for panel in (*leaves, *above) if isinstance(panel, Diagnostic))
    return Panels(tuple(panels[: len(leaves)]), tuple(panels[len(leaves) :])), ()


def _panel(intent: Intent, path: str, ports: TierPorts, switch: TierHardware) -> Panel | Diagnostic:
    if switch.model is None:
        groups = tuple((cages, breakout.speed_gbps, breakout.per_cage) for cages, breakout in ports.groups)
        return inline_panel(switch.cages, switch.cage_gbps, groups)
    panel = build_panel(switch.model, [PortGroup(cages, breakout.speed_gbps) for cages, breakout in ports.groups])
    if not isinstance(panel, Blocker):
        return panel
    return error("P-3", panel.message, intent.where(path), fix=panel.fix)
