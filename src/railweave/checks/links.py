"""The links of a fabric, end by end: with overrides as rendered, or as read from live devices.

Most RoCE fabrics fail on settings that differ along a path: a priority that one end pauses and the other drops, a code
point that lands in another class, a packet size that one hop does not carry.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache

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
    """Return what does not fit on the links of switches whose overrides meet tables of ours.

    Without overrides both ends follow from one intent, and fit.
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
    candidates: Sequence[Row] = next((rows[name] for name in diagnostic.devices if name in rows), ())
    named = [row for row in candidates if f"{row.table}|{row.key}" in diagnostic.message]
    places = first_few((f"{row.table}|{shown_key(row.table, row.key)}" for row in named or candidates), 3)
    if not places:
        return diagnostic.fix
    return f"take {places} out of the overrides, or {diagnostic.fix}"


def host_port(fabric: Fabric, host: Host, index: int) -> PortSettings:
    """Return a port of a GPU node as it is intended."""
    port = host.ports[index]
    marks = marking(fabric.policies.classes)
    priorities = None
    if marks is not None:
        priorities = dict.fromkeys(range(DSCP_COUNT), marks.rest_priority) | dict(marks.class_dscp)
    return PortSettings(
        device=host.name,
        port=port.name,
        is_host=True,
        priorities=priorities,
        pfc=frozenset(traffic_class.priority for traffic_class in fabric.policies.classes if traffic_class.lossless),
        mtu_bytes=fabric.policies.mtu.hosts_bytes,
        speed_gbps=port.speed_gbps,
    )


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
        # Keyed by the panel's identity, as the fabric keeps its panels alive.
        self._buffer_plans: dict[tuple[int, int, str, tuple[int, ...]], BufferPlan | None] = {}
        self._alike: dict[tuple[object, ...], list[PortSettings]] = {}
        self._breached: dict[tuple[object, ...], tuple[tuple[str, LinkCheck], ...]] = {}

    def diagnostics(self, devices: Collection[str], place: Callable[[str], Where]) -> tuple[Diagnostic, ...]:
        """Return the breaches on ``devices`` and their links; ``place`` returns the place of a device's settings."""
        return (*self._of_links(devices, place), *self._of_switches(devices, place))

    def _of_switches(self, devices: Collection[str], place: Callable[[str], Where]) -> Iterator[Diagnostic]:
        for name in devices:
            if name in self._fabric.switch_of:
                switch = SwitchRead(self._fabric, name, self.read(name), self.design(name))
                for code, check in SWITCH_CHECKS:
                    yield from (breach.diagnostic(code, place(name)) for breach in check(switch))

    def _of_links(self, devices: Collection[str], place: Callable[[str], Where]) -> Iterator[Diagnostic]:
        """Yield the breaches on links; those of one kind and device are one diagnostic that counts its links."""
        kinds: dict[tuple[str, str, str], list[tuple[LinkBreach, str]]] = {}
        # A link between two of the devices is checked once.
        links = {(link.lower, link.lower_port): link for name in devices for link in self._fabric.links_of[name]}
        for link in links.values():
            ends = self._ends(link)
            for code, check in self._breached_on(ends):
                for breach in check(ends):
                    alike = kinds.setdefault((code, breach.end.device, breach.kind), [])
                    alike.append((breach, ends.far(breach.end).device))
        for (code, device, _), alike in kinds.items():
            first, _ = alike[0]
            message = first.message
            if len(alike) > 1:
                message += f" (and on {len(alike) - 1} more links)"
            names = tuple(dict.fromkeys((device, *(far for _, far in alike))))
            yield Diagnostic(code, first.severity, message, place(device), names, first.fix)

    def _breached_on(self, ends: LinkEnds) -> tuple[tuple[str, LinkCheck], ...]:
        """Return the checks that find something on a link."""
        # Checks depend on how the ends are set and never on names, and most links of a fabric are set alike: one link
        # of each kind is checked with all of them.
        plans = (id(self._plans(end.device)) for end in ends.switches)
        settings = (self._first_alike(end) for end in (ends.lower, ends.upper, ends.lower_design, ends.upper_design))
        kind = (*map(id, settings), *plans, ends.speed_gbps, ends.length_m, ends.media)
        if kind not in self._breached:
            self._breached[kind] = tuple((code, check) for code, check in LINK_CHECKS if next(check(ends), None))
        return self._breached[kind]

    def _first_alike(self, end: PortSettings) -> PortSettings:
        """Return the first port with the same settings, without its name."""
        nameless = end._replace(device="", port="")
        # Maps of a port cannot be hashed: they are compared with those of the ports that have all of this in common.
        common = (end.is_host, end.speed_gbps, end.mtu_bytes, end.cable_m, end.pfc, end.watched, end.domains)
        candidates = self._alike.setdefault(common, [])
        for port in candidates:
            if port == nameless:
                return port
        candidates.append(nameless)
        return nameless

    def _ends(self, link: Link) -> LinkEnds:
        if link.is_access:
            host = self._fabric.host_of[link.lower]
            lower_design = host_port(self._fabric, host, link.lower_port)
            lower = self._hosts(link.lower, link.lower_port) or lower_design
        else:
            lower, lower_design = self._switch(link.lower, link.lower_port)
        upper, upper_design = self._switch(link.upper, link.upper_port)
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

    def _switch(self, name: str, index: int) -> tuple[PortSettings, PortSettings]:
        """Return a switch port as it is set and as it is designed."""
        port = self._fabric.switch_of[name].panel.ports[index]
        read = self.read(name)
        design = self.design(name)
        designed = switch_port(name, design, port.name, lane_count(port))
        if read is design:
            return designed, designed
        return switch_port(name, read, port.name, lane_count(port)), designed

    def _read_of(self, name: str) -> ResolvedTables:
        if self._tables is None:
            switch = self._fabric.switch_of[name]
            if any(decides_links(row.table) for row in self._configurator.overrides(switch)):
                return ResolvedTables(self._configurator.effective(switch))
            return self.design(name)
        design = self.design(name)
        tables = self._tables.get(name)
        if tables is None:
            return design
        if not is_whole(tables):
            return ResolvedTables(tables)
        # SONiC prints no table without rows: one that is missing in a whole database is empty, not unknown.
        return ResolvedTables({**{table: {} for table in design.tables}, **tables})

    def _design_of(self, name: str) -> ResolvedTables:
        switch = self._fabric.switch_of[name]
        if self._tables is None:
            return ResolvedTables(self._configurator.designed(switch))
        # Live switches are to run the intent with its overrides.
        return ResolvedTables(self._configurator.effective(switch))

    def _plan_of(self, name: str) -> BufferPlan | None:
        switch = self._fabric.switch_of[name]
        panel = switch.panel
        tier = switch.tier
        lengths_m = self._fabric.lengths_m_of(name)
        place = (id(panel), tier.level, tier.entry, lengths_m)
        if place not in self._buffer_plans:
            self._buffer_plans[place] = plan_buffers(panel, tier, self._fabric.policies, lengths_m)
        return self._buffer_plans[place]
