"""The files of Prometheus, Alertmanager, gnmic and Grafana as their readers see them."""

import json
from types import SimpleNamespace
from typing import Any

import promql_parser
import pytest
import yaml
from reference_intents import ROOT
from telemetry_samples import fabric_of, telemetry_files

from railweave.fabric.node_metrics import ScrapedMetric
from railweave.fabric.telemetry import TelemetryPolicy
from railweave.telemetry import metrics
from railweave.telemetry.alertmanager import alertmanager_text
from railweave.telemetry.gnmic import gnmic_text, starlark
from railweave.telemetry.grafana import EXPRESSIONS

FABRIC = fabric_of((ROOT / "tests" / "golden" / "telemetry" / "fabric.yml").read_text(encoding="utf-8"))
FILES = telemetry_files(FABRIC)
DOWN = {"rule": "AL-21", "severity": "critical", "device": "lab-spine1"}
LINK_DOWN = {"rule": "AL-10", "severity": "critical", "device": "lab-leaf1", "cable": "lab-leaf1 Ethernet256"}
FAR_BGP_DOWN = {"rule": "AL-11", "severity": "critical", "device": "lab-leaf1", "cable": "lab-leaf1 Ethernet256"}
CABLE_OUT = {"rule": "AL-19", "severity": "none", "device": "lab-leaf1", "cable": "lab-leaf1 Ethernet256"}
DEVICE_OUT = {"rule": "AL-20", "severity": "none", "device": "lab-spine1"}
UNREAD = {"rule": "AL-22", "severity": "warning", "device": "lab-spine1"}


def matches(matchers: list[str], alert: dict[str, str]) -> bool:
    for matcher in matchers:
        name, sign, value = matcher.partition("!=") if "!=" in matcher else matcher.partition("=")
        values = value.removeprefix("~").strip('"').split("|")
        if (alert.get(name, "") in values) == (sign == "!="):
            return False
    return True


def received(*firing: dict[str, str]) -> list[str]:
    """Return the codes that reach a receiver: neither inhibited nor routed to no one, as Alertmanager decides."""
    document = yaml.safe_load(alertmanager_text(TelemetryPolicy()))
    codes = []
    for alert in firing:
        inhibited = any(
            matches(rule["source_matchers"], source)
            and matches(rule["target_matchers"], alert)
            and all(source.get(name, "") == alert.get(name, "") for name in rule["equal"])
            for rule in document["inhibit_rules"]
            for source in firing
        )
        routed = [route["receiver"] for route in document["route"]["routes"] if matches(route["matchers"], alert)]
        if not inhibited and not routed:
            codes.append(alert["rule"])
    return codes


def test_a_dead_spine_is_one_alert() -> None:
    assert received(DOWN, LINK_DOWN, FAR_BGP_DOWN, CABLE_OUT, DEVICE_OUT, UNREAD) == ["AL-21"]


def test_a_rollout_pages_nobody_and_another_cable_is_heard() -> None:
    other = {**LINK_DOWN, "device": "lab-leaf2", "cable": "gpu2 rail0"}
    assert received(CABLE_OUT, DEVICE_OUT, LINK_DOWN, FAR_BGP_DOWN, UNREAD, other) == ["AL-10"]


def test_a_link_that_is_down_is_one_alert() -> None:
    assert received(LINK_DOWN, FAR_BGP_DOWN) == ["AL-10"]
    assert received(FAR_BGP_DOWN) == ["AL-11"]


def test_a_storm_is_one_alert_and_another_queue_is_heard() -> None:
    queue = {"fabric": "lab", "severity": "critical", "device": "lab-leaf1", "port": "Ethernet0", "queue": "3"}
    drops, paused = ({**queue, "rule": code} for code in ("AL-1", "AL-6"))
    assert received({**queue, "rule": "AL-3"}, drops, paused) == ["AL-3"]
    assert received({**queue, "rule": "AL-3", "queue": "4"}, drops, paused) == ["AL-3", "AL-1", "AL-6"]


def test_a_webhook_of_the_intent_is_the_receiver() -> None:
    document = yaml.safe_load(FILES["prometheus/alertmanager.yml"])
    assert document["receivers"][0]["webhook_configs"] == [{"url": "https://pager.example/hook", "send_resolved": True}]


