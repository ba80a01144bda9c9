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
    code="AL-19",
    name="CableOutOfService",
    severity=AlertSeverity.NONE,
    scope=AlertScope.CABLE,
    observed=f"max by (device, port, cable, peer) ({_CABLES_OUT})",
    comparison=">",
    limit=RuleLimit(0),
    scrapes=0,
    summary="the cable {cable} ends at a device that is out of service",
    needs=(metrics.LINK, metrics.MAINTENANCE),
    example=(ExampleSeries(metrics.MAINTENANCE, 0, 1, {"state": "drained"}),),
)
DEVICE_OUT = AlertRule(
    code="AL-20",
    name="DeviceOutOfService",
    severity=AlertSeverity.NONE,
    scope=AlertScope.DEVICE,
    observed=OUT.name,
    comparison=">=",
    # The sum of links that are up is 0 for a dead device, the state of a maintenance is 1.
    limit=RuleLimit(0),
    scrapes=0,
    summary="{device} is in maintenance or down",
    needs=(metrics.MAINTENANCE,),
    example=(ExampleSeries(metrics.MAINTENANCE, 0, 1, {"state": "drained"}),),
)
DEVICE_DOWN = AlertRule(
    code="AL-21",
    name="DeviceDown",
    severity=AlertSeverity.CRITICAL,
    scope=AlertScope.DEVICE,
    observed=f"({LINKS_UP.name} and on (device) {LINKS_SEEN.name} >= 2)",
    comparison="==",
    limit=RuleLimit(0),
    scrapes=4,
    summary="{device} is down: its neighbors see none of its links up",
    needs=(metrics.PORT_UP, metrics.LINK),
    example=(
        ExampleSeries(metrics.PORT_UP, 1, 0, {"device": "leaf2"}),
        ExampleSeries(metrics.PORT_UP, 1, 0, {"device": "leaf3"}),
        ExampleSeries(metrics.LINK, 1, 1, {"device": "leaf2", "peer": "leaf1", "cable": "leaf2 Ethernet0"}),
        ExampleSeries(metrics.LINK, 1, 1, {"device": "leaf3", "peer": "leaf1", "cable": "leaf3 Ethernet0"}),
    ),
    condition=f"unless on (device) ({_IN_MAINTENANCE})",
)
UNREAD = AlertRule(
    code="AL-22",
    name="SwitchUnread",
    severity=AlertSeverity.WARNING,
    scope=AlertScope.DEVICE,
    observed=f"max by (device) ({metrics.SWITCH_UP})",
    comparison="==",
    limit=RuleLimit(0),
    scrapes=8,
    summary="{device} does not answer: its counters are unknown",
    needs=(metrics.SWITCH_UP,),
    example=(ExampleSeries(metrics.SWITCH_UP, 1, 0),),
)
STALE = AlertRule(
    code="AL-23",
    name="ReadingStale",
    severity=AlertSeverity.WARNING,
    scope=AlertScope.DEVICE,
    observed=f"max by (device) ({metrics.READING_AGE})",
    comparison=">",
    limit=RuleLimit(120),
    scrapes=4,
    summary="the last complete reading of {device} is more than two minutes old",
    needs=(metrics.READING_AGE,),
    example=(ExampleSeries(metrics.READING_AGE, 10, 300),),
)
DRIFT = AlertRule(
    code="AL-24",
    name="ConfigurationDrift",
    severity=AlertSeverity.WARNING,
    scope=AlertScope.DEVICE,
    observed=f"max by (device) ({metrics.DRIFT_ROWS})",
    comparison=">",
    limit=RuleLimit(0),
    scrapes=20,
    summary="the running configuration of {device} differs from the intent",
    needs=(metrics.DRIFT_ROWS,),
    example=(ExampleSeries(metrics.DRIFT_ROWS, 0, 3),),
)
BELOW_FLOOR = AlertRule(
    code="AL-25",
    name="PlaneBelowFloor",
    severity=AlertSeverity.CRITICAL,
    scope=AlertScope.PLANE,
    observed=f"sum by (plane, rail) (({_UPLINKS_UP}) * {_PLACE}) / count by (plane, rail) ({_UPLINKS} * {_PLACE})",
    comparison="<",
    limit=RuleLimit(1, metrics.FLOOR),
    scrapes=4,
    summary="too few uplinks of plane {plane} rail {rail} are up",
    needs=(metrics.PORT_UP, metrics.LINK, metrics.DEVICE, metrics.FLOOR),
    example=(
        ExampleSeries(metrics.PORT_UP, 1, 0),
        ExampleSeries(metrics.DEVICE, 1, 1, {"plane": "0", "rail": "0"}),
        ExampleSeries(metrics.FLOOR, 0.5, 0.5),
    ),
)


def _at_nic(metric: ScrapedMetric, infiniband: ScrapedMetric) -> str:
    """Return the increase of a counter of a node, whose labels name it as the peer of a switch.

    ``infiniband`` is node_exporter's own counter, which knows the RDMA device and not the interface.
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
    code="AL-26",
    name="NicOutOfSequence",
    severity=AlertSeverity.WARNING,
    scope=AlertScope.NIC,
    observed=_at_nic(metrics.NIC_OUT_OF_SEQUENCE, metrics.INFINIBAND_OUT_OF_SEQUENCE),
    comparison=">",
    limit=RuleLimit(0),
    scrapes=4,
    summary="packets reach {peer} out of sequence over {device} {port}: some were lost on the way",
    needs=(metrics.NIC_OUT_OF_SEQUENCE, metrics.LINK),
    example=(ExampleSeries(metrics.NIC_OUT_OF_SEQUENCE, 0, 9, _NODE), _NODE_LINK),
)
ACK_TIMEOUTS = AlertRule(
    code="AL-27",
    name="NicAckTimeouts",
    severity=AlertSeverity.WARNING,
    scope=AlertScope.NIC,
    observed=_at_nic(metrics.NIC_ACK_TIMEOUTS, metrics.INFINIBAND_ACK_TIMEOUTS),
    comparison=">",
    limit=RuleLimit(0),
    scrapes=4,
    summary="{peer} waits in vain for acknowledgments over {device} {port}",
    needs=(metrics.NIC_ACK_TIMEOUTS, metrics.LINK),
    example=(ExampleSeries(metrics.NIC_ACK_TIMEOUTS, 0, 2, _NODE), _NODE_LINK),
)
