"""High-frequency telemetry: ports and queues that the ASIC itself samples, every few milliseconds.

orchagent hands ``poll_interval`` to SAI in microseconds (SAI_TAM_REPORT_INTERVAL_UNIT_USEC in sonic-swss
orchagent/high_frequency_telemetry/hftelprofile.cpp, on branches 202511, 202605 and master), as ``config hft`` takes it
(sonic-utilities config/hft.py). The description in sonic-high-frequency-telemetry.yang says milliseconds and is wrong.
The samples go to the OpenTelemetry collector on the switch. SONiC supports one profile (config/hft.py).
"""

from collections.abc import Sequence
from typing import NamedTuple

from railweave.fabric.panel import Panel
from railweave.fabric.policy import Policies
from railweave.fabric.releases import nearest
from railweave.fabric.telemetry import HIGH_FREQUENCY
from railweave.sonic.ownership import OUR_STREAM, STREAM_GROUPS, STREAM_PROFILES
from railweave.sonic.render.ports import Attachment
from railweave.sonic.rows import Row

_OF_PORTS = ("IF_IN_OCTETS", "IF_OUT_OCTETS")
_OF_QUEUES = ("CURR_OCCUPANCY_BYTES", "DROPPED_PACKETS", "WRED_ECN_MARKED_PACKETS")


class Stream(NamedTuple):
    """What switches of a panel stream."""

    poll_us: int
    # Whose PFC frames are sampled.
    lossless: tuple[int, ...]
    # Queues that mark; empty where the queues of ports have no buffer rows, on which SONiC's model insists.
    queues: tuple[int, ...]


def stream_of(panel: Panel, policies: Policies, *, has_buffers: bool) -> Stream | None:
    """Return what switches of a panel stream, None if the intent asks for nothing or they cannot (check RW143)."""
    poll_us = policies.telemetry.high_frequency_us
    if poll_us is None or not HIGH_FREQUENCY.runs_on(panel.asic, nearest(policies.sonic.release)):
        return None
    queues: list[int] = []
    if has_buffers:
        queues = sorted(traffic_class.priority for traffic_class in policies.classes if traffic_class.marks)
    lossless = sorted(traffic_class.priority for traffic_class in policies.classes if traffic_class.lossless)
    return Stream(poll_us, tuple(lossless), tuple(queues))


def stream_rows(stream: Stream | None, used: Sequence[Attachment]) -> tuple[Row, ...]:
    """Return the profile and its groups for the ports in use by tables and keys, none without a stream."""
    if stream is None or not used:
        return ()
    ports = [attachment.port.name for attachment in used]
    counters = list(_OF_PORTS)
    for priority in stream.lossless:
        counters += (f"PFC_{priority}_RX_PKTS", f"PFC_{priority}_TX_PKTS")
    rows = [_group("PORT", ports, counters)]
    queues = [f"{port}|{queue}" for port in ports for queue in stream.queues]
    if queues:
        rows.append(_group("QUEUE", queues, _OF_QUEUES))
    reason = (
        f"telemetry.high_frequency_us: the ASIC samples counters every {stream.poll_us} µs; orchagent takes"
        " microseconds, whatever the description of SONiC's model says."
    )
    fields = {"poll_interval": str(stream.poll_us), "stream_state": "enabled"}
    return (*rows, Row(STREAM_PROFILES, OUR_STREAM, fields, reason))


def _group(kind: str, names: Sequence[str], counters: Sequence[str]) -> Row:
    fields = {"object_counters": tuple(counters), "object_names": tuple(names)}
    return Row(
        STREAM_GROUPS,
        f"{OUR_STREAM}|{kind}",
        fields,
        f"telemetry.high_frequency_us: {len(counters)} counters of {len(names)} objects are streamed.",
    )
