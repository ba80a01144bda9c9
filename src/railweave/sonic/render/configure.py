"""A device's configuration as a function of (fabric, device): CONFIG_DB rows with reasons, and the FRR file.

Rows are in natural order of table and key. They follow from three values: the rows that switches share (``PanelRows``),
the switch's own values (``Own``), and its overrides. Comparisons of two designs compare these values, so they cannot
miss anything that is rendered. Everything about a port follows from the panel and that port's own link, so a growing
fabric changes only the switches and ports that the new cables meet.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import chain, groupby
from operator import attrgetter

from railweave.diagnostics import Diagnostic, Where
from railweave.errors import RefusedError
from railweave.fabric.devices import Switch
from railweave.fabric.model import Fabric
from railweave.fabric.tenants import Tenancy, tenancy_of
from railweave.routing.instance import BgpSpeaker, bgp_speaker
from railweave.sonic.ownership import RENDERED_TABLES
from railweave.sonic.render.edge_guard import edge_guard_rows
from railweave.sonic.render.frr_text import frr_text
from railweave.sonic.render.metadata import metadata_row
from railweave.sonic.render.overrides import clashes, override_rows, with_overrides
from railweave.sonic.render.own import Own, Owner, Use, use_of
from railweave.sonic.render.panel_rows import PanelRows, panel_rows, use_blocks
from railweave.sonic.render.ports import Attachment, link_rows, loopback_rows, used_port_row
from railweave.sonic.render.secret_rows import resolved
from railweave.sonic.render.tenant_filters import tenant_filter_rows
from railweave.sonic.rows import ConfigDb, DeviceConfig, Fields, Row, TableRows
from railweave.templates import Templates

_USES_KEPT = 64
"""Cached sets of used ports: a regular fabric has a few, an irregular one must not fill the memory."""


class Configurator:
    """Configures the devices of one fabric and caches what they share.

    ``secrets`` replace the references to them; a reference without a value stays.
    """

    def __init__(self, fabric: Fabric, templates: Templates, secrets: Mapping[str, str] | None = None) -> None:
        """Start with an empty cache."""
        self.fabric = fabric
        self._secrets = secrets or {}
        self.templates = templates
        # Keyed by identity: the fabric keeps its panels alive, and hashing one would read all of its ports.
        self._panels: dict[tuple[int, int, str, int], PanelRows] = {}
        self._uses: dict[tuple[int, Use], tuple[TableRows, ...]] = {}
        self._owner = Owner(fabric, fabric.policies.addressing)

    def device(self, switch: Switch) -> DeviceConfig:
        """Return the configuration of ``switch``; raises RefusedError if an override states a rendered field."""
        config = DeviceConfig(switch.name, self.rows(switch), self.frr(switch))
        if not self._secrets:
            return config
        return resolved(config, self._secrets)

    def rows(self, switch: Switch) -> tuple[Row, ...]:
        """Return the CONFIG_DB rows of ``switch`` in the order of tables and keys; raises as ``device`` does."""
        return _rows(self.blocks(switch))

    def speaker(self, switch: Switch) -> BgpSpeaker:
        """Return the BGP configuration of ``switch``, from which its FRR file is rendered."""
        return bgp_speaker(self.fabric, switch)

    def frr(self, switch: Switch) -> str:
        """Return the FRR file of ``switch``."""
        return frr_text(self.speaker(switch), self.templates)

    def blocks(self, switch: Switch) -> tuple[TableRows, ...]:
        """Return the CONFIG_DB rows of ``switch`` table by table, in the order of the tables' names.

        Raises RefusedError if an override states a field that is rendered.
        """
        blocks = self._own_blocks(switch)
        extra = self.overrides(switch)
        if not extra:
            return blocks
        rows = _rows(blocks)
        diagnostics = clashes(switch.name, rows, extra)
        if diagnostics:
            raise RefusedError(diagnostics)
        return tuple(_by_table(with_overrides(rows, extra)))

    def override_faults(self, switch: Switch, where: Callable[[str], Where]) -> tuple[Diagnostic, ...]:
        """Return an error for each field of ``switch`` that is rendered and overridden.

        ``where`` returns the place of an intent path.
        """
        extra = self.overrides(switch)
        # Overrides of other tables cannot meet a rendered row, so nothing needs to be rendered.
        if RENDERED_TABLES.isdisjoint(row.table for row in extra):
            return ()
        return clashes(switch.name, _rows(self._own_blocks(switch)), extra, where)

    def effective(self, switch: Switch) -> ConfigDb:
        """Return the tables of ``switch`` with every override written over the rendered rows, also where it clashes."""
        tables = self.designed(switch)
        for row in self.overrides(switch):
            rows = tables.setdefault(row.table, {})
            rows[row.key] = {**rows.get(row.key, {}), **row.fields}
        return tables

    def designed(self, switch: Switch) -> dict[str, dict[str, Fields]]:
        """Return the tables of ``switch`` without overrides."""
        return _tables(_rows(self._own_blocks(switch)))

    def overrides(self, switch: Switch) -> tuple[Row, ...]:
        """Return the rows that the intent's overrides state for ``switch``."""
        return override_rows(self.fabric.policies.overrides, switch)

    def own(self, switch: Switch) -> Own:
        """Return the values of ``switch`` that it does not share with others, without overrides."""
        return self._owner.own(switch)

    def _own_blocks(self, switch: Switch) -> tuple[TableRows, ...]:
        """Return the tables of ``switch`` without overrides, in the order of their names."""
        shared = self.shared(switch)
        own = self.own(switch)
        blocks = [
            *self._blocks_of_use(switch, shared, own.used),
            self._owner.neighbors(own.used),
            *_blocks_of_one(shared, own),
            *_by_table(self.node_filter(switch, shared, own)),
        ]
        return tuple(sorted((block for block in blocks if block.rows), key=lambda block: block.table))

    @cached_property
    def tenancy(self) -> Tenancy:
        """Return the tenants of the fabric."""
        return tenancy_of(self.fabric)

    def node_filter(self, switch: Switch, shared: PanelRows, own: Own) -> tuple[Row, ...]:
        """Return the rows of the ACL on the node ports of ``switch``: of the edge guard, or of the tenants' filter.

        Empty if the switch has no node ports, or if the intent has neither of them.
        """
        if not switch.tier.attaches_nodes:
            return ()
        if not shared.guarded and not self.tenancy:
            return ()
        ports = [attachment.port.name for attachment in own.used if attachment.is_host]
        if not self.tenancy:
            return tuple(edge_guard_rows(ports, shared.guarded, has_ipv6=shared.nodes_have_ipv6))
        return tuple(
            tenant_filter_rows(self.tenancy, switch, shared.guarded, has_ipv6=shared.nodes_have_ipv6, ports=ports)
        )

    def _blocks_of_use(self, switch: Switch, shared: PanelRows, used: Sequence[Attachment]) -> tuple[TableRows, ...]:
        """Return the tables that follow from the ports in use and the lengths of their cables."""
        key = (id(shared), use_of(self.fabric, switch))
        tables = self._uses.get(key)
        if tables is None:
            if len(self._uses) >= _USES_KEPT:
                self._uses.clear()
            tables = use_blocks(shared, used)
            self._uses[key] = tables
        return tables

    def shared(self, switch: Switch) -> PanelRows:
        """Return the rows that switches of one panel, tier and longest cable share, the same object for all of them."""
        tier = switch.tier
        longest_m = max(self.fabric.lengths_m_of(switch.name), default=0)
        key = (id(switch.panel), tier.level, tier.entry, longest_m)
        rows = self._panels.get(key)
        if rows is None:
            lengths_m = [length_m for length_m in self.fabric.cable_lengths_m[tier.level] if length_m <= longest_m]
            rows = panel_rows(switch.panel, tier, self.fabric.policies, lengths_m)
            self._panels[key] = rows
        return rows


