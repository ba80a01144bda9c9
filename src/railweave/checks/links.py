"""The links of a fabric, end by end: with overrides as rendered, or as read from live devices.

Most RoCE fabrics fail on settings that differ along a path: a priority that one end pauses and the other drops, a code
point that lands in another class, a packet size that one hop does not carry.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from railweave.checks import rules
from railweave.checks.registry import LINK_CHECKS, SWITCH_CHECKS, LinkBreach, LinkCheck, LinkEnds, SwitchRead
from railweave.diagnostics import Diagnostic, Where
from railweave.fabric.devices import Host
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.hosts.values import marking
from railweave.qos.buffering import BufferPlan, lane_count, plan_buffers
from railweave.qos.mapping import DSCP_COUNT
from railweave.secrets import shown_key
from railweave.sonic.port_settings import PortSettings, decides_links, switch_port
from railweave.sonic.render.configure import Configurator
from railweave.sonic.render.overrides import override_rows
from railweave.sonic.resolved import ResolvedTables, is_whole
from railweave.sonic.rows import ConfigDb, Row
from railweave.wording import first_few

__all__ = ["LinkChecker", "host_port", "overridden_findings", "rules"]

HostPorts = Callable[[str, int], PortSettings | None]
"""Returns the settings of a node's port by the node's name and the port's index; None if nothing was read."""


def overridden_findings(fabric: Fabric, configurator: Configurator, where: Callable[[str], Where]) -> list[Diagnostic]:
    """Return the breaches on the links of switches whose overrides set how links behave.

    The other switches need no check: both ends of their links follow from one intent.
    """
    rows: dict[str, list[Row]] = {}
    for switch in fabric.switches:
        overridden = [row for row in override_rows(fabric.policies.overrides, switch) if decides_links(row.table)]
        if overridden:
            rows[switch.name] = overridden
    if not rows:
        return []
    diagnostics = LinkChecker(fabric, configurator).diagnostics(tuple(rows), lambda _: where("overrides"))
    return [diagnostic._replace(fix=_out_of_overrides(diagnostic, rows)) for diagnostic in diagnostics]


def _out_of_overrides(diagnostic: Diagnostic, rows: Mapping[str, Sequence[Row]]) -> str:
    """Return the fix for an override: the rows that can be the cause, and what to write if they stay."""
    overridden_devices = [name for name in diagnostic.devices if name in rows]
    if not overridden_devices:
        return diagnostic.fix
    candidates = rows[overridden_devices[0]]
    # If the message names rows, the others have nothing to do with it.
    named_rows = [row for row in candidates if f"{row.table}|{row.key}" in diagnostic.message]
    places = first_few((f"{row.table}|{shown_key(row.table, row.key)}" for row in named_rows or candidates), 3)
    return f"take {places} out of the overrides, or {diagnostic.fix}"


def host_port(fabric: Fabric, host: Host, index: int) -> PortSettings:
    """Return a port of a GPU node as it is intended."""
    port = host.ports[index]
    nic_marking = marking(fabric.policies.classes)
    priorities = None
    if nic_marking is not None:
        priorities = dict.fromkeys(range(DSCP_COUNT), nic_marking.rest_priority) | dict(nic_marking.class_dscp)
    return PortSettings(
        device=host.name,
        port=port.name,
        is_host=True,
        priorities=priorities,
        pfc=frozenset(traffic_class.priority for traffic_class in fabric.policies.classes if traffic_class.lossless),
        mtu_bytes=fabric.policies.mtu.hosts_bytes,
        speed_gbps=port.speed_gbps,
    )


class _BreachGroup(NamedTuple):
    """Breaches of one rule, device and kind."""

    code: str
    first: LinkBreach
    # The other ends of the links, one for each breach.
    far_devices: list[str]

    def diagnostic(self, place: Callable[[str], Where]) -> Diagnostic:
        """Return the first breach as a diagnostic that counts the further links and names all devices."""
        message = self.first.message
        further_links = len(self.far_devices) - 1
        if further_links:
            message += f" (and on {further_links} more links)"
        device = self.first.end.device
        devices = tuple(dict.fromkeys((device, *self.far_devices)))
        return Diagnostic(
            code=self.code,
            severity=self.first.severity,
            message=message,
            where=place(device),
            devices=devices,
            fix=self.first.fix,
        )


class _PlanKey(NamedTuple):
    """What the buffer plan of a switch depends on."""

    # By identity: the fabric keeps its panels alive.
    panel_id: int
    level: int
    entry: str
    lengths_m: tuple[int, ...]


