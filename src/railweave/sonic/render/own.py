"""What is of one switch alone among all that its rows follow from: who it is, its cables with their addresses, and its
neighbors.

Everything else is shared (``panel_rows``) or an override. What is read here of the fabric is its graph, never its
policies: so two fabrics with the same graph and the same addressing give every switch the same, and nobody has to look
at a million cables twice.
"""

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from operator import attrgetter
from typing import NamedTuple

from railweave.fabric.model import Fabric, Graph, Switch, Tier
from railweave.fabric.policy import Addressing
from railweave.sonic.render.metadata import SONIC_TYPE
from railweave.sonic.render.ports import Attachment, attachments
from railweave.sonic.rows import Block, Row
from railweave.units import ipv4_text
from railweave.wording import natural_key

_KEPT = 64
"""Sets of neighbors that are remembered: a sound fabric has a few, a ragged one must not fill the memory."""


class Own(NamedTuple):
    """What is of one switch alone: its name, AS number and loopback, its used ports in panel order, and the rows of its
    neighbors."""

    name: str
    asn: int
    loopback: int
    used: tuple[Attachment, ...]
    neighbors: tuple[Row, ...]


Use = tuple[tuple[int, int, int], ...]
"""The ports in use: their places on the panel, the lengths of their cables in metres, and the levels of their links,
which is 0 to a node."""

_DOWN = attrgetter("upper_port", "length_m", "level")
_UP = attrgetter("lower_port", "length_m", "level")


def use_of(graph: Graph, switch: Switch) -> Use:
    """Return what of a switch's own decides which of the shared rows it has."""
    return (*map(_DOWN, graph.downlinks_of[switch.name]), *map(_UP, graph.uplinks_of[switch.name]))


class Owner:
    """Finds what is of single switches; keeps what those with the same neighbors share."""

    def __init__(self, graph: Graph, addressing: Addressing) -> None:
        """Nothing is found yet."""
        self._graph, self._addressing = graph, addressing
        self._switch_metadata: dict[str, Row] = {}
        self._neighborhoods: dict[tuple[str, ...], Block] = {}

    def own(self, switch: Switch) -> Own:
        """Return what is of ``switch`` alone."""
        used = attachments(self._graph, self._addressing, switch)
        return Own(switch.name, switch.asn, switch.loopback, used, self.neighbors(used).rows)

    def neighbors(self, used: Iterable[Attachment]) -> Block:
        """Return the table of a switch's neighbors: one object for the switches that have the same ones, as the leaves
        of a stripe and the spines of a plane do."""
        names = tuple(dict.fromkeys(one.neighbor for one in used))
        known = self._neighborhoods.get(names)
        if known is None:
            if len(self._neighborhoods) >= _KEPT:
                self._neighborhoods.clear()
            rows = map(self._neighbor_row, sorted(names, key=natural_key))
            known = self._neighborhoods[names] = Block("DEVICE_NEIGHBOR_METADATA", tuple(rows), True)
        return known

    def _neighbor_row(self, name: str) -> Row:
        switch = self._graph.switch_of.get(name)
        if switch is None:
            return host_metadata_row(name)
        known = self._switch_metadata.get(name)
        if known is None:
            known = self._switch_metadata[name] = switch_metadata_row(switch)
        return known


def have_the_same_own(base: Fabric, head: Fabric) -> bool:
    """Tell whether every switch has the same of its own, and the same sessions, in two designs of a fabric.

    Everything is compared but the policies, of which addressing alone is read, and what sizing tells of the rest.
    """
    return (
        base.policies.addressing == head.policies.addressing
        and replace(base, policies=head.policies, sizing=head.sizing) == head
        and [_whole(tier) for tier in base.uplink_kinds] == [_whole(tier) for tier in head.uplink_kinds]
    )


def _whole(tier: Tier) -> tuple[object, ...]:
    """Return all values of a tier: tiers of two designs are the same one, whatever their size."""
    return tuple(getattr(tier, one.name) for one in fields(tier))


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
