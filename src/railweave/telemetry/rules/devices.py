"""Switches and nodes as a whole, and what keeps the alerts of their links quiet."""

from railweave.fabric.node_metrics import ScrapedMetric
from railweave.telemetry import metrics
from railweave.telemetry.rules.model import (
    WINDOW,
    AlertRule,
    AlertScope,
    AlertSeverity,
    ExampleSeries,
    RecordingRule,
    RuleLimit,
)

_UP = f"(max by (device, port) ({metrics.PORT_UP}) * on (device, port) group_left (peer) {metrics.LINK})"
_ANY = "(.+)"
_PEERS_LINKS_UP = f'label_replace(sum by (peer) ({_UP}), "device", "$1", "peer", "{_ANY}")'
_PEERS_LINKS = f'label_replace(count by (peer) ({_UP}), "device", "$1", "peer", "{_ANY}")'
_IN_MAINTENANCE = f"max by (device) ({metrics.MAINTENANCE}) > 0"

# As neighbors see it: a dead switch says nothing itself.
LINKS_UP = RecordingRule("railweave:links_up:of_device", f"sum by (device) ({_PEERS_LINKS_UP})")
LINKS_SEEN = RecordingRule("railweave:links_seen:of_device", f"sum by (device) ({_PEERS_LINKS})")
OUT = RecordingRule(
    "railweave:out_of_service:of_device",
    f"({_IN_MAINTENANCE}) or on (device) ({LINKS_SEEN.name} >= 2 unless on (device) ({LINKS_UP.name} > 0))",
)
"""Switches in maintenance, and devices of which every link that a neighbor sees is down."""

_PLACE = f"on (device) group_left (plane, rail) {metrics.DEVICE}"
_UPLINKS_UP = f'max by (device, port) ({metrics.PORT_UP}) and on (device, port) {metrics.LINK}{{direction="up"}}'
_UPLINKS = f'max by (device, port) ({metrics.LINK}{{direction="up"}})'
_CABLES_OUT = (
    f"{metrics.LINK} and on (device) {OUT.name}"
    f' or {metrics.LINK} and on (peer) label_replace({OUT.name}, "peer", "$1", "device", "{_ANY}")'
)

CABLE_OUT = AlertRule(
    "AL-19",
    "CableOutOfService",
    AlertSeverity.NONE,
    AlertScope.CABLE,
    f"max by (device, port, cable, peer) ({_CABLES_OUT})",
    ">",
    RuleLimit(0),
    0,
    "the cable {cable} ends at a device that is out of service",
    (metrics.LINK, metrics.MAINTENANCE),
    (ExampleSeries(metrics.MAINTENANCE, 0, 1, {"state": "drained"}),),
)
DEVICE_OUT = AlertRule(
    "AL-20",
    "DeviceOutOfService",
    AlertSeverity.NONE,
    AlertScope.DEVICE,
    OUT.name,
    ">=",
    # The sum of links that are up is 0 for a dead device, the state of a maintenance is 1.
    RuleLimit(0),
    0,
    "{device} is in maintenance or down",
    (metrics.MAINTENANCE,),
    (ExampleSeries(metrics.MAINTENANCE, 0, 1, {"state": "drained"}),),
)
DEVICE_DOWN = AlertRule(
    "AL-21",
    "DeviceDown",
    AlertSeverity.CRITICAL,
    AlertScope.DEVICE,
    f"({LINKS_UP.name} and on (device) {LINKS_SEEN.name} >= 2)",
    "==",
    RuleLimit(0),
    4,
    "{device} is down: its neighbors see none of its links up",
    (metrics.PORT_UP, metrics.LINK),
    (
        ExampleSeries(metrics.PORT_UP, 1, 0, {"device": "leaf2"}),
        ExampleSeries(metrics.PORT_UP, 1, 0, {"device": "leaf3"}),
        ExampleSeries(metrics.LINK, 1, 1, {"device": "leaf2", "peer": "leaf1", "cable": "leaf2 Ethernet0"}),
        ExampleSeries(metrics.LINK, 1, 1, {"device": "leaf3", "peer": "leaf1", "cable": "leaf3 Ethernet0"}),
    ),
    condition=f"unless on (device) ({_IN_MAINTENANCE})",
)
UNREAD = AlertRule(
    "AL-22",
    "SwitchUnread",
    AlertSeverity.WARNING,
    AlertScope.DEVICE,
    f"max by (device) ({metrics.SWITCH_UP})",
    "==",
    RuleLimit(0),
    8,
    "{device} does not answer: its counters are unknown",
    (metrics.SWITCH_UP,),
    (ExampleSeries(metrics.SWITCH_UP, 1, 0),),
)
STALE = AlertRule(
    "AL-23",
    "ReadingStale",
    AlertSeverity.WARNING,
    AlertScope.DEVICE,
    f"max by (device) ({metrics.READING_AGE})",
    ">",
    RuleLimit(120),
    4,
    "the last complete reading of {device} is more than two minutes old",
    (metrics.READING_AGE,),
    (ExampleSeries(metrics.READING_AGE, 10, 300),),
)
DRIFT = AlertRule(
    "AL-24",
    "ConfigurationDrift",
    AlertSeverity.WARNING,
    AlertScope.DEVICE,
    f"max by (device) ({metrics.DRIFT_ROWS})",
    ">",
    RuleLimit(0),
    20,
    "the running configuration of {device} differs from the intent",
    (metrics.DRIFT_ROWS,),
    (ExampleSeries(metrics.DRIFT_ROWS, 0, 3),),
)
BELOW_FLOOR = AlertRule(
    "AL-25",
    "PlaneBelowFloor",
    AlertSeverity.CRITICAL,
    AlertScope.PLANE,
    f"sum by (plane, rail) (({_UPLINKS_UP}) * {_PLACE}) / count by (plane, rail) ({_UPLINKS} * {_PLACE})",
    "<",
    RuleLimit(1, metrics.FLOOR),
    4,
    "too few uplinks of plane {plane} rail {rail} are up",
    (metrics.PORT_UP, metrics.LINK, metrics.DEVICE, metrics.FLOOR),
    (
        ExampleSeries(metrics.PORT_UP, 1, 0),
        ExampleSeries(metrics.DEVICE, 1, 1, {"plane": "0", "rail": "0"}),
        ExampleSeries(metrics.FLOOR, 0.5, 0.5),
    ),
)


