"""Checks of what the devices would be told: what the design leaves open and a switch would not take."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from railweave.checks.buffer_facts import tier_path
from railweave.checks.buffers import buffer_findings
from railweave.checks.links import overridden_findings
from railweave.checks.registry import rule
from railweave.checks.transit import RouteSources, transit_diagnostics
from railweave.diagnostics import Diagnostic, Where, error, in_order, warning
from railweave.fabric.model import Fabric
from railweave.routing.instance import MAXIMUM_PATHS, own_prefixes
from railweave.sonic.frr.document import FrrDocument, parse_frr
from railweave.sonic.render.configure import Configurator
from railweave.sonic.render.frr_text import FRR_TEMPLATE
from railweave.sonic.render.overrides import override_rows
from railweave.sonic.rows import ConfigDb
from railweave.sonic.static_routes import STATIC_ROUTE
from railweave.templates import Templates, find_templates
from railweave.units import ipv4_text

rule(
    "B-6",
    "a leaf has no more equal-cost paths than a route supports",
    "Every uplink of a leaf is an equal-cost path; what is above the limit of FRR or of the ASIC carries nothing.",
    "topology: {links_per_pair: 512}",
)
rule(
    "RW402",
    "overrides add rows and change none that railweave renders",
    "Two sources of one row would contradict each other; what the intent has keys for is stated by them.",
    "overrides: {leaf: {PORT: {Ethernet0: {mtu: '1500'}}}}",
)

_PATHS_OF_EVERY_ASIC = 64
"""ECMP group width of older ASICs, and the safe assumption for one whose limit no source states."""

Places = Callable[[str], Where]
"""Where an intent path stands: ``Intent.where``."""


def _unplaced(path: str) -> Where:
    return Where(path=path)


def check_config(
    fabric: Fabric, where: Places = _unplaced, templates: Templates | None = None
) -> tuple[Diagnostic, ...]:
    """Return all diagnostics of the configuration of ``fabric``, errors first; pass ``intent.where`` for places and a
    project's own ``templates``."""
    configurator = Configurator(fabric, templates or find_templates())
    return in_order(
        (
            *_check_equal_paths(fabric, where),
            *_check_overrides(fabric, configurator, where),
            *_check_transit(fabric, configurator, where),
            *buffer_findings(fabric, where),
        )
    )


def _check_equal_paths(fabric: Fabric, where: Places) -> Iterator[Diagnostic]:
    # A switch's equal paths are its uplinks: k parallel links to one above are k paths (check B-6).
    for tier in fabric.tiers:
        if tier.ports_up > MAXIMUM_PATHS:
            yield error(
                "B-6",
                f"{tier.plural} have {tier.ports_up} uplinks, more than the {MAXIMUM_PATHS} equal paths that a route"
                " can have",
                where(tier_path(tier)),
                fix=f"use fewer, faster uplinks: {tier_path(tier)}.uplink_speed, or fewer topology.links_per_pair",
            )
        elif tier.ports_up > _PATHS_OF_EVERY_ASIC:
            yield warning(
                "B-6",
                f"{tier.plural} have {tier.ports_up} uplinks; an ASIC may take only {_PATHS_OF_EVERY_ASIC} members in"
                " one ECMP group",
                where(tier_path(tier)),
                fix=f"look up the ECMP group width of the {tier.name}'s ASIC, or use fewer, faster uplinks",
            )


def _check_overrides(fabric: Fabric, configurator: Configurator, where: Places) -> Iterator[Diagnostic]:
    for switch in fabric.switches:
        yield from configurator.override_faults(switch, where)
    yield from overridden_findings(fabric, configurator, where)


def _check_transit(fabric: Fabric, configurator: Configurator, where: Places) -> Iterator[Diagnostic]:
    """V-1 and D-1: of switches that the intent gives static routes, and of all where a project has an FRR file of its
    own; of the one that comes with railweave the tests of railweave hold that no switch is in transit."""
    own = _own_frr_template(configurator.templates)
    static = [
        switch.name
        for switch in fabric.switches
        if any(row.table == STATIC_ROUTE for row in override_rows(fabric.policies.overrides, switch))
    ]
    alike = _alike(fabric, configurator) if own else []
    judged = list(dict.fromkeys((*(names[0] for names in alike), *static)))

    @cache
    def document(name: str) -> FrrDocument:
        return parse_frr(configurator.frr(fabric.switch_of[name]))

    def tables(name: str) -> ConfigDb:
        rows = override_rows(fabric.policies.overrides, fabric.switch_of[name])
        return {STATIC_ROUTE: {row.key: row.fields for row in rows if row.table == STATIC_ROUTE}}

    def place(_: str) -> Where:
        return Where(str(own)) if own and not static else where("overrides")

    found = list(transit_diagnostics(fabric, RouteSources(document, tables, judged), place))
    if found and own:
        everyone = [name for names in alike for name in names]
        found = list(transit_diagnostics(fabric, RouteSources(document, tables, everyone), place))
    yield from found


_PEER = re.compile(r"^ *neighbor [0-9.]+|^ *neighbor Ethernet\S+")
_WHO = re.compile(r" (remote-as|description) ")


def _alike(fabric: Fabric, configurator: Configurator) -> list[list[str]]:
    """Return the switches in groups whose FRR files differ in nothing but their own names, numbers and neighbors."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for switch in fabric.switches:
        text = configurator.frr(switch)
        own = (*(str(one) for one in own_prefixes(fabric, switch)), switch.name, str(switch.asn))
        for number, word in enumerate((*own, ipv4_text(switch.loopback))):
            text = text.replace(word, f"<{number}>")
        lines = (_PEER.sub(" neighbor <peer>", line) for line in text.splitlines() if not _WHO.search(line))
        groups.setdefault((switch.tier.name, *dict.fromkeys(lines)), []).append(switch.name)
    return list(groups.values())


def _own_frr_template(templates: Templates) -> Path | None:
    """Return the FRR template of the project where it is another one than railweave's."""
    used, shipped = (
        next((folder / FRR_TEMPLATE for folder in one.folders if (folder / FRR_TEMPLATE).is_file()), None)
        for one in (templates, find_templates())
    )
    if used is None or shipped is None or used.read_bytes() == shipped.read_bytes():
        return None
    return used
