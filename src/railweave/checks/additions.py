"""Checks of configurations that hold more than the intent's own rows and lines: overrides, and a project's FRR file."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from railweave.checks.links import overridden_findings
from railweave.checks.registry import rule
from railweave.checks.transit import RouteSources, transit_diagnostics
from railweave.diagnostics import Diagnostic, Where
from railweave.fabric.model import Fabric
from railweave.routing.instance import own_ipv6_prefixes, own_prefixes
from railweave.sonic.frr.document import FrrDocument, parse_frr
from railweave.sonic.render.configure import Configurator
from railweave.sonic.render.overrides import override_rows
from railweave.sonic.rows import ConfigDb
from railweave.sonic.static_routes import STATIC_ROUTE
from railweave.templates import Templates
from railweave.units import ipv4_text

rule(
    "RW402",
    "overrides add rows and change none that railweave renders",
    "Two sources of one row would contradict each other; what the intent has keys for is stated by them.",
    "overrides: {leaf: {PORT: {Ethernet0: {mtu: '1500'}}}}",
)

Places = Callable[[str], Where]


def check_additions(fabric: Fabric, templates: Templates, own: Path | None, where: Places) -> Iterator[Diagnostic]:
    """Yield what a switch would not take, and routes in transit; ``own`` is the project's FRR template, if any."""
    configurator = Configurator(fabric, templates)
    for switch in fabric.switches:
        yield from configurator.override_faults(switch, where)
    yield from overridden_findings(fabric, configurator, where)
    yield from _check_transit(fabric, configurator, own, where)


def _check_transit(fabric: Fabric, configurator: Configurator, own: Path | None, where: Places) -> Iterator[Diagnostic]:
    """V-1 and D-1: of switches that the intent gives static routes, and of all where a project has an FRR file of its
    own; of the one that comes with railweave the tests of railweave hold that no switch is in transit."""
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
        prefixes = (*own_prefixes(fabric, switch), *own_ipv6_prefixes(fabric, switch))
        own = (*(str(one) for one in prefixes), switch.name, str(switch.asn))
        for number, word in enumerate((*own, ipv4_text(switch.loopback))):
            text = text.replace(word, f"<{number}>")
        lines = (_PEER.sub(" neighbor <peer>", line) for line in text.splitlines() if not _WHO.search(line))
        groups.setdefault((switch.tier.name, *dict.fromkeys(lines)), []).append(switch.name)
    return list(groups.values())
