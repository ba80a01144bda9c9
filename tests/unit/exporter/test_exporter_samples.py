"""Readings of a switch as samples: the expectations are written by hand from rows of SONiC's databases."""

from typing import Any

import pytest
from health_trials import HealthTrial, fabric_of
from monitored_switch import (
    GROUP_OF_UPLINK,
    NODE_PORT,
    OF_NODE,
    OF_UPLINK,
    QUEUE_OF_NODE,
    QUEUE_OF_UPLINK,
    UPLINK,
    answered,
    at,
    established,
    observed,
    reading,
    running,
    sampler,
    samples,
)
from reference_intents import ROOT

from railweave.exporter.lines import exposition
from railweave.plan.observation import LldpNeighbor
from railweave.switch_driver import CommitStatus
from railweave.telemetry import metrics

PORT = "SAI_PORT_STAT_"
QUEUE = "SAI_QUEUE_STAT_"
COUNTERS = {
    f"COUNTERS:{OF_NODE}": {
        f"{PORT}IF_IN_OCTETS": "918273645546372",
        f"{PORT}IF_IN_DISCARDS": "0",
        f"{PORT}PFC_3_RX_PKTS": "2204113",
        f"{PORT}PFC_3_TX_PKTS": "118",
        f"{PORT}PFC_4_TX_PKTS": "0",
    },
    f"COUNTERS:{OF_UPLINK}": {f"{PORT}PFC_3_RX_PAUSE_DURATION_US": "4410233", f"{PORT}PFC_3_TX_PKTS": "99120"},
    f"COUNTERS:{QUEUE_OF_NODE}": {
        f"{QUEUE}PACKETS": "91827364",
        f"{QUEUE}DROPPED_PACKETS": "0",
        f"{QUEUE}WRED_ECN_MARKED_PACKETS": "401223",
        f"{QUEUE}SHARED_WATERMARK_BYTES": "9216",
    },
    f"COUNTERS:{QUEUE_OF_UPLINK}": {
        f"{QUEUE}PACKETS": "5120",
        f"{QUEUE}DROPPED_PACKETS": "17",
        "PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED": "3",
        "PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED": "2",
        "PFC_WD_STATUS": "stormed",
    },
}
ROCE = {"queue": "3"}
PRIORITY = {"priority": "3"}


def test_counters_keep_every_digit_and_a_missing_one_has_no_sample() -> None:
    read = samples(reading(answered(COUNTERS)))
    counted = {key: value for key, value in read.items() if key[0].endswith("_total")}
    assert counted == {
        at("interface_receive_bytes_total", NODE_PORT): 918273645546372,
        at("interface_receive_discards_total", NODE_PORT): 0,
        at("pfc_rx_packets_total", NODE_PORT, **PRIORITY): 2204113,
        at("pfc_tx_packets_total", NODE_PORT, **PRIORITY): 118,
        at("pfc_tx_packets_total", UPLINK, **PRIORITY): 99120,
        at("pfc_rx_pause_seconds_total", UPLINK, **PRIORITY): 4.410233,
        at("queue_packets_total", NODE_PORT, **ROCE): 91827364,
        at("queue_dropped_packets_total", NODE_PORT, **ROCE): 0,
        at("queue_ecn_marked_packets_total", NODE_PORT, **ROCE): 401223,
        # Its queue has no counter of marks, which is not 0.
        at("queue_packets_total", UPLINK, **ROCE): 5120,
        at("queue_dropped_packets_total", UPLINK, **ROCE): 17,
        at("pfc_watchdog_storms_total", UPLINK, **ROCE): 3,
        at("pfc_watchdog_restored_total", UPLINK, **ROCE): 2,
    }


def test_watermarks_are_those_of_the_last_interval() -> None:
    marks = {
        f"PERIODIC_WATERMARKS:{QUEUE_OF_NODE}": {f"{QUEUE}SHARED_WATERMARK_BYTES": "734208"},
        f"PERSISTENT_WATERMARKS:{QUEUE_OF_NODE}": {f"{QUEUE}SHARED_WATERMARK_BYTES": "9.2e+06"},
        # A bad read and a group that is not polled.
        f"PERIODIC_WATERMARKS:{QUEUE_OF_UPLINK}": {f"{QUEUE}SHARED_WATERMARK_BYTES": "1.8446744073709552e+19"},
        f"PERIODIC_WATERMARKS:{GROUP_OF_UPLINK}": {
            "SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES": "40960"
        },
    }
    read = samples(reading(answered({**COUNTERS, **marks})))
    assert {key: value for key, value in read.items() if "watermark_bytes" in key[0]} == {
        at("queue_shared_watermark_bytes", NODE_PORT, **ROCE): 734208,
        at("pg_headroom_watermark_bytes", UPLINK, pg="3"): 40960,
    }


