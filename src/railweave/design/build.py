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
    """The outcome of a design."""

    # None if there is no sizing, if there is any error, or if switches or NICs are not models of the catalog: such a
    # fabric can be counted (`countable`), but not configured.
    fabric: Fabric | None
    # None if the intent has no consistent layout.
    sizing: Sizing | None
    diagnostics: tuple[Diagnostic, ...]


class _Basis(NamedTuple):
    """What a fabric is built of, for an intent without errors in its numbers."""

    layout: Layout
    panels: Panels
    media: Media
    sizing: Sizing


def design(intent: Intent, catalog: Catalog) -> Design:
    """Return the fabric of ``intent`` with its sizing and all diagnostics.

    Errors that are found without a design (unknown ids, NIC ports that do not divide, a tier without a model) prevent a
    fabric but are not reported here: ``checks.intent.check_intent`` reports them.
    """
    basis, outcome = _calculate(intent, catalog)
    if basis is None or not _has_models(intent, basis.panels):
        return outcome
    sizing = basis.sizing
    fabric = build_fabric(intent, basis.layout, basis.panels, basis.media, sizing)
    # A graph needs names that mean one device; check_intent reports nodes that are named like switches.
    if not fabric.switch_of.keys().isdisjoint(fabric.host_of):
        return outcome
    # A host block has two addresses for each link to a node.
    node_slots = host_block_size(basis.layout) // 2
    fabric, diagnostics = _with_site(intent, fabric, outcome.diagnostics, catalog, node_slots)
    sizing = sizing._replace(diagnostics=diagnostics)
    if has_errors(diagnostics):
        return Design(None, sizing, diagnostics)
    # The fabric has the sizing too.
    if diagnostics != outcome.diagnostics:
        fabric = replace(fabric, sizing=sizing)
    return Design(fabric, sizing, diagnostics)


def _with_site(
    intent: Intent, fabric: Fabric, diagnostics: tuple[Diagnostic, ...], catalog: Catalog, node_slots: int
) -> tuple[Fabric, tuple[Diagnostic, ...]]:
    """Return the fabric with what its site adds: racks, cables as they were built, and the management network.

    ``diagnostics`` are those found so far; the result includes them. After an error the later parts are left out.
    """
    if intent.racks is not None:
        fabric, rack_diagnostics = with_racks(intent, intent.racks, fabric, catalog)
        diagnostics = in_order((*diagnostics, *rack_diagnostics))
    if intent.as_built and not has_errors(diagnostics):
        fabric, length_diagnostics = with_as_built(fabric, intent.as_built, catalog)
        diagnostics = in_order((*diagnostics, *length_diagnostics))
    if intent.management is not None and not has_errors(diagnostics):
        fabric, management_diagnostics = with_management(intent, intent.management, fabric, node_slots)
        diagnostics = in_order((*diagnostics, *management_diagnostics))
    return fabric, diagnostics


def countable(intent: Intent, catalog: Catalog) -> Fabric | None:
    """Return the fabric of an intent with switches or NICs that are not models of the catalog, without its racks,
    measured lengths and management network.

    None if all are models, if the intent has errors, or if the catalog has no medium of a link's speed and length.
    """
    basis, _ = _calculate(intent, catalog)
    if basis is None or _has_models(intent, basis.panels):
        return None
    return build_fabric(intent, basis.layout, basis.panels, basis.media, basis.sizing)


def calculate(intent: Intent, catalog: Catalog) -> Sizing | None:
    """Return the sizing of an intent without building its graph, which takes most of the time of ``design``.

    None if the intent has errors, or if switches or NICs are not models of the catalog. Racks and names are not
    checked.
    """
    basis, _ = _calculate(intent, catalog)
    if basis is None or not _has_models(intent, basis.panels):
        return None
    return basis.sizing


def _has_models(intent: Intent, panels: Panels) -> bool:
    """Tell whether all switches and NICs are models of the catalog."""
    switches_are_models = all(panel.is_model for panel in (*panels.leaves, *panels.above))
    return switches_are_models and all(entry.nics.model for entry in intent.nodes)


def _calculate(intent: Intent, catalog: Catalog) -> tuple[_Basis | None, Design]:
    """Return what a fabric can be built of, and the design without its fabric.

    The first is None if there is an error, and if a model or node ports that ``check_intent`` reports are missing.
    """
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
            intent, layout_diagnostics, lambda variant: _lay_out(variant, hardware, catalog)
        )
    if layout is None:
        # Missing media are reported together with the errors of the layout. Which links share cages is not known.
        expected_tiers = hardware[: intent.topology.tiers or 2]
        _, media_diagnostics = choose_media(intent, expected_tiers, classes, node_ports, catalog, NOT_CROSSWISE)
        return None, Design(None, None, in_order((*media_diagnostics, *layout_diagnostics)))
    built_tiers = hardware[: len(layout.tiers)]
    media, media_diagnostics = choose_media(intent, built_tiers, classes, node_ports, catalog, crosswise(layout))
    panels, panel_diagnostics = _panels(intent, layout, built_tiers)
    diagnostics = in_order((*media_diagnostics, *layout_diagnostics, *panel_diagnostics))
    sizing = size(CountedDesign(intent, node_ports, classes, hardware, layout), diagnostics)
    diagnostics = in_order(sizing.diagnostics)
    sizing = sizing._replace(diagnostics=diagnostics)
    outcome = Design(None, sizing, diagnostics)
    if has_errors(diagnostics) or media is None or panels is None:
        return None, outcome
    return _Basis(layout, panels, media, sizing), outcome


def _lay_out(
    intent: Intent, hardware: Sequence[TierHardware], catalog: Catalog
) -> tuple[Layout | None, tuple[Diagnostic, ...]]:
    """Return the layout of an intent with other counts on the same hardware, or why there is none."""
    node_ports = distribute_ports(intent)
    classes, diagnostics = choose_leaf_classes(intent, hardware, catalog)
    if node_ports is None or classes is None:
        return None, diagnostics
    return lay_out(intent, node_ports, classes, hardware)


def _panels(
    intent: Intent, layout: Layout, hardware: Sequence[TierHardware]
) -> tuple[Panels | None, tuple[Diagnostic, ...]]:
    """Return the panels of all leaf classes and of the tiers above, or None and an error for each model without one.

    ``hardware`` is that of the tiers of the layout.
    """
    results = [_panel(intent, leaf.path, leaf.ports, leaf.hardware) for leaf in layout.classes]
    for tier, tier_hardware in zip(layout.tiers[1:], hardware[1:], strict=True):
        path = f"topology.{tier.name.replace('-', '_')}"
        results.append(_panel(intent, path, tier.ports, tier_hardware))
    diagnostics = tuple(result for result in results if isinstance(result, Diagnostic))
    if diagnostics:
        return None, diagnostics
    panels = tuple(result for result in results if isinstance(result, Panel))
    leaf_classes = len(layout.classes)
    return Panels(panels[:leaf_classes], panels[leaf_classes:]), ()


def _panel(intent: Intent, path: str, ports: TierPorts, switch: TierHardware) -> Panel | Diagnostic:
    """Return the panel of a switch with these ports, or why its model has none; ``path`` is its intent path."""
    if switch.model is None:
        groups = tuple((cages, breakout.speed_gbps, breakout.per_cage) for cages, breakout in ports.groups)
        return inline_panel(switch.cages, switch.cage_gbps, groups)
    panel = build_panel(switch.model, [PortGroup(cages, breakout.speed_gbps) for cages, breakout in ports.groups])
    if not isinstance(panel, Blocker):
        return panel
    return error("P-3", panel.message, intent.where(path), fix=panel.fix)
