"""The QoS tables: maps, schedulers, ECN profiles, and their use by each port and queue.

Names are fixed, so that a changed class changes fields, not references. Spectrum and Tofino map PFC priorities to
priority groups (PFC_PRIORITY_TO_PRIORITY_GROUP_MAP); on Broadcom ASICs a group's number is its priority.
"""

from collections.abc import Iterable, Sequence
from itertools import product

from railweave.fabric.policy import MarkingPreset, Policies, TrafficClass, WatchdogPolicy
from railweave.qos.buffering import BufferPlan
from railweave.qos.mapping import MapChain
from railweave.qos.marking import ROUND_TRIP_US, bandwidth_delay_bytes, choose_marking
from railweave.qos.mmu.pause import marks_text
from railweave.qos.scheduling import QueueShare, kept_share
from railweave.sonic.rows import Row
from railweave.wording import natural_key

MAP_NAME = "FABRIC"
"""The one map of each kind."""

_COLORS = ("green", "yellow", "red")


def takes_group_map(asic: str) -> bool:
    """Tell whether the ASIC takes PFC_PRIORITY_TO_PRIORITY_GROUP_MAP (qos_config.j2: Mellanox and Barefoot)."""
    lowered = asic.lower()
    return any(family in lowered for family in ("spectrum", "mellanox", "nvidia", "tofino", "barefoot"))


def map_rows(chain: MapChain, *, group_map: bool) -> tuple[Row, ...]:
    """Return the rows of the map tables. ``group_map`` tells that the ASIC takes the map from PFC to groups."""
    rows = [
        _map_row("DSCP_TO_TC_MAP", enumerate(chain.dscp_to_tc), "traffic_classes[].dscp, all 64 code points"),
        _map_row("TC_TO_QUEUE_MAP", enumerate(chain.tc_to_queue), "a class's queue is its priority"),
        _map_row(
            "TC_TO_PRIORITY_GROUP_MAP", enumerate(chain.tc_to_group), "a group of its own for each lossless class"
        ),
    ]
    if chain.lossless:
        rows.append(_map_row("MAP_PFC_PRIORITY_TO_QUEUE", enumerate(chain.pfc_to_queue), "a pause stops its own queue"))
        if group_map:
            pairs = ((priority, priority) for priority in chain.lossless)
            rows.append(_map_row("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", pairs, "a group pauses its own priority"))
    return tuple(rows)


def _map_row(table: str, pairs: Iterable[tuple[int, int]], rule: str) -> Row:
    """Return the row of a map; ``rule`` says in words what its pairs follow from."""
    fields = {str(key): str(value) for key, value in pairs}
    return Row(table, MAP_NAME, fields, f"The map chain of the traffic classes: {rule} (traffic_classes; check Q-1).")


def scheduler_rows(shares: Sequence[QueueShare], speeds_gbps: Iterable[int]) -> tuple[Row, ...]:
    """Return the SCHEDULER rows: one for each queue in use, or one for each port speed if its rate is limited."""
    rows: dict[str, Row] = {}
    for share, speed_gbps in product(shares, speeds_gbps):
        name = scheduler_name(share, speed_gbps)
        reason = _scheduler_reason(share, speed_gbps) + _guaranteed_share(shares, share)
        rows[name] = Row("SCHEDULER", name, _scheduler_fields(share, speed_gbps), reason)
    return tuple(rows[name] for name in sorted(rows, key=natural_key))


_FEWEST_WEIGHTED_QUEUES = 3
"""With two queues, that of RDMA and that of everything else, the shares in the intent say it already."""


def _guaranteed_share(shares: Sequence[QueueShare], own: QueueShare) -> str:
    """Return a sentence on the part of a port that a queue keeps under load; empty if its share says it already."""
    weighted_queues = sum(not share.strict for share in shares)
    kept = kept_share(shares, own.queue)
    if kept is None or weighted_queues < _FEWEST_WEIGHTED_QUEUES:
        return ""
    return f" While all others burst it keeps {kept} of a port: strict queues take their limits first (check Q-10)."


def scheduler_name(share: QueueShare, speed_gbps: int) -> str:
    """Return the name of a queue's SCHEDULER on ports of one speed."""
    if share.limit_percent:
        return _by_speed(share.name, speed_gbps)
    return share.name