def test_the_error_rate_is_that_of_the_switch() -> None:
    rates = {
        f"RATES:{OF_NODE}": {"FEC_PRE_BER": "9.8117647058823534e-10", "FEC_PRE_BER_MAX": "1.9e-07"},
        f"RATES:{OF_UPLINK}": {"FEC_PRE_BER": "N/A"},
        f"RATES:{OF_NODE}:PORT": {"INIT_DONE": "DONE"},
    }
    read = samples(reading(answered({**COUNTERS, **rates})))
    assert {key: value for key, value in read.items() if "ber" in key[0]} == {at("fec_pre_ber", NODE_PORT): 9.81176e-10}


def test_without_rates_the_error_rate_follows_from_the_corrected_bits_of_two_readings() -> None:
    taken = sampler()
    first = {f"COUNTERS:{OF_NODE}": {f"{PORT}IF_IN_FEC_CORRECTED_BITS": "1000"}}
    later = {f"COUNTERS:{OF_NODE}": {f"{PORT}IF_IN_FEC_CORRECTED_BITS": "151000"}}
    key = at("fec_pre_ber", NODE_PORT)
    assert key not in samples(reading(answered(first, 1000.0)), taken)
    # 150,000 bits of 100 Gb/s in 15 s; RS(528,514) sends as many bits as the line.
    assert samples(reading(answered(later, 1015.0)), taken)[key] == pytest.approx(1e-7, rel=1e-3)


def test_a_counter_that_falls_alone_has_no_sample_and_one_that_restarts_with_its_row_has() -> None:
    taken = sampler()
    name = f"COUNTERS:{OF_NODE}"
    samples(reading(answered({name: {f"{PORT}IF_IN_OCTETS": "9000", f"{PORT}IF_IN_ERRORS": "8",
                                     f"{PORT}PFC_3_RX_PKTS": "70"}})), taken)  # fmt: skip
    misread = samples(reading(answered({name: {f"{PORT}IF_IN_OCTETS": "9900", f"{PORT}IF_IN_ERRORS": "3",
                                               f"{PORT}PFC_3_RX_PKTS": "71"}})), taken)  # fmt: skip
    assert at("interface_receive_errors_total", NODE_PORT) not in misread
    assert misread[at("interface_receive_bytes_total", NODE_PORT)] == 9900
    reset = samples(reading(answered({name: {f"{PORT}IF_IN_OCTETS": "90", f"{PORT}IF_IN_ERRORS": "0",
                                             f"{PORT}PFC_3_RX_PKTS": "1"}})), taken)  # fmt: skip
    assert reset[at("interface_receive_errors_total", NODE_PORT)] == 0
    assert reset[at("interface_receive_bytes_total", NODE_PORT)] == 90


def test_links_sessions_and_neighbors_are_as_verify_sees_them() -> None:
    fabric, _ = fabric_of("lab-4", "202511")
    read = samples(reading({}, observation=observed(bgp=established(fabric))))
    assert read == {
        at("interface_operational_status", NODE_PORT): 0,
        at("interface_operational_status", UPLINK): 1,
        at("bgp_session_up", UPLINK): 1,
        at("bgp_session_up", "Ethernet116"): 0,
        at("lldp_neighbor_matches", UPLINK): 1,
    }
    crossed = {UPLINK: (LldpNeighbor("lab-spine2", "Ethernet0"),)}
    assert samples(reading({}, observation=observed(lldp=crossed)))[at("lldp_neighbor_matches", UPLINK)] == 0
    # No neighbor at all says nothing of the cable.
    assert at("lldp_neighbor_matches", UPLINK) not in samples(reading({}, observation=observed(lldp={})))


