"""Flaps of the ports and what their modules report: identity, readings, and the modules' own thresholds.

orchagent counts flaps (portsorch.cpp, ``flap_count``: each transition, so that a flap is two), xcvrd writes the tables
of modules to STATE_DB (sonic-platform-daemons). With breakout only the first port of a cage has the module's readings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from railweave_switch.host import Hash, SwitchHost

_PORTS = "PORT_TABLE:"
_PORT_FIELDS = ("oper_status", "flap_count", "last_down_time")
_INFO_FIELDS = ("type", "manufacturer", "model", "serial", "cable_length", "specification_compliance")
_READINGS = re.compile(r"temperature|voltage|(rx|tx)\d+power|tx\d+bias")
_THRESHOLDS = re.compile(r"(temp|vcc|rxpower|txpower|txbias)(high|low)(alarm|warning)")


def link_state(host: SwitchHost) -> dict[str, Any]:
    """Return ``at`` (Unix seconds), and by port ``oper_status`` and flaps, ``info``, ``readings`` and ``thresholds``.

    Values are the texts of the databases. A module that reports nothing has empty tables. Raises DatabaseError.
    """
    states = _by_name(host, "APPL_DB", _PORTS)
    info = _by_name(host, "STATE_DB", "TRANSCEIVER_INFO|")
    readings = _by_name(host, "STATE_DB", "TRANSCEIVER_DOM_SENSOR|")
    thresholds = _by_name(host, "STATE_DB", "TRANSCEIVER_DOM_THRESHOLD|")
    ports = {}
    for name, state in states.items():
        # PortConfigDone and PortInitDone are rows of the table too.
        if not name.startswith("Ethernet"):
            continue
        ports[name] = {
            **_chosen(state, _PORT_FIELDS),
            "info": _chosen(info.get(name, {}), _INFO_FIELDS),
            "readings": _matching(readings.get(name, {}), _READINGS),
            "thresholds": _matching(thresholds.get(name, {}), _THRESHOLDS),
        }
    return {"at": host.wall_s(), "ports": ports}


def _by_name(host: SwitchHost, database: str, table: str) -> dict[str, Hash]:
    return {key.removeprefix(table): row for key, row in host.rows(database, f"{table}*").items()}


def _chosen(row: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    return {name: row[name] for name in names if name in row}


def _matching(row: Mapping[str, str], pattern: re.Pattern[str]) -> dict[str, str]:
    return {name: value for name, value in row.items() if pattern.fullmatch(name)}
