"""The part of a switch's configuration that no other switch shares: identity, cables with addresses, and neighbors.

Everything else is shared (``panel_rows``) or an override. Only the fabric's graph and addressing are read here, none of
its other policies: if these are equal in two designs, every switch has the same own values, and a comparison need not
look at a million cables.
"""

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from operator import attrgetter
from typing import NamedTuple

from railweave.fabric.devices import Switch, Tier
from railweave.fabric.model import Fabric, Graph
from railweave.fabric.policy import Addressing
from railweave.sonic.render.metadata import SONIC_TYPE
from railweave.sonic.render.ports import Attachment, attachments
from railweave.sonic.rows import Row, TableRows
from railweave.units import ipv4_text
from railweave.wording import natural_key

_KEPT = 64
"""Cached sets of neighbors: a regular fabric has a few, an irregular one must not fill the memory."""


class Own(NamedTuple):
    """The values of one switch that it shares with no other."""

    name: str
    asn: int
    loopback: int
    # Its used ports in panel order.
    used: tuple[Attachment, ...]
    # The rows of its neighbors.
    neighbors: tuple[Row, ...]


Use = tuple[tuple[int, int, int], ...]
"""The ports in use, each by its place on the panel, the length of its cable in meters, and the level of its link, which
is 0 to a node."""

_DOWN = attrgetter("upper_port", "length_m", "level")
_UP = attrgetter("lower_port", "length_m", "level")


def use_of(graph: Graph, switch: Switch) -> Use:
    """Return the ports of a switch in use, by which its shared rows are selected."""
    return (*map(_DOWN, graph.downlinks_of[switch.name]), *map(_UP, graph.uplinks_of[switch.name]))


class Owner:
    """Computes the own values of switches; caches the rows that switches with the same neighbors share."""

    def __init__(self, graph: Graph, addressing: Addressing) -> None:
        """Start with an empty cache."""
        self._graph = graph
        self._addressing = addressing
        self._switch_metadata: dict[str, Row] = {}
        self._neighborhoods: dict[tuple[str, ...], TableRows] = {}

    def own(self, switch: Switch) -> Own:
        """Return the own values of ``switch``."""
        used = attachments(self._graph, self._addressing, switch)
        return Own(switch.name, switch.asn, switch.loopback, used, self.neighbors(used).rows)

    def neighbors(self, used: Iterable[Attachment]) -> TableRows:
        """Return the table of a switch's neighbors, the same object for switches with the same neighbors."""
        # The leaves of a stripe have the same neighbors, and so have the spines of a plane.
        names = tuple(dict.fromkeys(attachment.neighbor for attachment in used))
        table = self._neighborhoods.get(names)
        if table is None:
            if len(self._neighborhoods) >= _KEPT:
                self._neighborhoods.clear()
            rows = map(self._neighbor_row, sorted(names, key=natural_key))
            table = TableRows("DEVICE_NEIGHBOR_METADATA", tuple(rows), shared=True)
            self._neighborhoods[names] = table
        return table

    def _neighbor_row(self, name: str) -> Row:
        """Return the DEVICE_NEIGHBOR_METADATA row of a neighbor; that of a switch is the same object each time."""
        switch = self._graph.switch_of.get(name)
        if switch is None:
            return host_metadata_row(name)
        row = self._switch_metadata.get(name)
        if row is None:
            row = switch_metadata_row(switch)
            self._switch_metadata[name] = row
        return row


def have_the_same_own(base: Fabric, head: Fabric) -> bool:
    """Tell whether every switch has the same own values and the same BGP sessions in two designs of a fabric."""
    # Of the policies own values depend on addressing alone; sizing only describes the rest of the fabric.
    if base.policies.addressing != head.policies.addressing:
        return False
    if replace(base, policies=head.policies, sizing=head.sizing) != head:
        return False
    return [_all_values(tier) for tier in base.uplink_kinds] == [_all_values(tier) for tier in head.uplink_kinds]


def _all_values(tier: Tier) -> tuple[object, ...]:
    """Return all values of a tier, since tiers themselves compare equal whatever their size."""
    return tuple(getattr(tier, field.name) for field in fields(tier))


_HOST_FIELDS: Mapping[str, str] = {"type": "Server"}
_HOST_REASON = "A GPU node that is cabled to this leaf (nodes); its type tells SONiC that the cable is short."


def host_metadata_row(name: str) -> Row:
    """Return the DEVICE_NEIGHBOR_METADATA row of a GPU node."""
    return Row("DEVICE_NEIGHBOR_METADATA", name, _HOST_FIELDS, _HOST_REASON)


def switch_metadata_row(switch: Switch) -> Row:
    """Return the DEVICE_NEIGHBOR_METADATA row of a neighboring switch."""
    return Row(
        "DEVICE_NEIGHBOR_METADATA",
        switch.name,
        {
            "hwsku": switch.panel.hwsku,
            "lo_addr": f"{ipv4_text(switch.loopback)}/32",
            "type": SONIC_TYPE[switch.tier.name],
        },
        f"A {switch.tier.name} that is cabled to this switch (topology), with its own model and address.",
    )
