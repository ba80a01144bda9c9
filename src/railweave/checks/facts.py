"""Live devices against the intent: what was read from switches and nodes, compared link by link (``check --facts``).

A switch's facts are what ``show runningconfiguration all`` prints: of a whole CONFIG_DB a table that is missing is
empty, of a selection it is unknown. A node's facts are one JSON object. What was read and lacks a setting is a finding,
what was not read (``nccl``, an interface, all RDMA settings of one) is named and not compared:

    {"nics": {"rail0": {"mtu": 9000, "speed_gbps": 400, "fec": "rs", "autoneg": "off", "trust": "dscp", "pfc": [3],
                        "dscp_to_priority": {"26": 3, "48": 6}, "roce_tos": 106, "cnp_dscp": 48, "pcie": "gen5x16",
                        "pause_rx": "off", "pause_tx": "off", "addresses": ["10.32.0.1/31"], "tables": [100],
                        "routes": [{"to": "default", "via": "10.32.0.0", "table": "100", "metric": 0}], "state": "up",
                        "settings": {"dcqcn reaction point 3": "1"}}},
     "nccl": {"NCCL_IB_TC": "106"}, "sysctl": {"net.ipv4.conf.all.arp_ignore": "1"}}

``railweave facts collect`` writes both.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from railweave.checks.links import LinkChecker, host_port
from railweave.checks.registry import NODE_CHECKS, NodeRead, rule
from railweave.checks.transit import RouteSources, transit_diagnostics
from railweave.diagnostics import Diagnostic, Where, error, in_order, warning
from railweave.fabric.model import Fabric
from railweave.hosts.settings import unread_settings
from railweave.secrets import shown_frr, shown_key, shown_row
from railweave.sonic.document import DocumentError, RunningConfig, dump, parse_running
from railweave.sonic.frr.document import FrrDocument, parse_frr
from railweave.sonic.port_settings import PortSettings, decides_links
from railweave.sonic.render.configure import Configurator
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
    """Return what the facts in ``files`` show to be otherwise than the intent, both ends named."""
    found: list[Diagnostic] = []
    switches: dict[str, RunningConfig] = {}
    hosts: dict[str, Mapping[str, Any]] = {}
    for name, (file, text) in files.items():
        try:
            if name in fabric.switch_of:
                switches[name] = parse_running(text)
            elif name in fabric.host_of:
                hosts[name] = _node(text)
            else:
                found.append(_unknown(fabric, name, file))
        except (DocumentError, ValueError, RecursionError) as wrong:
            found.append(_unreadable(name, file, str(wrong)))
    tables = {name: one.config_db for name, one in switches.items()}
    known = [*switches, *hosts]

    def place(device: str) -> Where:
        return Where(files[device][0] if device in files else "")

    checker = LinkChecker(fabric, configurator, tables, lambda name, index: _host(fabric, hosts, name, index))
    found += checker.diagnostics(known, place)
    found += transit_diagnostics(fabric, _routes_of(fabric, configurator, switches), place)
    found += (_left_out(name, lacks, place(name)) for name, lacks in _unknown_tables(checker, tables) if lacks)
    for name, document in hosts.items():
        node = NodeRead(fabric, fabric.host_of[name], document)
        if lacks := list(_unknown_facts(node)):
            found.append(_left_out(name, lacks, place(name)))
        for code, check in NODE_CHECKS:
            found += (one.diagnostic(code, place(name)) for one in check(node))
    return in_order(found)


def _unknown_tables(checker: LinkChecker, tables: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    for name in tables:
        read, design = checker.read(name), checker.design(name)
        yield name, sorted(table for table in design.tables if decides_links(table) and not read.knows(table))


def _unknown_facts(node: NodeRead) -> Iterator[str]:
    """Yield what was not read of a node, as far as checks of traffic classes need it."""
    yield from (key for key in ("nics", "nccl") if key not in node.document and (key == "nics" or node.host.runs_nccl))
    intended = node.intended
    for port in node.ports if "nics" in node.document else ():
        name = port.name.partition(":")[2]
        if name not in node.document["nics"]:
            yield f"nics.{name}"
        elif port.readable and port.readable.isdisjoint(port.facts):
            yield f"RDMA settings of nics.{name}"
        elif settings := port.facts.get("settings"):
            yield from (f"{what} of nics.{name}" for what in unread_settings(intended, settings))


def _left_out(name: str, lacks: Sequence[str], where: Where) -> Diagnostic:
    return warning(
        "RW404",
        f"the facts of {name} do not tell {first_few(lacks, 4)}: what these decide was not checked",
        where,
        fix=f"collect them again: `{command_line('facts', 'collect', '--out', 'DIR')}`, or write the whole"
        " `show runningconfiguration all`",
        devices=(name,),
    )


def _routes_of(fabric: Fabric, configurator: Configurator, switches: Mapping[str, RunningConfig]) -> RouteSources:

    @cache
    def document(name: str) -> FrrDocument:
        read = switches[name].frr if name in switches else None
        return parse_frr(configurator.frr(fabric.switch_of[name]) if read is None else read)

    return RouteSources(document, lambda name: switches[name].config_db if name in switches else {}, tuple(switches))


def _node(text: str) -> Mapping[str, Any]:
    """Return a node's facts; raises ValueError where a value is not of its kind."""
    document = json.loads(text)
    if not isinstance(document, dict) or not all(isinstance(document.get(key, {}), dict) for key in ("nccl", "sysctl")):
        raise ValueError("a node's facts are an object with `nics`, `nccl` and `sysctl`")
    nics = document.get("nics", {})
    if not isinstance(nics, dict) or not all(isinstance(one, dict) for one in nics.values()):
        raise ValueError("`nics` holds an object for each interface")
    for name, nic in nics.items():
        for key, value in nic.items():
            if key in _KINDS and not _is_of(value, _KINDS[key]):
                raise ValueError(f"nics.{name}.{key}: {json.dumps(value)} is not of its kind")
        for what, value in nic.get("settings", {}).items():
            if not (isinstance(value, str) or _is_of(value, {"": str})):
                raise ValueError(f"nics.{name}.settings.{what}: {json.dumps(value)} is not of its kind")
    return document


