"""Every CONFIG_DB that railweave renders is valid by SONiC's own YANG models of every release that lies beside the
project, and a fault in any table is found with its row and field.

The models are SONiC's and no part of this project: they lie in a folder beside it, one sub-folder a release.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from by_night import sampled
from config_checks import check_config
from leaf_words import FILE, text_of
from reference_intents import REFERENCE_INTENTS

from railweave.catalog.load import load_catalog
from railweave.catalog.panel import speeds
from railweave.cli.main import main
from railweave.design.build import design
from railweave.diagnostics import has_errors
from railweave.fabric.model import Fabric
from railweave.fabric.releases import RELEASES as KNOWN
from railweave.intent.load import load_intent, load_intent_text
from railweave.intent.presets import PresetName
from railweave.sonic.document import parse_running
from railweave.sonic.render.configure import configure
from railweave.sonic.rows import Fields, Value
from railweave.templates import find_templates
from railweave.yang.check import check_yang, violations, whole_document
from railweave.yang.models import YangModels, load_models
from sonic_sim.factory import factory_config

ROOT = Path(__file__).resolve().parents[2]
MODELS = Path(os.environ.get("RAILWEAVE_YANG_MODELS", ROOT.parent / "shared" / "sonic-yang"))
NEXT = MODELS.with_name(f"{MODELS.name}-next")
"""Beside the models that were there first those of later releases, which switches compile with libyang 3."""
FOLDERS = {release: folder / release for folder in (MODELS, NEXT) for release in KNOWN if (folder / release).is_dir()}
RELEASES = tuple(FOLDERS)
INTENTS = sorted((*REFERENCE_INTENTS, *(ROOT / "src/railweave/starter/minimal/intent").glob("*.yml")))
NIGHTLY = pytest.mark.nightly
LOSSY_RDMA = ROOT / "tests" / "golden" / "sonic_config" / "intents" / "lossy-planes.yml"
# Every key, with the shortest and the longest interval and both words.
COUNTERS = """telemetry:
  counters: {port: 100, queue: enable, watermark: 60000, pg_drop: 30000, port_buffer_drop: 300000, phy: disable,
             pfcwd: enable, wred_queue: 100, wred_port: 30000, switch: 1000}
"""
STREAMS = """telemetry:
  high_frequency_us: 10000
  pfc_history: true
  gnmi: {port: 50051, client_auth: true, user_auth: password, ca: /etc/sonic/telemetry/ca.cer,
         certificate: /etc/sonic/telemetry/server.cer, key: /etc/sonic/telemetry/server.key}
"""
TENANTS = """sonic: {acl_rules: 512}
tenants:
  - {name: research, nodes: [gpu1, gpu3], reaches: [store]}
  - {name: product, nodes: gpu2}
  - {name: store, nodes: gpu4}
