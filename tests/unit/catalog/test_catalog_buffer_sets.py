"""HWSKUs with several sets of buffer settings: which one is taken, with the figures of SONiC's files.

The figures are those of sonic-net/sonic-buildimage at 086b03bd70f9.
"""

import json
from functools import cache

import pytest

from railweave.catalog.load import load_catalog
from railweave.catalog.model import Hwsku
from railweave.checks.buffers import buffer_findings
from railweave.cli.main import main
from railweave.design.build import design
from railweave.diagnostics import Diagnostic, Severity
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.intent.model import Intent
from railweave.sonic.render.configure import configure
from railweave.sonic.rows import ConfigDb
from railweave.templates import find_templates

TAKEN = {
    "Arista-7060X6-64PE-256x200G": "",
    "Arista-7260CX3-C64": "RDMA-CENTRIC",
    "Arista-7260CX3-Q44": "RDMA-CENTRIC",
    "NH-4010": "BALANCED",
    "NH-4010-128x400G-2x25G": "BALANCED",
    "NH-4010-256x200G-2x25G": "BALANCED",
    "NH-4210-F-O256": "BALANCED",
    "NH-4210-F-P128": "BALANCED",
}
# Sixteen nodes on one kind of switch, as an operator reported it.
POD = """
fabric: pod
workload: {{kind: pretraining}}
nodes: [{{name: gpu, count: 16, gpus: 8, nics: {{count: 8, speed: {speed}, model: {nic}}}}}]
topology: {{leaf: {{model: {model}}}, spine: {{model: {model}}}}}
cabling: {{host: {{length_m: 40}}, leaf_spine: {{length_m: 40}}}}
"""


def hwskus() -> list[Hwsku]:
    catalog = load_catalog()
    models = map(catalog.switch, catalog.switch_ids())
    return [hwsku for model in models for hwsku in model.hwskus if hwsku.buffer_sets]


@cache
def pod(model: str, speed: str = "400G", nic: str = "connectx-7") -> tuple[Intent, Fabric]:
    intent = load_intent_text(POD.format(model=model, speed=speed, nic=nic), "pod.yml")
    fabric = design(intent, load_catalog()).fabric
    assert fabric is not None
    return intent, fabric


def findings(model: str, speed: str = "400G", nic: str = "connectx-7") -> list[Diagnostic]:
    intent, fabric = pod(model, speed, nic)
    return [finding for finding in buffer_findings(fabric, intent.where) if finding.severity is Severity.ERROR]


def tables(device: str, model: str, speed: str = "400G", nic: str = "connectx-7") -> ConfigDb:
    _, fabric = pod(model, speed, nic)
    return configure(fabric, fabric.switch_of[device], find_templates()).config_db()


def test_a_set_for_rdma_is_taken_before_the_balanced_one_and_one_for_tcp_never() -> None:
    assert {hwsku.name: hwsku.buffer_set for hwsku in hwskus()} == TAKEN
    for hwsku in hwskus():
        names = [buffer_set.name for buffer_set in hwsku.buffer_sets]
        assert hwsku.buffer_set == ("RDMA-CENTRIC" if "RDMA-CENTRIC" in names else TAKEN[hwsku.name])
        assert hwsku.buffers is not None
        assert not hwsku.lossless_sets


@pytest.mark.parametrize("model", ["nexthop-nh-4010", "nexthop-nh-4210", "arista-7060x6-64pe"])
def test_a_pod_of_such_switches_is_lossless(model: str) -> None:
    assert findings(model) == []


def test_the_pools_and_the_headroom_are_those_of_the_set() -> None:
    leaf = tables("pod-leaf1", "nexthop-nh-4010")
    assert leaf["DEVICE_METADATA"]["localhost"]["hwsku"] == "NH-4010-128x400G-2x25G"
    ingress = {"mode": "dynamic", "size": "165558216", "type": "ingress", "xoff": "19994880"}
    assert leaf["BUFFER_POOL"]["ingress_lossless_pool"] == ingress
    assert leaf["BUFFER_PROFILE"]["pg_lossless_400000_40m_profile"] == {
        "dynamic_th": "0",
        "pool": "ingress_lossless_pool",
        "size": "18796",
        "xoff": "612140",
        "xon": "0",
        "xon_offset": "3556",
    }
    spine = tables("pod-spine1", "nexthop-nh-4210")
    assert spine["BUFFER_POOL"]["ingress_lossless_pool"]["xoff"] == "81553920"
    assert spine["BUFFER_PROFILE"]["pg_lossless_400000_40m_profile"]["xoff"] == "737940"


def test_a_row_names_the_folder_of_the_set_as_its_source() -> None:
    _, fabric = pod("nexthop-nh-4010")
    buffers = fabric.switch_of["pod-leaf1"].panel.buffers
    assert buffers is not None
    folder = "device/nexthop/x86_64-nexthop_4010-r0/NH-4010-128x400G-2x25G/BALANCED"
    assert buffers.source == f"sonic-net/sonic-buildimage:{folder}@086b03bd70f9"


def test_profiles_that_differ_by_role_are_those_of_the_switch() -> None:
    assert findings("arista-7260cx3-64", "100G", "connectx-6") == []
    thresholds = {
        role: tables(device, "arista-7260cx3-64", "100G", "connectx-6")["BUFFER_PROFILE"]["egress_lossless_profile"]
        for role, device in (("t0", "pod-leaf1"), ("t1", "pod-spine1"))
    }
    assert thresholds["t0"] == {"pool": "egress_lossless_pool", "size": "0", "static_th": "42349632"}
    assert thresholds["t1"] == {"pool": "egress_lossless_pool", "size": "0", "static_th": "43481152"}


def test_the_command_names_the_sets_and_the_one_that_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "arista-7260cx3-64"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert (
        "buffers of Arista-7260CX3-C64 are those of its set RDMA-CENTRIC; its sets: BALANCED (lossless for t0 and t1),"
        " RDMA-CENTRIC (lossless for t0 and t1) and TCP-CENTRIC (lossless for t0 and t1)" in shown
    )
    assert main(["models", "arista-7060x6-64pe", "--json"]) == 0
    (switch,) = json.loads(capsys.readouterr().out)["switches"]
    assert switch["buffer_sets"] == [
        {
            "hwsku": "Arista-7060X6-64PE-256x200G",
            "taken": None,
            "sets": [{"name": "BALANCED", "lossless_roles": ["t0", "t1"]}],
        }
    ]
