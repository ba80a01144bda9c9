"""The table of methods and the simulator follow what SONiC's daemons do with each change (orchagent_202505.json)."""

import json
from pathlib import Path

import pytest
from by_check import sampled

from railweave.sonic.delta.change import Disruption, Edit, Method, Op
from railweave.sonic.delta.delta import judged
from railweave.sonic.delta.methods import classify, treatments
from railweave.sonic.delta.rules import RULES, find_rule
from railweave.sonic.delta.steps import HdelStep, LoadStep, steps_of
from railweave.sonic.document import running_from
from railweave.sonic.neutral import instead_of_field, is_permanent
from sonic_sim.configdb import ConfigDb
from sonic_sim.orchagent import Orchagent

RECORDED = json.loads((Path(__file__).parent / "orchagent_202505.json").read_text(encoding="utf-8"))
ONE_BY_ONE = [
    (fact["table"], field, Op(op), fact["did"])
    for fact in RECORDED["facts"]
    for field in fact["fields"]
    for op in fact["ops"]
]
NAMES = [f"{op} {table} {field}" for table, field, op, _ in ONE_BY_ONE]

MAPS = ("DSCP_TO_TC_MAP", "TC_TO_QUEUE_MAP", "TC_TO_PRIORITY_GROUP_MAP", "MAP_PFC_PRIORITY_TO_QUEUE",
        "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP")  # fmt: skip
KEYS = {
    "PORT": "Ethernet0",
    "PORT_QOS_MAP": "Ethernet0",
    "QUEUE": "Ethernet0|3",
    "BUFFER_PG": "Ethernet0|3",
    "BUFFER_QUEUE": "Ethernet0|3",
    "PFC_WD": "Ethernet0",
    "SWITCH_HASH": "GLOBAL",
}
"""Where a row is not called what it refers to."""
COLORS = ("green", "yellow", "red")
ROWS: dict[str, dict[str, tuple[str, str]]] = {
    "PORT": {"mtu": ("9100", "4200"), "speed": ("400000", "100000"), "fec": ("rs", "fc")},
    "SCHEDULER": {
        "type": ("DWRR", "STRICT"),
        "weight": ("30", "40"),
        "meter_type": ("packets", "bytes"),
        **dict.fromkeys(("cir", "cbs", "pir", "pbs"), ("1000", "2000")),
    },
    "WRED_PROFILE": {
        "ecn": ("ecn_all", "ecn_green"),
        **{f"wred_{one}_enable": ("true", "false") for one in COLORS},
        **{f"{one}_min_threshold": ("1000", "2000") for one in COLORS},
        **{f"{one}_max_threshold": ("5000", "6000") for one in COLORS},
        **{f"{one}_drop_probability": ("5", "6") for one in COLORS},
    },
    **{table: {"3": ("3", "4"), "5": ("0", "0")} for table in MAPS},
    "QUEUE": {"scheduler": ("x", "y"), "wred_profile": ("x", "y")},
    "BUFFER_POOL": {
        "type": ("ingress", "egress"),
        "mode": ("dynamic", "static"),
        "size": ("9", "8"),
        "xoff": ("4", "5"),
    },
    "BUFFER_PROFILE": {
        "pool": ("x", "y"),
        "packet_discard_action": ("trim", "drop"),
        **dict.fromkeys(("size", "xon", "xon_offset", "xoff", "dynamic_th", "static_th"), ("3", "4")),
    },
    "BUFFER_PG": {"profile": ("x", "y")},
    "BUFFER_QUEUE": {"profile": ("x", "y")},
    "PFC_WD": {"action": ("drop", "forward"), "detection_time": ("400", "600"), "restoration_time": ("400", "600")},
    "SWITCH_HASH": {
        "ecmp_hash@": ("DST_IP,SRC_IP", "DST_IP"),
        "lag_hash@": ("SRC_IP", "DST_IP"),
        "ecmp_hash_algorithm": ("CRC", "XOR"),
        "lag_hash_algorithm": ("CRC", "XOR"),
    },
}
"""Values of the fields that the simulator's orchagent knows of, before and after."""
NAMED_IN = {
    "SCHEDULER": ("QUEUE", "scheduler"),
    "WRED_PROFILE": ("QUEUE", "wred_profile"),
    "BUFFER_PROFILE": ("BUFFER_QUEUE", "profile"),
    **dict(zip(MAPS, [("PORT_QOS_MAP", one) for one in
                      ("dscp_to_tc_map", "tc_to_queue_map", "tc_to_pg_map", "pfc_to_queue_map", "pfc_to_pg_map")],
               strict=True)),
}  # fmt: skip


def key_of(table: str, did: str = "") -> str:
    return "GLOBAL" if did == "crashes" else KEYS.get(table, "x")


def edit_of(table: str, field: str, op: Op, did: str) -> Edit:
    if not field:
        return Edit(op, table, key_of(table, did), None, {"x": "1"}, None)
    before, after = ROWS.get(table, {}).get(field, ("1", "2"))
    key = "GLOBAL" if field in ("POLL_INTERVAL", "BIG_RED_SWITCH") else key_of(table)
    return Edit(op, table, key, field, None if op is Op.ADD else before, None if op is Op.REMOVE else after)