def _scheduler_fields(share: QueueShare, speed_gbps: int) -> dict[str, str]:
    """Return the fields of a queue's SCHEDULER on ports of one speed."""
    # The field priority is left out: orchagent refuses the whole row for it.
    if not share.strict:
        return {"type": "DWRR", "weight": str(share.weight)}
    if not share.limit_percent:
        return {"type": "STRICT"}
    # SONiC takes no pir without a cir (sonic-scheduler.yang).
    rate = str(share.limit_bytes_per_second(speed_gbps))
    return {"cir": rate, "meter_type": "bytes", "pir": rate, "type": "STRICT"}


def _scheduler_reason(share: QueueShare, speed_gbps: int) -> str:
    """Return why a queue has its scheduler on ports of one speed."""
    if share.limit_percent:
        return (
            f"{share.name} goes before all others (traffic_classes[{share.name}].strict), up to {share.limit_percent} %"
            f" of {speed_gbps}G, {share.limit_bytes_per_second(speed_gbps)} bytes per second: whoever marks packets for"
            " it cannot starve RDMA (check Q-6)."
        )
    if share.strict:
        return f"{share.name} goes before all others (traffic_classes[{share.name}].strict)."
    return f"{share.name} gets {share.weight} % of what strict queues leave (traffic_classes[{share.name}].share)."


def ecn_profile(name: str, speed_gbps: int) -> str:
    """Return the name of a marked class's WRED_PROFILE on ports of one speed."""
    return _by_speed(name, speed_gbps)


def _by_speed(name: str, speed_gbps: int) -> str:
    return f"{name[:24]}-{speed_gbps}g"


def ecn_rows(policies: Policies, speeds_gbps: Iterable[int], plan: BufferPlan | None) -> tuple[Row, ...]:
    """Return the WRED_PROFILE rows: one for each marked class and port speed, with the same values for all colors.

    ``plan`` is the plan of the switch's buffer, None if it is not known.
    """
    marked = [traffic_class for traffic_class in policies.classes if traffic_class.marks]
    marked.sort(key=lambda traffic_class: natural_key(traffic_class.name))
    return tuple(
        _ecn_row(traffic_class, speed_gbps, policies.marking, plan)
        for traffic_class, speed_gbps in product(marked, sorted(set(speeds_gbps)))
    )


def _ecn_row(
    traffic_class: TrafficClass, speed_gbps: int, preset: MarkingPreset | None, plan: BufferPlan | None
) -> Row:
    """Return the WRED_PROFILE row of a marked class on ports of one speed, with the reason of its thresholds."""
    choice = choose_marking(traffic_class, speed_gbps, preset, plan)
    thresholds = choice.thresholds
    fields = {"ecn": "ecn_all"}
    for color in _COLORS:
        fields[f"{color}_drop_probability"] = str(thresholds.probability_percent)
        fields[f"{color}_max_threshold"] = str(thresholds.maximum_bytes)
        fields[f"{color}_min_threshold"] = str(thresholds.minimum_bytes)
        fields[f"wred_{color}_enable"] = "true"
    name = traffic_class.name
    key = ecn_profile(name, speed_gbps)
    fields = dict(sorted(fields.items()))
    if traffic_class.is_lossy_rdma:
        return Row("WRED_PROFILE", key, fields, _lossy_marking_reason(name, choice.reason, plan))
    pause_text = ""
    if plan is not None:
        limits = plan.limits
        pause_text = (
            f" A single congested group pauses at {limits.single_bytes} bytes, every group of all ports at"
            f" {limits.all_bytes}; the conservative bound is {limits.conservative_bytes}, and one flow at line rate has"
            f" {bandwidth_delay_bytes(speed_gbps)} on its way in {ROUND_TRIP_US} us;"
            f" {marks_text(thresholds, limits)} (checks E-1 to E-6)."
        )
    return Row(
        "WRED_PROFILE",
        key,
        fields,
        f"{name} is lossless (traffic_classes[{name}].lossless): mark before pausing, {choice.reason}.{pause_text}",
    )