def test_every_switch_and_node_is_a_target_with_its_place() -> None:
    switches = json.loads(FILES["prometheus/targets/switches.json"])
    assert [target["labels"] for target in switches[:1]] == [
        {"fabric": "lab", "device": "lab-leaf1", "role": "leaf", "plane": "0", "rail": "0", "stripe": "0"}
    ]
    assert [target["labels"]["device"] for target in switches] == [switch.name for switch in FABRIC.switches]
    nodes = json.loads(FILES["prometheus/targets/nodes.json"])
    assert [target["targets"] for target in nodes] == [["gpu1:9100"], ["gpu2:9100"]]


def test_every_panel_shows_promql() -> None:
    for expression in EXPRESSIONS:
        promql_parser.parse(expression.replace("$__rate_interval", "5m"))
    panels = json.loads(FILES["grafana/fabric.json"])["panels"]
    assert [panel["targets"][0]["expr"] for panel in panels] == [*EXPRESSIONS]


def converted(values: dict[str, Any]) -> list[tuple[dict[str, float], dict[str, str]]]:
    """Run the script of gnmic: Starlark is a part of Python."""

    def event(_name: str, _at: int, given: dict[str, float], tags: dict[str, str], _deletes: object) -> Any:
        return given, tags

    names: dict[str, Any] = {"Event": event}
    exec(starlark(FABRIC), names)
    event_in = SimpleNamespace(name="counters", timestamp=1, values=values, tags={"target": "lab-leaf1"})
    return list(names["apply"](event_in))


PORT = {"device": "lab-leaf1", "port": "Ethernet0"}
ALIAS = FABRIC.switches[0].panel.ports[0].alias


@pytest.mark.parametrize(
    ("path", "value", "metric", "number", "labels"),
    [
        # As recorded from sonic-gnmi and gnmic.
        ("COUNTERS/Ethernet0/SAI_PORT_STAT_PFC_3_RX_PKTS", "2204113", metrics.PFC_RECEIVED, 2204113, {"priority": "3"}),
        (f"COUNTERS/{ALIAS}/SAI_PORT_STAT_IF_IN_ERRORS", "4", metrics.RECEIVE_ERRORS, 4, {}),
        (
            "COUNTERS/Ethernet0/Queues/Ethernet0:3/SAI_QUEUE_STAT_DROPPED_PACKETS",
            "17",
            metrics.QUEUE_DROPS,
            17,
            {"queue": "3"},
        ),
        (
            "COUNTERS/Ethernet0/Queues/Ethernet0:3:periodic/SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES",
            *("734208", metrics.QUEUE_WATERMARK, 734208, {"queue": "3"}),
        ),
        (
            "COUNTERS/Ethernet0/SAI_PORT_STAT_PFC_3_RX_PAUSE_DURATION_US",
            *("4410233", metrics.PAUSE_SECONDS, 4.410233, {"priority": "3"}),
        ),
        ("RATES/Ethernet0/FEC_PRE_BER", "9.8117647058823534e-10", metrics.PRE_FEC_BER, 9.8117647058823534e-10, {}),
    ],
)
def test_gnmic_turns_a_leaf_of_sonic_into_a_metric(
    path: str, value: str, metric: ScrapedMetric, number: float, labels: dict[str, str]
) -> None:
    ((values, tags),) = converted({f"COUNTERS_DB/{path}": value})
    assert values == {metric.name: pytest.approx(number)}
    assert tags == {**PORT, **labels}
    assert {*tags} == {"device", *metric.labels}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("COUNTERS/Ethernet0/SAI_PORT_STAT_IF_IN_ERRORS", "N/A"),
        ("COUNTERS/Ethernet0/SAI_PORT_STAT_ETHER_STATS_JABBERS", "4"),
        # The last poll alone, and a reading that failed.
        ("COUNTERS/Ethernet0/Queues/Ethernet0:3/SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES", "9216"),
        (
            "COUNTERS/Ethernet0/Queues/Ethernet0:3:periodic/SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES",
            "1.8446744073709552e+19",
        ),
    ],
)
def test_gnmic_leaves_out_what_is_no_reading(path: str, value: str) -> None:
    assert converted({f"COUNTERS_DB/{path}": value}) == []


def test_gnmic_asks_a_release_only_for_paths_that_it_has() -> None:
    document = yaml.safe_load(gnmic_text(FABRIC))
    paths = document["subscriptions"]["counters"]["paths"]
    assert "COUNTERS/Ethernet*/Queues" in paths
    # sonic-gnmi of branch 202505 is older than that of 202411.
    assert "PERIODIC_WATERMARKS/Ethernet*/PriorityGroups" not in paths
    assert document["processors"]["metrics"]["event-starlark"]["source"].rstrip() == starlark(FABRIC).rstrip()
