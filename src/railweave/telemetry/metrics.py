"""The names of all metrics: those that `railweave exporter` serves and those of thresholds.prom.

The exporter, the rules and the dashboard take the names from here. Names of community exporters are kept where they
exist (vinted/sonic-exporter); counters end in ``_total``, and units are in the names. Every scraped metric has the
label ``device``. ``port`` is the name that SONiC gives the port, ``queue``, ``pg`` and ``priority`` are decimal.
"""

from typing import Final

from railweave.fabric import node_metrics
from railweave.fabric.node_metrics import ScrapedMetric

_PORT = ("port",)
_QUEUE = ("port", "queue")
_PRIORITY = ("port", "priority")
_GROUP = ("port", "pg")


def _counter(name: str, labels: tuple[str, ...], text: str, source: str) -> ScrapedMetric:
    return ScrapedMetric(f"sonic_{name}_total", "counter", labels, text, source)


def _gauge(name: str, labels: tuple[str, ...], text: str, source: str) -> ScrapedMetric:
    return ScrapedMetric(f"sonic_{name}", "gauge", labels, text, source)


RECEIVED_BYTES: Final = _counter("interface_receive_bytes", _PORT, "bytes received", "SAI_PORT_STAT_IF_IN_OCTETS")
SENT_BYTES: Final = _counter("interface_transmit_bytes", _PORT, "bytes sent", "SAI_PORT_STAT_IF_OUT_OCTETS")
RECEIVE_ERRORS: Final = _counter("interface_receive_errors", _PORT, "frames with errors", "SAI_PORT_STAT_IF_IN_ERRORS")
RECEIVE_DISCARDS: Final = _counter(
    "interface_receive_discards", _PORT, "frames discarded at ingress", "SAI_PORT_STAT_IF_IN_DISCARDS"
)
PORT_UP: Final = _gauge("interface_operational_status", _PORT, "1 if the link is up", "PORT_TABLE oper_status")
PFC_RECEIVED: Final = _counter(
    "pfc_rx_packets", _PRIORITY, "PFC frames received", "SAI_PORT_STAT_PFC_<priority>_RX_PKTS"
)
PFC_SENT: Final = _counter("pfc_tx_packets", _PRIORITY, "PFC frames sent", "SAI_PORT_STAT_PFC_<priority>_TX_PKTS")
# Only where the platform counts microseconds and the watchdog is on; other units are left out.
PAUSE_SECONDS: Final = _counter(
    "pfc_rx_pause_seconds",
    _PRIORITY,
    "time paused by the neighbor",
    "SAI_PORT_STAT_PFC_<priority>_RX_PAUSE_DURATION_US",
)
STORMS: Final = _counter(
    "pfc_watchdog_storms", _QUEUE, "storms that the PFC watchdog detected", "PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED"
)
STORMS_ENDED: Final = _counter(
    "pfc_watchdog_restored", _QUEUE, "storms that have ended", "PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED"
)
QUEUE_PACKETS: Final = _counter("queue_packets", _QUEUE, "packets sent", "SAI_QUEUE_STAT_PACKETS")
QUEUE_DROPS: Final = _counter("queue_dropped_packets", _QUEUE, "packets dropped", "SAI_QUEUE_STAT_DROPPED_PACKETS")
# From 202505 on, with FLEX_COUNTER_TABLE|WRED_ECN_QUEUE enabled; else there is no sample, which is not 0.
ECN_MARKS: Final = _counter(
    "queue_ecn_marked_packets", _QUEUE, "packets that ECN marked", "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS"
)
QUEUE_WATERMARK: Final = _gauge(
    "queue_shared_watermark_bytes",
    _QUEUE,
    "deepest queue of the last interval",
    "PERIODIC_WATERMARKS SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES",
)
GROUP_DROPS: Final = _counter(
    "pg_dropped_packets", _GROUP, "packets dropped at ingress", "SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS"
)
HEADROOM_WATERMARK: Final = _gauge(
    "pg_headroom_watermark_bytes",
    _GROUP,
    "most headroom used in the last interval",
    "PERIODIC_WATERMARKS SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES",
)
UNCORRECTABLE: Final = _counter(
    "fec_uncorrectable_codewords",
    _PORT,
    "codewords that FEC could not correct",
    "SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES",
)
PRE_FEC_BER: Final = _gauge("fec_pre_ber", _PORT, "bit error ratio before correction", "RATES FEC_PRE_BER")
# flap_count counts both edges: the exporter serves half of it.
FLAPS: Final = _counter("link_flaps", _PORT, "times that the link went down and up", "PORT_TABLE flap_count / 2")
OPTIC_POWER: Final = _gauge(
    "interface_optic_receive_power_dbm", _PORT, "received power of the weakest lane", "DOM_SENSOR rx<n>power"
)
OPTIC_POWER_LOW: Final = _gauge(
    "interface_optic_receive_power_low_dbm", _PORT, "warning limit of the module", "DOM_THRESHOLD rxpowerlowwarning"
)
OPTIC_TEMPERATURE: Final = _gauge(
    "interface_optic_temperature_celsius", _PORT, "temperature of the module", "DOM_SENSOR temperature"
)
OPTIC_TEMPERATURE_HIGH: Final = _gauge(
    "interface_optic_temperature_high_celsius", _PORT, "warning limit of the module", "DOM_THRESHOLD temphighwarning"
)
NEIGHBOR_MATCHES: Final = _gauge("lldp_neighbor_matches", _PORT, "1 if LLDP shows the planned neighbor", "LLDP_ENTRY")
BGP_UP: Final = _gauge("bgp_session_up", _PORT, "1 if the session over the port is established", "vtysh bgp summary")

