"""RDMA without PFC: which switches carry it, what is set on NICs, and what contradicts it."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from config_checks import check_config
from node_stand_in import StandInNode, load

from railweave.catalog.load import load_catalog
from railweave.catalog.model import SwitchModel
from railweave.catalog.panel import speeds
from railweave.checks.capability import carries_lossless
from railweave.checks.facts import fact_findings
from railweave.checks.intent import check_intent
from railweave.design.build import design
from railweave.diagnostics import Diagnostic, Severity
from railweave.fabric.buffers import BufferProfile, BufferSlices
from railweave.fabric.model import Fabric
from railweave.hosts.facts import node_facts
from railweave.hosts.render import HostRenderer
from railweave.intent.load import load_intent_text
from railweave.qos.mmu.dropping import DropLimits, Room
from railweave.sonic.render.configure import Configurator, configure
from railweave.sonic.render.trimming import TRIM_PROFILE
from railweave.templates import find_templates
from railweave_hosts.bundle import bundle

Pod = Callable[..., Fabric]
Findings = Callable[..., tuple[Diagnostic, ...]]

CLASSES = """
traffic_classes:
  - {name: roce, role: rdma, dscp: [26], transport: roce-lossy, priority: 3, share: 90}
  - {name: cnp, role: cnp, dscp: [48], priority: 6, strict: true}
  - {name: best-effort, role: bulk, dscp: default, priority: 0, share: 10}
"""
POD = """
fabric: pod
workload: {{kind: pretraining}}
nodes:
  - {{name: gpu, count: 4, gpus: 8, nics: {{count: 2, speed: {speed}, model: {nic}}}}}
topology:
  stripe: 4
  links_per_pair: 1
  oversubscription: "64:1"
  leaf: {{model: {leaf}, count: 2, downlink_speed: {speed}, uplink_speed: {speed}}}
  spine: {{model: {spine}, count: 2}}
