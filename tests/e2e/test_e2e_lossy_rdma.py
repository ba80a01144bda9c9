"""RDMA without PFC on a fabric of two planes: rendered, deployed, verified, and PFC by hand is the error."""

import shutil
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

INTENT = Path(__file__).resolve().parents[1] / "golden/sonic_config/intents/lossy-planes.yml"


def copied(folder: Path) -> str:
    shutil.copy(INTENT, folder / "intent")
    return INTENT.name


def test_a_fabric_of_two_planes_without_pfc_runs_and_pfc_by_hand_is_found(new_project: Any) -> None:
    project = new_project(copied)
    project.up()
    assert project.deploy()["result"] == "done"
    assert project.verify()["ok"]
    assert project.plan()["changes"] == []
    for device in ("mix-leaf1", "mix-spine1"):
        tables = project.running(device)
        assert not any(row.get("pfc_enable") for row in tables["PORT_QOS_MAP"].values())
        assert tables.get("PFC_WD", {}).keys() <= {"GLOBAL"}
        assert tables["QUEUE"]["Ethernet0|3"]["wred_profile"] in tables["WRED_PROFILE"]
    assert project.running("mix-spine1")["SWITCH_TRIMMING"]["GLOBAL"]["queue_index"] == "6"

    facts = project.folder / "facts"
    collect = ("facts", "collect", "--target", "sim", "--out", str(facts))
    project.json(*collect)
    project.json("check", "--facts", str(facts))
    project.on("mix-leaf1", "sudo sonic-db-cli CONFIG_DB HSET 'PORT_QOS_MAP|Ethernet0' pfc_enable 3")
    project.json(*collect)
    found = project.json("check", "--facts", str(facts), status=1)["diagnostics"]
    (told,) = [one for one in found if one["severity"] == "error"]
    assert told["code"] == "Q-3"
    assert "mix-leaf1:Ethernet0 pauses priority 3 of roce" in told["message"]
    assert project.deploy()["result"] == "done"
    project.json(*collect)
    project.json("check", "--facts", str(facts))
