"""What `check --facts` advises of a switch is done as it says until nothing is said: that ends, and takes nothing."""

import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from seeded_mismatches import Mismatch, mismatches

from railweave.catalog.load import load_catalog
from railweave.checks.facts import fact_findings
from railweave.design.build import design
from railweave.diagnostics import Diagnostic
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent
from railweave.sonic.render.configure import Configurator
from railweave.templates import find_templates

Tables = dict[str, dict[str, dict[str, Any]]]
INTENT = Path(__file__).resolve().parents[3] / "intent/lab-4.yml"
LEAF = "lab-leaf1"
ROUNDS = 10


@cache
def fabric() -> tuple[Fabric, Configurator]:
    made = design(load_intent(INTENT), load_catalog()).fabric
    assert made is not None
    return made, Configurator(made, find_templates())


@cache
def rendered() -> Tables:
    made, configurator = fabric()
    tables: Tables = json.loads(json.dumps(configurator.device(made.switch_of[LEAF]).config_db()))
    return tables


def findings(tables: Tables) -> tuple[Diagnostic, ...]:
    made, configurator = fabric()
    return fact_findings(made, {LEAF: (f"{LEAF}.json", json.dumps(tables))}, configurator)


def _set(tables: Tables, table: str, key: str, field: str, value: str) -> None:
    tables.setdefault(table, {}).setdefault(key, {})[field] = value


def _set_field(tables: Tables, _said: Diagnostic, table: str, key: str, field: str, value: str) -> None:
    _set(tables, table, key, field, value)


def _pause(tables: Tables, _said: Diagnostic, priorities: str, port: str) -> None:
    _set(tables, "PORT_QOS_MAP", port, "pfc_enable", priorities)


def _watch(tables: Tables, _said: Diagnostic, port: str, priorities: str) -> None:
    _set(tables, "PORT_QOS_MAP", port, "pfcwd_sw_enable", priorities)
    tables["PFC_WD"].setdefault(port, deepcopy(rendered()["PFC_WD"][port]))


def _map_dscp(tables: Tables, _said: Diagnostic, dscp: str, number: str) -> None:
    _set(tables, "DSCP_TO_TC_MAP", "FABRIC", dscp, number)


def _table_of(said: Diagnostic) -> str:
    named = re.search(r"\(([A-Z_]+)\)", said.message)
    assert named, said.message
    return named.group(1)


def _map_number(tables: Tables, said: Diagnostic, number: str, to: str) -> None:
    _set(tables, _table_of(said), "FABRIC", number, to)


def _map_elsewhere(tables: Tables, said: Diagnostic, number: str, not_to: str) -> None:
    _set(tables, _table_of(said), "FABRIC", number, next(one for one in (number, "0", "1") if one != not_to))


def _map_them(tables: Tables, said: Diagnostic, number: str) -> None:
    named = re.match(r"DSCP ([\d, ]+)", said.message)
    assert named, said.message
    for dscp in re.findall(r"\d+", named.group(1)):
        _set(tables, "DSCP_TO_TC_MAP", "FABRIC", dscp, number)


def _as_rendered(tables: Tables, _said: Diagnostic, *names: str) -> None:
    for name in names:
        tables.setdefault(name, {}).update(deepcopy(rendered()[name]))


def _give_strict(tables: Tables, _said: Diagnostic, queue: str) -> None:
    _set(tables, "SCHEDULER", "strict", "type", "STRICT")
    _set(tables, "QUEUE", queue, "scheduler", "strict")


def _name_map(tables: Tables, _said: Diagnostic, table: str, field: str) -> None:
    _as_rendered(tables, _said, table)
    for port, row in rendered()["PORT_QOS_MAP"].items():
        if field in row:
            _set(tables, "PORT_QOS_MAP", port, field, row[field])


def _mark(tables: Tables, _said: Diagnostic, port: str, queues: str) -> None:
    for queue in queues.split(","):
        _set(tables, "QUEUE", f"{port}|{queue}", "wred_profile", rendered()["QUEUE"][f"{port}|{queue}"]["wred_profile"])


