"""The links of a fabric, end by end: what overrides make of them, and what live devices were found to do."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import cache

from railweave.checks.balancing import balancing_findings
from railweave.checks.ends import End, host_end, switch_end
from railweave.checks.links import link_findings
from railweave.checks.pairs import Finding, Pair, together
from railweave.diagnostics import Diagnostic, Where
from railweave.fabric.model import Fabric, Link
from railweave.qos.buffering import BufferPlan, lane_count, plan_buffers
from railweave.sonic.render.configure import OWN_TABLES, Configurator
from railweave.sonic.render.overrides import override_rows
from railweave.sonic.rows import ConfigDb

_READ_BESIDE = frozenset({"VLAN_MEMBER", "PORTCHANNEL_MEMBER", "SWITCH_HASH"})
"""Tables that railweave renders no rows of and that checks of links and switches read."""

HostEnd = Callable[[str, int], End | None]
"""What is known of a node's port by the node's name and the port's index; None where nothing is."""


def overridden_findings(fabric: Fabric, configurator: Configurator, where: Callable[[str], Where]) -> list[Diagnostic]:
    """Return what does not fit on the links of switches whose overrides meet tables of ours.

    Without overrides both ends follow from one intent, and fit.
    """
    names = [
        switch.name
        for switch in fabric.switches
        if any(is_read(row.table) for row in override_rows(fabric.policies.overrides, switch))
    ]
    if not names:
        return []
    checker = PathChecker(fabric, configurator)
    return list(checker.findings(names, lambda _: where("overrides")))


def is_read(table: str) -> bool:
    """Tell whether checks of links and switches read a table."""
    return table in OWN_TABLES or table in _READ_BESIDE or table.startswith("ARS_")


class PathChecker:
    """Compares the ends of links; ``tables`` and ``hosts`` are what live devices were found to run."""

    def __init__(
        self,
        fabric: Fabric,
        configurator: Configurator,
        tables: Mapping[str, ConfigDb] | None = None,
        hosts: HostEnd = lambda _name, _index: None,
    ) -> None:
        """Keep the fabric; nothing is compared yet."""
        self._fabric = fabric
        self._configurator = configurator
        self._found = tables or {}
        self._hosts = hosts
        self._tables = cache(self._tables_of)
        self._plans = cache(self._plan_of)

    def findings(self, devices: Collection[str], place: Callable[[str], Where]) -> tuple[Diagnostic, ...]:
        """Return what does not fit on ``devices`` and their links; ``place`` tells where a device's settings stand."""
        switches = [name for name in devices if name in self._fabric.switch_of]
        balancing = [
            one for name in switches for one in balancing_findings(self._fabric, name, self._tables(name), place)
        ]
        return (*together(self._each_link(devices), place), *balancing)

    def _each_link(self, devices: Collection[str]) -> Iterator[Finding]:
        links = {(link.lower, link.lower_port): link for name in devices for link in self._fabric.links_of[name]}
        for link in links.values():
            yield from link_findings(self._pair(link), self._fabric.policies, self._plans)

    def _pair(self, link: Link) -> Pair:
        upper = self._switch(link.upper, link.upper_port)
        if not link.is_access:
            lower = self._switch(link.lower, link.lower_port)
            return Pair(lower, upper, link.speed_gbps, link.length_m, link.media)
        host = self._fabric.host_of[link.lower]
        found = self._hosts(link.lower, link.lower_port)
        lower = found or host_end(self._fabric, host, link.lower_port)
        return Pair(lower, upper, link.speed_gbps, link.length_m, link.media)

    def _switch(self, name: str, port: int) -> End:
        designed = self._fabric.switch_of[name].panel.ports[port]
        end = switch_end(name, self._tables(name), designed.name)
        return replace(end, lanes_wanted=lane_count(designed))

    def _tables_of(self, name: str) -> ConfigDb:
        return self._found.get(name) or self._configurator.effective(self._fabric.switch_of[name])

    def _plan_of(self, name: str) -> BufferPlan | None:
        switch = self._fabric.switch_of[name]
        return plan_buffers(
            switch.panel, switch.tier, self._fabric.policies, self._fabric.cable_lengths_m[switch.tier.level]
        )
