"""The buffer tables: pools, profiles, and their use by every priority group and queue of a port.

In the traditional model buffermgrd looks up headroom by speed and cable length and writes a profile and priority groups
of fixed names itself (swss, cfgmgr/buffermgr.cpp). The rows here have exactly these names and values, so that it finds
them there; its configured cable length is that of the published row. In the dynamic model the switch computes
headroom, marked by the profile ``NULL``, and keeps it to itself.

Every group and every queue has a row of its own. A row of several, such as ``3-4``, would have to go when one of them
changes, and takes the buffer of all of them with it (swss, orchagent/bufferorch.cpp processPriorityGroup).
"""

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache

from railweave.fabric.buffers import BufferPool, BufferProfile, Division
from railweave.fabric.panel import SwitchPort
from railweave.fabric.policy import BufferModel
from railweave.fabric.releases import SonicRelease
from railweave.qos.buffering import BufferPlan
from railweave.qos.mmu.headroom import LOSSLESS_MTU_BYTES, Headroom
from railweave.qos.mmu.pause import PauseLimits
from railweave.qos.mmu.pools import EGRESS_LOSSLESS, INGRESS_LOSSLESS
from railweave.sonic.render.trimming import TRIM_PROFILE
from railweave.sonic.resolved import COMPUTED
from railweave.sonic.rows import Row
from railweave.wording import natural_key

PROFILES = "BUFFER_PROFILE"
CABLE_TABLE = "CABLE_LENGTH"
CABLE_ROW = "AZURE"
"""The row that buffermgrd reads; SONiC's templates have no other."""

_MBPS_PER_GBPS = 1000


def shared_rows(plan: BufferPlan, release: SonicRelease) -> tuple[Row, ...]:
    """Return the buffer rows of a switch that belong to no port, in natural order of tables and keys."""
    rows = [*_pool_rows(plan), *_profile_rows(plan)]
    if plan.model is BufferModel.DYNAMIC:
        rows += _dynamic_rows(release.small_packet_percent)
    return tuple(sorted(rows, key=lambda row: (row.table, natural_key(row.key))))


def _pool_rows(plan: BufferPlan) -> Iterable[Row]:
    for pool in plan.pools:
        yield Row("BUFFER_POOL", pool.name, _pool_fields(pool, plan.model), _pool_reason(plan, pool))


def _pool_fields(pool: BufferPool, model: BufferModel) -> dict[str, str]:
    """Return the fields of a BUFFER_POOL row in a buffer model."""
    fields = {"mode": pool.mode or "dynamic", "type": pool.type or "ingress"}
    # In the dynamic model the switch sizes every pool but the one that is the whole buffer (buffers_config.j2).
    if pool.size_bytes is not None and (model is BufferModel.TRADITIONAL or pool.name == EGRESS_LOSSLESS):
        fields["size"] = str(pool.size_bytes)
    if pool.xoff_bytes is not None:
        fields["xoff"] = str(pool.xoff_bytes)
    return dict(sorted(fields.items()))


def _pool_reason(plan: BufferPlan, pool: BufferPool) -> str:
    """Return why a pool is as it is; for the lossless ingress pool with its headroom and what is left to share."""
    reason = f"As {plan.buffers.hwsku} ships it for this tier ({plan.buffers.source}; check H-budget)."
    if pool.name != INGRESS_LOSSLESS or not plan.groups:
        return reason
    full = plan.full
    headroom_text = f"{full.headroom_bytes} of {full.budget_bytes} bytes of headroom"
    if full.is_pooled:
        headroom_text += " that ports share"
    return (
        f"{reason} With all {plan.limits.ports} ports in use over cables as long as the longest here, lossless"
        f" groups take {headroom_text}{_reserved_text(full)}; left to share:"
        f" {full.shared_bytes} bytes ({full.shared}){plan.limits.slices}."
    )


def _reserved_text(full: Division) -> str:
    """Return in words what a divided buffer reserves; empty if nothing."""
    if not full.reserved:
        return ""
    parts = ", ".join(f"{purpose} {size_bytes}" for purpose, size_bytes in full.reserved.items())
    return f"; {parts} are reserved"


def _profile_rows(plan: BufferPlan) -> Iterable[Row]:
    for profile in plan.buffers.profiles:
        yield Row(PROFILES, profile.name, _profile_fields(profile), _profile_reason(plan, profile))