SWITCH_UP: Final = ScrapedMetric("railweave_up", "gauge", (), "1 if the switch answered the last reading")
READING_AGE: Final = ScrapedMetric(
    "railweave_reading_age_seconds", "gauge", (), "seconds since the last complete reading"
)
MAINTENANCE: Final = ScrapedMetric(
    "railweave_maintenance", "gauge", ("state",), "1 while a switch is drained, in TSA, rolling or being replaced"
)
MAINTENANCE_STATES: Final = ("drained", "tsa", "rolling", "replaced")
"""The values of the label ``state``; each has a sample, 0 or 1."""
DRIFT_ROWS: Final = ScrapedMetric("railweave_drift_rows", "gauge", (), "rows and FRR lines that differ from the intent")
OTHER_PROGRAM: Final = ScrapedMetric(
    name="railweave_other_program",
    kind="gauge",
    labels=(),
    help="1 if another version of railweave-switch answered",
)

# Of the exporter itself, at `/metrics`, beside SWITCH_UP and READING_AGE of all switches.
EXPORTER: Final = ScrapedMetric("railweave_exporter_info", "gauge", ("version",), "1 with the version of the exporter")
READINGS: Final = ScrapedMetric("railweave_readings_total", "counter", (), "readings of the switch that ended")
FAILED_READINGS: Final = ScrapedMetric("railweave_failed_readings_total", "counter", (), "readings without an answer")
READING_SECONDS: Final = ScrapedMetric(
    "railweave_reading_duration_seconds", "gauge", (), "how long the last reading took"
)

# Of nodes: `hosts` installs what writes them.
NIC_OUT_OF_SEQUENCE: Final = node_metrics.NIC_OUT_OF_SEQUENCE
NIC_ACK_TIMEOUTS: Final = node_metrics.NIC_ACK_TIMEOUTS
NIC_INFO: Final = node_metrics.NIC_INFO
OF_NODES: Final = node_metrics.OF_NODES

# node_exporter's own.
INFINIBAND_OUT_OF_SEQUENCE: Final = node_metrics.INFINIBAND_OUT_OF_SEQUENCE
INFINIBAND_ACK_TIMEOUTS: Final = node_metrics.INFINIBAND_ACK_TIMEOUTS
OF_INFINIBAND: Final = node_metrics.OF_INFINIBAND

