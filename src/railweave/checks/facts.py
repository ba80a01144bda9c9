"""Live devices against the intent: what was read from switches and nodes, compared link by link (``check --facts``).

A switch's facts are what ``show runningconfiguration all`` prints: of a whole CONFIG_DB a table that is missing is
empty, of a selection it is unknown. A node's facts are one JSON object. What was read and lacks a setting is a finding,
what was not read is named and not compared, and a null is refused:

    {"nics": {"rail0": {"mtu": 9000, "speed_gbps": 400, "fec": "rs", "autoneg": "off", "trust": "dscp", "pfc": [3],
                        "dscp_to_priority": {"26": 3, "48": 6}, "roce_tos": 106, "cnp_dscp": 48, "pcie": "gen5x16",
                        "pause_rx": "off", "pause_tx": "off", "addresses": ["10.32.0.1/31"], "tables": [100],
                        "rule_priorities": [1000],
                        "routes": [{"to": "default", "via": "10.32.0.0", "table": "100", "metric": 0}], "state": "up",
                        "settings": {"dcqcn reaction point 3": "1"}}},
     "nccl": {"NCCL_IB_TC": "106"}, "sysctl": {"net.ipv4.conf.all.arp_ignore": "1"}}

``railweave facts collect`` writes both.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from railweave.checks.links import LinkChecker, host_port
from railweave.checks.registry import NODE_CHECKS, NodeRead, rule
from railweave.checks.transit import RouteSources, transit_diagnostics
from railweave.checks.unread_facts import uncompared_facts, unread_facts
from railweave.diagnostics import Diagnostic, Severity, Where, error, in_order, warning
from railweave.fabric.model import Fabric
from railweave.secrets import shown_frr, shown_key, shown_row
from railweave.sonic.document import DocumentError, RunningConfig, dump, parse_running
from railweave.sonic.frr.document import FrrDocument, parse_frr
from railweave.sonic.port_settings import PortSettings, decides_links
from railweave.sonic.render.configure import Configurator
from railweave.sonic.rows import ConfigDb
from railweave.sonic.static_routes import STATIC_ROUTE
from railweave.wording import command_line, first_few

rule(
    "RW404",
    "facts belong to the fabric's devices and are readable",
    "Facts are compared by the name of their device and by the intent of that device.",
    "a file pod2-leaf1.json among the facts of fabric pod1",
)

Files = Mapping[str, tuple[str, str]]
"""Device name to (file, text)."""


def fact_findings(fabric: Fabric, files: Files, configurator: Configurator) -> tuple[Diagnostic, ...]:
    """Return the differences between the facts in ``files`` and the intent, and what the facts do not tell.

    A difference on a link names both of its ends.
    """
    switches, hosts, diagnostics = _parsed(fabric, files)
    tables = {name: running.config_db for name, running in switches.items()}

    def place(device: str) -> Where:
        file, _ = files.get(device, ("", ""))
        return Where(file)

    checker = LinkChecker(fabric, configurator, tables, lambda name, index: _host_settings(fabric, hosts, name, index))
    diagnostics += checker.diagnostics([*switches, *hosts], place)
    diagnostics += transit_diagnostics(fabric, _routes_of(fabric, configurator, switches), place)
    for name in tables:
        missing = _unknown_tables(checker, name)
        if missing:
            diagnostics.append(_not_compared(name, missing, place(name)))
    for name, document in hosts.items():
        node = NodeRead(fabric, fabric.host_of[name], document)
        missing = list(unread_facts(node))
        if missing:
            diagnostics.append(_not_compared(name, missing, place(name)))
        for code, check in NODE_CHECKS:
            diagnostics += (breach.diagnostic(code, place(name)) for breach in check(node))
    return in_order(diagnostics)


def _parsed(
    fabric: Fabric, files: Files
) -> tuple[dict[str, RunningConfig], dict[str, Mapping[str, Any]], list[Diagnostic]]:
    """Return the facts of switches and of nodes by name, and the errors of files that cannot be read."""
    switches: dict[str, RunningConfig] = {}
    hosts: dict[str, Mapping[str, Any]] = {}
    diagnostics: list[Diagnostic] = []
    for name, (file, text) in files.items():
        try:
            if name in fabric.switch_of:
                switches[name] = parse_running(text)
            elif name in fabric.host_of:
                hosts[name] = _node_facts(text)
            else:
                diagnostics.append(_unknown_device(fabric, name, file))
        # RecursionError: JSON that is nested too deeply.
        except (DocumentError, ValueError, RecursionError) as parse_error:
            diagnostics.append(_unreadable(name, file, str(parse_error)))
    return switches, hosts, diagnostics


def uncompared_findings(fabric: Fabric, files: Files) -> tuple[Diagnostic, ...]:
    """Return, as information, the facts of nodes that checks would compare and that are missing in ``files``."""
    diagnostics: list[Diagnostic] = []
    for name, (file, text) in files.items():
        if name not in fabric.host_of:
            continue
        try:
            node = NodeRead(fabric, fabric.host_of[name], _node_facts(text))
        except (ValueError, RecursionError):
            # `fact_findings` reports it.
            continue
        missing = list(uncompared_facts(node))
        if missing:
            diagnostics.append(_uncompared(name, missing, Where(file)))
    return in_order(diagnostics)


def _uncompared(name: str, missing: Sequence[str], where: Where) -> Diagnostic:
    """Return the info that checks did not compare the ``missing`` facts of a node."""
    command = command_line("facts", "collect", "--out", "DIR")
    return Diagnostic(
        code="RW404",
        severity=Severity.INFO,
        message=f"the facts of {name} do not tell {first_few(missing, 8, '; ')}: what these decide was not checked",
        where=where,
        devices=(name,),
        fix=f"collect them again while the links are up: `{command}`; compare by hand what a driver does not tell",
    )


def _unknown_tables(checker: LinkChecker, name: str) -> list[str]:
    """Return the tables that decide about links but are missing in the facts of a switch."""
    read = checker.read(name)
    return sorted(table for table in checker.design(name).tables if decides_links(table) and not read.knows(table))


def _not_compared(name: str, missing: Sequence[str], where: Where) -> Diagnostic:
    """Return the warning that checks did not compare the ``missing`` facts of a device."""
    return warning(
        "RW404",
        f"the facts of {name} do not tell {first_few(missing, 4)}: what these decide was not checked",
        where,
        fix=f"collect them again: `{command_line('facts', 'collect', '--out', 'DIR')}`, or write the whole"
        " `show runningconfiguration all`",
        devices=(name,),
    )


def _routes_of(fabric: Fabric, configurator: Configurator, switches: Mapping[str, RunningConfig]) -> RouteSources:
    """Return where the routes of switches come from: their facts, or the intent for a switch without facts.

    Only switches with facts are reported on.
    """

    @cache
    def document(name: str) -> FrrDocument:
        lines = switches[name].frr if name in switches else None
        if lines is None:
            # A switch without facts, or without FRR's part of them, is taken as intended.
            lines = configurator.frr(fabric.switch_of[name])
        return parse_frr(lines)

    def tables(name: str) -> ConfigDb:
        return switches[name].config_db if name in switches else {}

    return RouteSources(document, tables, tuple(switches))


def _node_facts(text: str) -> Mapping[str, Any]:
    """Return a node's facts; raises ValueError if a value is not of its kind."""
    document = json.loads(text)
    if not isinstance(document, dict):
        raise ValueError("a node's facts are an object with `nics`, `nccl` and `sysctl`")
    # A part is checked before `_fact_parts` looks into it.
    for part in _fact_parts(document):
        if part.value is None:
            raise ValueError(f"{part.path} is null, which says neither what it is nor that it is not set; leave it out")
        if not _is_of_kind(part.value, part.kind):
            raise ValueError(f"{part.path}: {json.dumps(part.value)} is not of its kind")
    return document