def _profile_reason(plan: BufferPlan, profile: BufferProfile) -> str:
    """Return why a profile is as it is, with the bytes that its users may hold."""
    limit = f"{profile.threshold} bytes"
    if profile.is_dynamic:
        limit = f"{2.0**profile.threshold:g} times what is free of {profile.pool} (alpha 2^{profile.threshold})"
        pool_bytes = next((pool.size_bytes for pool in plan.full.pools if pool.name == profile.pool), None)
        if pool_bytes is not None:
            alone_bytes = profile.limit_bytes(plan.limits.slices.share(pool_bytes))
            limit += f": alone {alone_bytes} bytes of its {pool_bytes}{plan.limits.slices}"
    return (
        f"Who uses it may hold {limit}, and {profile.size_bytes} bytes in any case; as {plan.buffers.hwsku} ships it"
        f" ({plan.buffers.source})."
    )


def _profile_fields(profile: BufferProfile) -> dict[str, str]:
    threshold_field = "dynamic_th" if profile.is_dynamic else "static_th"
    fields = {
        "pool": profile.pool,
        "size": str(profile.size_bytes),
        threshold_field: str(profile.threshold),
    }
    return dict(sorted(fields.items()))


def lossless_profile(speed_gbps: int, headroom: Headroom) -> str:
    """Return the name that buffermgrd gives the profile of a published row."""
    return f"pg_lossless_{speed_gbps * _MBPS_PER_GBPS}_{headroom.row_m}m_profile"


def lossless_row(plan: BufferPlan, port: SwitchPort, length_m: int) -> Row | None:
    """Return the BUFFER_PROFILE row of the lossless groups of a used port with a cable of ``length_m``.

    None if there is no lossless group, if the switch computes headroom, or if none is known.
    """
    headroom = plan.headroom.get((port.speed_gbps, length_m))
    if not plan.groups or plan.model is BufferModel.DYNAMIC or not isinstance(headroom, Headroom):
        return None
    fields = {
        "dynamic_th": str(headroom.dynamic_th),
        "pool": INGRESS_LOSSLESS,
        "size": str(headroom.size_bytes),
        "xoff": str(headroom.xoff_bytes),
        "xon": str(headroom.xon_bytes),
    }
    if headroom.xon_offset_bytes is not None:
        fields["xon_offset"] = str(headroom.xon_offset_bytes)
    name = lossless_profile(port.speed_gbps, headroom)
    return Row(PROFILES, name, fields, f"Headroom of a lossless group: {headroom.formula} (check H-headroom).")


def _dynamic_rows(small_packet_percent: int) -> tuple[Row, ...]:
    """Return the rows from which a switch with the dynamic buffer model computes headroom."""
    return (
        Row(
            "DEFAULT_LOSSLESS_BUFFER_PARAMETER",
            CABLE_ROW,
            {"default_dynamic_th": "0"},
            "A lossless group may take as much as is free (alpha 1: buffers_config.j2, sonic.buffer_model).",
        ),
        Row(
            "LOSSLESS_TRAFFIC_PATTERN",
            CABLE_ROW,
            {"mtu": str(LOSSLESS_MTU_BYTES), "small_packet_percentage": str(small_packet_percent)},
            f"What headroom is computed for: {small_packet_percent} % of the packets small, the others of 1 KiB"
            " (buffers_config.j2 of the release).",
        ),
    )


@lru_cache(maxsize=64)
def _pause_text(limits: PauseLimits) -> str:
    """Return in words at which depths a group is paused; this is the same for all ports of a switch."""
    return (
        f"A group is paused at {limits.single_bytes} bytes where it alone is congested, at {limits.all_bytes} with all"
        f" {limits.ports} ports (alpha {limits.alpha:g}, {limits.buffer})"
    )


