"""The buffer tables of catalog models that have buffer facts."""

import re
from collections.abc import Callable
from functools import cache

import pytest

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.sonic.render.configure import configure
from railweave.sonic.rows import ConfigDb, DeviceConfig
from railweave.templates import find_templates

Lab = Callable[..., Fabric]
CATALOG = load_catalog()

INTENT = """
fabric: pod
workload: {{kind: pretraining}}
nodes:
  - {{name: gpu, count: 4, gpus: 8, nics: {{count: 2, speed: {speed}G, model: {nic}}}}}
topology:
  stripe: 4
  links_per_pair: 1
  oversubscription: "8:1"
  leaf: {{model: {model}, count: 2}}
  spine: {{model: {model}, count: 2}}
"""
SPEEDS = {
    "arista-7060x6-64pe": 400,
    "dell-z9664f": 400,
    "nokia-ixr7220-h4-64d": 400,
    "nokia-ixr7220-h5-64d": 400,
    "nvidia-sn2700": 100,
    "nvidia-sn4700": 400,
    "nvidia-sn5600": 400,
    "sonic-vs": 100,
}
"""Models with buffer facts, of every chip and buffer model, at a speed that a NIC has."""


@cache
def leaf(model: str, extra: str = "") -> DeviceConfig:
    nic = "connectx-7" if SPEEDS.get(model, 400) == 400 else "connectx-6"
    text = INTENT.format(model=model, speed=SPEEDS.get(model, 400), nic=nic) + extra
    fabric = design(load_intent_text(text, "pod.yml"), CATALOG).fabric
    assert fabric is not None
    return configure(fabric, fabric.switch_of["pod-leaf1"], find_templates())


def tables(model: str, extra: str = "") -> ConfigDb:
    return leaf(model, extra).config_db()


def test_the_models_have_buffer_facts() -> None:
    assert all(any(one.buffers for one in CATALOG.switch(name).hwskus) for name in SPEEDS)


@pytest.mark.parametrize("model", SPEEDS)
def test_every_used_port_has_its_groups_queues_and_cable_length(model: str) -> None:
    found = tables(model)
    ports = list(found["DEVICE_NEIGHBOR"])
    assert [key.split("|")[0] for key in found["BUFFER_PG"]] == [port for port in ports for _ in range(2)]
    assert list(found["BUFFER_QUEUE"]) == [f"{port}|{queue}" for port in ports for queue in range(7)]
    assert list(found["CABLE_LENGTH"]["AZURE"]) == ports
    assert found["DEVICE_METADATA"]["localhost"]["buffer_model"] in {"traditional", "dynamic"}


@pytest.mark.parametrize("model", SPEEDS)
def test_every_reference_of_the_buffer_tables_is_there(model: str) -> None:
    found = tables(model)
    profiles = found["BUFFER_PROFILE"]
    assert {str(row["pool"]) for row in profiles.values()} <= set(found["BUFFER_POOL"])
    used = {str(row["profile"]) for table in ("BUFFER_PG", "BUFFER_QUEUE") for row in found[table].values()}
    lists = [found.get(f"BUFFER_PORT_{way}_PROFILE_LIST", {}) for way in ("INGRESS", "EGRESS")]
    used |= {name for rows in lists for row in rows.values() for name in str(row["profile_list"]).split(",")}
    assert used - {"NULL"} <= set(profiles)


@pytest.mark.parametrize("model", SPEEDS)
def test_headroom_is_told_with_its_formula_and_source(model: str) -> None:
    (row,) = [one for one in leaf(model).rows if one.table == "BUFFER_PG" and one.key == "Ethernet0|3"]
    assert "xoff" in row.reason
    assert "sonic-net/" in row.reason
    assert "H-headroom" in row.reason


def test_a_traditional_switch_has_the_published_profile_under_buffermgrds_name() -> None:
    found = tables("nokia-ixr7220-h4-64d")
    assert found["BUFFER_PG"]["Ethernet0|3"] == {"profile": "pg_lossless_400000_40m_profile"}
    assert found["BUFFER_PROFILE"]["pg_lossless_400000_40m_profile"] == {
        "dynamic_th": "0",
        "pool": "ingress_lossless_pool",
        "size": "1248",
        "xoff": "330200",
        "xon": "2288",
        "xon_offset": "2288",
    }
    assert set(found["CABLE_LENGTH"]["AZURE"].values()) == {"40m"}
    assert found["BUFFER_POOL"]["ingress_lossless_pool"]["xoff"] == "48404780"
    assert "LOSSLESS_TRAFFIC_PATTERN" not in found


