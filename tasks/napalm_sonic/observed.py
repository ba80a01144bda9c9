"""One answer of the switch's program through the eyes of NAPALM's getters: one command in the place of five."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from napalm.base.exceptions import CommandErrorException

from napalm_sonic.getters_interfaces import addresses_of, counters_of, interfaces_of, network_links, network_ports
from napalm_sonic.getters_neighbors import bgp_of, lldp_of


@dataclass(frozen=True, slots=True)
class Observed:
    """What a switch showed at one moment; the methods return what the driver's getters of the same names do."""

    hostname: str
    shown: Mapping[str, Any]
    counters: Mapping[str, Mapping[str, str]] | None = None

    def get_interfaces(self) -> dict[str, dict[str, Any]]:
        """Return the state of every interface."""
        return interfaces_of(network_links(self.shown["links"]), network_ports(self.shown["ports"]))

    def get_interfaces_ip(self) -> dict[str, dict[str, dict[str, dict[str, int]]]]:
        """Return the addresses of the interfaces."""
        return addresses_of(network_links(self.shown["links"]))

    def get_lldp_neighbors_detail(self) -> dict[str, list[dict[str, Any]]]:
        """Return what LLDP knows of each neighbor."""
        return lldp_of(self.shown["lldp"])

    def get_bgp_neighbors(self) -> dict[str, dict[str, Any]]:
        """Return the BGP neighbors; raises CommandErrorException where bgpd is silent."""
        if self.shown["bgp"] is None:
            raise CommandErrorException(f"{self.hostname}: bgpd does not answer")
        return bgp_of(self.shown["bgp"])

    def get_interfaces_counters(self) -> dict[str, dict[str, int]]:
        """Return NAPALM's counters of every port; raises CommandErrorException where they were not asked for."""
        if self.counters is None:
            raise CommandErrorException(f"{self.hostname}: the counters were not read")
        return counters_of(self.counters)