def group_rows(plan: BufferPlan, port: SwitchPort, length_m: int) -> tuple[Row, ...]:
    """Return the BUFFER_PG rows of a used port with a cable of ``length_m``, one for each group.

    Lossless groups are left out if their headroom is not known.
    """
    lossy = Row(
        "BUFFER_PG",
        f"{port.name}|0",
        {"profile": plan.buffers.lossy_group},
        "Group 0 holds every class that is not lossless and keeps no headroom (traffic_classes).",
    )
    headroom = plan.headroom.get((port.speed_gbps, length_m))
    if not isinstance(headroom, Headroom):
        return (lossy,)
    if plan.model is BufferModel.DYNAMIC:
        profile = COMPUTED
        source = "the switch computes it (sonic.buffer_model)"
    else:
        profile = lossless_profile(port.speed_gbps, headroom)
        source = f"{length_m} m of cable (cabling)"
    reason = (
        f"Headroom of lossless priorities: {headroom.formula}; {source}. {_pause_text(plan.limits)};"
        " checks H-headroom, E-2."
    )
    return (lossy, *(Row("BUFFER_PG", f"{port.name}|{group}", {"profile": profile}, reason) for group in plan.groups))


def queue_rows(plan: BufferPlan, port: str, trimmed: Collection[int] = ()) -> tuple[Row, ...]:
    """Return the BUFFER_QUEUE rows of a used port, one for each queue; ``trimmed`` are the queues that trim packets."""
    lossless_reason = _lossless_queue_reason(plan)
    # A lossless class has the same number as priority group and as queue.
    rows = [_queue_row(port, queue, plan.buffers.lossless_queue, lossless_reason) for queue in plan.groups]
    for queue in plan.lossy_queues:
        if queue in trimmed:
            rows.append(_queue_row(port, queue, TRIM_PROFILE, _TRIMMED_QUEUE))
        else:
            rows.append(_queue_row(port, queue, plan.buffers.lossy_queue, _LOSSY_QUEUE))
    return tuple(sorted(rows, key=lambda row: natural_key(row.key)))


def _lossless_queue_reason(plan: BufferPlan) -> str:
    """Return why a lossless queue has its profile, with the bytes that it may hold if they are known."""
    limit_bytes = plan.limits.queue_bytes
    limit_text = ""
    if limit_bytes is not None:
        limit_text = f", here up to {limit_bytes} bytes"
    return (
        f"Lossless: the queue may hold what ingress has accepted{limit_text}, or egress would drop it (checks Q-1, E-1;"
        f" {plan.buffers.source})."
    )


_TRIMMED_QUEUE = "Lossy RDMA: the queue trims what finds no room in its part of the egress pool (traffic_classes)."
_LOSSY_QUEUE = "Not lossless: the queue takes its part of the egress pool, and drops beyond it (traffic_classes)."


def _queue_row(port: str, queue: int, profile: str, reason: str) -> Row:
    return Row("BUFFER_QUEUE", f"{port}|{queue}", {"profile": profile}, reason)


_LISTS = ("BUFFER_PORT_INGRESS_PROFILE_LIST", "BUFFER_PORT_EGRESS_PROFILE_LIST")


def profile_list_rows(plan: BufferPlan, port: str) -> tuple[Row, ...]:
    """Return the rows of a used port's profile lists, ingress before egress; none on chips without such lists."""
    return tuple(
        Row(
            table,
            port,
            {"profile_list": ",".join(names)},
            f"What the port as a whole may take of each pool (as shipped: {plan.buffers.source}).",
        )
        for table, names in zip(_LISTS, plan.buffers.port_lists, strict=False)
    )


def cable_text(plan: BufferPlan, port: SwitchPort, length_m: int) -> str | None:
    """Return the cable length that is configured for buffermgrd; None if no headroom is needed, or none is known."""
    headroom = plan.headroom.get((port.speed_gbps, length_m))
    if not plan.groups or not isinstance(headroom, Headroom):
        return None
    # The traditional buffermgrd finds only lengths of published rows; the dynamic one computes with the real length.
    if headroom.row_m is not None:
        return f"{headroom.row_m}m"
    return f"{length_m}m"


def cable_row(lengths: Mapping[str, str], model: BufferModel) -> Row:
    """Return the CABLE_LENGTH row: the length of every used port."""
    rule = "from which the switch computes headroom"
    if model is BufferModel.TRADITIONAL:
        rule = "rounded up to the next published length (pg_profile_lookup.ini)"
    return Row(CABLE_TABLE, CABLE_ROW, lengths, f"The cable plan's lengths (cabling.host, cabling.leaf_spine), {rule}.")
