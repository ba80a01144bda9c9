"""Rows that all switches of one panel share: computed once a fabric, and selected by the ports in use.

A fabric of thousands of switches has two or three panels, so most rows of a device are values that exist already.
"""

from dataclasses import dataclass

from railweave.fabric.model import Panel
from railweave.fabric.policy import Policies
from railweave.qos.mapping import MapChain, map_chain
from railweave.qos.scheduling import QueueShare, queue_shares
from railweave.qos.watchdog import Watchdog, watchdog
from railweave.sonic.interfaces import bare_interface_row
from railweave.sonic.ports import breakout_rows, port_fields, reserved_port_row
from railweave.sonic.qos_tables import (
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
from railweave.sonic.rows import Fields, Row


@dataclass(frozen=True, slots=True)
class PortRows:
    """What one port of the panel gives: its PORT row while reserved, and its rows once it is used. ``watchdog`` is
    empty without a lossless class."""

    shared_fields: Fields
    reserved: Row
    bare_interface: Row
    qos_map: Row
    queues: tuple[Row, ...]
    watchdog: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class PanelRows:
    """All shared rows of a panel; ``ports`` is in panel order, ``qos`` holds maps, schedulers and ECN profiles."""

    ports: tuple[PortRows, ...]
    breakout: tuple[Row, ...]
    qos: tuple[Row, ...]
    global_map: Row
    watchdog_poll: tuple[Row, ...]


def panel_rows(panel: Panel, policies: Policies) -> PanelRows:
    """Return the shared rows of ``panel`` under the fabric's policies."""
    chain = map_chain(policies.classes)
    shares = queue_shares(policies.classes)
    times = watchdog(len(panel.ports))
    group_map = takes_group_map(panel.asic)
    speeds_gbps = {port.speed_gbps for port in panel.ports}
    qos = (
        *map_rows(chain, group_map=group_map),
        *scheduler_rows(shares),
        *ecn_rows(shares, speeds_gbps),
    )
    return PanelRows(
        ports=_port_rows(panel, policies, chain, shares, times),
        breakout=breakout_rows(panel),
        qos=qos,
        global_map=global_map_row(),
        watchdog_poll=(watchdog_poll_row(times),) if chain.lossless else (),
    )


def _port_rows(
    panel: Panel, policies: Policies, chain: MapChain, shares: tuple[QueueShare, ...], times: Watchdog
) -> tuple[PortRows, ...]:
    group_map = takes_group_map(panel.asic)
    found = []
    for port in panel.ports:
        shared = port_fields(port, policies.mtu.fabric_bytes)
        found.append(
            PortRows(
                shared_fields=shared,
                reserved=reserved_port_row(port, shared),
                bare_interface=bare_interface_row(port.name),
                qos_map=port_map_row(port.name, chain, group_map=group_map),
                queues=queue_rows(port.name, port.speed_gbps, shares),
                watchdog=(watchdog_row(port.name, times),) if chain.lossless else (),
            )
        )
    return tuple(found)
