"""The simulator's orchagent and buffermgrd treat rows that overlap as SONiC's do (orchagent_202505.json, "overlaps").

A history is a list of batches, as the daemons find them: rows that are set, and rows that go (None).
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from sonic_sim.buffermgr import Seen, make_lossless_rows
from sonic_sim.configdb import ConfigDb
from sonic_sim.orchagent import Orchagent

OVERLAPS: Sequence[Mapping[str, Any]] = json.loads(
    (Path(__file__).parent / "orchagent_202505.json").read_text(encoding="utf-8")
)["overlaps"]
PROFILES = {f"BUFFER_PROFILE|{name}": {"pool": "p"} for name in ("lossless", "lossy")}


@pytest.mark.parametrize("case", OVERLAPS, ids=[one["what"] for one in OVERLAPS])
@pytest.mark.parametrize("table", ["BUFFER_PG", "BUFFER_QUEUE"])
def test_rows_that_overlap(table: str, case: Mapping[str, Any]) -> None:
    db = ConfigDb(PROFILES)
    daemon = Orchagent(removes_first=case.get("removes_first", False))
    daemon.start(db)
    for batch in case["batches"]:
        for span, profile in batch.items():
            key = f"{table}|Ethernet0|{span}"
            db.delete(key) if profile is None else db.put(key, {"profile": profile})
        assert not daemon.follow(db)
    bound = daemon.bindings().get(f"{table}|Ethernet0", {})
    assert bound == {f"{number} profile": name for number, name in case["bound"].items()}


def test_a_row_that_waits_for_its_profile_changes_nothing_and_comes_with_it() -> None:
    db = ConfigDb({**PROFILES, "BUFFER_PG|Ethernet0|3": {"profile": "lossy"}})
    daemon = Orchagent()
    daemon.start(db)
    db.put("BUFFER_PG|Ethernet0|3", {"profile": "late"})
    db.put("BUFFER_PG|Ethernet0|4", {"profile": "late"})
    daemon.follow(db)
    assert daemon.bindings() == {"BUFFER_PG|Ethernet0": {"3 profile": "lossy"}}
    db.put("BUFFER_PROFILE|late", {"pool": "p"})
    daemon.follow(db)
    assert daemon.bindings() == {"BUFFER_PG|Ethernet0": {"3 profile": "late", "4 profile": "late"}}


def test_the_removal_of_a_row_that_orchagent_never_took_clears_nothing() -> None:
    db = ConfigDb({**PROFILES, "BUFFER_PG|Ethernet0|3-4": {"profile": "lossless"}})
    daemon = Orchagent()
    daemon.start(db)
    db.put("BUFFER_PG|Ethernet0|3", {"profile": "missing"})
    daemon.follow(db)
    db.delete("BUFFER_PG|Ethernet0|3")
    daemon.follow(db)
    assert daemon.bindings() == {"BUFFER_PG|Ethernet0": {"3 profile": "lossless", "4 profile": "lossless"}}


def switch(**port: str) -> ConfigDb:
    return ConfigDb(
        {
            "BUFFER_POOL|ingress_lossless_pool": {"mode": "static", "type": "ingress"},
            "CABLE_LENGTH|AZURE": {"Ethernet0": "40m"},
            "PORT|Ethernet0": {"speed": "400000", "admin_status": "up", **port},
            "PORT_QOS_MAP|Ethernet0": {"pfc_enable": "3"},
        }
    )


def groups(db: ConfigDb) -> dict[str, str]:
    return {key.partition("|")[2]: row["profile"] for key, row in db.table("BUFFER_PG").items()}


PROFILE = "pg_lossless_400000_40m_profile"


def test_buffermgrd_joins_neighbors_and_leaves_what_it_made() -> None:
    db, seen = switch(), Seen()
    make_lossless_rows(db, seen)
    assert groups(db) == {"3": PROFILE}
    assert db.get(f"BUFFER_PROFILE|{PROFILE}")["static_th"] == "0"
    for paused, made in (("3,4", {"3", "3-4"}), ("4", {"3", "3-4", "4"}), ("2,4,5", {"2", "3", "3-4", "4", "4-5"})):
        db.set_fields("PORT_QOS_MAP|Ethernet0", {"pfc_enable": paused})
        make_lossless_rows(db, seen)
        assert groups(db) == dict.fromkeys(made, PROFILE)


def test_buffermgrd_makes_a_deleted_row_again_only_at_the_port_s_next_event() -> None:
    db, seen = switch(), Seen()
    make_lossless_rows(db, seen)
    db.delete("BUFFER_PG|Ethernet0|3")
    make_lossless_rows(db, seen)
    assert groups(db) == {}
    db.set_fields("PORT|Ethernet0", {"mtu": "9100"})
    make_lossless_rows(db, seen)
    assert groups(db) == {"3": PROFILE}


def test_buffermgrd_makes_nothing_for_0_m_or_before_it_knows_whether_the_port_is_up() -> None:
    db, seen = switch(), Seen()
    db.set_fields("CABLE_LENGTH|AZURE", {"Ethernet0": "0m"})
    make_lossless_rows(db, seen)
    assert groups(db) == {}
    db, seen = switch(), Seen()
    db.delete_fields("PORT|Ethernet0", ["admin_status"])
    make_lossless_rows(db, seen)
    assert groups(db) == {}
    db.set_fields("PORT|Ethernet0", {"admin_status": "down"})
    make_lossless_rows(db, seen)
    assert groups(db) == {"3": PROFILE}


@pytest.mark.parametrize(("release", "follows"), [("202305", False), ("202505", False), ("202511", True)])
def test_a_cable_length_is_an_event_from_202511(release: str, follows: bool) -> None:
    db, seen = switch(), Seen()
    make_lossless_rows(db, seen, release)
    db.set_fields("CABLE_LENGTH|AZURE", {"Ethernet0": "5m"})
    make_lossless_rows(db, seen, release)
    assert (groups(db) == {"3": "pg_lossless_400000_5m_profile"}) is follows
