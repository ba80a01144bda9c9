"""A design that the search suggests: a form and switch models, written as an intent.

Nodes, traffic classes and the ratio stay as the user's intent states them. Shape, rails, planes and switches, and what
follows from them (counts, stripes, reserve, speeds of ports), are new.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from railweave.comparison.changed_lines import changed_keys, changed_lines
from railweave.comparison.forms import KEPT, Form, NodeVariant, shaped, yaml_text
from railweave.fabric.sizing import Sizing
from railweave.intent.model import Intent, Shape


class SuggestedDesign(NamedTuple):
    """A form with the models of its leaves and spines; both are of one model where no spine is built."""

    variant: NodeVariant
    form: Form
    leaf: str
    spine: str

    @property
    def name(self) -> str:
        """Return the design in a few words."""
        name = f"{self.form}: {self.leaf}"
        if self.leaf != self.spine:
            name += f" + {self.spine}"
        if self.variant.nics:
            name = f"{self.variant.nics}: {name}"
        return name

    @property
    def kind(self) -> tuple[object, ...]:
        """Return what similar designs have in common; one of each kind is suggested."""
        if self.variant.nics:
            return (self.variant.nics,)
        return self.form.shape, self.form.planes, self.form.one_switch

    @property
    def intent(self) -> Intent:
        """Return the intent of the design, to be sized."""
        return shaped(self.variant, self.form, self.leaf, self.spine)

    def document(self, *, has_spines: bool) -> Mapping[str, Any]:
        """Return the intent of the design as YAML keys and values. A fabric of one tier has no spines."""
        return {**self.variant.document, "topology": dict(self._topology(has_spines=has_spines))}

    def text(self, sizing: Sizing) -> str:
        """Return the intent of the design as the text of a file."""
        return yaml_text(self.document(has_spines=sizing.tiers > 1))

    def changed_from(self, document: Mapping[str, Any], sizing: Sizing) -> tuple[str, ...]:
        """Return the lines that turn the intent ``document`` into that of the design."""
        return changed_lines(document, self.document(has_spines=sizing.tiers > 1))

    def keys_changed_from(self, document: Mapping[str, Any], sizing: Sizing) -> int:
        """Return how many keys of the intent ``document`` change on the way to that of the design."""
        return changed_keys(document, self.document(has_spines=sizing.tiers > 1))

    def _topology(self, *, has_spines: bool) -> dict[str, Any]:
        """Return the keys of the topology."""
        topology = self._nodes_on_leaves()
        topology |= {key: value for key, value in self.variant.document["topology"].items() if key in KEPT}
        if self.form.stripe is not None:
            topology["stripe"] = self.form.stripe
        topology["leaf"] = self._leaf()
        if has_spines:
            topology["spine"] = {"model": self.spine}
        return topology

    def _nodes_on_leaves(self) -> dict[str, Any]:
        """Return the keys of shape, rails and planes; defaults are left out."""
        form = self.form
        topology: dict[str, Any] = {}
        if form.shape is not Shape.RAIL_OPTIMIZED or "shape" in self.variant.document["topology"]:
            topology["shape"] = form.shape.value
        if form.rails and form.rails != self.variant.intent.nodes[0].nics.count:
            topology["rails"] = form.rails
        if form.planes > 1:
            topology["planes"] = form.planes
        return topology

    def _leaf(self) -> dict[str, Any]:
        """Return the keys of the leaves; defaults are left out."""
        leaf: dict[str, Any] = {"model": self.leaf}
        if self.form.one_switch:
            leaf["count"] = 1
        downlink_gbps = self.variant.intent.topology.leaf.downlink_gbps
        if downlink_gbps:
            leaf["downlink_speed"] = f"{downlink_gbps}G"
        if self.form.uplink_gbps is not None:
            leaf["uplink_speed"] = f"{self.form.uplink_gbps}G"
        return leaf


def own_form(intent: Intent) -> Form:
    """Return the form of an intent, without a speed of uplinks and the nodes of a stripe."""
    topology = intent.topology
    rails = 0
    if topology.shape.has_rails:
        rails = topology.rails or intent.nodes[0].nics.count
    return Form(topology.shape, rails, topology.planes)


def own_models(intent: Intent) -> tuple[str, str]:
    """Return the models of the leaves and spines of an intent."""
    return str(intent.topology.leaf.model), str(intent.topology.spine.model)


def switches(sizing: Sizing) -> int:
    """Return the number of switches."""
    return sizing.leaves + sizing.spines + sizing.super_spines


def counts(models: tuple[str, str], nics: str, sizing: Sizing) -> tuple[object, ...]:
    """Return what two designs have in common if they are the same purchase.

    These are the models of leaves and spines, the NICs, and the numbers of planes, switches, links and ports of a leaf.
    """
    tiers = (sizing.leaves, sizing.spines, sizing.super_spines)
    return models, nics, sizing.planes, tiers, sizing.links, sizing.leaf
