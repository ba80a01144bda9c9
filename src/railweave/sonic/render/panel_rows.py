"""Rows that switches of one panel, tier and longest cable share: made once a fabric, and selected by the ports in use.

A fabric of thousands of switches has two or three such kinds, so most rows of a device are values that exist already.
What switches have in common of the intent enters rendering here and nowhere else: two values that are equal mean equal
rows, whatever the intent says.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from railweave.fabric.hashing import NCCL_QUEUE_PAIRS, spread
from railweave.fabric.model import Panel, SwitchPort, Tier
from railweave.fabric.policy import BufferModel, Policies
from railweave.fabric.releases import RELEASES, nearest
from railweave.qos.buffering import BufferPlan, plan_buffers
from railweave.qos.mapping import MapChain, map_chain, notification_dscp
from railweave.qos.scheduling import QueueShare, queue_shares
from railweave.qos.watchdog import Watchdog, watchdog
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
from railweave.sonic.rows import Block, Fields, Row
from railweave.wording import natural_key


class CabledRows(NamedTuple):
    """What a port gives with a cable of one length: its priority groups, their profile (None where nobody writes one),
    and the length configured in SONiC (None where no headroom is known)."""

    groups: tuple[Row, ...]
    profile: Row | None
    cable: str | None


class UsedRows(NamedTuple):
    """The rows of a port in use. ``watchdog`` is empty without a lossless class; the buffer rows are empty without a
    plan of the buffer, ``cabled`` is by length."""

    bare_interface: Row
    qos_map: Row
    queues: tuple[Row, ...]
    watchdog: tuple[Row, ...]
    buffer_queues: tuple[Row, ...]
    profile_lists: tuple[Row, ...]
    cabled: Mapping[int, CabledRows]


class PortRows:
    """What one port of the panel gives: its PORT row while reserved, and its rows once it is used. These are made when
    a switch first uses the port; a small fabric leaves most ports of its panels alone."""

    def __init__(self, port: SwitchPort, settings: "_Settings") -> None:
        """Keep what the rows follow from."""
        self._port, self._settings = port, settings
        self.reserved = reserved_port_row(port, port_fields(port, settings.mtu_bytes))

    @cached_property
    def used(self) -> UsedRows:
        """Return the rows of the port in use."""
        port, (_, group_map, chain, shares, times, plan, lengths_m) = self._port, self._settings
        return UsedRows(
            bare_interface=bare_interface_row(port.name),
            qos_map=port_map_row(port.name, chain, group_map=group_map, watched=times is not None),
            queues=queue_rows(port.name, port.speed_gbps, shares),
            watchdog=(watchdog_row(port.name, times),) if times else (),
            buffer_queues=buffer_queue_rows(plan, port.name) if plan else (),
            profile_lists=profile_list_rows(plan, port.name) if plan else (),
            cabled={
                length: CabledRows(
                    group_rows(plan, port, length), lossless_row(plan, port, length), cable_text(plan, port, length)
                )
                for length in lengths_m
            }
            if plan
            else {},
        )

    def __eq__(self, other: object) -> bool:
        """Tell whether another port gives the same rows, used and unused."""
        return isinstance(other, PortRows) and (self.reserved, self.used) == (other.reserved, other.used)

    __hash__ = None  # type: ignore[assignment]


class PanelRows(NamedTuple):
    """All that switches of one panel, tier and longest cable share; ``ports`` is in panel order, ``qos`` holds maps,
    schedulers, ECN profiles, the buffer's pools, and profiles of no port. ``settings`` are the shared fields of
    DEVICE_METADATA; ``guarded`` are the code points that the ports of nodes are guarded for, with IPv6 where
    ``guards_ipv6``."""

    ports: tuple[PortRows, ...]
    breakout: tuple[Row, ...]
    qos: tuple[Row, ...]
    global_map: Row
    watchdog_poll: tuple[Row, ...]
    buffer_model: BufferModel | None
    daemons: tuple[Row, ...]
    settings: Fields
    guarded: tuple[int, ...]
    guards_ipv6: bool


def panel_rows(panel: Panel, tier: Tier, policies: Policies, lengths_m: Collection[int]) -> PanelRows:
    """Return the shared rows of ``panel`` in a tier, on switches with cables of at most the longest of ``lengths_m``,
    under the fabric's policies. Overrides, which are of single switches, have no say in them."""
    chain, group_map = map_chain(policies.classes), takes_group_map(panel.asic)
    shares = queue_shares(policies.classes)
    times = watchdog(len(panel.ports), policies.watchdog) if policies.watchdog.enabled and chain.lossless else None
    plan = plan_buffers(panel, tier, policies, lengths_m)
    speeds_gbps = {port.speed_gbps for port in panel.ports}
    release = RELEASES[nearest(policies.sonic.release)]
    qos = (
        *map_rows(chain, group_map=group_map),
        *scheduler_rows(shares, speeds_gbps),
        *ecn_rows(policies, speeds_gbps, plan),
        *(shared_rows(plan, release) if plan else ()),
        *((_hash_row(panel, tier, policies),) if panel.hash_fields and release.hash_fields else ()),
    )
    settings = _Settings(policies.mtu.fabric_bytes, group_map, chain, shares, times, plan, tuple(lengths_m))
    return PanelRows(
        ports=tuple(PortRows(port, settings) for port in panel.ports),
        breakout=breakout_rows(panel),
        qos=qos,
        global_map=global_map_row(),
        watchdog_poll=(watchdog_poll_row(times),) if times else (),
        buffer_model=plan.model if plan else None,
        daemons=(BFD_ROW,) if policies.bgp.bfd else (),
        settings=shared_settings(panel, tier, plan.model if plan else None),
        guarded=notification_dscp(policies.classes) if policies.edge_guard and tier.attaches_nodes else (),
        guards_ipv6=policies.addressing.hosts_ipv6 is not None,
    )