class LinkChecker:
    """Compares the ends of links; ``tables`` and ``hosts`` were read from live devices."""

    def __init__(
        self,
        fabric: Fabric,
        configurator: Configurator,
        tables: Mapping[str, ConfigDb] | None = None,
        hosts: HostPorts = lambda _name, _index: None,
    ) -> None:
        """Without ``tables`` the rendered rows are compared with the overrides written over them."""
        self._fabric = fabric
        self._configurator = configurator
        self._tables = tables
        self._hosts = hosts
        self.read = cache(self._read_of)
        self.design = cache(self._design_of)
        self._plans = cache(self._plan_of)
        self._buffer_plans: dict[_PlanKey, BufferPlan | None] = {}
        # Ports of different settings, without their names, by those of their settings that can be hashed.
        self._distinct_ports: dict[tuple[object, ...], list[PortSettings]] = {}
        # The checks that find something, with their codes, by the kind of a link.
        self._failed_checks: dict[tuple[object, ...], tuple[tuple[str, LinkCheck], ...]] = {}

    def diagnostics(self, devices: Collection[str], place: Callable[[str], Where]) -> tuple[Diagnostic, ...]:
        """Return the breaches on ``devices`` and their links; ``place`` returns the place of a device's settings."""
        return (*self._of_links(devices, place), *self._of_switches(devices, place))

    def _of_switches(self, devices: Collection[str], place: Callable[[str], Where]) -> Iterator[Diagnostic]:
        """Yield the breaches in the tables of those ``devices`` that are switches."""
        for name in devices:
            if name in self._fabric.switch_of:
                switch = SwitchRead(self._fabric, name, self.read(name), self.design(name))
                for code, check in SWITCH_CHECKS:
                    yield from (breach.diagnostic(code, place(name)) for breach in check(switch))

    def _of_links(self, devices: Collection[str], place: Callable[[str], Where]) -> Iterator[Diagnostic]:
        """Yield the breaches on links; those of one kind and device are one diagnostic that counts its links."""
        groups: dict[tuple[str, str, str], _BreachGroup] = {}
        # A link between two of the devices is checked once.
        links = {(link.lower, link.lower_port): link for name in devices for link in self._fabric.links_of[name]}
        for link in links.values():
            ends = self._ends(link)
            for code, check in self._failed_on(ends):
                for breach in check(ends):
                    group = groups.setdefault((code, breach.end.device, breach.kind), _BreachGroup(code, breach, []))
                    group.far_devices.append(ends.far(breach.end).device)
        for group in groups.values():
            yield group.diagnostic(place)

    def _failed_on(self, ends: LinkEnds) -> tuple[tuple[str, LinkCheck], ...]:
        """Return the checks that find something on a link, with their codes."""
        # Checks depend on how the ends are set and never on names, and most links of a fabric are set alike: one link
        # of each kind is checked with all of them.
        settings = [id(self._nameless(end)) for end in (ends.lower, ends.upper, ends.lower_design, ends.upper_design)]
        plans = [id(self._plans(end.device)) for end in ends.switches]
        kind = (*settings, *plans, ends.speed_gbps, ends.length_m, ends.media)
        if kind not in self._failed_checks:
            self._failed_checks[kind] = tuple((code, check) for code, check in LINK_CHECKS if next(check(ends), None))
        return self._failed_checks[kind]

    def _nameless(self, end: PortSettings) -> PortSettings:
        """Return a port without its name: the same object for all ports with the same settings."""
        nameless = end._replace(device="", port="")
        # Maps of a port cannot be hashed: they are compared with those of the ports that have all of this in common.
        common = (end.is_host, end.speed_gbps, end.mtu_bytes, end.cable_m, end.pfc, end.watched, end.domains)
        candidates = self._distinct_ports.setdefault(common, [])
        for port in candidates:
            if port == nameless:
                return port
        candidates.append(nameless)
        return nameless

    def _ends(self, link: Link) -> LinkEnds:
        """Return the ends of a link as they are set and as they are designed; a node's port that was not read counts as
        designed."""
        if link.is_access:
            host = self._fabric.host_of[link.lower]
            lower_design = host_port(self._fabric, host, link.lower_port)
            lower = self._hosts(link.lower, link.lower_port) or lower_design
        else:
            lower, lower_design = self._switch_ports(link.lower, link.lower_port)
        upper, upper_design = self._switch_ports(link.upper, link.upper_port)
        return LinkEnds(
            lower=lower,
            upper=upper,
            lower_design=lower_design,
            upper_design=upper_design,
            speed_gbps=link.speed_gbps,
            length_m=link.length_m,
            media=link.media,
            policies=self._fabric.policies,
            plans=self._plans,
        )

    def _switch_ports(self, name: str, index: int) -> tuple[PortSettings, PortSettings]:
        """Return a switch port as it is set and as it is designed."""
        port = self._fabric.switch_of[name].panel.ports[index]
        read = self.read(name)
        design = self.design(name)
        designed = switch_port(name, design, port.name, lane_count(port))
        if read is design:
            return designed, designed
        return switch_port(name, read, port.name, lane_count(port)), designed

    def _read_of(self, name: str) -> ResolvedTables:
        """Return the tables of a switch as they were read, or as designed if nothing was read of it.

        If no tables are from live devices, these are its rendered tables with its overrides.
        """
        if self._tables is None:
            switch = self._fabric.switch_of[name]
            if any(decides_links(row.table) for row in self._configurator.overrides(switch)):
                return ResolvedTables(self._configurator.effective(switch))
            return self.design(name)
        design = self.design(name)
        tables = self._tables.get(name)
        # Nothing was read of it.
        if tables is None:
            return design
        if not is_whole(tables):
            return ResolvedTables(tables)
        # SONiC prints no table without rows: one that is missing in a whole database is empty, not unknown.
        return ResolvedTables({**{table: {} for table in design.tables}, **tables})

    def _design_of(self, name: str) -> ResolvedTables:
        """Return the tables of a switch as they are designed."""
        switch = self._fabric.switch_of[name]
        if self._tables is None:
            return ResolvedTables(self._configurator.designed(switch))
        # Live switches are to run the intent with its overrides.
        return ResolvedTables(self._configurator.effective(switch))

    def _plan_of(self, name: str) -> BufferPlan | None:
        """Return the buffer plan of a switch, None if no source states its buffer."""
        switch = self._fabric.switch_of[name]
        tier = switch.tier
        lengths_m = self._fabric.lengths_m_of(name)
        key = _PlanKey(id(switch.panel), tier.level, tier.entry, lengths_m)
        if key not in self._buffer_plans:
            self._buffer_plans[key] = plan_buffers(switch.panel, tier, self._fabric.policies, lengths_m)
        return self._buffer_plans[key]