def _is_of(value: object, kind: object) -> bool:
    """Tell whether a value is of a kind: a type, a list of one, or a mapping from numbers to one."""
    if isinstance(kind, list):
        return isinstance(value, list) and all(_is_of(one, kind[0]) for one in value)
    if isinstance(kind, dict):
        return isinstance(value, dict) and all(key.isdigit() and _is_of(one, kind[""]) for key, one in value.items())
    return type(value) is kind


_KINDS: Mapping[str, object] = {
    **dict.fromkeys(("mtu", "speed_gbps", "roce_tos", "cnp_dscp"), int),
    **dict.fromkeys(("fec", "autoneg", "trust", "pcie", "pause_rx", "pause_tx", "state"), str),
    "routes": [dict],
    "ipv6_routes": [dict],
    "settings": dict,
    "pfc": [int],
    "tables": [int],
    "addresses": [str],
    "dscp_to_priority": {"": int},
}


def _unknown(fabric: Fabric, name: str, file: str) -> Diagnostic:
    return warning(
        "RW404",
        f"{name} is no switch and no node of {fabric.name}",
        Where(file),
        fix="name each file after its device, or take it out",
    )


def _unreadable(name: str, file: str, reason: str) -> Diagnostic:
    return error(
        "RW404",
        f"the facts of {name} cannot be read: {reason}",
        Where(file),
        fix="write what `show runningconfiguration all` prints for a switch, an object with `nics` for a node",
        devices=(name,),
    )


def _host(fabric: Fabric, facts: Mapping[str, Mapping[str, Any]], name: str, index: int) -> PortSettings | None:
    if name not in facts:
        return None
    intended = host_port(fabric, fabric.host_of[name], index)
    nic = facts[name].get("nics", {}).get(intended.port)
    return None if nic is None else _as_found(intended, nic)


def _as_found(intended: PortSettings, nic: Mapping[str, Any]) -> PortSettings:
    pfc, priorities = nic.get("pfc"), nic.get("dscp_to_priority")
    return intended._replace(
        mtu_bytes=nic.get("mtu"),
        speed_gbps=nic.get("speed_gbps"),
        fec=nic.get("fec"),
        autoneg=nic.get("autoneg"),
        pfc=None if pfc is None else frozenset(pfc),
        priorities=None if priorities is None else {int(dscp): priority for dscp, priority in priorities.items()},
    )


def switch_facts(printed: str) -> str:
    """Return the facts of a switch from what ``show runningconfiguration all`` printed; raises DocumentError.

    User accounts, communities and keys of servers stand in tables that no check reads, passwords of BGP sessions in the
    routing text; facts are files that people pass on, so neither is kept.
    """
    running = parse_running(printed)
    tables = {
        name: {shown_key(name, key): shown_row(name, row) for key, row in rows.items()}
        for name, rows in running.config_db.items()
        if decides_links(name) or name == STATIC_ROUTE
    }
    frr = None if running.frr is None else shown_frr(running.frr)
    return dump(RunningConfig(tables, frr))
