"""thresholds.prom against the CONFIG_DB rows and FRR files that are rendered, read without the telemetry's own code."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from examples import more
from hypothesis import given
from hypothesis import strategies as st
from reference_intents import ROOT
from telemetry_samples import Samples, fabric_of, named, threshold_samples

from railweave.bom.labels import cable_labels
from railweave.catalog.load import load_catalog
from railweave.fabric.model import Fabric
from railweave.sonic.render.configure import Configurator
from railweave.templates import find_templates

Tables = Mapping[str, Mapping[str, Any]]
FROM_ROWS = {
    *("ecn_kmin_bytes", "ecn_kmax_bytes", "ecn_pmax_percent", "headroom_bytes", "port_speed_bytes_per_second"),
    *("port_fec_info", "pool_bytes", "queue_weight", "pfcwd_detection_seconds", "pfcwd_restoration_seconds"),
    *("pfcwd_poll_seconds", "bgp_hold_seconds", "bgp_sessions", "bgp_next_hops"),
}
INTENTS = ("pod-32.yml", "lab-pods.yml", "mixed-nodes.yml", "generations.yml", "lab-ipv6.yml", "lab-dual.yml")
# Overrides, planes, lossy RDMA, split ports, rails of one switch each, dual ToR.
GOLDEN = sorted(path.name for path in (ROOT / "tests/golden/sonic_config/intents").glob("*.yml"))
# Added to lab-4.yml.
VARIANTS = {
    "tenants": "tenants: [{name: one, nodes: [gpu1]}, {name: two, nodes: [gpu2]}]\n",
    "timers": "bgp: {keepalive: 2, hold: 6}\n",
    "overrides": "overrides: {leaf: {SYSLOG_SERVER: {'10.9.9.9': {}}}}\n",
}


def rows_as_samples(device: str, tables: Tables, frr: str) -> Iterator[Any]:
    """Yield the samples that the rows and the FRR file of a switch stand for, without the cables' names."""
    yield from queue_samples(device, tables)
    for key, row in tables.get("BUFFER_PG", {}).items():
        port, group = key.split("|")
        profile = tables["BUFFER_PROFILE"].get(row["profile"], {})
        if "xoff" in profile:
            yield named("headroom_bytes", profile["xoff"], device=device, port=port, queue=group)
    yield from port_samples(device, tables["PORT"])
    for pool, row in tables.get("BUFFER_POOL", {}).items():
        if "size" in row:
            yield named("pool_bytes", row["size"], device=device, pool=pool)
    yield from watchdog_samples(device, tables.get("PFC_WD", {}))
    # Every switch has the metric; one that is alone in its rail has no session.
    for hold_s in set(re.findall(r"timers \d+ (\d+)", frr)):
        yield named("bgp_hold_seconds", hold_s, device=device)
    neighbors = re.findall(r"neighbor (\S+) (?:interface )?(?:peer-group|remote-as)", frr)
    yield named("bgp_sessions", len({name for name in neighbors if re.search(r"\d", name)}), device=device)


def queue_samples(device: str, tables: Tables) -> Iterator[Any]:
    for key, row in tables["QUEUE"].items():
        port, queue = key.split("|")
        if "wred_profile" in row:
            profile = tables["WRED_PROFILE"][row["wred_profile"]]
            labels = {"device": device, "port": port, "queue": queue}
            yield named("ecn_kmin_bytes", profile["green_min_threshold"], **labels)
            yield named("ecn_kmax_bytes", profile["green_max_threshold"], **labels)
            yield named("ecn_pmax_percent", profile["green_drop_probability"], **labels)
        scheduler = tables["SCHEDULER"][row["scheduler"]]
        if scheduler["type"] == "DWRR":
            labels = {"device": device, "queue": queue, "class": row["scheduler"]}
            yield named("queue_weight", scheduler["weight"], **labels)


def port_samples(device: str, rows: Mapping[str, Any]) -> Iterator[Any]:
    for port, row in rows.items():
        if row["admin_status"] == "up":
            yield named("port_speed_bytes_per_second", int(row["speed"]) * 125_000, device=device, port=port)
            if "fec" in row:
                yield named("port_fec_info", 1, device=device, port=port, fec=row["fec"])


