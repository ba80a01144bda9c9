"""Live devices against the intent: what was read from switches and nodes, compared link by link (``check --facts``).

A switch's facts are what ``show runningconfiguration all`` prints. A node's facts are one JSON object; all of it may be
left out, and what is left out is not compared:

    {"nics": {"rail0": {"mtu": 9000, "speed_gbps": 400, "fec": "rs", "autoneg": "off", "trust": "dscp", "pfc": [3],
                        "dscp_to_priority": {"26": 3, "48": 6}, "roce_tos": 106, "cnp_dscp": 48, "pcie": "gen5x16",
                        "pause_rx": "off", "pause_tx": "off", "addresses": ["10.32.0.1/31"], "tables": [100]}},
     "nccl": {"NCCL_IB_TC": "106"}, "sysctl": {"net.ipv4.conf.all.arp_ignore": "1"}}

``railweave facts collect`` writes both.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from railweave.catalog.load import Catalog
from railweave.checks.ends import End, host_end
from railweave.checks.node_facts import NodeRead, node_findings
from railweave.checks.paths import PathChecker
from railweave.checks.transit import Seen, transit_findings
from railweave.diagnostics import Diagnostic, Where, error, in_order, warning
from railweave.fabric.model import Fabric
from railweave.sonic.document import DocumentError, RunningConfig, parse_running
from railweave.sonic.frr.document import FrrDocument, parse_frr
from railweave.sonic.render.configure import Configurator
from railweave.sonic.rows import ConfigDb

Files = Mapping[str, tuple[str, str]]
"""Device name to (file, text)."""


@dataclass(frozen=True, slots=True)
class _Facts:
    switches: Mapping[str, ConfigDb]
    hosts: Mapping[str, Mapping[str, Any]]


def fact_findings(fabric: Fabric, files: Files, configurator: Configurator, catalog: Catalog) -> tuple[Diagnostic, ...]:
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
                found.append(_stranger(fabric, name, file))
        except (DocumentError, ValueError) as wrong:
            found.append(_unreadable(name, file, str(wrong)))
    tables = {name: one.config_db for name, one in switches.items()}
    facts = _Facts(tables, hosts)
    known = [*switches, *hosts]

    def place(device: str) -> Where:
        return Where(files[device][0] if device in files else "")

    checker = PathChecker(fabric, configurator, tables, lambda name, index: _host(fabric, facts, name, index))
    found += checker.findings(known, place)
    found += transit_findings(fabric, _routes_of(fabric, configurator, switches), place)
    for name, document in hosts.items():
        found += node_findings(NodeRead(fabric, fabric.host_of[name], document, place(name)), catalog)
    return in_order(found)


def _routes_of(fabric: Fabric, configurator: Configurator, switches: Mapping[str, RunningConfig]) -> Seen:
    """Return the routing of the switches that were read; the others route as intended."""

    @cache
    def document(name: str) -> FrrDocument:
        read = switches[name].frr if name in switches else None
        return parse_frr(configurator.frr(fabric.switch_of[name]) if read is None else read)

    return Seen(document, lambda name: switches[name].config_db if name in switches else {}, tuple(switches))


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
            if not _KINDS.get(key, _anything)(value):
                raise ValueError(f"nics.{name}.{key}: {json.dumps(value)} is not of its kind")
    return document


def _anything(_: object) -> bool:
    return True


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_numbers(value: object) -> bool:
    return isinstance(value, list) and all(_is_number(one) for one in value)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(_is_text(one) for one in value)


def _is_map(value: object) -> bool:
    return isinstance(value, dict) and all(key.isdigit() and _is_number(one) for key, one in value.items())


_KINDS: Mapping[str, Callable[[object], bool]] = {
    "mtu": _is_number,
    "speed_gbps": _is_number,
    "roce_tos": _is_number,
    "cnp_dscp": _is_number,
    "fec": _is_text,
    "autoneg": _is_text,
    "trust": _is_text,
    "pcie": _is_text,
    "pfc": _is_numbers,
    "dscp_to_priority": _is_map,
    "pause_rx": _is_text,
    "pause_tx": _is_text,
    "addresses": _is_texts,
    "tables": _is_numbers,
}


def _stranger(fabric: Fabric, name: str, file: str) -> Diagnostic:
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


def _host(fabric: Fabric, facts: _Facts, name: str, index: int) -> End | None:
    if name not in facts.hosts:
        return None
    wanted = host_end(fabric, fabric.host_of[name], index)
    nic = facts.hosts[name].get("nics", {}).get(wanted.port)
    return None if nic is None else _as_found(wanted, nic)


def _as_found(wanted: End, nic: Mapping[str, Any]) -> End:
    pfc, priorities = nic.get("pfc"), nic.get("dscp_to_priority")
    return replace(
        wanted,
        mtu_bytes=nic.get("mtu"),
        speed_gbps=nic.get("speed_gbps"),
        fec=nic.get("fec"),
        autoneg=nic.get("autoneg"),
        pfc=None if pfc is None else frozenset(pfc),
        priorities=None if priorities is None else {int(dscp): priority for dscp, priority in priorities.items()},
    )