def test_a_dynamic_switch_computes_headroom_from_the_cables_own_length() -> None:
    found = tables("nvidia-sn4700", "cabling: {host: {length_m: 7}, leaf_spine: {length_m: 33}}\n")
    assert found["BUFFER_PG"]["Ethernet0|3"] == {"profile": "NULL"}
    assert set(found["CABLE_LENGTH"]["AZURE"].values()) == {"7m", "33m"}
    assert found["DEFAULT_LOSSLESS_BUFFER_PARAMETER"] == {"AZURE": {"default_dynamic_th": "0"}}
    assert found["LOSSLESS_TRAFFIC_PATTERN"] == {"AZURE": {"mtu": "1024", "small_packet_percentage": "50"}}
    assert "size" not in found["BUFFER_POOL"]["ingress_lossless_pool"]
    assert found["BUFFER_POOL"]["egress_lossless_pool"]["size"] == "60817392"
    assert not [name for name in found["BUFFER_PROFILE"] if name.startswith("pg_lossless")]


def test_the_reason_of_a_shared_pool_says_how_many_slices_share_it() -> None:
    rows = leaf("nokia-ixr7220-h4-64d").rows
    (reason,) = [row.reason for row in rows if (row.table, row.key) == ("BUFFER_POOL", "ingress_lossless_pool")]
    assert reason.endswith("(ingress_lossless_pool 113143792 less its headroom pool 48404780) in 2 slices.")


@pytest.mark.parametrize(("release", "percent"), [("202305", "100"), ("202405", "100"), ("202411", "50")])
def test_headroom_is_computed_for_the_packets_that_the_release_takes_it_for(release: str, percent: str) -> None:
    found = tables("nvidia-sn4700", f"sonic: {{release: '{release}'}}\n")
    assert found["LOSSLESS_TRAFFIC_PATTERN"] == {"AZURE": {"mtu": "1024", "small_packet_percentage": percent}}


def test_an_intent_may_ask_for_the_table_on_a_switch_that_computes() -> None:
    found = tables("nvidia-sn4700", "sonic: {buffer_model: traditional}\n")
    assert found["BUFFER_PROFILE"]["pg_lossless_400000_40m_profile"]["xoff"] == "77824"
    assert found["BUFFER_POOL"]["ingress_lossless_pool"]["size"] == "26451968"
    assert found["DEVICE_METADATA"]["localhost"]["buffer_model"] == "traditional"
    assert found["BUFFER_PORT_INGRESS_PROFILE_LIST"]["Ethernet0"] == {
        "profile_list": "ingress_lossless_profile,ingress_lossy_profile"
    }


@pytest.mark.parametrize("model", SPEEDS)
def test_neighboring_groups_and_queues_have_rows_of_their_own(model: str) -> None:
    found = tables(model, "preset: microsoft\n")
    assert found["PORT_QOS_MAP"]["Ethernet0"]["pfc_enable"] == "3,4"
    assert not [key for table in ("BUFFER_PG", "BUFFER_QUEUE", "QUEUE") for key in found[table] if "-" in key]
    assert [key for key in found["BUFFER_PG"] if key.startswith("Ethernet0|")] == [
        f"Ethernet0|{group}" for group in (0, 3, 4)
    ]


def test_a_class_on_the_highest_queue_gives_it_a_profile() -> None:
    found = tables("nokia-ixr7220-h4-64d", "preset: cisco\n")
    assert [key for key in found["BUFFER_QUEUE"] if key.startswith("Ethernet0|")] == [
        f"Ethernet0|{queue}" for queue in range(8)
    ]


def test_without_buffer_facts_or_lossless_classes_the_devices_buffers_stay() -> None:
    lossy = "traffic_classes:\n  - {name: best-effort, dscp: default, priority: 0, share: 10}\n"
    for found in (tables("arista-7060dx5-64s"), tables("nokia-ixr7220-h4-64d", lossy)):
        assert not [name for name in found if name.startswith(("BUFFER_", "CABLE_", "LOSSLESS_"))]
        assert "buffer_model" not in found["DEVICE_METADATA"]["localhost"]


def test_a_cable_beyond_the_table_gets_no_headroom_that_nobody_published() -> None:
    found = tables("nokia-ixr7220-h4-64d", "cabling: {leaf_spine: {length_m: 400}}\n")
    ports = found["DEVICE_NEIGHBOR"]
    spines = [port for port, row in ports.items() if str(row["name"]).startswith("pod-spine")]
    assert spines
    for port in spines:
        assert f"{port}|3" not in found["BUFFER_PG"]
        assert port not in found["CABLE_LENGTH"]["AZURE"]


def test_the_watchdog_can_be_set_and_turned_off() -> None:
    found = tables("sonic-vs", "pfc_watchdog: {detection_ms: 300, restoration_ms: 900, action: forward}\n")
    assert found["PFC_WD"]["Ethernet0"] == {"action": "forward", "detection_time": "300", "restoration_time": "900"}
    off = tables("sonic-vs", "pfc_watchdog: {enabled: false}\n")
    assert "PFC_WD" not in off or not off["PFC_WD"]
    assert "pfcwd_sw_enable" not in off["PORT_QOS_MAP"]["Ethernet0"]