class _FactPart(NamedTuple):
    """A value in a node's facts: its path, and the kind that it must be of, as `_is_of_kind` reads it."""

    path: str
    value: object
    kind: object


def _fact_parts(document: Mapping[str, Any]) -> Iterator[_FactPart]:
    """Yield the parts of a node's facts, each before the parts that it holds."""
    for key in ("nics", "nccl", "sysctl"):
        if key in document:
            yield _FactPart(key, document[key], dict)
    for key in ("nccl", "sysctl"):
        for name, value in document.get(key, {}).items():
            yield _FactPart(f"{key}.{name}", value, _WORD)
    for name, nic in document.get("nics", {}).items():
        path = f"nics.{name}"
        yield _FactPart(path, nic, dict)
        for key, value in nic.items():
            if key in _KINDS:
                yield _FactPart(f"{path}.{key}", value, _KINDS[key])
        yield from _setting_parts(path, nic)
        yield from _route_parts(path, nic)


def _setting_parts(path: str, nic: Mapping[str, Any]) -> Iterator[_FactPart]:
    """Yield the settings of a NIC: each is a text, or texts by number."""
    for name, value in nic.get("settings", {}).items():
        kind: object = str
        if isinstance(value, dict):
            kind = {"": str}
        yield _FactPart(f"{path}.settings.{name}", value, kind)


