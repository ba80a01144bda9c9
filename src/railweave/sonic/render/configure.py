"""A device's configuration as a function of (fabric, device): CONFIG_DB rows with reasons, and the FRR file.

Rows stand in natural order of table and key. Everything about a port follows from the panel and that port's own link,
so a fabric that grows changes only the switches and ports that the new cables meet.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, groupby
from operator import attrgetter
from typing import NamedTuple

from railweave.diagnostics import Diagnostic, Where
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric, Switch
from railweave.qos.mapping import notification_dscp
from railweave.routing.instance import BgpSpeaker, bgp_speaker
from railweave.sonic.ownership import RENDERED_TABLES, SYSTEM_DEFAULTS
from railweave.sonic.render.edge_guard import edge_guard_rows
from railweave.sonic.render.frr_text import frr_text
from railweave.sonic.render.metadata import SONIC_TYPE, metadata_row
from railweave.sonic.render.overrides import clashes, override_rows, with_overrides
from railweave.sonic.render.panel_rows import PanelRows, panel_rows, use_blocks
from railweave.sonic.render.ports import Attachment, attachments, link_rows, loopback_rows, used_port_row
from railweave.sonic.render.secret_rows import resolved
from railweave.sonic.rows import Block, ConfigDb, DeviceConfig, Fields, Row
from railweave.templates import Templates
from railweave.units import ipv4_text
from railweave.wording import natural_key

_USES_KEPT = 64
"""Sets of used ports, and of neighbors, that are remembered: a sound fabric has a few, a ragged one must not fill the
memory."""


class Own(NamedTuple):
    """All that the rows of a switch follow from, beside what switches of its panel and tier share, and overrides."""

    metadata: Row
    used: tuple[Attachment, ...]
    neighbors: tuple[Row, ...]
    loopback: int


class Configurator:
    """Configures the devices of one fabric; keeps what they share.

    ``secrets`` are put in the place of references to them; without a value a reference stays.
    """

    def __init__(self, fabric: Fabric, templates: Templates, secrets: Mapping[str, str] | None = None) -> None:
        """Nothing is computed yet."""
        self.fabric = fabric
        self._secrets = secrets or {}
        self.templates = templates
        # Keyed by identity: the fabric keeps its panels alive, and hashing one would read all of its ports.
        self._panels: dict[tuple[int, int, str], PanelRows] = {}
        self._uses: dict[tuple[int, tuple[tuple[int, int], ...]], tuple[Block, ...]] = {}
        self._switch_metadata: dict[str, Row] = {}
        self._neighborhoods: dict[tuple[str, ...], Block] = {}

    def device(self, switch: Switch) -> DeviceConfig:
        """Return the configuration of ``switch``; raises RefusedError when an override meets one of its rows."""
        config = DeviceConfig(switch.name, self.rows(switch), self.frr(switch))
        return resolved(config, self._secrets) if self._secrets else config

    def rows(self, switch: Switch) -> tuple[Row, ...]:
        """Return the CONFIG_DB rows of ``switch`` in the order of tables and keys; raises as ``device`` does."""
        return _rows(self.blocks(switch))

    def speaker(self, switch: Switch) -> BgpSpeaker:
        """Return all that the FRR file of ``switch`` says, before it is put into words."""
        return bgp_speaker(self.fabric, switch)

    def frr(self, switch: Switch) -> str:
        """Return the FRR file of ``switch``."""
        return frr_text(self.speaker(switch), self.templates)

    def blocks(self, switch: Switch) -> tuple[Block, ...]:
        """Return the CONFIG_DB rows of ``switch`` table by table, in the order of the tables' names.

        Raises RefusedError when an override meets one of its rows."""
        blocks = self._own_blocks(switch)
        extra = self.overrides(switch)
        if not extra:
            return blocks
        rows = _rows(blocks)
        if found := clashes(switch.name, rows, extra):
            raise RefusedError(found)
        return tuple(
            Block(table, tuple(own), False)
            for table, own in groupby(with_overrides(rows, extra), lambda row: row.table)
        )

    def override_faults(self, switch: Switch, where: Callable[[str], Where]) -> tuple[Diagnostic, ...]:
        """Return an error for each override that meets a row of ``switch``; ``where`` finds an intent path's place."""
        extra = self.overrides(switch)
        if RENDERED_TABLES.isdisjoint(row.table for row in extra):
            return ()
        return clashes(switch.name, _rows(self._own_blocks(switch)), extra, where)

    def effective(self, switch: Switch) -> ConfigDb:
        """Return the tables of ``switch`` as they would be if every override were written over what is rendered."""
        tables = self.designed(switch)
        for row in self.overrides(switch):
            rows = tables.setdefault(row.table, {})
            rows[row.key] = {**rows.get(row.key, {}), **row.fields}
        return tables

    def designed(self, switch: Switch) -> dict[str, dict[str, Fields]]:
        """Return the tables of ``switch`` without overrides."""
        return _tables(_rows(self._own_blocks(switch)))

    def overrides(self, switch: Switch) -> tuple[Row, ...]:
        """Return the rows that the intent's overrides ask for on ``switch``."""
        return override_rows(self.fabric.policies.overrides, switch)

    def guarded(self, switch: Switch) -> tuple[int, ...]:
        """Return the code points that the ports of nodes on ``switch`` are guarded for."""
        policies = self.fabric.policies
        return notification_dscp(policies.classes) if policies.edge_guard and switch.tier.attaches_nodes else ()

    def own(self, switch: Switch) -> Own:
        """Return what the rows of ``switch`` follow from, beside what others share with it and overrides."""
        used = attachments(self.fabric, switch)
        return Own(
            metadata_row(switch, self.shared(switch).buffer_model),
            used,
            self._neighbors(used).rows,
            switch.loopback,
        )

    def _own_blocks(self, switch: Switch) -> tuple[Block, ...]:
        shared, used = self.shared(switch), attachments(self.fabric, switch)
        own: dict[str, Iterable[Row]] = {
            "DEVICE_METADATA": (metadata_row(switch, shared.buffer_model),),
            "DEVICE_NEIGHBOR": map(neighbor_row, used),
            "INTERFACE": _interface_table(shared, used),
            "LOOPBACK_INTERFACE": loopback_rows(switch.loopback),
            "PORT": _port_table(shared, used),
        }
        if self.fabric.policies.bgp.bfd:
            own[SYSTEM_DEFAULTS] = (BFD_ROW,)
        if guarded := self.guarded(switch):
            has_ipv6 = self.fabric.policies.addressing.hosts_ipv6 is not None
            rows = edge_guard_rows([one.port.name for one in used if one.is_host], guarded, has_ipv6=has_ipv6)
            own |= {table: tuple(found) for table, found in groupby(rows, key=attrgetter("table"))}
        blocks = [
            *self._of_use(shared, used),
            self._neighbors(used),
            *(Block(table, tuple(rows), False) for table, rows in own.items()),
        ]
        return tuple(sorted((block for block in blocks if block.rows), key=lambda block: block.table))

    def _of_use(self, shared: PanelRows, used: Sequence[Attachment]) -> tuple[Block, ...]:
        """Return the tables that follow from which ports are in use, and with which lengths of cable."""
        place = (id(shared), use_of(used))
        known = self._uses.get(place)
        if known is None:
            if len(self._uses) >= _USES_KEPT:
                self._uses.clear()
            known = self._uses[place] = use_blocks(shared, used)
        return known

    def shared(self, switch: Switch) -> PanelRows:
        """Return what the switches of one panel and tier share, the same object for all of them."""
        tier = switch.tier
        place = (id(switch.panel), tier.level, tier.entry)
        known = self._panels.get(place)
        if known is None:
            lengths_m = self.fabric.cable_lengths_m[tier.level]
            known = self._panels[place] = panel_rows(switch.panel, tier, self.fabric.policies, lengths_m)
        return known

    def _neighbors(self, used: Iterable[Attachment]) -> Block:
        """Return the table of a switch's neighbors: one object for the switches that have the same ones, as the leaves
        of a stripe and the spines of a plane do."""
        names = tuple(dict.fromkeys(one.neighbor for one in used))
        known = self._neighborhoods.get(names)
        if known is None:
            if len(self._neighborhoods) >= _USES_KEPT:
                self._neighborhoods.clear()
            hosts = self.fabric.host_of
            rows = (
                host_metadata_row(name) if name in hosts else self._switch_row(name)
                for name in sorted(names, key=natural_key)
            )
            known = self._neighborhoods[names] = Block("DEVICE_NEIGHBOR_METADATA", tuple(rows), True)
        return known

    def _switch_row(self, name: str) -> Row:
        known = self._switch_metadata.get(name)
        if known is None:
            known = self._switch_metadata[name] = switch_metadata_row(self.fabric.switch_of[name])
        return known


