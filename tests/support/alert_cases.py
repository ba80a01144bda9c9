"""Cases of alerts written by hand, for promtool: what is scraped, and which alert has to fire or not.

Numbers of switches are those of the CONFIG_DB rows of ``intent/pod-32.yml`` (``ROWS``), those of counters are recorded
ones. Each limit has a case just above and one just below it, so that a limit that is a tenth off fails one of them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

SCRAPE_S = 15
KMAX, HEADROOM, PMAX = 1_008_000, 330_200, 20
ROWS = {
    ("WRED_PROFILE", "roce-400g", "green_max_threshold"): KMAX,
    ("BUFFER_PROFILE", "pg_lossless_400000_40m_profile", "xoff"): HEADROOM,
    ("WRED_PROFILE", "roce-400g", "green_drop_probability"): PMAX,
}
"""The rows of pod1-leaf1 that the numbers come from."""

LEAF = 'device="pod1-leaf1",port="Ethernet0"'
QUEUE = f'{LEAF},queue="3"'
CABLED = f'{LEAF},cable="gpu1 rail0",queue="3"'
GPU_LINK = f'railweave_link_expected{{{LEAF},cable="gpu1 rail0",peer="gpu1",peer_port="rail0",direction="down"}}'
GPU_LABELS = {"device": "pod1-leaf1", "port": "Ethernet0", "cable": "gpu1 rail0", "peer": "gpu1"}
QUEUE_LABELS = {**GPU_LABELS, "queue": "3"}
HEADROOM_ROW = {f"railweave_headroom_bytes{{{CABLED}}}": f"{HEADROOM}+0x400"}


class AlertCase(NamedTuple):
    """Series with their values each 15 seconds, and the labels of the alerts after a number of seconds."""

    alert: str
    at_s: int
    series: Mapping[str, str]
    alerts: tuple[Mapping[str, str], ...] = ()


def gauge(value: float) -> str:
    return f"{value:g}+0x400"


def uplink(leaf: int, port: int, peer: str = "pod1-spine1") -> str:
    name = f"Ethernet{port}"
    return (
        f'railweave_link_expected{{device="pod1-leaf{leaf}",port="{name}",cable="pod1-leaf{leaf} {name}",'
        f'peer="{peer}",peer_port="Ethernet0",direction="up"}}'
    )


def queue_case(alert: str, at_s: int, series: Mapping[str, str], *, fires: bool) -> AlertCase:
    return AlertCase(alert, at_s, {GPU_LINK: gauge(1), **series}, (QUEUE_LABELS,) if fires else ())


def port_case(alert: str, at_s: int, series: Mapping[str, str], *, fires: bool) -> AlertCase:
    named = {f"{metric}{{{LEAF}}}": values for metric, values in series.items()}
    return AlertCase(alert, at_s, {GPU_LINK: gauge(1), **named}, (GPU_LABELS,) if fires else ())


# Counters as recorded: 17 drops in a lossless queue and group, a third storm, 99,120 PFC frames without a mark.
DETECTED = f"sonic_pfc_watchdog_storms_total{{{QUEUE}}}"
RESTORED = f"sonic_pfc_watchdog_restored_total{{{QUEUE}}}"
JUMP_17, STILL_17 = "0+0x40 17+0x60", "17+0x100"
LOSS = (
    queue_case(
        "LosslessQueueDrops",
        660,
        {f"sonic_queue_dropped_packets_total{{{QUEUE}}}": JUMP_17, **HEADROOM_ROW},
        fires=True,
    ),
    queue_case(
        "LosslessQueueDrops",
        660,
        {f"sonic_queue_dropped_packets_total{{{QUEUE}}}": STILL_17, **HEADROOM_ROW},
        fires=False,
    ),
    # A lossy queue may drop: it has no headroom.
    queue_case("LosslessQueueDrops", 660, {f"sonic_queue_dropped_packets_total{{{QUEUE}}}": JUMP_17}, fires=False),
    queue_case(
        "LosslessGroupDrops",
        660,
        {f'sonic_pg_dropped_packets_total{{{LEAF},pg="3"}}': JUMP_17, **HEADROOM_ROW},
        fires=True,
    ),
    queue_case(
        "LosslessGroupDrops",
        660,
        {f'sonic_pg_dropped_packets_total{{{LEAF},pg="3"}}': STILL_17, **HEADROOM_ROW},
        fires=False,
    ),
    # So may a group of a lossy class.
    queue_case("LosslessGroupDrops", 660, {f'sonic_pg_dropped_packets_total{{{LEAF},pg="3"}}': JUMP_17}, fires=False),
    queue_case("PfcStorm", 660, {f"sonic_pfc_watchdog_storms_total{{{QUEUE}}}": "2+0x40 3+0x60"}, fires=True),
    queue_case("PfcStorm", 660, {f"sonic_pfc_watchdog_storms_total{{{QUEUE}}}": gauge(3)}, fires=False),
    # It lasts for longer than the window of the increase: detected three times and restored twice.
    queue_case("PfcStorm", 1500, {DETECTED: "2+0x10 3+0x99", RESTORED: gauge(2)}, fires=True),
    queue_case("PfcStorm", 1500, {DETECTED: "2+0x10 3+0x99", RESTORED: "2+0x20 3+0x89"}, fires=False),
)


def pfc_case(marks: str, *, fires: bool) -> AlertCase:
    sent = {f'sonic_pfc_tx_packets_total{{{LEAF},priority="3"}}': "118+1650x100"}
    return queue_case(
        "PfcWithoutEcn", 900, {**sent, f"sonic_queue_ecn_marked_packets_total{{{QUEUE}}}": marks}, fires=fires
    )


def used_case(value: int, *, fires: bool) -> AlertCase:
    series = {f'sonic_pg_headroom_watermark_bytes{{{LEAF},pg="3"}}': gauge(value), **HEADROOM_ROW}
    return queue_case("HeadroomUsed", 660, series, fires=fires)


def paused_case(seconds: float, *, fires: bool) -> AlertCase:
    series = {f'sonic_pfc_rx_pause_seconds_total{{{LEAF},priority="3"}}': f"4.410233+{seconds}x100"}
    return queue_case("PausedTooLong", 1200, series, fires=fires)


PAUSES = (
    pfc_case("0+0x100", fires=True),
    pfc_case("401223+10x100", fires=False),
    # Before 202505 nothing counts marks, which is not the same as none.
    queue_case(
        "PfcWithoutEcn",
        900,
        {f'sonic_pfc_tx_packets_total{{{LEAF},priority="3"}}': "118+1650x100"},
        fires=False,
    ),
    # Half of 330,200 bytes is 165,100.
    used_case(170_000, fires=True),
    used_case(160_000, fires=False),
    # 1 % of 15 seconds is 0.15.
    paused_case(0.1575, fires=True),
    paused_case(0.1425, fires=False),
)


def depth_case(value: int, *, fires: bool) -> AlertCase:
    kmax = {f"railweave_ecn_kmax_bytes{{{CABLED}}}": gauge(KMAX)}
    return queue_case(
        "QueueAboveKmax", 660, {f"sonic_queue_shared_watermark_bytes{{{QUEUE}}}": gauge(value), **kmax}, fires=fires
    )


def marked_case(marks: int, *, fires: bool) -> AlertCase:
    series = {
        f"railweave_ecn_pmax_percent{{{CABLED}}}": gauge(PMAX),
        f"sonic_queue_ecn_marked_packets_total{{{QUEUE}}}": f"0+{marks}x100",
        f"sonic_queue_packets_total{{{QUEUE}}}": "0+100000x100",
    }
    return queue_case("EcnMarksTooMuch", 1200, series, fires=fires)


def spread_case(first: float, second: float, *, fires: bool) -> AlertCase:
    """Return the load of two uplinks of 50 GB/s in bytes each 15 seconds."""
    series = {}
    for port, load in ((256, first), (264, second)):
        series[uplink(1, port)] = gauge(1)
        labels = f'device="pod1-leaf1",port="Ethernet{port}"'
        series[f"sonic_interface_transmit_bytes_total{{{labels}}}"] = f"0+{load:.0f}x100"
        series[f'railweave_port_speed_bytes_per_second{{{labels},cable="pod1-leaf1 Ethernet{port}"}}'] = gauge(50e9)
    return AlertCase("UplinkImbalance", 1200, series, ({"device": "pod1-leaf1"},) if fires else ())


CONGESTION = (
    depth_case(1_050_000, fires=True),
    depth_case(960_000, fires=False),
    marked_case(21_000, fires=True),
    marked_case(19_000, fires=False),
    # (1 + 0.306)^2 / (2 (1 + 0.306^2)) = 0.78, and 0.82 for 0.362.
    spread_case(300e9, 91.8e9, fires=True),
    spread_case(300e9, 108.6e9, fires=False),
    # 7.8 of 100 GB/s: too little to judge.
    spread_case(90e9, 27.5e9, fires=False),
)


def state_case(alert: str, metric: str) -> tuple[AlertCase, AlertCase]:
    return (
        port_case(alert, 660, {metric: "1+0x20 0+0x80"}, fires=True),
        port_case(alert, 660, {metric: gauge(1)}, fires=False),
    )


def limit_case(alert: str, series: Mapping[str, str], *, fires: bool) -> AlertCase:
    return port_case(alert, 1200, series, fires=fires)


# Two decades below the error ratio before RS(544,514) at which IEEE 802.3 allows no more loss (116.4): 2.4e-4 by the
# simulator's own arithmetic of codewords.
WATCH_RATIO = 2.4e-6


def ratio_case(values: str, *, fires: bool) -> AlertCase:
    limit = f'railweave_link_watch_bit_error_ratio{{{LEAF},cable="gpu1 rail0"}}'
    series = {f"sonic_fec_pre_ber{{{LEAF}}}": values, limit: gauge(WATCH_RATIO)}
    return AlertCase("PreFecBerHigh", 1200, {GPU_LINK: gauge(1), **series}, (GPU_LABELS,) if fires else ())


LINKS = (
    *state_case("LinkDown", "sonic_interface_operational_status"),
    *state_case("BgpSessionDown", "sonic_bgp_session_up"),
    *state_case("WrongNeighbor", "sonic_lldp_neighbor_matches"),
    # 3.15 and 2.85 flaps in the 240 scrapes of an hour.
    port_case("LinkFlaps", 3900, {"sonic_link_flaps_total": "7+0.013125x400"}, fires=True),
    port_case("LinkFlaps", 3900, {"sonic_link_flaps_total": "7+0.011875x400"}, fires=False),
    # 50 errors a second.
    limit_case("LinkErrors", {"sonic_interface_receive_errors_total": "0+750x100"}, fires=True),
    limit_case("LinkErrors", {"sonic_interface_receive_errors_total": gauge(750)}, fires=False),
    limit_case("FecUncorrectable", {"sonic_fec_uncorrectable_codewords_total": "0+0x70 2+0x30"}, fires=True),
    limit_case("FecUncorrectable", {"sonic_fec_uncorrectable_codewords_total": gauge(2)}, fires=False),
    ratio_case(gauge(1.05 * WATCH_RATIO), fires=True),
    ratio_case(gauge(0.95 * WATCH_RATIO), fires=False),
    ratio_case("9.81e-10+0x400", fires=False),
)
_POWER, _POWER_LOW = "sonic_interface_optic_receive_power_dbm", "sonic_interface_optic_receive_power_low_dbm"
_HEAT, _HEAT_HIGH = "sonic_interface_optic_temperature_celsius", "sonic_interface_optic_temperature_high_celsius"
OPTICS = (
    limit_case("OpticPowerLow", {_POWER: gauge(-8.4), _POWER_LOW: gauge(-8)}, fires=True),
    limit_case("OpticPowerLow", {_POWER: gauge(-7.6), _POWER_LOW: gauge(-8)}, fires=False),
    # A dark lane.
    limit_case("OpticPowerLow", {_POWER: "-Inf -Inf" + " -Inf" * 90, _POWER_LOW: gauge(-8)}, fires=True),
    limit_case("OpticTooHot", {_HEAT: gauge(73), _HEAT_HIGH: gauge(70)}, fires=True),
    limit_case("OpticTooHot", {_HEAT: gauge(67), _HEAT_HIGH: gauge(70)}, fires=False),
)

SPINE = 'device="pod1-spine1"'
UPLINK_LABELS = {
    "device": "pod1-leaf1",
    "port": "Ethernet256",
    "cable": "pod1-leaf1 Ethernet256",
    "peer": "pod1-spine1",
}


def spine_case(alert: str, up: int, maintenance: int, *alerts: Mapping[str, str]) -> AlertCase:
    """Return a spine with a link to each of two leaves, one of them in state ``up``, the other down."""
    series = {
        uplink(1, 256): gauge(1),
        uplink(2, 256): gauge(1),
        'sonic_interface_operational_status{device="pod1-leaf1",port="Ethernet256"}': f"1+0x20 {up}+0x80",
        'sonic_interface_operational_status{device="pod1-leaf2",port="Ethernet256"}': "1+0x20 0+0x80",
        f'railweave_maintenance{{{SPINE},state="rolling"}}': gauge(maintenance),
    }
    return AlertCase(alert, 660, series, alerts)


def switch_case(alert: str, metric: str, values: str, *, fires: bool) -> AlertCase:
    return AlertCase(alert, 900, {f"{metric}{{{SPINE}}}": values}, ({"device": "pod1-spine1"},) if fires else ())


def floor_case(up: int, *, fires: bool) -> AlertCase:
    """Return a leaf with 21 uplinks, ``up`` of them up, and the default floor of one half."""
    series = {
        'railweave_device_info{device="pod1-leaf1",role="leaf",plane="0",rail="2",stripe="0"}': gauge(1),
        "railweave_links_floor_ratio": gauge(0.5),
    }
    for number in range(21):
        series[uplink(1, 256 + 8 * number)] = gauge(1)
        labels = f'device="pod1-leaf1",port="Ethernet{256 + 8 * number}"'
        series[f"sonic_interface_operational_status{{{labels}}}"] = gauge(int(number < up))
    return AlertCase("PlaneBelowFloor", 660, series, ({"plane": "0", "rail": "2"},) if fires else ())


def infiniband_case(alert: str, metric: str, values: str, device: str, *, fires: bool) -> AlertCase:
    """Return a case of node_exporter's own counter, which the file of the node joins to the interface."""
    series = {
        GPU_LINK: gauge(1),
        'railweave_nic_info{device="gpu1",port="rail0",rdma_device="mlx5_2",job="railweave-nodes"}': gauge(1),
        'railweave_nic_info{device="gpu1",port="rail1",rdma_device="mlx5_3",job="railweave-nodes"}': gauge(1),
        f'{metric}{{device="gpu1",exported_device="{device}",port="1",job="railweave-nodes"}}': values,
    }
    return AlertCase(alert, 960, series, (GPU_LABELS,) if fires else ())


