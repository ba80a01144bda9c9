"""Traffic in a queue of no class, and bulk data of nodes in the default class: packets with another DSCP than designed.

They share a queue, its buffer and its pauses with traffic that the classes were to keep apart.
"""

from collections.abc import Iterator

from railweave.acceptance.counter_names import CounterMeaning
from railweave.diagnostics import Severity
from railweave.health.case import HealthCase, WatchedPort
from railweave.health.codes import MIXED_TRAFFIC
from railweave.health.limits import BULK_PACKET_BYTES, LOADED_SHARE, STRAY_PACKETS_PER_S
from railweave.health.model import HealthFinding, HealthRule, port_finding
from railweave.health.needs import QUEUE_PACKETS
from railweave.health.reading import CountedSwitch
from railweave.wording import command_line

_QUEUES = range(8)


def _judge(case: HealthCase) -> Iterator[HealthFinding]:
    """Yield a finding for each queue with traffic but no class, and for bulk data in the default class."""
    class_queues = {traffic_class.priority for traffic_class in case.classes}
    for port, switch in case.counted():
        for queue in _QUEUES:
            packets = switch.queue(port.port, queue).growth(CounterMeaning.SENT_PACKETS) or 0
            if queue not in class_queues and packets > STRAY_PACKETS_PER_S * switch.seconds:
                message = f"sent {packets:,} packets from queue {queue}, which belongs to no traffic class"
                yield port_finding(MIXED_TRAFFIC, Severity.ERROR, port, message, _fix())
        if port.to_node and case.rdma:
            yield from _bulk_in_default_class(case, port, switch)


def _bulk_in_default_class(case: HealthCase, port: WatchedPort, switch: CountedSwitch) -> Iterator[HealthFinding]:
    """Yield a finding if bulk data went to a node in the default class, although RDMA has a class of its own."""
    for traffic_class in case.classes:
        if not traffic_class.is_default or traffic_class.priority in case.rdma:
            continue
        row = switch.queue(port.port, traffic_class.priority)
        packets = row.growth(CounterMeaning.SENT_PACKETS) or 0
        sent_bytes = row.growth(CounterMeaning.SENT_BYTES) or 0
        share = sent_bytes / (port.bytes_per_s * switch.seconds)
        if share > LOADED_SHARE and sent_bytes > BULK_PACKET_BYTES * packets:
            message = (
                f"sent bulk data at {share:.0%} of its rate in the default class {traffic_class.name}"
                f" (queue {traffic_class.priority}): RDMA with another DSCP than that of its class"
            )
            yield port_finding(MIXED_TRAFFIC, Severity.WARNING, port, message, _fix())


def _fix() -> str:
    """Return what to do about traffic in a wrong queue."""
    return (
        f"set the DSCP of each kind of traffic as rendered (`{command_line('hosts', 'plan')}`), and compare"
        f" DSCP_TO_TC_MAP and TC_TO_QUEUE_MAP with the design (`{command_line('drift')}`)"
    )


RULE = HealthRule(MIXED_TRAFFIC, "all traffic is in the queue of its class", _judge, (QUEUE_PACKETS,))