"""

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not MODELS.is_dir(), reason="SONiC's YANG models lie in ../shared/sonic-yang where they are"),
]

Document = dict[str, dict[str, Fields]]


@cache
def models_of(release: str) -> YangModels:
    """Return the models of a release; libyang takes seconds to load them."""
    return load_models(FOLDERS[release])


def test_at_least_the_releases_that_always_lay_there_are_validated() -> None:
    assert {"202305", "202405", "202411", "202505"} <= set(RELEASES)
    assert not NEXT.is_dir() or {"202511", "202605"} <= set(RELEASES)


@pytest.mark.skipif(not NEXT.is_dir(), reason="the file is made of the models of all releases")
def test_the_words_that_no_release_takes_are_those_of_the_models() -> None:
    assert FILE.read_text(encoding="utf-8") == text_of([*FOLDERS.values()])


# --- what is rendered is valid -----------------------------------------------------------------------------------


def test_the_edge_guard_is_valid_on_every_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    intent = tmp_path / "guarded.yml"
    intent.write_text("edge_guard: true\n" + (ROOT / "intent" / "pod-32.yml").read_text("utf-8"), encoding="utf-8")
    folders = [word for release in RELEASES for word in ("--yang", str(FOLDERS[release]))]
    status = main(["check", str(intent), *folders, "--json"])
    assert status == 0, json.loads(capsys.readouterr().out)["diagnostics"]


def test_the_edge_guard_of_nodes_with_ipv6_is_valid_on_every_release(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    intent = tmp_path / "guarded.yml"
    intent.write_text("edge_guard: true\n" + (ROOT / "intent" / "lab-dual.yml").read_text("utf-8"), encoding="utf-8")
    folders = [word for release in RELEASES for word in ("--yang", str(FOLDERS[release]))]
    status = main(["check", str(intent), *folders, "--json"])
    assert status == 0, json.loads(capsys.readouterr().out)["diagnostics"]


@pytest.mark.parametrize("guard", ["", "edge_guard: true\n"], ids=["alone", "edge-guard"])
@pytest.mark.parametrize("intent", ["lab-4", "lab-dual"], ids=["ipv4", "both-families"])
def test_filters_of_tenants_are_valid_on_every_release(intent: str, guard: str) -> None:
    text = guard + TENANTS + (ROOT / "intent" / f"{intent}.yml").read_text(encoding="utf-8")
    fabric = design(load_intent_text(text, "tenants.yml"), load_catalog()).fabric
    assert fabric is not None
    assert not has_errors(check_config(fabric))
    leaf_rows = configure(fabric, fabric.switches[0], find_templates()).config_db()
    assert len(leaf_rows["ACL_RULE"]) > 4
    faults = check_yang(fabric, [models_of(release) for release in RELEASES], find_templates())
    assert not faults, [fault.message for fault in faults]


@pytest.mark.parametrize("release", RELEASES)
def test_lossy_rdma_is_valid_on_its_release(release: str) -> None:
    text = LOSSY_RDMA.read_text(encoding="utf-8") + f"sonic: {{release: '{release}'}}\n"
    fabric = design(load_intent_text(text, "lossy.yml"), load_catalog()).fabric
    assert fabric is not None
    assert not has_errors(check_config(fabric))
    spine_rows = configure(fabric, fabric.switch_of["mix-spine1"], find_templates()).config_db()
    assert ("SWITCH_TRIMMING" in spine_rows) == (release >= "202505")
    faults = check_yang(fabric, [models_of(release)], find_templates())
    assert not faults, [fault.message for fault in faults]


@pytest.mark.parametrize("release", RELEASES)
def test_all_groups_of_counters_are_valid_on_their_release(release: str) -> None:
    text = LOSSY_RDMA.read_text(encoding="utf-8") + f"sonic: {{release: '{release}'}}\n{COUNTERS}"
    fabric = design(load_intent_text(text, "counters.yml"), load_catalog()).fabric
    assert fabric is not None
    assert not has_errors(check_config(fabric))
    groups = configure(fabric, fabric.switch_of["mix-spine1"], find_templates()).config_db()["FLEX_COUNTER_TABLE"]
    assert ("WRED_ECN_QUEUE" in groups) == (release >= "202505")
    assert ("SWITCH" in groups) == (release >= "202511")
    assert groups["PORT"] == {"FLEX_COUNTER_STATUS": "enable", "POLL_INTERVAL": "100"}
    faults = check_yang(fabric, [models_of(release)], find_templates())
    assert not faults, [fault.message for fault in faults]


@pytest.mark.parametrize("release", RELEASES)
def test_streams_pause_history_and_gnmi_are_valid_on_their_release(release: str) -> None:
    text = LOSSY_RDMA.read_text(encoding="utf-8") + f"sonic: {{release: '{release}'}}\n{STREAMS}"
    text = text.replace("transport: roce-lossy", "transport: roce-lossless, lossless: true")
    fabric = design(load_intent_text(text, "streams.yml"), load_catalog()).fabric
    assert fabric is not None
    spine, leaf = (
        configure(fabric, fabric.switch_of[name], find_templates()).config_db() for name in ("mix-spine1", "mix-leaf1")
    )
    assert ("HIGH_FREQUENCY_TELEMETRY_GROUP" in spine) == (release >= "202511")
    assert any("pfc_stat_history" in row for row in leaf["PFC_WD"].values()) == (release >= "202511")
    assert ("user_auth" in leaf["GNMI"]["gnmi"]) == (release >= "202405")
    faults = check_yang(fabric, [models_of(release)], find_templates())
    assert not faults, [fault.message for fault in faults]


@pytest.mark.parametrize(
    "intent",
    # Half a thousand switches take minutes, and have the rows of a pod.
    [pytest.param(path, id=path.stem, marks=NIGHTLY if path.stem == "pods-512" else ()) for path in INTENTS],
)
def test_every_reference_intent_is_valid_on_every_release(intent: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [word for release in RELEASES for word in ("--yang", str(FOLDERS[release]))]
    status = main(["check", str(intent), *folders, "--json"])
    found = json.loads(capsys.readouterr().out)["diagnostics"]
    assert status == 0, found
    assert not [one for one in found if one["code"].startswith("RW41")]


def test_the_command_says_how_many_switches_were_valid(capsys: pytest.CaptureFixture[str]) -> None:
    folders = [word for release in RELEASES[:2] for word in ("--yang", str(FOLDERS[release]))]
    assert main(["check", str(ROOT / "intent" / "pod-32.yml"), *folders]) == 0
    assert (
        f"CONFIG_DB of 8 switches: valid by the YANG models of {RELEASES[0]}, {RELEASES[1]}" in capsys.readouterr().out
    )


def test_the_command_says_where_there_was_nothing_to_validate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    intent = tmp_path / "sized.yml"
    text = (ROOT / "intent" / "lab-4.yml").read_text(encoding="utf-8")
    intent.write_text(text.replace("leaf:  {model: sonic-vs,", "leaf:  {model: no-such-switch,"), encoding="utf-8")
    assert main(["check", str(intent), "--yang", str(MODELS / "202505")]) == 1
    assert "no switch was validated by the YANG models of 202505" in capsys.readouterr().out


MODEL_INTENT = """
fabric: yang
workload: {{kind: mixed}}
nodes:
  - {{name: gpu, count: 4, gpus: 1, nics: {{count: 1, speed: {down}G, ports: 1, model: {nic}}}}}
