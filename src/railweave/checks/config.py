"""Checks of what the devices would be told: what the design leaves open and a switch would not take."""

from collections import Counter
from collections.abc import Callable, Iterator

from railweave.checks.buffers import buffer_findings
from railweave.checks.paths import overridden_findings
from railweave.diagnostics import Diagnostic, Where, error, in_order, warning
from railweave.fabric.model import Fabric, LinkKind
from railweave.routing.instance import MAXIMUM_PATHS
from railweave.sonic.configure import Configurator
from railweave.templates import find_templates

_PATHS_OF_EVERY_ASIC = 64
"""ECMP group width of older ASICs, and the safe assumption for one whose limit no source states."""

Places = Callable[[str], Where]
"""Where an intent path stands: ``Intent.where``."""


def _unplaced(path: str) -> Where:
    return Where(path=path)


def check_config(fabric: Fabric, where: Places = _unplaced) -> tuple[Diagnostic, ...]:
    """Return all findings about the configuration of ``fabric``, errors first; pass ``intent.where`` for places."""
    return in_order(
        (
            *_check_equal_paths(fabric, where),
            *_check_overrides(fabric, where),
            *buffer_findings(fabric, where),
        )
    )


def _check_equal_paths(fabric: Fabric, where: Places) -> Iterator[Diagnostic]:
    # A leaf's equal paths are its uplinks: k parallel links to one spine are k paths (check B-6).
    uplinks = Counter(link.lower for link in fabric.links if link.kind is LinkKind.LEAF_SPINE)
    widest = max(uplinks.values(), default=0)
    if widest > MAXIMUM_PATHS:
        yield error(
            "B-6",
            f"leaves have {widest} uplinks, more than the {MAXIMUM_PATHS} equal paths that a route can have",
            where("topology.leaf"),
            fix="use fewer, faster uplinks: topology.leaf.uplink_speed, or fewer topology.links_per_pair",
        )
    elif widest > _PATHS_OF_EVERY_ASIC:
        yield warning(
            "B-6",
            f"leaves have {widest} uplinks; an ASIC may take only {_PATHS_OF_EVERY_ASIC} members in one ECMP group",
            where("topology.leaf"),
            fix="look up the ECMP group width of the leaf's ASIC, or use fewer, faster uplinks",
        )


def _check_overrides(fabric: Fabric, where: Places) -> Iterator[Diagnostic]:
    configurator = Configurator(fabric, find_templates())
    for switch in fabric.switches:
        yield from configurator.override_faults(switch, where)
    yield from overridden_findings(fabric, configurator, where)