BFD_ROW = Row(
    SYSTEM_DEFAULTS,
    "software_bfd",
    {"status": "enabled"},
    "BFD watches the BGP sessions (bgp.bfd); with this row bgpcfgd starts FRR's bfdd.",
)


def use_of(used: Iterable[Attachment]) -> tuple[tuple[int, int], ...]:
    """Return which ports are in use, by their places on the panel, and the lengths of their cables in metres."""
    return tuple((one.port.index, one.length_m) for one in used)


_latest: Configurator | None = None
"""What the switches of the fabric last seen share; it changes no result."""


def configure(fabric: Fabric, switch: Switch, templates: Templates) -> DeviceConfig:
    """Return everything that railweave owns on ``switch``.

    Raises RefusedError for overrides that meet a rendered row.
    """
    global _latest  # noqa: PLW0603  a cache of one: callers go through the switches of one fabric
    latest = _latest
    if latest is None or latest.fabric is not fabric or latest.templates is not templates:
        latest = _latest = Configurator(fabric, templates)
    return latest.device(switch)


def _tables(rows: Iterable[Row]) -> dict[str, dict[str, Fields]]:
    tables: dict[str, dict[str, Fields]] = {}
    for row in rows:
        tables.setdefault(row.table, {})[row.key] = row.fields
    return tables


