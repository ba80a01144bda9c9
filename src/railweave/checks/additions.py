"""Checks of configurations that hold more than the intent's own rows and lines: overrides, and a project's FRR file."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from railweave.checks.links import overridden_findings
from railweave.checks.registry import rule
from railweave.checks.transit import RouteSources, transit_diagnostics
from railweave.diagnostics import Diagnostic, Where, error
from railweave.fabric.devices import Switch
from railweave.fabric.model import Fabric
from railweave.routing.instance import own_ipv6_prefixes, own_prefixes
from railweave.secrets import is_misspelled_reference, references, refers_openly, shown_frr
from railweave.sonic.frr.abbreviation import WrittenOut, written_out
from railweave.sonic.frr.document import FrrDocument, parse_frr
from railweave.sonic.frr.reading import read_lines
from railweave.sonic.render.configure import Configurator
from railweave.sonic.render.overrides import override_rows
from railweave.sonic.rows import ConfigDb, Fields
from railweave.sonic.static_routes import STATIC_ROUTE
from railweave.templates import Templates
from railweave.units import ipv4_text
from railweave.wording import listed

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
    "if it is not a secret",
)

Places = Callable[[str], Where]
Texts = Mapping[str, str]
"""The FRR file of every switch by its name."""


def check_additions(fabric: Fabric, templates: Templates, own: Path | None, where: Places) -> Iterator[Diagnostic]:
    """Yield what is wrong with overrides, with links that they change, with lines of FRR, and with switches in transit.

    ``own`` is the project's FRR template, None if it has none.
    """
    configurator = Configurator(fabric, templates)
    for switch in fabric.switches:
        yield from configurator.override_faults(switch, where)
    yield from overridden_findings(fabric, configurator, where)
    texts: Texts = {}
    if own:
        # Only a project's own template can hold references to secrets and lines that differ from railweave's.
        texts = {switch.name: configurator.frr(switch) for switch in fabric.switches}
        yield from _open_references(texts, own)
        yield from _abbreviations(texts, own)
    yield from _check_transit(fabric, configurator, own, where, texts)


def _open_references(texts: Texts, own: Path) -> Iterator[Diagnostic]:
    """Yield an error for each line with a reference to a secret that would be shown or cannot be read.

    It names all switches that have the line.
    """
    open_lines: dict[str, list[str]] = {}
    misspelled_lines: dict[str, list[str]] = {}
    for device, text in texts.items():
        # A fabric has hundreds of lines on every switch, and nearly none of them is about secrets.
        if "secret" not in text.lower():
            continue
        for line in text.splitlines():
            if refers_openly(line):
                open_lines.setdefault(line.strip(), []).append(device)
            elif is_misspelled_reference(line):
                misspelled_lines.setdefault(line.strip(), []).append(device)
    for line, names in misspelled_lines.items():
        yield error(
            _OPEN_REFERENCE.code,
            f"FRR line `{shown_frr(line)}` begins a reference to a secret that cannot be read",
            Where(str(own)),
            devices=tuple(names),
            fix="write {secret:NAME}, with a name of letters, digits, `_`, `-` and `.`",
        )
    for line, names in open_lines.items():
        yield error(
            _OPEN_REFERENCE.code,
            f"FRR line `{line}` cannot hold a secret: railweave shows it",
            _place_of_reference(own, references(line)[0]),
            devices=tuple(names),
            fix=_OPEN_REFERENCE.fix,
        )


def _place_of_reference(template: Path, name: str) -> Where:
    """Return the place of an open reference to the secret ``name`` in a template.

    It is only the file if the template composes the reference.
    """
    for number, line in enumerate(template.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        if refers_openly(line) and name in references(line):
            return Where(str(template), number, 1 + line.index("{secret:"))
    return Where(str(template))


def _abbreviations(texts: Texts, own: Path) -> Iterator[Diagnostic]:
    """Yield an error for each line with abbreviated words, once for all switches that have it."""
    devices_of: dict[WrittenOut, list[str]] = {}
    for device, text in texts.items():
        for entry in read_lines(text):
            full_command = written_out(entry)
            if full_command.abbreviations:
                devices_of.setdefault(full_command, []).append(device)
    for full_command, names in devices_of.items():
        # The line itself may hold a secret behind an abbreviated command, where nothing would hide it.
        abbreviations = listed(f"`{word}`" for word in full_command.abbreviations)
        yield error(
            "RW407",
            f"FRR command `{shown_frr(full_command.line)}` is abbreviated: {abbreviations}",
            _place_of_words(own, full_command.abbreviations),
            devices=tuple(names),
            fix="write it in full, as FRR prints it: otherwise every plan changes the line again",
        )


def _place_of_words(template: Path, words: Iterable[str]) -> Where:
    """Return the place of the first line of a template that has these words; only the file if no line has them."""
    for number, line in enumerate(template.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        if set(words) <= set(line.split()):
            return Where(str(template), number, 1 + len(line) - len(line.lstrip()))
    return Where(str(template))


def _check_transit(
    fabric: Fabric, configurator: Configurator, own: Path | None, where: Places, texts: Texts
) -> Iterator[Diagnostic]:
    """Yield V-1 and D-1 for switches with static routes in the intent, and for all if a project has an FRR template.

    ``texts`` are the FRR files of all switches if the project has a template, else empty.
    """
    # railweave's own template needs no check: its tests prove that no switch is in transit.
    with_static_routes = [switch.name for switch in fabric.switches if _static_routes(fabric, switch)]
    groups: list[list[str]] = []
    if own:
        groups = _groups_by_policy(fabric, texts)
    # Switches of a group have the same policy, so one of each is checked first.
    representatives = [names[0] for names in groups]
    checked_names = list(dict.fromkeys((*representatives, *with_static_routes)))

    @cache
    def document(name: str) -> FrrDocument:
        return parse_frr(configurator.frr(fabric.switch_of[name]))

    def tables(name: str) -> ConfigDb:
        return {STATIC_ROUTE: _static_routes(fabric, fabric.switch_of[name])}

    def place(_: str) -> Where:
        if own and not with_static_routes:
            return Where(str(own))
        return where("overrides")

    diagnostics = list(transit_diagnostics(fabric, RouteSources(document, tables, checked_names), place))
    if diagnostics and own:
        # Something is wrong: check every switch, so that all devices are named.
        all_names = [name for names in groups for name in names]
        diagnostics = list(transit_diagnostics(fabric, RouteSources(document, tables, all_names), place))
    yield from diagnostics


def _static_routes(fabric: Fabric, switch: Switch) -> dict[str, Fields]:
    """Return the static routes that overrides give a switch, by key."""
    rows = override_rows(fabric.policies.overrides, switch)
    return {row.key: row.fields for row in rows if row.table == STATIC_ROUTE}


# Which neighbor a line is about does not decide about routes, nor do lines that only describe the neighbor.
_PEER = re.compile(r"^ *neighbor [0-9.]+|^ *neighbor Ethernet\S+")
_DESCRIPTION = re.compile(r" (remote-as|description) ")


def _groups_by_policy(fabric: Fabric, texts: Texts) -> list[list[str]]:
    """Return the names of all switches, grouped by their route policy.

    The FRR files of a group differ only in names, numbers and neighbors.
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    for switch in fabric.switches:
        text = texts[switch.name]
        prefixes = (*own_prefixes(fabric, switch), *own_ipv6_prefixes(fabric, switch))
        identity = (*map(str, prefixes), switch.name, str(switch.asn), ipv4_text(switch.loopback))
        for number, value in enumerate(identity):
            text = text.replace(value, f"<{number}>")
        lines = [_PEER.sub(" neighbor <peer>", line) for line in text.splitlines() if not _DESCRIPTION.search(line)]
        # A switch with more neighbors has the same lines more often.
        distinct_lines = dict.fromkeys(lines)
        groups.setdefault((switch.tier.name, *distinct_lines), []).append(switch.name)
    return list(groups.values())