def watchdog_samples(device: str, rows: Mapping[str, Any]) -> Iterator[Any]:
    for key, row in rows.items():
        if key == "GLOBAL":
            yield named("pfcwd_poll_seconds", int(row["POLL_INTERVAL"]) / 1000, device=device)
        else:
            yield named("pfcwd_detection_seconds", int(row["detection_time"]) / 1000, device=device)
            yield named("pfcwd_restoration_seconds", int(row["restoration_time"]) / 1000, device=device)


def without_cables(samples: Samples) -> Samples:
    bare = {
        (name, frozenset(label for label in labels if label[0] != "cable")): value
        for (name, labels), value in samples.items()
    }
    assert len(bare) == len(samples)
    return bare


def text(name: str) -> str:
    return (ROOT / "intent" / name).read_text(encoding="utf-8")


def written(name: str) -> str:
    if name in VARIANTS:
        return text("lab-4.yml") + VARIANTS[name]
    if name in GOLDEN:
        return (ROOT / "tests/golden/sonic_config/intents" / name).read_text(encoding="utf-8")
    return text(name)


@pytest.mark.parametrize("name", [*INTENTS, *GOLDEN, *VARIANTS])
def test_thresholds_are_the_rows_of_the_switches(name: str) -> None:
    fabric = fabric_of(written(name))
    samples = without_cables(threshold_samples(fabric))
    configurator = Configurator(fabric, find_templates())
    rows: Samples = {}
    for switch in fabric.switches:
        config = configurator.device(switch)
        rows |= dict(rows_as_samples(switch.name, config.config_db(), config.frr))
    assert rows
    wrong = {key: (value, samples.get(key)) for key, value in rows.items() if samples.get(key) != value}
    assert not wrong
    # The other way round: no sample of a value that rows state is without a row, except for what a switch computes.
    of_rows = {f"railweave_{metric}" for metric in FROM_ROWS} - {"railweave_bgp_next_hops"}
    if not any(metric == "railweave_bgp_hold_seconds" for metric, _ in rows):
        of_rows.remove("railweave_bgp_hold_seconds")
    computed = {"railweave_headroom_bytes", "railweave_pool_bytes"}
    beyond = {key for key in samples.keys() - rows.keys() if key[0] in of_rows - computed}
    assert not beyond


@pytest.mark.parametrize("name", INTENTS)
def test_every_used_port_and_class_has_one_sample(name: str) -> None:
    fabric = fabric_of(text(name))
    samples = threshold_samples(fabric)
    marking = [traffic_class for traffic_class in fabric.policies.classes if traffic_class.marks]
    ends = sum(len(links) for device, links in fabric.links_of.items() if device in fabric.switch_of)
    count = dict.fromkeys(("ecn_kmin_bytes", "ecn_kmax_bytes", "pfc_start_bytes", "link_expected"), 0)
    for metric, _ in samples:
        if metric.removeprefix("railweave_") in count:
            count[metric.removeprefix("railweave_")] += 1
    queues = ends * len(marking)
    assert count["ecn_kmin_bytes"] == count["ecn_kmax_bytes"] == queues
    assert count["pfc_start_bytes"] == 2 * queues
    assert count["link_expected"] == ends


def test_cables_have_the_names_of_their_labels() -> None:
    fabric = fabric_of(text("mixed-nodes.yml"))
    labels = {label.cable for label in cable_labels(fabric, load_catalog())}
    cables = {dict(labels)["cable"] for metric, labels in threshold_samples(fabric) if metric.endswith("link_expected")}
    assert cables == labels


_CABLE = """
fabric: lab
workload: {{kind: inference}}
nodes: [{{name: gpu, count: 4, gpus: 2, nics: {{count: 2, speed: 400G, model: connectx-7}}}}]
topology: {{rails: 2, leaf: {{model: {leaf}, count: 2}}, spine: {{model: {leaf}, count: 2}}}}
cabling: {{leaf_spine: {{length_m: 300}}}}
"""
NOKIA, NVIDIA = "nokia-ixr7220-h4-64d", "nvidia-sn4700"