def nic_case(alert: str, metric: str, values: str, *, fires: bool) -> AlertCase:
    series = {GPU_LINK: gauge(1), f'{metric}{{device="gpu1",port="rail0"}}': values}
    return AlertCase(alert, 960, series, (GPU_LABELS,) if fires else ())


_INFINIBAND_SEQUENCE = "node_infiniband_out_of_sequence_packets_received_total"
_INFINIBAND_TIMEOUTS = "node_infiniband_local_ack_timeout_errors_total"
_OTHER_UPLINK = {
    "device": "pod1-leaf2",
    "port": "Ethernet256",
    "cable": "pod1-leaf2 Ethernet256",
    "peer": "pod1-spine1",
}
_SPINE_LABELS = {"device": "pod1-spine1"}
DEVICES = (
    spine_case("DeviceDown", 0, 0, _SPINE_LABELS),
    spine_case("DeviceDown", 1, 0),
    # A rollout pages nobody.
    spine_case("DeviceDown", 0, 1),
    spine_case("CableOutOfService", 1, 1, UPLINK_LABELS, _OTHER_UPLINK),
    spine_case("CableOutOfService", 0, 0, UPLINK_LABELS, _OTHER_UPLINK),
    spine_case("CableOutOfService", 1, 0),
    spine_case("DeviceOutOfService", 1, 1, _SPINE_LABELS),
    spine_case("DeviceOutOfService", 0, 0, _SPINE_LABELS),
    spine_case("DeviceOutOfService", 1, 0),
    switch_case("SwitchUnread", "railweave_up", "1+0x20 0+0x80", fires=True),
    switch_case("SwitchUnread", "railweave_up", gauge(1), fires=False),
    switch_case("ReadingStale", "railweave_reading_age_seconds", gauge(126), fires=True),
    switch_case("ReadingStale", "railweave_reading_age_seconds", gauge(114), fires=False),
    switch_case("ConfigurationDrift", "railweave_drift_rows", gauge(1), fires=True),
    switch_case("ConfigurationDrift", "railweave_drift_rows", gauge(0), fires=False),
    floor_case(10, fires=True),
    floor_case(11, fires=False),
    # 10 more packets out of sequence, as a NIC's counter before and after.
    nic_case("NicOutOfSequence", "railweave_nic_out_of_sequence_total", "100+0x48 110+0x40", fires=True),
    nic_case("NicOutOfSequence", "railweave_nic_out_of_sequence_total", gauge(110), fires=False),
    nic_case("NicAckTimeouts", "railweave_nic_ack_timeouts_total", "0+0x48 1+0x40", fires=True),
    nic_case("NicAckTimeouts", "railweave_nic_ack_timeouts_total", gauge(1), fires=False),
    # Those of node_exporter 1.11; the counter of another interface's device is not that of this cable.
    infiniband_case("NicOutOfSequence", _INFINIBAND_SEQUENCE, "100+0x48 110+0x40", "mlx5_2", fires=True),
    infiniband_case("NicOutOfSequence", _INFINIBAND_SEQUENCE, "100+0x48 110+0x40", "mlx5_3", fires=False),
    infiniband_case("NicAckTimeouts", _INFINIBAND_TIMEOUTS, "0+0x48 1+0x40", "mlx5_2", fires=True),
    infiniband_case("NicAckTimeouts", _INFINIBAND_TIMEOUTS, gauge(1), "mlx5_2", fires=False),
)
CASES = (*LOSS, *PAUSES, *CONGESTION, *LINKS, *OPTICS, *DEVICES)


def promtool_test(
    case: AlertCase, fixed: Mapping[str, str], annotations: Sequence[Mapping[str, str]]
) -> Mapping[str, Any]:
    """Return a case as promtool reads it; ``fixed`` are the labels of the rule."""
    alerts = [
        {"exp_labels": {**fixed, **labels}, "exp_annotations": dict(texts)}
        for labels, texts in zip(case.alerts, annotations, strict=True)
    ]
    return {
        "interval": f"{SCRAPE_S}s",
        "input_series": [{"series": series, "values": values} for series, values in case.series.items()],
        "alert_rule_test": [{"eval_time": f"{case.at_s}s", "alertname": case.alert, "exp_alerts": alerts}],
    }