class IntendedConfigs:
    """The intended configurations of the devices of one fabric, by name.

    The last ones are kept: each step of a wave compares its devices with the same configurations.
    """

    def __init__(self, configurator: Configurator, kept: int) -> None:
        """Keep the configurations of the last ``kept`` devices."""
        self._configurator = configurator
        self._cached = lru_cache(kept)(self._configured)

    def __call__(self, device: str) -> DeviceConfig:
        """Return the intended configuration of ``device``; raises as ``Configurator.device`` does."""
        return self._cached(device)

    def _configured(self, device: str) -> DeviceConfig:
        return self._configurator.device(self._configurator.fabric.switch_of[device])


def _blocks_of_one(shared: PanelRows, own: Own) -> Iterator[TableRows]:
    """Yield the tables that a switch shares with no other.

    They follow from the two arguments alone, on which ``have_the_same_own`` relies.
    """
    used = own.used
    tables: dict[str, Iterable[Row]] = {
        "DEVICE_METADATA": (metadata_row(own.name, own.asn, shared.settings),),
        "DEVICE_NEIGHBOR": map(neighbor_row, used),
        "INTERFACE": _interface_table(shared, used),
        "LOOPBACK_INTERFACE": loopback_rows(own.loopback),
        "PORT": _port_table(shared, used),
    }
    for table, rows in tables.items():
        yield TableRows(table, tuple(rows), shared=False)


def _by_table(rows: Iterable[Row]) -> Iterator[TableRows]:
    """Yield the tables of rows that come table by table; a switch shares them with no other."""
    for table, table_rows in groupby(rows, key=attrgetter("table")):
        yield TableRows(table, tuple(table_rows), shared=False)


_latest: Configurator | None = None
"""The configurator of the last fabric, kept for its cache."""


def configure(fabric: Fabric, switch: Switch, templates: Templates) -> DeviceConfig:
    """Return the configuration that railweave owns on ``switch``.

    Raises RefusedError if an override states a rendered field.
    """
    global _latest  # noqa: PLW0603  a cache of one: callers go through the switches of one fabric
    latest = _latest
    if latest is None or latest.fabric is not fabric or latest.templates is not templates:
        latest = Configurator(fabric, templates)
        _latest = latest
    return latest.device(switch)


def _tables(rows: Iterable[Row]) -> dict[str, dict[str, Fields]]:
    """Return rows as tables of fields by key."""
    tables: dict[str, dict[str, Fields]] = {}
    for row in rows:
        tables.setdefault(row.table, {})[row.key] = row.fields
    return tables


def _rows(blocks: Iterable[TableRows]) -> tuple[Row, ...]:
    return tuple(chain.from_iterable(block.rows for block in blocks))


def _port_table(shared: PanelRows, used: Iterable[Attachment]) -> list[Row]:
    """Return the rows of PORT in panel order, for used and reserved ports."""
    rows = [port.reserved for port in shared.ports]
    for attachment in used:
        index = attachment.port.index
        rows[index] = used_port_row(attachment.far, rows[index])
    return rows


def _interface_table(shared: PanelRows, used: Iterable[Attachment]) -> list[Row]:
    """Return the rows of INTERFACE of all ports in use."""
    rows: list[Row] = []
    for attachment in used:
        rows += link_rows(attachment, shared.ports[attachment.port.index].used.bare_interface)
    return rows


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