BFD_ROW = Row(
    SYSTEM_DEFAULTS,
    "software_bfd",
    {"status": "enabled"},
    "BFD watches the BGP sessions (bgp.bfd); with this row bgpcfgd starts FRR's bfdd.",
)


def _hash_row(panel: Panel, tier: Tier, policies: Policies) -> Row:
    seed = hash_seed(SONIC_TYPE[tier.name])
    return Row(
        SWITCH_HASH,
        "GLOBAL",
        {"ecmp_hash": HASH_FIELDS},
        f"Flows between two NICs differ in {ENTROPY} alone, by which the {panel.asic} chooses among equal paths; the"
        f" seed of a {tier.name}'s hash is {seed} (DEVICE_METADATA type {SONIC_TYPE[tier.name]}), another than that of"
        f" the next tier (check L-1).{_collisions(tier, policies)}",
    )


def _collisions(tier: Tier, policies: Policies) -> str:
    if not (tier.attaches_nodes and tier.ports_up):
        return ""
    found = spread(tier.ports_down, policies.hosts.queue_pairs or NCCL_QUEUE_PAIRS, tier.ports_up)
    return (
        f" {found.flows} flows of the nodes put {found.load:.1f} times the mean load on the busiest of {found.links}"
        " uplinks if all of them leave the leaf (hosts.qps_per_connection; check L-3)."
    )


class _Settings(NamedTuple):
    mtu_bytes: int
    group_map: bool
    chain: MapChain
    shares: tuple[QueueShare, ...]
    times: Watchdog | None
    plan: BufferPlan | None
    lengths_m: tuple[int, ...]


def use_blocks(shared: PanelRows, used: Sequence[Attachment]) -> tuple[Block, ...]:
    """Return the tables of a switch that follow from its panel, the ports in use and the lengths of their cables."""
    ports = [shared.ports[one.port.index].used for one in used]
    by_table: dict[str, list[Row]] = {}
    for row in shared.qos:
        by_table.setdefault(row.table, []).append(row)
    for row in shared.daemons:
        by_table.setdefault(row.table, []).append(row)
    by_table["BREAKOUT_CFG"] = list(shared.breakout)
    by_table["PFC_WD"] = [*(row for port in ports for row in port.watchdog), *shared.watchdog_poll]
    by_table["PORT_QOS_MAP"] = [*(port.qos_map for port in ports), shared.global_map]
    by_table["QUEUE"] = [row for port in ports for row in port.queues]
    if shared.buffer_model is not None:
        for row in _buffer_rows(used, ports, shared.buffer_model):
            by_table.setdefault(row.table, []).append(row)
        by_table[PROFILES].sort(key=lambda row: natural_key(row.key))
    return tuple(Block(table, tuple(rows), True) for table, rows in by_table.items() if rows)


def _buffer_rows(used: Iterable[Attachment], ports: Iterable[UsedRows], model: BufferModel) -> Iterable[Row]:
    lengths: dict[str, str] = {}
    profiles: dict[str, Row] = {}
    for one, port in zip(used, ports, strict=True):
        cabled = port.cabled[one.length_m]
        if cabled.profile is not None:
            profiles.setdefault(cabled.profile.key, cabled.profile)
        yield from cabled.groups
        yield from port.buffer_queues
        yield from port.profile_lists
        if cabled.cable is not None:
            lengths[one.port.name] = cabled.cable
    yield from profiles.values()
    if lengths:
        yield cable_row(lengths, model)