"""
NICS = {"nvidia": "connectx-7", "broadcom": "broadcom-thor2", "amd": "amd-pollara-400", "intel": "connectx-7"}
PROGRAMS = Path(__file__).resolve().parents[3] / "templates" / "hosts"
NIC_OF = {100: "connectx-7", 200: "connectx-7", 400: "connectx-8"}


def tables(fabric: Fabric, name: str) -> dict[str, Any]:
    return configure(fabric, fabric.switch_of[name], find_templates()).config_db()


def without_lossless(pod: Pod) -> list[SwitchModel]:
    """Return the models on which no speed can be lossless, without chassis, which are sized and not configured."""
    policies = pod().policies
    models = [load_catalog().switch(name) for name in load_catalog().switch_ids()]
    return [
        model
        for model in models
        if not model.chassis and not any(carries_lossless(model, speed, policies) for speed in speeds(model))
    ]


def fabric_on(model: SwitchModel) -> tuple[Fabric, tuple[Diagnostic, ...]]:
    """Return a pod of switches of a model, at the first speed that all of its cages and a NIC have."""
    for speed_gbps, nic in NIC_OF.items():
        chosen = {"leaf": model.id, "spine": model.id, "speed": f"{speed_gbps}G", "nic": nic}
        intent = load_intent_text(POD.format(**chosen) + CLASSES, "pod.yml")
        fabric = design(intent, load_catalog()).fabric
        if fabric is not None:
            return fabric, (*check_intent(intent), *check_config(fabric, intent.where))
    raise AssertionError(f"no speed of {model.id} makes a fabric")


@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.slow)])
def test_every_model_without_lossless_support_carries_rdma_without_pfc(pod: Pod, every: int) -> None:
    models = without_lossless(pod)
    assert len(models) > 25
    for model in models[::every]:
        fabric, diagnostics = fabric_on(model)
        assert [each for each in diagnostics if each.severity is not Severity.INFO] == []
        rendered = tables(fabric, "pod-leaf1")
        assert "PFC_WD" not in rendered
        assert not any("pfc_enable" in row for row in rendered["PORT_QOS_MAP"].values())
        assert {row["ecn"] for row in rendered["WRED_PROFILE"].values()} == {"ecn_all"}
        marking = {key: row.get("wred_profile") for key, row in rendered["QUEUE"].items()}
        assert {key.endswith("|3") for key, profile in marking.items() if profile} == {True}


def test_a_switch_with_known_buffers_keeps_no_headroom_for_it(pod: Pod) -> None:
    rendered = tables(pod(CLASSES), "pod-leaf1")
    assert {key.partition("|")[2] for key in rendered["BUFFER_PG"]} == {"0"}
    assert "CABLE_LENGTH" not in rendered
    assert not any("xoff" in row for row in rendered["BUFFER_PROFILE"].values())
    assert rendered["BUFFER_QUEUE"]["Ethernet0|3"] == rendered["BUFFER_QUEUE"]["Ethernet0|0"]
    assert rendered["QUEUE"]["Ethernet0|3"]["wred_profile"] == "roce-400g"


@pytest.mark.parametrize(
    ("model", "release", "trims"),
    [
        ("nvidia-sn5600", "202505", True),
        ("nvidia-sn5600", "202605", True),
        ("nvidia-sn5600", "202411", False),
        ("nokia-ixr7220-h4-64d", "202505", False),
        ("nvidia-sn4700", "202505", False),
    ],
)
def test_packets_are_trimmed_where_asic_and_release_do(pod: Pod, model: str, release: str, trims: bool) -> None:
    fabric = pod(f"{CLASSES}sonic: {{release: '{release}'}}\n", leaf=model, spine=model)
    rendered = tables(fabric, "pod-leaf1")
    assert ("SWITCH_TRIMMING" in rendered) == trims
    assert (TRIM_PROFILE in rendered["BUFFER_PROFILE"]) == trims
    if trims:
        assert rendered["SWITCH_TRIMMING"]["GLOBAL"] == {"dscp_value": "48", "queue_index": "6", "size": "128"}
        assert rendered["BUFFER_QUEUE"]["Ethernet0|3"] == {"profile": TRIM_PROFILE}
        assert rendered["BUFFER_QUEUE"]["Ethernet0|0"] != {"profile": TRIM_PROFILE}


def test_without_a_strict_class_for_what_is_left_nothing_is_trimmed(pod: Pod) -> None:
    waiting = CLASSES.replace("priority: 6, strict: true", "priority: 6, share: 5").replace("share: 90", "share: 85")
    assert "SWITCH_TRIMMING" not in tables(pod(waiting, leaf="nvidia-sn5600", spine="nvidia-sn5600"), "pod-leaf1")


def test_lossy_rdma_beside_lossless_storage_is_not_paused(pod: Pod) -> None:
    storage = "  - {name: disk, role: storage, dscp: [34], lossless: true, priority: 4, share: 30}\n"
    fabric = pod(CLASSES.replace("share: 90", "share: 60") + storage)
    rendered = tables(fabric, "pod-leaf1")
    assert rendered["PORT_QOS_MAP"]["Ethernet0"]["pfc_enable"] == "4"
    assert {key.partition("|")[2] for key in rendered["BUFFER_PG"]} == {"0", "4"}
    assert {key for key in rendered["WRED_PROFILE"] if key.endswith("400g")} == {"disk-400g", "roce-400g"}


def room(threshold: int, pool_bytes: int = 9_000_000) -> Room:
    return Room(BufferProfile("lossy", "pool", 0, "dynamic", threshold), pool_bytes, BufferSlices())


def test_a_queue_drops_at_alpha_times_what_is_free() -> None:
    drops = DropLimits(queue=room(3), group=room(0), ports=64, classes=1, others=1)
    # 8 x 9 / (1 + 8) MB at egress, 9 / 2 MB at ingress; two full queues: 8 x 9 / (1 + 16) MB.
    assert drops.alone_bytes == 4_500_000
    assert drops.beside_bytes == 4_235_294
    assert drops.all_bytes == int(8 * 9_000_000 / (1 + 8 * 64))
    static = Room(BufferProfile("lossy", "pool", 0, "static", 2_000_000), 9_000_000, BufferSlices())
    assert [static.with_full(1), static.with_full(9)] == [2_000_000, 1_000_000]


THRESHOLDS = [
    (500, 1_000, []),
    (500, 80_000, ["ECN marks every packet"]),
    (600, 1_000, ["while all ports are congested"]),
    (40_000, 80_000, ["bursts of 1 other lossy classes"]),
    (70_000, 80_000, ["the queue drops before ECN marks: marking starts at 70000000 bytes, it drops at 66887224"]),
]


@pytest.mark.parametrize(("low_kb", "high_kb", "words"), THRESHOLDS)
def test_marking_that_comes_after_the_drops_is_found(
    findings: Findings, low_kb: int, high_kb: int, words: list[str]
) -> None:
    stated = CLASSES.replace("share: 90", f"share: 90, ecn: {{min_kb: {low_kb}, max_kb: {high_kb}}}")
    found = [each for each in findings(stated, leaf="nvidia-sn5600", spine="nvidia-sn5600") if each.code == "E-7"]
    assert len(found) == len(words)
    for finding, text in zip(found, words, strict=True):
        assert text in finding.message
        assert "alpha 8 of egress_lossy_pool" in finding.message


def sent_to(fabric: Fabric) -> dict[str, Any]:
    """Return the bundle of the first node, cut to its first rail."""
    renderer = HostRenderer(fabric, find_templates())
    files = renderer.files(fabric.hosts[0])
    packed = bundle(files, renderer.places, fabric.policies.hosts.network, renderer.programs())
    sent: dict[str, Any] = json.loads(base64.b64decode(packed))
    document = sent["document"]
    document["interfaces"] = document["interfaces"][:1]
    document["sysctl"] = {key: value for key, value in document["sysctl"].items() if "all" in key or "rail0" in key}
    return sent


def node_of_vendor(vendor: str, folder: Path) -> tuple[Any, StandInNode]:
    host = load(PROGRAMS / "railweave_host.py", "railweave_host")
    change = load(PROGRAMS / "railweave_change.py", "railweave_change")
    return host, StandInNode(folder, f"{load_catalog().vendor_pack(vendor).rdma_prefix}0", host, change)


def found_on(fabric: Fabric, facts: dict[str, Any]) -> list[Diagnostic]:
    configurator = Configurator(fabric, find_templates())
    return list(fact_findings(fabric, {"gpu1": ("gpu1.json", json.dumps(facts))}, configurator))


@pytest.mark.parametrize("vendor", NICS)
def test_a_node_that_was_set_pauses_nothing_and_pfc_that_is_on_is_the_error(
    pod: Pod, vendor: str, tmp_path: Path
) -> None:
    fabric = pod(f"{CLASSES}hosts: {{vendor: {vendor}}}\n", nic=NICS[vendor])
    sent = sent_to(fabric)
    host, node = node_of_vendor(vendor, tmp_path)
    assert node.run("apply", sent)["problems"] == []
    program = load(PROGRAMS / "railweave_facts.py", "railweave_facts")
    reading = program.facts(node._machine(host.Machine(str(tmp_path))), sent["document"])
    facts = node_facts({**reading, "nccl": sent["document"]["nccl"]}, vendor)
    nic = facts["nics"]["rail0"]
    assert nic["pfc"] == []
    assert nic.get("trust", "dscp") == "dscp"
    assert nic["dscp_to_priority"]["26"] == 3
    assert [each.message for each in found_on(fabric, facts) if "rail1" not in each.message] == []

    nic["pfc"] = [3]
    (finding,) = [each for each in found_on(fabric, facts) if "rail1" not in each.message]
    assert (finding.code, finding.severity) == ("Q-3", Severity.ERROR)
    assert finding.message == (
        "gpu1:rail0 pauses priority 3 of roce towards pod-leaf1:Ethernet0: its transport is roce-lossy, and no port has"
        " headroom for it"
    )


def test_an_mlx5_nic_gets_the_accelerations_for_losses_and_keeps_them_only_without_pfc(
    pod: Pod, tmp_path: Path
) -> None:
    node = node_of_vendor("nvidia", tmp_path / "node")[1]
    node.run("apply", sent_to(pod(CLASSES)))
    held = json.loads((tmp_path / "node/state.json").read_text())
    assert held["accelerations 0000:0a:00.0"] == {
        "roce_adp_retrans_en": 1,
        "roce_tx_window_en": 1,
        "roce_slow_restart_en": 1,
    }
    lossless = node_of_vendor("nvidia", tmp_path / "lossless")[1]
    lossless.run("apply", sent_to(pod()))
    assert "accelerations 0000:0a:00.0" not in json.loads((tmp_path / "lossless/state.json").read_text())


@pytest.mark.parametrize(
    ("setting", "effect"),
    [
        ("transmit window", "after a loss a whole window is sent again at once"),
        ("dcqcn notification point 3", "receivers report no congestion, so switches drop packets instead"),
    ],
)
def test_a_setting_for_losses_that_is_off_is_found_with_what_it_costs(
    pod: Pod, tmp_path: Path, setting: str, effect: str
) -> None:
    fabric = pod(CLASSES)
    sent = sent_to(fabric)
    host, node = node_of_vendor("nvidia", tmp_path)
    node.run("apply", sent)
    program = load(PROGRAMS / "railweave_facts.py", "railweave_facts")
    reading = program.facts(node._machine(host.Machine(str(tmp_path))), sent["document"])
    facts = node_facts({**reading, "nccl": sent["document"]["nccl"]}, "nvidia")
    facts["nics"]["rail0"]["settings"][setting] = "0"
    (finding,) = [each for each in found_on(fabric, facts) if "rail1" not in each.message]
    assert finding.code == "N-6"
    assert finding.message == f"{setting} of gpu1:rail0 is 0, and pod-leaf1 needs 1: {effect}"