def changed(before: Samples, after: Samples) -> set[tuple[str, str, str]]:
    """Return what differs, by metric, device and port."""
    keys = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    return {(name, dict(labels).get("device", ""), dict(labels).get("port", "")) for name, labels in keys}


def with_length(fabric: Fabric, node: str, length_m: int) -> Fabric:
    """Return a fabric in which the cables of a node have another length."""
    links = tuple(link._replace(length_m=length_m) if link.lower == node else link for link in fabric.links)
    return replace(fabric, links=links)


@pytest.mark.parametrize(
    ("leaf", "pools"),
    [
        (NOKIA, ["headroom_reserved_bytes"]),
        # The switch sizes its pool itself by what headroom leaves (SONiC's dynamic buffer model).
        (NVIDIA, ["headroom_reserved_bytes", "shared_buffer_bytes", "pool_bytes"]),
    ],
)
def test_the_cable_of_a_node_changes_its_ports_and_the_pools_of_its_switches(leaf: str, pools: list[str]) -> None:
    fabric = fabric_of(_CABLE.format(leaf=leaf))
    links = fabric.uplinks_of["gpu2"]
    ends = {(link.upper, fabric.switch_of[link.upper].panel.ports[link.upper_port].name) for link in links}
    assert len(ends) == 2
    expected = {("railweave_headroom_bytes", device, port) for device, port in ends}
    for device, _ in ends:
        expected |= {(f"railweave_{pool}", device, "") for pool in pools}
    before = threshold_samples(with_length(fabric, "gpu2", 20))
    assert changed(before, threshold_samples(with_length(fabric, "gpu2", 45))) == expected


def test_a_length_that_crosses_no_step_changes_nothing() -> None:
    # Headroom is published for 5, 40 and 300 m.
    fabric = fabric_of(_CABLE.format(leaf=NOKIA))
    before = threshold_samples(with_length(fabric, "gpu2", 7))
    assert threshold_samples(with_length(fabric, "gpu2", 38)) == before
    assert threshold_samples(with_length(fabric, "gpu2", 5)) != before


# Of each vendor with published headroom, and of SONiC's dynamic model, where the switch computes it from the length.
BUFFERED = (NOKIA, NVIDIA, "arista-7060x6-64pe", "dell-z9332f", "micas-m2-w6940-128qc", "nexthop-nh-4210")


def headrooms(fabric: Fabric, ends: set[tuple[str, str]]) -> dict[tuple[str, str], Any]:
    """Return the profile, or the length that the switch computes one from, of the ports at ``ends``."""
    configurator = Configurator(fabric, find_templates())
    rooms: dict[tuple[str, str], Any] = {}
    for device, port in ends:
        tables = configurator.designed(fabric.switch_of[device])
        # Beyond the longest cable that the vendor publishes headroom for there is no row (and `check` refuses it).
        row = tables["BUFFER_PG"].get(f"{port}|3")
        if row is None:
            rooms[device, port] = None
        elif row["profile"] in tables["BUFFER_PROFILE"]:
            rooms[device, port] = tables["BUFFER_PROFILE"][row["profile"]]
        else:
            rooms[device, port] = tables["CABLE_LENGTH"]["AZURE"][port]
    return rooms


@more
@given(model=st.sampled_from(BUFFERED), before_m=st.integers(1, 300), after_m=st.integers(1, 300))
def test_any_two_lengths_differ_as_their_rows_do_and_at_their_own_ends_alone(
    model: str, before_m: int, after_m: int
) -> None:
    fabric = fabric_of(_CABLE.format(leaf=model))
    links = fabric.uplinks_of["gpu2"]
    ends = {(link.upper, fabric.switch_of[link.upper].panel.ports[link.upper_port].name) for link in links}
    before, after = (with_length(fabric, "gpu2", length_m) for length_m in (before_m, after_m))
    differ = changed(threshold_samples(before), threshold_samples(after))
    same_rows = headrooms(before, ends) == headrooms(after, ends)
    assert not (same_rows and differ)
    if model != NVIDIA:
        assert bool(differ) == (not same_rows)
    devices = {device for device, _ in ends}
    for _, device, port in differ:
        assert (device, port) in ends or (device in devices and port == "")