FOLLOW: dict[str, Callable[..., None]] = {
    r"set ([A-Z_]+)\|(\S+)\|(\w+) to (\w+)": _set_field,
    r"raise ([A-Z_]+)\|(\S+)\|(\w+) to (\w+) or more": _set_field,
    r"let PFC of \S+ be ([\d,]*) \(PORT_QOS_MAP\|(\S+)\|pfc_enable\)": _pause,
    r"put the watchdog of [^:]+:(\S+) on ([\d,]+) and nothing else": _watch,
    r"map DSCP (\d+) to (\d+) ": _map_dscp,
    r"map (\d+) to (\d+) on": _map_number,
    r"map (\d+) to another number than (\d+) on": _map_elsewhere,
    r"map them to (\d+) on": _map_them,
    r"map them to another queue()": lambda tables, said, _: _map_them(tables, said, "0"),
    r"set (QUEUE) and (SCHEDULER) of \S+ as rendered": _as_rendered,
    r"set the weights of (SCHEDULER) of \S+ as rendered": _as_rendered,
    r"set ([A-Z_]+), and (\w+) of PORT_QOS_MAP, as rendered": _name_map,
    r"put WRED profiles of [^:]+:(\S+) on ([\d,]+) and nothing else": _mark,
    r"turn it off: `sudo pfcwd big_red_switch (disable)`": lambda tables, _, value: _set(
        tables, "PFC_WD", "GLOBAL", "BIG_RED_SWITCH", value
    ),
    r"give QUEUE\|(\S+) a strict scheduler": _give_strict,
}
"""What somebody does who reads a fix, by its words."""


def follow(tables: Tables, said: Diagnostic) -> None:
    """Do what a fix says; fails where nobody knows what that is."""
    for pattern, act in FOLLOW.items():
        if match := re.match(pattern, said.fix):
            act(tables, said, *match.groups())
            return
    pytest.fail(f"what is to be done about `{said.message}`? {said.fix}")


def kinds() -> Iterator[Mismatch]:
    """Yield the first mismatch of each kind: of a table, a field, and whether it is gone or another value."""
    seen = set()
    for one in mismatches(rendered()):
        scheduler = one.key if one.table == "SCHEDULER" else ""
        kind = (one.table, re.sub(r"\d+", "#", one.field), one.value is None, scheduler)
        if kind not in seen and one.table in FOLLOWED:
            seen.add(kind)
            yield one


FOLLOWED = frozenset(
    {"DSCP_TO_TC_MAP", "TC_TO_QUEUE_MAP", "MAP_PFC_PRIORITY_TO_QUEUE", "PORT_QOS_MAP", "PFC_WD", "SCHEDULER", "QUEUE"}
)


def converged(mismatch: Mismatch) -> Tables:
    """Return the tables once nothing is said of them any more; fails where that takes more than a few rounds."""
    tables = mismatch.apply(rendered())
    for _ in range(ROUNDS):
        said = findings(tables)
        if not said:
            return tables
        for one in said:
            follow(tables, one)
    pytest.fail(f"still said after {ROUNDS} rounds of {mismatch}: {[one.fix for one in findings(tables)]}")


CASES = list(kinds())


@pytest.mark.parametrize(
    "mismatch",
    [pytest.param(one, marks=() if number % 4 == 0 else pytest.mark.slow) for number, one in enumerate(CASES)],
    ids=lambda one: "-".join(map(str, one)),
)
def test_advice_on_a_switch_is_followed_until_there_is_none(mismatch: Mismatch) -> None:
    tables = converged(mismatch)
    for table in FOLLOWED - {mismatch.table}:
        assert {key: row.keys() for key, row in tables[table].items()} == {
            key: row.keys() for key, row in rendered()[table].items()
        }
    for key, row in rendered()[mismatch.table].items():
        if key != mismatch.key:
            assert row.keys() <= tables[mismatch.table][key].keys(), "a row that was as intended keeps its fields"