def _at_nic(metric: ScrapedMetric, infiniband: ScrapedMetric) -> str:
    """Return the increase of a counter of a node, whose labels name it as the peer of a switch.

    ``infiniband`` is node_exporter's own, which knows the RDMA device and not the interface.
    """
    device = f'label_replace(increase({infiniband}{WINDOW}), "rdma_device", "$1", "exported_device", "{_ANY}")'
    by_port = f"{metrics.NIC_INFO} * on (device, rdma_device) group_left () max by (device, rdma_device) ({device})"
    node = f'label_replace(increase({metric}{WINDOW}) or ({by_port}), "peer", "$1", "device", "{_ANY}")'
    return f'max by (peer, peer_port) (label_replace({node}, "peer_port", "$1", "port", "{_ANY}"))'


_NODE = {"device": "gpu1", "port": "rail0"}
_NODE_LINK = ExampleSeries(
    metrics.LINK, 1, 1, {"port": "Ethernet4", "peer": "gpu1", "peer_port": "rail0", "cable": "gpu1 rail0"}
)

OUT_OF_SEQUENCE = AlertRule(
    "AL-26",
    "NicOutOfSequence",
    AlertSeverity.WARNING,
    AlertScope.NIC,
    _at_nic(metrics.NIC_OUT_OF_SEQUENCE, metrics.INFINIBAND_OUT_OF_SEQUENCE),
    ">",
    RuleLimit(0),
    4,
    "packets reach {peer} out of sequence over {device} {port}: some were lost on the way",
    (metrics.NIC_OUT_OF_SEQUENCE, metrics.LINK),
    (ExampleSeries(metrics.NIC_OUT_OF_SEQUENCE, 0, 9, _NODE), _NODE_LINK),
)
ACK_TIMEOUTS = AlertRule(
    "AL-27",
    "NicAckTimeouts",
    AlertSeverity.WARNING,
    AlertScope.NIC,
    _at_nic(metrics.NIC_ACK_TIMEOUTS, metrics.INFINIBAND_ACK_TIMEOUTS),
    ">",
    RuleLimit(0),
    4,
    "{peer} waits in vain for acknowledgments over {device} {port}",
    (metrics.NIC_ACK_TIMEOUTS, metrics.LINK),
    (ExampleSeries(metrics.NIC_ACK_TIMEOUTS, 0, 2, _NODE), _NODE_LINK),
)
