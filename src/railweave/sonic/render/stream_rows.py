"""High-frequency telemetry: ports, queues and priority groups that the ASIC itself samples, every few milliseconds.

orchagent hands ``poll_interval`` to SAI in microseconds (SAI_TAM_REPORT_INTERVAL_UNIT_USEC in sonic-swss
orchagent/high_frequency_telemetry/hftelprofile.cpp, on branches 202511, 202605 and master), as ``config hft`` takes it
(sonic-utilities config/hft.py). The description in sonic-high-frequency-telemetry.yang says milliseconds and is wrong.
The samples go to the OpenTelemetry collector on the switch. SONiC supports one profile (config/hft.py).

A counter that the ASIC does not stream is a failed SAI call of orchagent for every object (HFTelProfile::
deployCounterSubscription). So only those are asked for that every NVIDIA ASIC streams: the base sets of sonic-mgmt
tests/high_frequency_telemetry/counter_profiles.py (085d2e957a). They have no drops of queues, no PFC frames, depths in
cells alone, and no counter of buffer pools. Watermarks are left to the polls that clear them.
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

_OF_PORTS = ("IF_IN_DISCARDS", "IF_IN_OCTETS", "IF_OUT_OCTETS")
_OF_QUEUES = ("CURR_OCCUPANCY_CELLS", "WRED_ECN_MARKED_PACKETS")
_OF_GROUPS = ("CURR_OCCUPANCY_CELLS",)


class Stream(NamedTuple):
    """What switches of a panel stream."""

    poll_us: int
    # Lossless priority groups, and queues that mark; empty where ports have no buffer rows, on which SONiC's model
    # insists.
    groups: tuple[int, ...]
    queues: tuple[int, ...]


def stream_of(panel: Panel, policies: Policies, *, has_buffers: bool) -> Stream | None:
    """Return what switches of a panel stream; None if the intent asks for nothing, or if they cannot (check RW143)."""
    poll_us = policies.telemetry.high_frequency_us
    if poll_us is None or not HIGH_FREQUENCY.runs_on(panel.asic, nearest(policies.sonic.release)):
        return None
    if not has_buffers:
        return Stream(poll_us, groups=(), queues=())
    groups = sorted(traffic_class.priority for traffic_class in policies.classes if traffic_class.lossless)
    queues = sorted(traffic_class.priority for traffic_class in policies.classes if traffic_class.marks)
    return Stream(poll_us, tuple(groups), tuple(queues))


def stream_rows(stream: Stream | None, used: Sequence[Attachment]) -> tuple[Row, ...]:
    """Return the rows of the groups and of their profile for the ports in use; none without a stream."""
    if stream is None or not used:
        return ()
    ports = [attachment.port.name for attachment in used]
    rows = [_group("PORT", ports, _OF_PORTS)]
    if stream.queues:
        rows.append(_group("QUEUE", _numbered(ports, stream.queues), _OF_QUEUES))
    if stream.groups:
        rows.append(_group("INGRESS_PRIORITY_GROUP", _numbered(ports, stream.groups), _OF_GROUPS))
    reason = (
        f"telemetry.high_frequency_us: the ASIC samples counters every {stream.poll_us} µs; orchagent takes"
        " microseconds, whatever the description of SONiC's model says."
    )
    fields = {"poll_interval": str(stream.poll_us), "stream_state": "enabled"}
    return (*rows, Row(STREAM_PROFILES, OUR_STREAM, fields, reason))


def _numbered(ports: Sequence[str], numbers: Sequence[int]) -> list[str]:
    """Return the names of queues or priority groups of ports."""
    return [f"{port}|{number}" for port in ports for number in numbers]


def _group(object_type: str, names: Sequence[str], counters: Sequence[str]) -> Row:
    """Return the row that streams counters of the objects with these names."""
    fields = {"object_counters": tuple(counters), "object_names": tuple(names)}
    return Row(
        STREAM_GROUPS,
        f"{OUR_STREAM}|{object_type}",
        fields,
        f"telemetry.high_frequency_us: {len(counters)} counters of {len(names)} objects are streamed.",
    )