topology:
  rails: 1
  stripe: 4
  links_per_pair: 1
  oversubscription: "8:1"
  leaf:  {{model: {model}, count: 1, downlink_speed: {down}G, uplink_speed: {up}G}}
  spine: {{model: {model}, count: 2}}
  reserve: {{leaves: 2, spines: 4}}
"""


# Of models that ship no buffers: no class of theirs can be lossless.
LOSSY = """
traffic_classes:
  - {name: roce, role: rdma, dscp: [26], priority: 3, share: 90}
  - {name: cnp, role: cnp, dscp: [48], priority: 6, strict: true}
  - {name: best-effort, role: bulk, dscp: default, priority: 0, share: 10}
"""


@cache
def fabrics_of(model: str) -> tuple[tuple[str, Fabric], ...]:
    """Return every small fabric that the model can be leaf and spine of, by its speeds: native ones and broken out."""
    catalog = load_catalog()
    known = speeds(catalog.switch(model))
    nics = {speed: next((n for n in catalog.nic_ids() if catalog.nic(n).find(1, speed)), None) for speed in known}
    found = []
    for down in known:
        for up in known:
            if nics[down] is None or up < down:
                continue
            text = MODEL_INTENT.format(model=model, nic=nics[down], down=down, up=up)
            for classes in ("", LOSSY):
                outcome = design(load_intent_text(text + classes, f"{model}.yml"), catalog)
                if outcome.fabric and not has_errors((*outcome.diagnostics, *check_config(outcome.fabric))):
                    found.append((f"{down}G down, {up}G up", outcome.fabric))
                    break
    return tuple(found)


@pytest.mark.parametrize("model", sampled(load_catalog().switch_ids(), every=12))
def test_every_catalog_model_is_valid_as_leaf_and_spine_on_every_release(model: str) -> None:
    releases = [models_of(release) for release in RELEASES]
    fabrics = fabrics_of(model)
    assert fabrics, f"no fabric can be built of {model}"
    for speed, fabric in fabrics:
        found = check_yang(fabric, releases, find_templates())
        assert not found, (speed, [one.message for one in found])


CLASSES = """
traffic_classes:
  - {name: roce-of-the-longest-name-that-is-allowed, role: rdma, dscp: [26], lossless: true, priority: 3, share: 60}
  - {name: storage, role: storage, dscp: [20], lossless: true, priority: 4, share: 30}
  - {name: cnp, role: cnp, dscp: [48], priority: 6, strict: true}
  - {name: best-effort, role: bulk, dscp: default, priority: 0, share: 10}