@pytest.mark.parametrize(("table", "field", "op", "did"), ONE_BY_ONE, ids=NAMES)
def test_a_change_goes_in_a_form_that_the_daemons_follow(table: str, field: str, op: Op, did: str) -> None:
    edit = edit_of(table, field, op, did)
    rule, treatment = find_rule(edit), classify(edit)
    reloads = treatment.method is Method.RELOAD
    match did:
        case "acts":
            assert not reloads
        case "flaps":
            assert treatment.disruption is Disruption.FLAP
        case "crashes":
            assert is_permanent(table, edit.key)
            orphan = Edit(Op.REMOVE, table, "Ethernet0", None, {"action": "drop"}, None)
            assert treatments([orphan], {})[0].method is Method.RELOAD
        case "waits":
            assert goes_after_what_names_it(table)
        case "keeps" | "refuses":
            replaced = op is Op.REMOVE and (
                is_permanent(table, edit.key)
                if not field
                else instead_of_field(table, edit.key, field, "x") is not None
            )
            assert reloads or (rule and rule.recreates) or replaced
        case _:
            raise AssertionError(did)


def goes_after_what_names_it(table: str) -> bool:
    """Tell whether a row is deleted in a step after that in which the row that names it lets go."""
    user, name = NAMED_IN[table]
    running = running_from({table: {"x": {"1": "1"}}, user: {KEYS[user]: {name: "x", "kept": "1"}}})
    edits = [
        Edit(Op.REMOVE, table, "x", None, {"1": "1"}, None),
        Edit(Op.REMOVE, user, KEYS[user], name, "x", None),
    ]
    kinds = [type(step) for step in steps_of(judged(edits, running.config_db), running)]
    return kinds == [HdelStep, LoadStep]


SIMULATED = [one for one in ONE_BY_ONE if one[1] in ROWS.get(one[0], {}) and (one[0] != "PFC_WD" or one[1] == "action")]


@pytest.mark.parametrize(("table", "field", "op", "did"), sampled(SIMULATED, every=3))
def test_the_simulator_does_with_a_field_what_the_daemons_did(table: str, field: str, op: Op, did: str) -> None:
    key, after = key_of(table), ROWS[table][field][1]
    row = {name: values[0] for name, values in ROWS[table].items()}
    others = {"PORT_QOS_MAP|Ethernet0": {"pfcwd_sw_enable": "3"}, "PORT|Ethernet0": {"mtu": "9100"}, **NAMED}
    db = ConfigDb({**others, f"{table}|{key}": {name: row[name] for name in row if op is not Op.ADD or name != field}})
    daemon = Orchagent()
    daemon.start(db)
    at_first = held(daemon, table, field)
    if op is Op.REMOVE:
        db.delete_fields(f"{table}|{key}", [field])
    else:
        db.set_fields(f"{table}|{key}", {field: after})
    assert not daemon.follow(db)
    follows = None if op is Op.REMOVE else after
    assert held(daemon, table, field) == (follows if did in ("acts", "flaps") else at_first)


NAMED = {f"{table}|{name}": {"size": "9"} for table in ("SCHEDULER", "WRED_PROFILE", "BUFFER_PROFILE") for name in "xy"}


def held(daemon: Orchagent, table: str, field: str) -> str | None:
    """Return what the ASIC has of a field, None for nothing."""
    if table in ("QUEUE", "BUFFER_PG", "BUFFER_QUEUE"):
        return daemon.bindings().get(f"{table}|Ethernet0", {}).get(f"3 {field}")
    if table == "PFC_WD" and field == "action":
        return daemon.watch_of("Ethernet0").get("3")
    return daemon.object_of(f"{table}|{key_of(table)}").get(field)


@pytest.mark.parametrize("table", sorted(NAMED_IN))
def test_the_simulator_keeps_a_row_while_another_names_it(table: str) -> None:
    user, name = NAMED_IN[table]
    row = {name: values[0] for name, values in ROWS[table].items()}
    db = ConfigDb({f"{table}|x": row, f"{user}|{KEYS[user]}": {name: "x", "kept": "1"}})
    daemon = Orchagent()
    daemon.start(db)
    db.delete(f"{table}|x")
    daemon.follow(db)
    assert daemon.object_of(f"{table}|x") == row
    db.delete_fields(f"{user}|{KEYS[user]}", [name])
    daemon.follow(db)
    assert daemon.object_of(f"{table}|x") == {}


def test_the_page_about_proof_counts_the_facts() -> None:
    page = (Path(__file__).parents[2] / "docs/explanation/what-is-proven.md").read_text(encoding="utf-8")
    assert f"rests on {len(RECORDED['facts'])} facts about sonic-swss\n{RECORDED['commits']['sonic-swss'][:8]}" in page


def test_every_rule_about_single_fields_of_these_tables_has_a_fact() -> None:
    known = {(table, field) for table, field, *_ in ONE_BY_ONE}
    named = {(table, field) for rule in RULES for table in rule.tables for field in rule.fields}
    missing = {(table, field) for table, field in named - known if table in dict(known)}
    assert missing == {("PORT", field) for field in UNTOUCHED}


UNTOUCHED = ("", "alias", "description", "dhcp_rate_limit", "index", "subport")
"""Fields of a port that reach no object of the ASIC, and the row itself, which comes and goes by a reload alone."""
