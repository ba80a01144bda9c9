"""Checks of configurations that hold more than the intent's own rows and lines: overrides, and a project's FRR file."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

from railweave.checks.links import overridden_findings
from railweave.checks.registry import rule
from railweave.checks.transit import RouteSources, transit_diagnostics
from railweave.diagnostics import Diagnostic, Where, error
from railweave.fabric.model import Fabric
from railweave.routing.instance import own_ipv6_prefixes, own_prefixes
from railweave.secrets import is_misspelled_reference, references, refers_openly, shown_frr
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

_OPEN_REFERENCE = rule(
    "RW405",
    "a template refers to a secret where FRR takes one",
    "What follows a command that takes a secret is hidden wherever the line is shown. In other lines it would be read.",
    no_example="It depends on the project's template of the FRR file.",
    fix="refer to it behind a command that takes a secret, such as `neighbor PEER password`; write the value itself "
    "if it is no secret",
)

Places = Callable[[str], Where]
Texts = Mapping[str, str]
"""The FRR file of every switch by its name."""


def check_additions(fabric: Fabric, templates: Templates, own: Path | None, where: Places) -> Iterator[Diagnostic]:
    """Yield what a switch would not take, and routes in transit; ``own`` is the project's FRR template, if any."""
    configurator = Configurator(fabric, templates)
    for switch in fabric.switches:
        yield from configurator.override_faults(switch, where)
    yield from overridden_findings(fabric, configurator, where)
    texts = {switch.name: configurator.frr(switch) for switch in fabric.switches} if own else {}
    if own:
        yield from _open_references(texts, own)
    yield from _check_transit(fabric, configurator, own, where, texts)


def _open_references(texts: Texts, own: Path) -> Iterator[Diagnostic]:
    """Yield a line that refers to a secret which it would show, once for all switches that have it."""
    devices: dict[str, list[str]] = {}
    misspelled: dict[str, list[str]] = {}
    for device, text in texts.items():
        for line in text.splitlines() if "secret" in text.lower() else ():
            if refers_openly(line):
                devices.setdefault(line.strip(), []).append(device)
            elif is_misspelled_reference(line):
                misspelled.setdefault(line.strip(), []).append(device)
    for line, names in misspelled.items():
        yield error(
            _OPEN_REFERENCE.code,
            f"FRR line `{shown_frr(line)}` begins a reference to a secret that cannot be read",
            Where(str(own)),
            devices=tuple(names),
            fix="write {secret:NAME}, with a name of letters, digits, `_`, `-` and `.`",
        )
    for line, names in devices.items():
        yield error(
            _OPEN_REFERENCE.code,
            f"FRR line `{line}` cannot hold a secret: railweave shows it",
            _in_template(own, references(line)[0]),
            devices=tuple(names),
            fix=_OPEN_REFERENCE.fix,
        )


def _in_template(template: Path, name: str) -> Where:
    """Return where a template refers to a secret openly; only its file where it makes the reference up."""
    for number, line in enumerate(template.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        if refers_openly(line) and name in references(line):
            return Where(str(template), number, 1 + line.index("{secret:"))
    return Where(str(template))


def _check_transit(
    fabric: Fabric, configurator: Configurator, own: Path | None, where: Places, texts: Texts
) -> Iterator[Diagnostic]:
    """V-1 and D-1: of switches that the intent gives static routes, and of all where a project has an FRR file of its
    own; of the one that comes with railweave the tests of railweave hold that no switch is in transit."""
    static = [
        switch.name
        for switch in fabric.switches
        if any(row.table == STATIC_ROUTE for row in override_rows(fabric.policies.overrides, switch))
    ]
    alike = _alike(fabric, texts) if own else []
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


def _alike(fabric: Fabric, texts: Texts) -> list[list[str]]:
    """Return the switches in groups whose FRR files differ in nothing but their own names, numbers and neighbors."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for switch in fabric.switches:
        text = texts[switch.name]
        prefixes = (*own_prefixes(fabric, switch), *own_ipv6_prefixes(fabric, switch))
        own = (*(str(one) for one in prefixes), switch.name, str(switch.asn))
        for number, word in enumerate((*own, ipv4_text(switch.loopback))):
            text = text.replace(word, f"<{number}>")
        lines = (_PEER.sub(" neighbor <peer>", line) for line in text.splitlines() if not _WHO.search(line))
        groups.setdefault((switch.tier.name, *dict.fromkeys(lines)), []).append(switch.name)
    return list(groups.values())