def test_thresholds_say_where_they_come_from() -> None:
    def reason(extra: str) -> str:
        return next(row.reason for row in leaf("nokia-ixr7220-h4-64d", extra).rows if row.table == "WRED_PROFILE")

    assert "980894" in reason("")
    assert "lowered to 252 KB so that marking starts below 252887 bytes, at which PFC may pause" in reason("")
    assert "shared buffer 64739012 bytes in 2 slices" in reason("")
    assert "19.3 % with all 64 ports congested" in reason("")
    assert "preset nvidia" in reason("preset: nvidia\n")


def test_a_hwskus_own_thresholds_are_taken_at_the_speed_that_it_states_them_for() -> None:
    (row,) = [one for one in leaf("arista-7060x6-64pe").rows if one.table == "WRED_PROFILE"]
    fields = ("green_min_threshold", "green_max_threshold", "green_drop_probability")
    assert [row.fields[name] for name in fields] == ["131072", "262144", "5"]
    assert "as Arista-7060X6-64PE-O128S2 ships it for 400G" in row.reason


@pytest.mark.parametrize("model", SPEEDS)
def test_every_buffer_row_says_where_it_comes_from_and_headroom_and_ecn_with_their_numbers(model: str) -> None:
    rows = leaf(model).rows
    for row in rows:
        if row.table.startswith("BUFFER_P") and not row.key.endswith("|0"):
            assert "sonic-net/" in row.reason, row
    lossless = [row for row in rows if row.table == "BUFFER_PG" and row.key.endswith("|3")]
    for row in lossless:
        for word in (r"xoff \d+ bytes", r" [23]0 m\b", r"alpha [\d.]+", "check.* H-headroom"):
            assert re.search(word, row.reason), (word, row)
    for row in rows:
        if row.table == "WRED_PROFILE":
            assert str(row.fields["green_min_threshold"]) in row.reason.replace(" KB", "000") or "100 KB" in row.reason
            assert "pauses at" in row.reason
            assert "on its way in 8 us" in row.reason


def test_the_formula_of_a_computed_headroom_gives_the_number_that_it_shows() -> None:
    row = next(one for one in leaf("nvidia-sn4700").rows if (one.table, one.key) == ("BUFFER_PG", "Ethernet0|3"))
    assert "xoff 98304 bytes = 1024 + (MTU 9100 + cable 10101 + MAC and PHY 819 + peer response 57920" in row.reason
    assert -(-(1024 + (9100 + 10101 + 819.2 + 57920) * 1.2353) // 1024) * 1024 == 98_304
    assert "the group keeps 146432 bytes, with xon 38912 = 19 KiB x 2 for 8 lanes" in row.reason


def test_a_later_release_adds_2_kib_that_its_script_adds() -> None:
    rows = leaf("nvidia-sn4700", "sonic: {release: '202605'}\n").rows
    row = next(one for one in rows if (one.table, one.key) == ("BUFFER_PG", "Ethernet0|3"))
    assert "xoff 100352 bytes = 1024 +" in row.reason
    assert "in whole KiB + 2048," in row.reason


def test_a_pool_tells_what_is_reserved_beside_it_and_what_is_left() -> None:
    row = next(one for one in leaf("nvidia-sn4700").rows if one.key == "ingress_lossless_pool")
    assert "lossy groups 1212416, management groups 1212416, egress profiles 294912" in row.reason
    assert "egress_lossless_pool 60817392 less headroom" in row.reason
    assert "one half of it" in row.reason


def test_a_published_headroom_tells_that_the_next_longer_row_was_taken_and_what_the_cable_holds() -> None:
    row = next(one for one in leaf("nokia-ixr7220-h4-64d").rows if (one.table, one.key) == ("BUFFER_PG", "Ethernet0|3"))
    assert "xoff 330200 bytes as published for 400G and 40 m, the next length to 20 m" in row.reason
    assert "20202 of them are on the cable, both ways: 2 x 40 m x 400G / (8 x 198 m/us)" in row.reason
    assert "paused at 16184753 bytes where it alone is congested, at 980894 with all 64 ports" in row.reason


def test_the_watchdogs_time_is_told_with_its_rule() -> None:
    row = next(one for one in leaf("nokia-ixr7220-h4-64d").rows if (one.table, one.key) == ("PFC_WD", "Ethernet0"))
    assert "400 ms is a storm" in row.reason
    assert "200 ms for each 32 of 64 ports, as `pfcwd start_default` sets it" in row.reason