def _route_parts(path: str, nic: Mapping[str, Any]) -> Iterator[_FactPart]:
    for key in ("routes", "ipv6_routes"):
        for number, route in enumerate(nic.get(key, [])):
            for name, value in route.items():
                yield _FactPart(f"{path}.{key}[{number}].{name}", value, _WORD)


# iproute2 prints the same setting as a word or a number, such as table main or 100.
_WORD = (str, int)


def _is_of_kind(value: object, kind: object) -> bool:
    """Tell whether a value is of a kind.

    A kind is a type, a tuple of types, a set of words, a list with the kind of all members, or a dictionary with the
    kind of values by number under the key ``""``.
    """
    if isinstance(kind, frozenset):
        return isinstance(value, str) and value in kind
    if isinstance(kind, tuple):
        return type(value) in kind
    if isinstance(kind, list):
        return isinstance(value, list) and all(_is_of_kind(member, kind[0]) for member in value)
    if isinstance(kind, dict):
        return isinstance(value, dict) and _is_numbered(value, kind[""])
    # Not isinstance: True is an integer to Python, but no number of a fact.
    return type(value) is kind


def _is_numbered(values: Mapping[str, object], kind: object) -> bool:
    """Tell whether a mapping holds values of a kind by numbers, which JSON writes as text."""
    return all(key.isdigit() and _is_of_kind(value, kind) for key, value in values.items())


# What `ethtool -a` prints of RX and TX (ethtool.c, dump_pause).
_ON_OR_OFF = frozenset({"on", "off"})
# The kinds of an interface's facts, as `_is_of_kind` reads them.
_KINDS: Mapping[str, object] = {
    **dict.fromkeys(("mtu", "speed_gbps", "roce_tos", "cnp_dscp"), int),
    **dict.fromkeys(("fec", "autoneg", "trust", "pcie", "state"), str),
    **dict.fromkeys(("pause_rx", "pause_tx"), _ON_OR_OFF),
    **{key: [int] for key in ("tables", "ipv6_tables", "rule_priorities", "ipv6_rule_priorities", "pfc")},
    **{key: [str] for key in ("addresses", "ipv6_addresses")},
    **{key: [dict] for key in ("routes", "ipv6_routes")},
    "settings": dict,
    "dscp_to_priority": {"": int},
}


def _unknown_device(fabric: Fabric, name: str, file: str) -> Diagnostic:
    return warning(
        "RW404",
        f"{name} is not a switch or node of {fabric.name}",
        Where(file),
        fix="name each file after its device, or take it out",
    )


def _unreadable(name: str, file: str, reason: str) -> Diagnostic:
    """Return the error of a file of facts that cannot be read."""
    return error(
        "RW404",
        f"the facts of {name} cannot be read: {reason}",
        Where(file),
        fix="write what `show runningconfiguration all` prints for a switch, an object with `nics` for a node",
        devices=(name,),
    )


def _host_settings(
    fabric: Fabric, facts: Mapping[str, Mapping[str, Any]], name: str, index: int
) -> PortSettings | None:
    """Return the port with ``index`` of the node ``name`` as its facts have it, None if they do not have it."""
    if name not in facts:
        return None
    intended = host_port(fabric, fabric.host_of[name], index)
    nic = facts[name].get("nics", {}).get(intended.port)
    if nic is None:
        return None
    return _as_read(intended, nic)


def _as_read(intended: PortSettings, nic: Mapping[str, Any]) -> PortSettings:
    """Return a port with the settings that were read; one that was not read is None."""
    priorities = None
    if "dscp_to_priority" in nic:
        # Keys of JSON objects are strings.
        priorities = {int(dscp): priority for dscp, priority in nic["dscp_to_priority"].items()}
    pfc = None
    if "pfc" in nic:
        pfc = frozenset(nic["pfc"])
    return intended._replace(
        mtu_bytes=nic.get("mtu"),
        speed_gbps=nic.get("speed_gbps"),
        fec=nic.get("fec"),
        autoneg=nic.get("autoneg"),
        pfc=pfc,
        priorities=priorities,
    )


def switch_facts(printed: str) -> str:
    """Return the facts of a switch from what ``show runningconfiguration all`` printed; raises DocumentError.

    Secrets are left out or marked.
    """
    running = parse_running(printed)
    tables = {}
    for name, rows in running.config_db.items():
        # Facts are files that people pass on. User accounts, SNMP communities and keys of servers are in tables that no
        # check reads, so these are left out.
        if decides_links(name) or name == STATIC_ROUTE:
            tables[name] = {shown_key(name, key): shown_row(name, row) for key, row in rows.items()}
    frr = None
    if running.frr is not None:
        # It has the passwords of BGP sessions.
        frr = shown_frr(running.frr)
    return dump(RunningConfig(tables, frr))
