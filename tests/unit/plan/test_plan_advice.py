"""The advice on what a switch's models refuse is followed until there is none, and takes nothing that is needed."""

import re
import shlex
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railweave.plan.models_check import invalid_blockers
from railweave.sonic.delta.change import Change, Delta, Disruption, Method, Op
from railweave.sonic.delta.rejected import ModelsVerdict
from railweave_switch.models_check import rejected
from sonic_sim.yang.reload_rule import ReloadRule

ROUNDS = 5
RELOAD = Delta(
    (Change(Op.UPDATE, "DEVICE_METADATA", "localhost", "hostname", "a", "b", Disruption.RELOAD, Method.RELOAD, "name"),)
)
Tables = dict[str, dict[str, dict[str, Any]]]


def live(profiles: int, groups: int) -> Tables:
    """Return a switch whose buffers work: they refer to each other as releases before 202106 did."""
    return {
        "DEVICE_METADATA": {"localhost": {"hostname": "leaf1"}},
        "PORT": {
            f"Ethernet{4 * number}": {"lanes": f"{number + 1}", "speed": "400000", "mtu": "9100"}
            for number in range(groups)
        },
        "BUFFER_POOL": {"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "1000000"}},
        "BUFFER_PROFILE": {
            f"p{number}": {"pool": "[BUFFER_POOL|ingress_lossless_pool]", "size": "0", "dynamic_th": "0"}
            for number in range(profiles)
        },
        "BUFFER_PG": {f"Ethernet{4 * number}|0": {"profile": "[BUFFER_PROFILE|p0]"} for number in range(groups)},
    }


def followed(tables: Mapping[str, Any], fix: str) -> Tables:
    """Return the tables after the commands that a fix names."""
    after: Tables = deepcopy(dict(tables))
    for command in (one for quoted in re.findall(r"`([^`]+)`", fix) for one in quoted.split(" && ")):
        program, database, verb, place, *rest = shlex.split(command)
        assert (program, database) == ("sonic-db-cli", "CONFIG_DB")
        table, _, key = place.partition("|")
        if verb == "HSET":
            after[table][key] |= {rest[0].removesuffix("@"): rest[1].split(",") if rest[0].endswith("@") else rest[1]}
        elif verb == "HDEL":
            del after[table][key][rest[0].removesuffix("@")]
        else:
            assert verb == "DEL"
            del after[table][key]
    return after


def advice(tables: Tables) -> list[str]:
    """Return the fixes of a reload of these tables."""
    found = rejected(tables, ReloadRule())
    return [
        one.fix.partition("; or leave out")[0]
        for one in invalid_blockers(ModelsVerdict(tuple(found)), RELOAD, tables, {})
    ]


def is_left_to_a_person(fix: str) -> bool:
    """Tell whether a fix names a value that only a person can choose, instead of removing what is needed."""
    return "VALUE" in fix or "HGETALL" in fix


def converged(tables: Tables) -> Tables:
    """Follow the advice until there is none; fails where that takes more than a few rounds."""
    for _ in range(ROUNDS):
        fixes = advice(tables)
        if not fixes:
            return tables
        for fix in fixes:
            tables = followed(tables, fix)
    pytest.fail(f"still advised after {ROUNDS} rounds: {advice(tables)}")


def test_old_references_are_rewritten_at_once_and_no_profile_loses_its_pool() -> None:
    tables = live(profiles=25, groups=30)
    (fix,) = advice(tables)
    assert "HDEL" not in fix
    after = converged(tables)
    assert {name: len(rows) for name, rows in after.items()} == {name: len(rows) for name, rows in tables.items()}
    assert {row["pool"] for row in after["BUFFER_PROFILE"].values()} == {"ingress_lossless_pool"}
    assert {row["profile"] for row in after["BUFFER_PG"].values()} == {"p0"}


FAULTS: list[tuple[str, str, dict[str, Any]]] = [
    ("PORT", "Ethernet0", {"foreign": "x"}),
    ("PORT", "Ethernet0", {"mtu": "1"}),
    ("PORT", "Ethernet0", {"speed": "fast"}),
    ("BUFFER_PROFILE", "p0", {"dynamic_th": "99"}),
    ("BUFFER_PROFILE", "mine", {"pool": "[BUFFER_POOL|ingress_lossless_pool]", "size": "0", "static_th": "1"}),
    ("VLAN", "Vlan300", {"vlanid": "301"}),
    ("NTP_KEY", "1", {"type": "md5"}),
]


@given(chosen=st.lists(st.sampled_from(FAULTS), unique_by=repr, max_size=5), profiles=st.integers(1, 12))
def test_advice_on_any_faults_ends_and_keeps_what_is_needed(
    chosen: list[tuple[str, str, dict[str, Any]]], profiles: int
) -> None:
    tables = live(profiles, groups=2)
    for table, key, fields in chosen:
        tables.setdefault(table, {}).setdefault(key, {}).update(fields)
    for _ in range(ROUNDS):
        fixes = advice(tables)
        if all(map(is_left_to_a_person, fixes)):
            break
        for fix in fixes:
            if not is_left_to_a_person(fix):
                tables = followed(tables, fix)
    assert all(map(is_left_to_a_person, advice(tables)))
    assert all(row.get("pool") for row in tables["BUFFER_PROFILE"].values()), "no profile is left without its pool"
    assert {"lanes", "speed"} <= set(tables["PORT"]["Ethernet0"])


def test_a_needed_field_is_corrected_and_not_removed() -> None:
    tables = live(profiles=1, groups=1)
    tables["PORT"]["Ethernet0"]["speed"] = "fast"
    fixes = [fix for fix in advice(tables) if "PORT" in fix]
    assert fixes == [
        "set it to a valid value on the switch: `sonic-db-cli CONFIG_DB HSET 'PORT|Ethernet0' speed VALUE`"
    ]