def test_flaps_are_half_of_the_transitions_and_a_dark_lane_has_no_limit_below_it() -> None:
    ports = {"PORT_TABLE:Ethernet0": {"oper_status": "up", "flap_count": "14"}, "PORT_TABLE:Ethernet112": {}}
    modules = {
        "TRANSCEIVER_DOM_SENSOR|Ethernet0": {"rx1power": "-0.871", "rx2power": "-inf", "rx4power": "N/A"},
        "TRANSCEIVER_DOM_THRESHOLD|Ethernet0": {"rxpowerlowwarning": "-7.4", "temphighwarning": "70.0"},
        # Units of an older release, and thresholds that the module does not set.
        "TRANSCEIVER_DOM_SENSOR|Ethernet112": {"rx1power": "-2.1dBm", "temperature": "48.1"},
        "TRANSCEIVER_DOM_THRESHOLD|Ethernet112": {"rxpowerlowwarning": "0.0", "rxpowerhighwarning": "0.0"},
    }
    read = samples(reading(answered({}, APPL_DB=ports, STATE_DB=modules)))
    assert {key: value for key, value in read.items() if "optic" in key[0] or "flaps" in key[0]} == {
        at("link_flaps_total", NODE_PORT): 7,
        at("interface_optic_receive_power_dbm", NODE_PORT): float("-inf"),
        at("interface_optic_receive_power_low_dbm", NODE_PORT): -7.4,
        at("interface_optic_receive_power_dbm", UPLINK): -2.1,
        at("interface_optic_temperature_celsius", UPLINK): 48.1,
    }


@pytest.mark.parametrize(
    ("answer", "missing"),
    [
        (answered({}, APPL_DB={"PORT_TABLE:Ethernet0": {}}) | {"counters": {"at": 1.0, "ports": {"Ethernet9": {}}}},
         "it counts none of the ports of the design: the address may belong to another switch"),
        ({"link_state": {"at": 1}, "counters": {"at": "N/A", "ports": []}}, "its answer has no counters"),
        ({"link_state": {"at": 1}, "error": "COUNTERS_DB has no ports"}, "COUNTERS_DB has no ports"),
    ],
)  # fmt: skip
def test_what_is_missing_is_named_and_gives_no_sample(answer: dict[str, Any], missing: str) -> None:
    taken = sampler()(reading(answer))
    assert taken.missing == (missing,)
    assert not [metric for metric in taken.samples if metric.kind == "counter"]


def test_another_version_of_the_program_is_named() -> None:
    taken = sampler()(reading({**answered(COUNTERS), "other_program": "lab-leaf1: another version"}))
    assert taken.other_program
    assert taken.missing == ("lab-leaf1: another version",)
    assert metrics.RECEIVED_BYTES in taken.samples


@pytest.mark.parametrize(
    ("parts", "states"),
    [
        ({}, set()),
        ({"status": CommitStatus(pending=True)}, {"rolling"}),
        ({"status": CommitStatus(pending=False, hold="rollout")}, {"rolling"}),
        ({"status": CommitStatus(pending=True, is_drain=True)}, {"drained"}),
        ({"running": running("sonic")}, {"replaced"}),
    ],
)
def test_planned_work_is_a_state_of_maintenance(parts: dict[str, Any], states: set[str]) -> None:
    assert sampler()(reading({}, **parts)).maintenance == states


def test_a_port_has_at_most_25_series_and_help_and_type_are_those_of_the_table() -> None:
    trial = HealthTrial()
    answer = {"counters": trial.before["lab-leaf1"], "link_state": {"ports": {}}}
    text = exposition(sampler()(reading(answer)).samples.items())
    of_port = [line for line in text.splitlines() if f'port="{NODE_PORT}"' in line]
    assert 10 < len(of_port) <= 25
    assert sum("port" in metric.labels for metric in metrics.SCRAPED) == 25
    for metric in metrics.SCRAPED:
        assert text.count(f"# TYPE {metric} {metric.kind}\n") <= 1


def test_the_reference_lists_every_metric_with_its_source() -> None:
    text = (ROOT / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith(("| `sonic_", "| `railweave_"))]
    expected = []
    for metric in (*metrics.SCRAPED, *metrics.OF_EXPORTER, *metrics.OF_NODES):
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        source = f"`{metric.source}`" if metric.source else "railweave"
        expected.append(f"| `{metric}` | {metric.kind} | {labels} | {metric.help} | {source} |")
    assert rows == expected
    assert all(f"`{state}`" in text for state in metrics.MAINTENANCE_STATES)


def test_a_module_that_warms_up_or_is_pulled_is_served_as_it_is_now() -> None:
    taken = sampler()
    key = at("interface_optic_temperature_celsius", UPLINK)
    served = []
    for temperature in ("48.1", "48.1", "61.5", None):
        state: dict[str, Any] = {"oper_status": "up"}
        if temperature is not None:
            state["readings"] = {"rx1power": "-2.1", "temperature": temperature}
        read = samples(reading({"link_state": {"ports": {UPLINK: state}}}), taken)
        served.append(read.get(key))
    assert served == [48.1, 48.1, 61.5, None]
