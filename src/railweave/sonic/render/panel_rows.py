"""Rows that switches of one panel, tier and longest cable share: rendered once, and selected by the ports in use.

A fabric of thousands of switches has two or three such kinds, so most rows of a device are values that exist already.
The policies of the intent enter rendering only here: two values that are equal mean equal rows, whatever the intent
states.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from railweave.fabric.devices import Tier
from railweave.fabric.hashing import NCCL_QUEUE_PAIRS, spread
from railweave.fabric.panel import Panel, SwitchPort
from railweave.fabric.policy import BufferModel, Policies, WatchdogPolicy
from railweave.fabric.releases import RELEASES, nearest
from railweave.fabric.telemetry import PFC_HISTORY
from railweave.qos.buffering import BufferPlan, plan_own_buffers
from railweave.qos.mapping import MapChain, map_chain, notification_dscp
from railweave.qos.scheduling import QueueShare, queue_shares
from railweave.qos.watchdog import detection_rule, watchdog
from railweave.sonic.hashing import ENTROPY, HASH_FIELDS, hash_seed
from railweave.sonic.neutral import SWITCH_HASH
from railweave.sonic.ownership import SYSTEM_DEFAULTS
from railweave.sonic.render.buffer_tables import (
    PROFILES,
    cable_row,
    cable_text,
    group_rows,
    lossless_row,
    profile_list_rows,
    shared_rows,
)
from railweave.sonic.render.buffer_tables import queue_rows as buffer_queue_rows
from railweave.sonic.render.counter_rows import counter_rows
from railweave.sonic.render.gnmi_rows import gnmi_rows
from railweave.sonic.render.metadata import SONIC_TYPE, shared_settings
from railweave.sonic.render.ports import Attachment, bare_interface_row, breakout_rows, port_fields, reserved_port_row
from railweave.sonic.render.qos_tables import (
    ecn_rows,
    global_map_row,
    map_rows,
    port_map_row,
    queue_rows,
    scheduler_rows,
    takes_group_map,
    watchdog_poll_row,
    watchdog_row,
)
from railweave.sonic.render.stream_rows import Stream, stream_of, stream_rows
from railweave.sonic.render.trimming import Trimming, trimming_of, trimming_rows
from railweave.sonic.rows import Fields, Row, TableRows
from railweave.wording import natural_key


class CabledRows(NamedTuple):
    """The rows of a port that depend on the length of its cable."""

    # The priority groups.
    groups: tuple[Row, ...]
    # The profile of the lossless groups; None if the switch computes it.
    profile: Row | None
    # The cable length as configured in SONiC; None if no headroom is known.
    cable: str | None


class UsedRows(NamedTuple):
    """The rows of a port in use; those of buffers are empty if no plan of the buffer is known."""

    bare_interface: Row
    qos_map: Row
    queues: tuple[Row, ...]
    # Empty without a lossless class.
    watchdog: tuple[Row, ...]
    buffer_queues: tuple[Row, ...]
    profile_lists: tuple[Row, ...]
    # By the length of the cable in meters.
    cabled: Mapping[int, CabledRows]


class PortRows:
    """The rows of one port of the panel: its PORT row while reserved, and its rows once it is used."""

    def __init__(self, port: SwitchPort, settings: "_Settings") -> None:
        """Take the port and the settings that it shares with others."""
        self._port = port
        self._settings = settings
        self.reserved = reserved_port_row(port, port_fields(port, settings.mtu_bytes))

    # Rendered when a switch first uses the port: a small fabric leaves most ports of its panels alone.
    @cached_property
    def used(self) -> UsedRows:
        """Return the rows of the port in use."""
        port = self._port
        settings = self._settings
        times = settings.times
        without_buffers = UsedRows(
            bare_interface=bare_interface_row(port.name),
            qos_map=port_map_row(port.name, settings.chain, group_map=settings.group_map, watched=times is not None),
            queues=queue_rows(port.name, port.speed_gbps, settings.shares),
            watchdog=(watchdog_row(port.name, times, settings.rule),) if times else (),
            buffer_queues=(),
            profile_lists=(),
            cabled={},
        )
        plan = settings.plan
        if plan is None:
            return without_buffers
        return without_buffers._replace(
            buffer_queues=buffer_queue_rows(plan, port.name, settings.trimmed),
            profile_lists=profile_list_rows(plan, port.name),
            cabled={length_m: _cabled_rows(plan, port, length_m) for length_m in settings.lengths_m},
        )

    def __eq__(self, other: object) -> bool:
        """Tell whether another port gives the same rows, used and unused."""
        return isinstance(other, PortRows) and (self.reserved, self.used) == (other.reserved, other.used)

    __hash__ = None  # type: ignore[assignment]


def _cabled_rows(plan: BufferPlan, port: SwitchPort, length_m: int) -> CabledRows:
    """Return the rows of a used port with a cable of ``length_m``."""
    return CabledRows(
        groups=group_rows(plan, port, length_m),
        profile=lossless_row(plan, port, length_m),
        cable=cable_text(plan, port, length_m),
    )


class PanelRows(NamedTuple):
    """The rows that switches of one panel, tier and longest cable share."""

    # In panel order.
    ports: tuple[PortRows, ...]
    breakout: tuple[Row, ...]
    # Maps, schedulers, ECN profiles, the buffer's pools, profiles that belong to no port, and groups of counters.
    qos: tuple[Row, ...]
    global_map: Row
    # Empty without a lossless class.
    watchdog_poll: tuple[Row, ...]
    # None where no plan of the buffer is known.
    buffer_model: BufferModel | None
    # Rows that make SONiC start FRR's daemons.
    daemons: tuple[Row, ...]
    # The shared fields of DEVICE_METADATA.
    settings: Fields
    # None if they stream no counters.
    stream: Stream | None
    # Code points against which the edge guard protects the ports of nodes, and whether nodes send IPv6.
    guarded: tuple[int, ...]
    nodes_have_ipv6: bool


def panel_rows(panel: Panel, tier: Tier, policies: Policies, lengths_m: Collection[int]) -> PanelRows:
    """Return the rows that switches of ``panel`` in a tier share, without overrides.

    ``lengths_m`` are the cable lengths of the tier, up to the longest cable of these switches.
    """
    maps = map_chain(policies.classes)
    group_map = takes_group_map(panel.asic)
    shares = queue_shares(policies.classes)
    times = _watchdog_times(panel, policies, maps)
    plan = plan_own_buffers(panel, tier, policies, lengths_m)
    buffer_model = plan.model if plan else None
    trimming = trimming_of(panel, policies)
    rule = detection_rule(len(panel.ports), policies.watchdog)
    settings = _Settings(
        mtu_bytes=policies.mtu.fabric_bytes,
        group_map=group_map,
        chain=maps,
        shares=shares,
        times=times,
        rule=rule,
        plan=plan,
        lengths_m=tuple(lengths_m),
        trimmed=trimming.queues,
    )
    return PanelRows(
        ports=tuple(PortRows(port, settings) for port in panel.ports),
        breakout=breakout_rows(panel),
        qos=_qos_rows(panel, tier, policies, settings, trimming),
        global_map=global_map_row(),
        watchdog_poll=(watchdog_poll_row(times),) if times else (),
        buffer_model=buffer_model,
        daemons=(BFD_ROW,) if policies.bgp.bfd else (),
        settings=shared_settings(panel, tier, buffer_model),
        stream=stream_of(panel, policies, has_buffers=plan is not None),
        guarded=_guarded(tier, policies),
        nodes_have_ipv6=policies.addressing.hosts_ipv6 is not None,
    )


def _qos_rows(
    panel: Panel, tier: Tier, policies: Policies, settings: "_Settings", trimming: Trimming
) -> tuple[Row, ...]:
    """Return the rows that belong to no port: of QoS, counters, the gNMI server and the ECMP hash."""
    speeds_gbps = {port.speed_gbps for port in panel.ports}
    plan = settings.plan
    rows = [
        *map_rows(settings.chain, group_map=settings.group_map),
        *scheduler_rows(settings.shares, speeds_gbps),
        *ecn_rows(policies, speeds_gbps, plan),
    ]
    if plan:
        release = RELEASES[nearest(policies.sonic.release)]
        rows += (*shared_rows(plan, release), *trimming_rows(trimming, panel, plan))
    rows += (*counter_rows(panel, policies, trims=bool(trimming.queues)), *gnmi_rows(policies))
    rows += _hash_rows(panel, tier, policies)
    return tuple(rows)


def _watchdog_times(panel: Panel, policies: Policies, maps: MapChain) -> WatchdogPolicy | None:
    """Return the settings of the PFC watchdog; None if it is off or if no class is lossless."""
    if not policies.watchdog.enabled or not maps.lossless:
        return None
    times = watchdog(len(panel.ports), policies.watchdog)
    if policies.telemetry.pfc_history and PFC_HISTORY.runs_on(panel.asic, nearest(policies.sonic.release)):
        return times._replace(estimates_pauses=True)
    return times


def _guarded(tier: Tier, policies: Policies) -> tuple[int, ...]:
    """Return the code points against which the edge guard protects the ports of nodes; none without a guard."""
    if not policies.edge_guard or not tier.attaches_nodes:
        return ()
    return notification_dscp(policies.classes)


BFD_ROW = Row(
    SYSTEM_DEFAULTS,
    "software_bfd",
    {"status": "enabled"},
    "BFD watches the BGP sessions (bgp.bfd); with this row bgpcfgd starts FRR's bfdd.",
)


def _hash_rows(panel: Panel, tier: Tier, policies: Policies) -> tuple[Row, ...]:
    """Return the row of the ECMP hash; none if the ASIC or the release does not take its fields."""
    if not panel.hash_fields or not RELEASES[nearest(policies.sonic.release)].hash_fields:
        return ()
    seed = hash_seed(SONIC_TYPE[tier.name])
    row = Row(
        SWITCH_HASH,
        "GLOBAL",
        {"ecmp_hash": HASH_FIELDS},
        f"Flows between two NICs differ in {ENTROPY} alone, by which the {panel.asic} chooses among equal paths; the"
        f" seed of a {tier.name}'s hash is {seed} (DEVICE_METADATA type {SONIC_TYPE[tier.name]}), another than that of"
        f" the next tier (check L-1).{_collisions(tier, policies)}",
    )
    return (row,)


def _collisions(tier: Tier, policies: Policies) -> str:
    """Return a sentence on the load of the busiest uplink of a leaf; empty for other tiers."""
    spreads_flows_of_nodes = tier.attaches_nodes and tier.ports_up
    if not spreads_flows_of_nodes:
        return ""
    load = spread(tier.ports_down, policies.hosts.queue_pairs or NCCL_QUEUE_PAIRS, tier.ports_up)
    return (
        f" {load.flows} flows of the nodes put {load.load:.1f} times the mean load on the busiest of {load.links}"
        " uplinks if all of them leave the leaf (hosts.qps_per_connection; check L-3)."
    )


class _Settings(NamedTuple):
    """What the rows of all ports of a panel follow from."""

    mtu_bytes: int
    # The ASIC takes PFC_PRIORITY_TO_PRIORITY_GROUP_MAP.
    group_map: bool
    chain: MapChain
    shares: tuple[QueueShare, ...]
    # Of the PFC watchdog; None if it watches nothing.
    times: WatchdogPolicy | None
    # The rule that its detection time follows from, in words.
    rule: str
    plan: BufferPlan | None
    lengths_m: tuple[int, ...]
    # Queues that trim packets.
    trimmed: tuple[int, ...]


def use_blocks(shared: PanelRows, used: Sequence[Attachment]) -> tuple[TableRows, ...]:
    """Return the tables of a switch that follow from its panel, the ports in use and the lengths of their cables."""
    ports = [shared.ports[attachment.port.index].used for attachment in used]
    by_table = _by_table((*shared.qos, *shared.daemons))
    by_table["BREAKOUT_CFG"] = list(shared.breakout)
    by_table["PFC_WD"] = [*chain.from_iterable(port.watchdog for port in ports), *shared.watchdog_poll]
    by_table["PORT_QOS_MAP"] = [*(port.qos_map for port in ports), shared.global_map]
    by_table["QUEUE"] = [*chain.from_iterable(port.queues for port in ports)]
    if shared.buffer_model is not None:
        for row in _buffer_rows(used, ports, shared.buffer_model):
            by_table.setdefault(row.table, []).append(row)
        # Profiles come from the plan and from the cables; the other tables are in order already.
        by_table[PROFILES].sort(key=lambda row: natural_key(row.key))
    by_table |= _by_table(stream_rows(shared.stream, used))
    return tuple(TableRows(table, tuple(rows), shared=True) for table, rows in by_table.items() if rows)


def _by_table(rows: Iterable[Row]) -> dict[str, list[Row]]:
    by_table: dict[str, list[Row]] = {}
    for row in rows:
        by_table.setdefault(row.table, []).append(row)
    return by_table


def _buffer_rows(used: Iterable[Attachment], ports: Iterable[UsedRows], model: BufferModel) -> Iterable[Row]:
    """Yield the buffer rows of the ports in use; ``ports`` has the rows of each attachment of ``used``."""
    lengths: dict[str, str] = {}
    profiles: dict[str, Row] = {}
    for attachment, port in zip(used, ports, strict=True):
        cabled = port.cabled[attachment.length_m]
        if cabled.profile is not None:
            profiles.setdefault(cabled.profile.key, cabled.profile)
        yield from cabled.groups
        yield from port.buffer_queues
        yield from port.profile_lists
        if cabled.cable is not None:
            lengths[attachment.port.name] = cabled.cable
    yield from profiles.values()
    if lengths:
        yield cable_row(lengths, model)