"""


@pytest.mark.parametrize("classes", [CLASSES, *(f"preset: {name.value}\n" for name in PresetName)])
def test_every_preset_and_a_second_lossless_class_are_valid_on_every_release(classes: str) -> None:
    text = (ROOT / "intent" / "pod-32.yml").read_text(encoding="utf-8") + classes
    fabric = design(load_intent_text(text, "classes.yml"), load_catalog()).fabric
    assert fabric is not None
    assert not has_errors(check_config(fabric))
    found = check_yang(fabric, [models_of(release) for release in RELEASES], find_templates())
    assert not found, [one.message for one in found]


def test_models_are_tried_with_and_without_breakout() -> None:
    broken = {
        any(port.subport for port in switch.panel.ports)
        for model in load_catalog().switch_ids()
        for _, fabric in fabrics_of(model)
        for switch in fabric.switches
    }
    assert broken == {True, False}


# --- a fault in any table is found -------------------------------------------------------------------------------

BUFFERS: Mapping[str, Mapping[str, Fields]] = {
    "BUFFER_POOL": {
        "ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "10000000", "xoff": "1000000"},
        "egress_lossless_pool": {"type": "egress", "mode": "dynamic", "size": "10000000"},
    },
    "BUFFER_PROFILE": {
        "seed_ingress": {"pool": "ingress_lossless_pool", "size": "0", "dynamic_th": "1", "xon": "1", "xoff": "2"},
        "seed_egress": {"pool": "egress_lossless_pool", "size": "0", "dynamic_th": "1"},
    },
    "BUFFER_PG": {"Ethernet0|3": {"profile": "seed_ingress"}},
    "BUFFER_QUEUE": {"Ethernet0|3": {"profile": "seed_egress"}},
    "BUFFER_PORT_INGRESS_PROFILE_LIST": {"Ethernet0": {"profile_list": "seed_ingress"}},
    "BUFFER_PORT_EGRESS_PROFILE_LIST": {"Ethernet0": {"profile_list": "seed_egress"}},
    "CABLE_LENGTH": {"AZURE": {"Ethernet0": "5m"}},
    "DEFAULT_LOSSLESS_BUFFER_PARAMETER": {"AZURE": {"default_dynamic_th": "0"}},
    "LOSSLESS_TRAFFIC_PATTERN": {"AZURE": {"mtu": "1024", "small_packet_percentage": "100"}},
}
"""Buffer rows for the tables that the reference switch has none of."""


@dataclass(frozen=True)
class Seed:
    """A fault: fields that are set (None: taken away) in a row, or the whole row taken away; and what is found."""

    table: str
    key: str
    fields: Mapping[str, Value | None] | None
    found: str
    words: str = ""

    def __str__(self) -> str:
        fields = "gone" if self.fields is None else ",".join(f"{n}={v}" for n, v in self.fields.items()) or "new"
        return f"{self.table}|{self.key}:{fields}"[:80]

    def sown(self, document: Document) -> Document:
        rows = dict(document[self.table])
        if self.fields is None:
            del rows[self.key]
        else:
            fields = {**rows.get(self.key, {}), **self.fields}
            rows[self.key] = {name: value for name, value in fields.items() if value is not None}
        return {**document, self.table: rows}


SEEDS = (
    Seed("DEVICE_METADATA", "localhost", {"type": "LeafSwitch"}, "DEVICE_METADATA|localhost|type", "LeafSwitch"),
    Seed("DEVICE_METADATA", "localhost", {"bgp_asn": "None"}, "DEVICE_METADATA|localhost|bgp_asn"),
    Seed("DEVICE_METADATA", "localhost", {"hostname": "x" * 64}, "DEVICE_METADATA|localhost|hostname"),
    Seed("DEVICE_METADATA", "other", {}, "DEVICE_METADATA|other", "localhost"),
    Seed("SWITCH_HASH", "GLOBAL", {"ecmp_hash": ("SRC_IP", "QUEUE_PAIR")}, "SWITCH_HASH|GLOBAL|ecmp_hash"),
    Seed("PORT", "Ethernet0", {"mtu": "9300"}, "PORT|Ethernet0|mtu", "range"),
    Seed("PORT", "Ethernet0", {"speed": "0"}, "PORT|Ethernet0|speed", "range"),
    Seed("PORT", "Ethernet0", {"speed": None}, "PORT|Ethernet0|speed", "Mandatory"),
    Seed("PORT", "Ethernet0", {"lanes": None}, "PORT|Ethernet0|lanes", "Mandatory"),
    Seed("PORT", "Ethernet0", {"admin_status": "on"}, "PORT|Ethernet0|admin_status"),
    Seed("PORT", "Ethernet0", {"fec": "reed-solomon"}, "PORT|Ethernet0|fec"),
    Seed("PORT", "Ethernet0", {"lanes": ("1", "2")}, "PORT|Ethernet0|lanes", "one text"),
    Seed("PORT", "Ethernet0", None, "INTERFACE|Ethernet0", "Ethernet0"),
    Seed("BREAKOUT_CFG", "Ethernet0", {"brkout_mode": "1x" * 33}, "BREAKOUT_CFG|Ethernet0|brkout_mode", "length"),
    Seed("INTERFACE", "Ethernet0", None, "INTERFACE|Ethernet0|10.", "Must"),
    Seed("INTERFACE", "Ethernet999", {}, "INTERFACE|Ethernet999", "Ethernet999"),
    Seed("INTERFACE", "Ethernet0|10.0.0.300/31", {}, "INTERFACE|Ethernet0|10.0.0.300/31"),
    Seed("INTERFACE", "Ethernet0", {"vrf_name": "Vrf9"}, "INTERFACE|Ethernet0|vrf_name", "Vrf9"),
    Seed("LOOPBACK_INTERFACE", "Loopback0", None, "LOOPBACK_INTERFACE|Loopback0|10.", "Loopback0"),
    Seed("LOOPBACK_INTERFACE", "Loopback0|10.255.0.1/33", {}, "LOOPBACK_INTERFACE|Loopback0|10.255.0.1/33"),
    Seed("DEVICE_NEIGHBOR", "Ethernet0", {"name": ""}, "DEVICE_NEIGHBOR|Ethernet0|name", "length"),
    Seed("DEVICE_NEIGHBOR", "Ethernet0", {"local_port": "Ethernet999"}, "DEVICE_NEIGHBOR|Ethernet0|local_port"),
    Seed("DEVICE_NEIGHBOR_METADATA", "x", {"lo_addr": "y"}, "DEVICE_NEIGHBOR_METADATA|x|lo_addr"),
    Seed("DSCP_TO_TC_MAP", "FABRIC", {"64": "0"}, "DSCP_TO_TC_MAP|FABRIC|64", "DSCP"),
    Seed("DSCP_TO_TC_MAP", "FABRIC", {"26": "16"}, "DSCP_TO_TC_MAP|FABRIC|26", "Traffic Class"),
    Seed("DSCP_TO_TC_MAP", "FABRIC", None, "PORT_QOS_MAP|", "FABRIC"),
    Seed("TC_TO_QUEUE_MAP", "FABRIC", {"16": "0"}, "TC_TO_QUEUE_MAP|FABRIC|16"),
    Seed("TC_TO_QUEUE_MAP", "FABRIC", None, "PORT_QOS_MAP|", "FABRIC"),
    Seed("TC_TO_PRIORITY_GROUP_MAP", "FABRIC", {"3": "8"}, "TC_TO_PRIORITY_GROUP_MAP|FABRIC|3"),
    Seed("MAP_PFC_PRIORITY_TO_QUEUE", "FABRIC", {"8": "3"}, "MAP_PFC_PRIORITY_TO_QUEUE|FABRIC|8"),
    Seed("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "FABRIC", {"3": "8"}, "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP|FABRIC|3"),
    Seed("PORT_QOS_MAP", "Ethernet0", {"dscp_to_tc_map": "x"}, "PORT_QOS_MAP|Ethernet0|dscp_to_tc_map", "target"),
    Seed("PORT_QOS_MAP", "Ethernet999", {"pfc_enable": "3"}, "PORT_QOS_MAP|Ethernet999", "Ethernet999"),
    Seed("SCHEDULER", "roce", {"weight": "0"}, "SCHEDULER|roce|weight", "range"),
    Seed("SCHEDULER", "roce", {"weight": "101"}, "SCHEDULER|roce|weight", "range"),
    Seed("SCHEDULER", "roce", {"type": "FIFO"}, "SCHEDULER|roce|type"),
    Seed("SCHEDULER", "roce", None, "QUEUE|", "roce"),
    Seed("WRED_PROFILE", "roce-400g", {"green_max_threshold": "1"}, "WRED_PROFILE|roce-400g|green_m"),
    Seed("WRED_PROFILE", "roce-400g", {"yellow_max_threshold": "1"}, "WRED_PROFILE|roce-400g|yellow_m"),
    Seed("WRED_PROFILE", "roce-400g", {"red_max_threshold": "1"}, "WRED_PROFILE|roce-400g|red_m"),
    Seed("WRED_PROFILE", "roce-400g", {"green_drop_probability": "101"}, "WRED_PROFILE|roce-400g|green_drop"),
    Seed("WRED_PROFILE", "roce-400g", {"ecn": "ecn_blue"}, "WRED_PROFILE|roce-400g|ecn"),
    Seed("WRED_PROFILE", "roce-400g", None, "QUEUE|", "roce-400g"),
    Seed("QUEUE", "Ethernet0|3", {"scheduler": "x"}, "QUEUE|Ethernet0|3|scheduler", "target"),
    Seed("QUEUE", "Ethernet0|3", {"wred_profile": "x"}, "QUEUE|Ethernet0|3|wred_profile", "target"),
    Seed("QUEUE", "Ethernet999|3", {}, "QUEUE|Ethernet999|3", "Ethernet999"),
    Seed("PFC_WD", "GLOBAL", {"POLL_INTERVAL": "3000"}, "PFC_WD|Ethernet", "POLL_INTERVAL"),
    Seed("PFC_WD", "GLOBAL", {"POLL_INTERVAL": "50"}, "PFC_WD|GLOBAL|POLL_INTERVAL", "range"),
    Seed("PFC_WD", "Ethernet0", {"detection_time": "50"}, "PFC_WD|Ethernet0|detection_time", "range"),
    Seed("PFC_WD", "Ethernet0", {"detection_time": "150"}, "PFC_WD|Ethernet0|detection_time", "POLL_INTERVAL"),
    Seed("PFC_WD", "Ethernet0", {"action": "stop"}, "PFC_WD|Ethernet0|action"),
    Seed("PFC_WD", "Ethernet999", {"action": "drop"}, "PFC_WD|Ethernet999"),
    Seed("BUFFER_POOL", "seed", {"type": "ingress"}, "BUFFER_POOL|seed|mode", "Mandatory"),
    Seed("BUFFER_POOL", "seed", {"type": "x", "mode": "static"}, "BUFFER_POOL|seed|type"),
    Seed("BUFFER_PROFILE", "seed", {"size": "0", "pool": "x"}, "BUFFER_PROFILE|seed|pool", "target"),
    Seed("BUFFER_PROFILE", "seed", {"size": "0"}, "BUFFER_PROFILE|seed|pool", "Mandatory"),
    Seed("BUFFER_PROFILE", "seed", {"size": "0", "pool": "ingress_lossless_pool", "dynamic_th": "9"},
         "BUFFER_PROFILE|seed|dynamic_th"),
    Seed("BUFFER_PG", "Ethernet0|3", {"profile": "x"}, "BUFFER_PG|Ethernet0|3|profile", '"x"'),
    Seed("BUFFER_PG", "Ethernet0|8", {"profile": "NULL"}, "BUFFER_PG|Ethernet0|8"),
    Seed("BUFFER_QUEUE", "Ethernet0|3", {"profile": "x"}, "BUFFER_QUEUE|Ethernet0|3|profile", "target"),
    Seed("BUFFER_PORT_INGRESS_PROFILE_LIST", "Ethernet0", {"profile_list": "x"},
         "BUFFER_PORT_INGRESS_PROFILE_LIST|Ethernet0|profile_list", "target"),
    Seed("BUFFER_PORT_EGRESS_PROFILE_LIST", "Ethernet0", {"profile_list": "x"},
         "BUFFER_PORT_EGRESS_PROFILE_LIST|Ethernet0|profile_list", "target"),
    Seed("CABLE_LENGTH", "AZURE", {"Ethernet0": "five"}, "CABLE_LENGTH|AZURE|Ethernet0"),
    Seed("CABLE_LENGTH", "AZURE", {"Ethernet999": "5m"}, "CABLE_LENGTH|AZURE|Ethernet999", "target"),
    Seed("DEFAULT_LOSSLESS_BUFFER_PARAMETER", "AZURE", {"default_dynamic_th": "9"},
         "DEFAULT_LOSSLESS_BUFFER_PARAMETER|AZURE|default_dynamic_th"),
    Seed("LOSSLESS_TRAFFIC_PATTERN", "AZURE", {"small_packet_percentage": "101"},
         "LOSSLESS_TRAFFIC_PATTERN|AZURE|small_packet_percentage"),
)  # fmt: skip


@cache
def spine() -> Document:
    """Return the document of a spine of the worked example, which has rows in every table that railweave renders."""
    fabric = design(load_intent(ROOT / "intent" / "pod-32.yml"), load_catalog()).fabric
    assert fabric is not None
    switch = fabric.switch_of["pod1-spine1"]
    whole = whole_document(configure(fabric, switch, find_templates()).config_db(), switch.panel.platform)
    for table, rows in BUFFERS.items():
        whole[table] = {**rows, **whole.get(table, {})}
    return whole


def test_the_reference_document_of_the_seeds_is_valid_and_whole() -> None:
    assert {one.table for one in SEEDS} >= set(spine()) - {"MGMT_PORT"}, "every table has a seed"
    for release in RELEASES:
        assert violations(spine(), models_of(release)) == ()


@pytest.mark.parametrize("release", sampled(RELEASES[::-1], every=4))
@pytest.mark.parametrize("seed", SEEDS, ids=str)
def test_a_seeded_fault_is_found_at_its_row_and_field(seed: Seed, release: str) -> None:
    found = violations(seed.sown(spine()), models_of(release))
    told = [(str(one.place), one.words) for one in found]
    assert any(place.startswith(seed.found) and seed.words in words for place, words in told), told


@pytest.mark.parametrize("table", sorted({one.table for one in SEEDS}))
def test_a_field_that_no_model_knows_is_found_in_every_table(table: str) -> None:
    document = spine()
    key = next(iter(document[table]))
    sown = Seed(table, key, {"no_such_field": "1"}, "").sown(document)
    found = violations(sown, models_of(RELEASES[-1]))
    assert f"{table}|{key}|no_such_field" in {str(one.place) for one in found}


def test_a_table_that_no_model_knows_is_found() -> None:
    (found,) = violations({**spine(), "NO_SUCH_TABLE": {"x": {}}}, models_of(RELEASES[-1]))
    assert (str(found.place), found.unmodelled) == ("NO_SUCH_TABLE", True)


def test_many_faults_of_one_device_are_found_in_one_go() -> None:
    document = spine()
    seeds = [one for one in SEEDS if one.table in {"SCHEDULER", "DSCP_TO_TC_MAP", "PFC_WD"} and one.fields][:6]
    for seed in seeds:
        document = seed.sown(document)
    places = {str(one.place) for one in violations(document, models_of(RELEASES[-1]))}
    assert {"DSCP_TO_TC_MAP|FABRIC|64", "DSCP_TO_TC_MAP|FABRIC|26", "SCHEDULER|roce|type"} <= places


def test_an_override_that_the_models_refuse_is_an_error_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    intent = tmp_path / "lab.yml"
    override = 'overrides:\n  leaf:\n    SYSLOG_SERVER: {"10.9.9.9": {source: "10.9.9"}}\n'
    intent.write_text((ROOT / "intent" / "lab-4.yml").read_text(encoding="utf-8") + override, encoding="utf-8")
    assert main(["check", str(intent), "--yang", str(FOLDERS[RELEASES[-1]]), "--json"]) == 1
    (found,) = (one for one in json.loads(capsys.readouterr().out)["diagnostics"] if one["code"] == "RW411")
    assert found["message"].startswith("SYSLOG_SERVER|10.9.9.9|source '10.9.9': ")
    assert found["where"]["path"] == "overrides.leaf.SYSLOG_SERVER"
    assert found["devices"] == ["lab-leaf1", "lab-leaf2"]


def test_models_that_libyang_cannot_load_are_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sonic-broken.yang").write_text("module sonic-broken { yang-version 1.1; no }\n", encoding="utf-8")
    assert main(["check", str(ROOT / "intent" / "lab-4.yml"), "--yang", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "cannot load these models" in said
    assert "sonic-broken" in said


# --- on a whole switch -------------------------------------------------------------------------------------------


def on_a_switch(model: str, rendered: Document) -> Document:
    """Return what a factory-fresh switch holds once the rendered rows have taken the place of its own."""
    factory = factory_config(
        rendered["PORT"],
        hwsku=str(rendered["DEVICE_METADATA"]["localhost"]["hwsku"]),
        platform=load_catalog().switch(model).platform,
        mac="02:00:00:00:00:01",
    )
    ours: dict[str, Any] = {table: dict(rows) for table, rows in rendered.items()}
    text = json.dumps({**factory, "BGP_NEIGHBOR": {}, **ours})
    whole: dict[str, Any] = dict(parse_running(text).config_db)
    metadata: dict[str, Any] = {**factory["DEVICE_METADATA"]["localhost"], **rendered["DEVICE_METADATA"]["localhost"]}
    return {**whole, "DEVICE_METADATA": {"localhost": metadata}}


@pytest.mark.parametrize("release", RELEASES[1:])  # 202305 has other fields in the time servers of the sample
@pytest.mark.parametrize("device", ["lab-leaf1", "lab-spine1"])
def test_rendered_rows_are_valid_among_the_rows_that_a_switch_has_of_its_own(device: str, release: str) -> None:
    fabric = design(load_intent(ROOT / "intent" / "lab-4.yml"), load_catalog()).fabric
    assert fabric is not None
    config = configure(fabric, fabric.switch_of[device], find_templates())
    whole = on_a_switch("sonic-vs", config.config_db())
    assert {"TACPLUS", "ACL_TABLE", "MGMT_INTERFACE"} <= set(whole)
    assert violations(whole, models_of(release)) == ()