def _rows(blocks: Iterable[Block]) -> tuple[Row, ...]:
    return tuple(chain.from_iterable(block.rows for block in blocks))


def _port_table(shared: PanelRows, used: Iterable[Attachment]) -> list[Row]:
    rows = [port.reserved for port in shared.ports]
    for one in used:
        index = one.port.index
        rows[index] = used_port_row(one.far, rows[index])
    return rows


def _interface_table(shared: PanelRows, used: Iterable[Attachment]) -> list[Row]:
    rows: list[Row] = []
    for one in used:
        rows += link_rows(one, shared.ports[one.port.index].used.bare_interface)
    return rows


_HOST_FIELDS: Mapping[str, str] = {"type": "Server"}
_HOST_REASON = "A GPU node that is cabled to this leaf (nodes); its type tells SONiC that the cable is short."


_CABLED = "The cable plan ends at {} (topology); SONiC's QoS templates take the ports named here as the active ones."


def neighbor_row(attachment: Attachment) -> Row:
    """Return the DEVICE_NEIGHBOR row of a used port."""
    return Row(
        "DEVICE_NEIGHBOR",
        attachment.port.name,
        {"name": attachment.neighbor, "port": attachment.neighbor_lldp_port},
        _CABLED,
        attachment.far,
    )


def host_metadata_row(name: str) -> Row:
    """Return the DEVICE_NEIGHBOR_METADATA row of a GPU node."""
    return Row("DEVICE_NEIGHBOR_METADATA", name, _HOST_FIELDS, _HOST_REASON)


def switch_metadata_row(switch: Switch) -> Row:
    """Return the DEVICE_NEIGHBOR_METADATA row of a neighboring switch."""
    return Row(
        "DEVICE_NEIGHBOR_METADATA",
        switch.name,
        {
            "hwsku": switch.panel.hwsku,
            "lo_addr": f"{ipv4_text(switch.loopback)}/32",
            "type": SONIC_TYPE[switch.tier.name],
        },
        f"A {switch.tier.name} that is cabled to this switch (topology), with its own model and address.",
    )
