"""Groups of counters that are off: what the intent turns off, and what a switch was read not to poll (RW145)."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from railweave.catalog.load import load_catalog
from railweave.checks.facts import fact_findings
from railweave.checks.intent import check_intent
from railweave.design.build import design
from railweave.diagnostics import Diagnostic, Severity
from railweave.fabric.counter_groups import GROUP_OF
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.sonic.render.configure import Configurator
from railweave.telemetry.counting import alerts_of, group_of
from railweave.telemetry.metrics import SCRAPED
from railweave.templates import find_templates

LAB = """
fabric: lab
workload: {kind: pretraining}
nodes:
  - {name: gpu, count: 4, gpus: 2, nics: {count: 2, speed: 100G, ports: 1, model: connectx-6, pcie: gen4x16}}
topology:
  rails: 2
  stripe: 4
  links_per_pair: 1
  oversubscription: "2:1"
  leaf: {model: sonic-vs, count: 2, downlink_speed: 100G, uplink_speed: 100G}
  spine: {model: sonic-vs, count: 2}
"""
OFF = {"FLEX_COUNTER_STATUS": "disable"}

Groups = dict[str, dict[str, str]]
ReadLeaf = Callable[[str, Groups], list[Diagnostic]]


def turned_off(stated: str) -> list[Diagnostic]:
    intent = load_intent_text(LAB + f"telemetry: {{counters: {stated}}}\n", "lab.yml")
    return [finding for finding in check_intent(intent) if finding.code == "RW145"]


@pytest.fixture(scope="module")
def read_leaf() -> ReadLeaf:
    """Return a function that checks what a leaf runs: its intended rows, with some groups of counters changed."""
    designed: dict[str, tuple[Fabric, Configurator]] = {}

    def read(telemetry: str, groups: Groups) -> list[Diagnostic]:
        if telemetry not in designed:
            fabric = design(load_intent_text(LAB + telemetry, "lab.yml"), load_catalog()).fabric
            assert fabric is not None
            designed[telemetry] = fabric, Configurator(fabric, find_templates())
        fabric, configurator = designed[telemetry]
        tables: dict[str, Any] = json.loads(json.dumps(configurator.device(fabric.switch_of["lab-leaf1"]).config_db()))
        tables["FLEX_COUNTER_TABLE"] = {**tables.get("FLEX_COUNTER_TABLE", {}), **groups}
        files = {"lab-leaf1": ("facts/lab-leaf1.json", json.dumps(tables))}
        return [finding for finding in fact_findings(fabric, files, configurator) if finding.code == "RW145"]

    return read


def test_an_intent_that_turns_off_what_alerts_need_is_warned() -> None:
    (finding,) = turned_off("{pg_drop: disable, port_buffer_drop: disable, phy: disable}")
    assert (finding.severity, finding.where.path) == (Severity.WARNING, "telemetry.counters.pg_drop")
    assert finding.message == "telemetry.counters.pg_drop is disabled: alert AL-2 cannot fire"
    assert finding.fix == "write `enable`, or `keep` for SONiC's own row"


def test_an_intent_that_keeps_sonics_rows_is_not_warned() -> None:
    assert turned_off("{pg_drop: keep, wred_queue: keep}") == []


def test_a_switch_that_does_not_mark_visibly_is_named_with_the_command(read_leaf: ReadLeaf) -> None:
    (finding,) = read_leaf("telemetry: {}\n", {"WRED_ECN_QUEUE": OFF})
    assert finding.message == "lab-leaf1 does not poll WRED_ECN_QUEUE: alerts AL-4, AL-8 cannot fire"
    assert finding.fix == "`sudo counterpoll wredqueue enable`"
    assert (finding.severity, finding.devices) == (Severity.WARNING, ("lab-leaf1",))


def test_one_of_the_three_rows_of_watermarks_is_named(read_leaf: ReadLeaf) -> None:
    (finding,) = read_leaf("", {"PG_WATERMARK": OFF})
    assert finding.message.startswith("lab-leaf1 does not poll PG_WATERMARK: alerts ")
    assert finding.fix == "`sudo counterpoll watermark enable`"


def test_what_nobody_asked_for_may_be_off(read_leaf: ReadLeaf) -> None:
    # Without `telemetry` nobody waits for marks; no alert needs the drops of port buffers.
    assert read_leaf("", {"WRED_ECN_QUEUE": OFF, "PORT_BUFFER_DROP": OFF}) == []
    assert read_leaf("telemetry: {counters: {queue: disable}}\n", {"QUEUE": OFF}) == []


def test_a_row_without_a_status_is_polled_if_sonic_polls_it_by_default(read_leaf: ReadLeaf) -> None:
    assert read_leaf("telemetry: {}\n", {"QUEUE": {}}) == []
    assert len(read_leaf("telemetry: {}\n", {"WRED_ECN_QUEUE": {"POLL_INTERVAL": "10000"}})) == 1


def test_every_metric_of_counters_belongs_to_a_group() -> None:
    for metric in SCRAPED:
        in_counters = metric.source.startswith(("SAI_", "PFC_WD_", "PERIODIC_WATERMARKS", "RATES"))
        assert (group_of(metric) is not None) is in_counters, metric.name


def test_every_group_names_the_alerts_that_it_disables() -> None:
    # Written from the table of ../shared/formats: which field each alert reads, and which row turns it on.
    codes = {key: [alert.code for alert in alerts_of(group)] for key, group in GROUP_OF.items()}
    assert codes["wred_queue"] == ["AL-4", "AL-8"]
    assert codes["pg_drop"] == ["AL-2"]
    assert codes["pfcwd"] == ["AL-3", "AL-6"]
    assert codes["phy"] == codes["switch"] == codes["wred_port"] == codes["port_buffer_drop"] == []
    assert "AL-1" in codes["queue"]
    assert {"AL-13", "AL-14", "AL-15"} & set(codes["port"])