SCRAPED: Final = (
    *(RECEIVED_BYTES, SENT_BYTES, RECEIVE_ERRORS, RECEIVE_DISCARDS, PORT_UP),
    *(PFC_RECEIVED, PFC_SENT, PAUSE_SECONDS, STORMS, STORMS_ENDED),
    *(QUEUE_PACKETS, QUEUE_DROPS, ECN_MARKS, QUEUE_WATERMARK, GROUP_DROPS, HEADROOM_WATERMARK),
    *(UNCORRECTABLE, PRE_FEC_BER, FLAPS),
    *(OPTIC_POWER, OPTIC_POWER_LOW, OPTIC_TEMPERATURE, OPTIC_TEMPERATURE_HIGH),
    *(NEIGHBOR_MATCHES, BGP_UP, SWITCH_UP, READING_AGE, MAINTENANCE, DRIFT_ROWS, OTHER_PROGRAM),
)
"""What the exporter serves of a switch: 25 metrics of a port with one lossless class, the others of the switch."""

OF_EXPORTER: Final = (EXPORTER, SWITCH_UP, READING_AGE, READINGS, FAILED_READINGS, READING_SECONDS)
"""What the exporter serves of itself."""

DEVICE_PARAMETER: Final = "device"
"""The exporter serves one switch for ``/metrics?device=NAME``: a large fabric does not fit into one scrape."""


def _threshold(name: str, labels: tuple[str, ...], text: str) -> ScrapedMetric:
    return ScrapedMetric(f"railweave_{name}", "gauge", labels, text)


_CABLED_QUEUE = ("port", "cable", "queue")

KMIN: Final = _threshold("ecn_kmin_bytes", _CABLED_QUEUE, "queue depth at which ECN starts to mark")
KMAX: Final = _threshold("ecn_kmax_bytes", _CABLED_QUEUE, "queue depth from which ECN marks every packet")
PMAX: Final = _threshold("ecn_pmax_percent", _CABLED_QUEUE, "marking probability just below kmax")
PFC_START: Final = _threshold(
    "pfc_start_bytes", (*_CABLED_QUEUE, "congested"), "bytes of a priority group at which PFC pauses its sender"
)
HEADROOM: Final = _threshold("headroom_bytes", _CABLED_QUEUE, "xoff of the priority group's buffer profile")
LINK: Final = _threshold(
    "link_expected", ("port", "cable", "peer", "peer_port", "direction"), "1 for every cabled port and its far end"
)
SPEED: Final = _threshold("port_speed_bytes_per_second", ("port", "cable"), "line rate of the port")
FEC: Final = _threshold("port_fec_info", ("port", "cable", "fec"), "1 with the FEC mode of the port")
DEVICE: Final = _threshold("device_info", ("role", "pod", "plane", "rail", "stripe"), "1 with the place of the switch")
WATCH_RATIO: Final = _threshold(
    "link_watch_bit_error_ratio", ("port", "cable"), "bit error ratio before correction from which `links` grades B"
)
POOL: Final = _threshold("pool_bytes", ("pool",), "size of the buffer pool")
HEADROOM_SUM: Final = _threshold("headroom_reserved_bytes", (), "headroom of all lossless groups in use")
SHARED: Final = _threshold("shared_buffer_bytes", (), "buffer left to share for lossless groups")
WEIGHT: Final = _threshold("queue_weight", ("queue", "class"), "DWRR weight of the queue")
RATE_LIMIT: Final = _threshold(
    "queue_limit_bytes_per_second", ("queue", "class", "speed"), "rate limit of a strict queue by port speed in Gb/s"
)
DETECTION: Final = _threshold("pfcwd_detection_seconds", (), "detection time of the PFC watchdog")
RESTORATION: Final = _threshold("pfcwd_restoration_seconds", (), "restoration time of the PFC watchdog")
POLL: Final = _threshold("pfcwd_poll_seconds", (), "polling interval of the PFC watchdog")
HOLD: Final = _threshold("bgp_hold_seconds", (), "hold time of BGP sessions")
SESSIONS: Final = _threshold("bgp_sessions", (), "BGP sessions of the switch")
NEXT_HOPS: Final = _threshold("bgp_next_hops", (), "equal-cost next hops towards the tier above")
FLOOR: Final = _threshold("links_floor_ratio", (), "share of the links of a plane or rail that has to be up")

LIMITS: Final = (
    *(KMIN, KMAX, PMAX, PFC_START, HEADROOM, SPEED, WATCH_RATIO, POOL, HEADROOM_SUM, SHARED, WEIGHT, RATE_LIMIT),
    *(DETECTION, RESTORATION, POLL, HOLD, SESSIONS, NEXT_HOPS, FLOOR),
)
"""The thresholds that are amounts: the others say what is where."""