def _lossy_marking_reason(name: str, rule: str, plan: BufferPlan | None) -> str:
    """Return why a class of lossy RDMA is marked as ``rule`` says, and where its queue drops if that is known."""
    reason = f"{name} is RDMA without PFC (traffic_classes[{name}].transport): mark before dropping, {rule}."
    if plan is None or plan.drops is None:
        return reason
    drops = plan.drops
    return (
        f"{reason} The queue drops at {drops.alone_bytes} bytes where it alone is full, at {drops.beside_bytes} beside"
        f" full queues of other classes, at {drops.all_bytes} with those of all {drops.ports} ports full (queue:"
        f" {drops.queue}; group: {drops.group}; check E-7)."
    )


def global_map_row() -> Row:
    """Return the switch-wide DSCP map, which the CPU port uses."""
    return Row(
        "PORT_QOS_MAP",
        "global",
        {"dscp_to_tc_map": MAP_NAME},
        "What the switch itself sends and receives is classed like everything else (traffic_classes).",
    )


def port_map_row(port: str, chain: MapChain, *, group_map: bool, watched: bool = True) -> Row:
    """Return the PORT_QOS_MAP row of a used port: all maps, and PFC for the lossless priorities.

    ``group_map`` tells that the ASIC takes the map from PFC to groups, ``watched`` that the PFC watchdog is on.
    """
    fields = {"dscp_to_tc_map": MAP_NAME, "tc_to_pg_map": MAP_NAME, "tc_to_queue_map": MAP_NAME}
    if not chain.lossless:
        return Row("PORT_QOS_MAP", port, fields, "A used port trusts DSCP; no class is lossless (traffic_classes).")
    priorities = ",".join(str(priority) for priority in chain.lossless)
    fields |= {"pfc_enable": priorities, "pfc_to_queue_map": MAP_NAME}
    watchdog_text = "without a watchdog (pfc_watchdog.enabled)"
    if watched:
        fields["pfcwd_sw_enable"] = priorities
        watchdog_text = "each under the watchdog"
    if group_map:
        fields["pfc_to_pg_map"] = MAP_NAME
    return Row(
        "PORT_QOS_MAP",
        port,
        dict(sorted(fields.items())),
        f"A used port trusts DSCP and pauses exactly the lossless priorities {priorities} "
        f"(traffic_classes[].lossless; both ends alike, check Q-3), {watchdog_text}.",
    )


def queue_rows(port: str, speed_gbps: int, shares: Sequence[QueueShare]) -> tuple[Row, ...]:
    """Return the QUEUE rows of a used port."""
    return tuple(_queue_row(port, speed_gbps, share) for share in shares)


def _queue_row(port: str, speed_gbps: int, share: QueueShare) -> Row:
    """Return the QUEUE row of one queue of a used port."""
    fields = {"scheduler": scheduler_name(share, speed_gbps)}
    marking = "no marking: it is lossy"
    if share.marks:
        fields["wred_profile"] = ecn_profile(share.name, speed_gbps)
        marking = "ECN marking: it is lossless"
        if not share.lossless:
            marking = "ECN marking: it is RDMA, and not lossless"
    return Row(
        "QUEUE",
        f"{port}|{share.queue}",
        fields,
        f"Queue {share.queue} carries {share.name} with {marking} (traffic_classes[{share.name}]).",
    )


def watchdog_row(port: str, times: WatchdogPolicy, rule: str) -> Row:
    """Return the PFC_WD row of a used port; ``rule`` says in words what the detection time follows from."""
    fields = {
        "action": times.action.value,
        "detection_time": str(times.detection_ms),
        "restoration_time": str(times.restoration_ms),
    }
    if times.estimates_pauses:
        # telemetry.pfc_history: pfc_detect_broadcom.lua estimates the time of pauses, which other chips count.
        fields["pfc_stat_history"] = "enable"
    return Row(
        "PFC_WD",
        port,
        fields,
        f"A queue that is paused for {times.detection_ms} ms is a storm: {times.action} until it ends, or the "
        f"pause spreads ({rule}; checks W-1, W-2).",
    )


def watchdog_poll_row(times: WatchdogPolicy) -> Row:
    """Return the watchdog's polling interval, which no detection or restoration time may undercut."""
    return Row(
        "PFC_WD",
        "GLOBAL",
        {"POLL_INTERVAL": str(times.poll_ms)},
        "The watchdog polls every 200 ms for each 32 ports of the switch, at most every second (SONiC's own default), "
        "unless pfc_watchdog.poll_ms says otherwise.",
    )
