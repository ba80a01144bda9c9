"""A NIC of a node as the fabric sees it: what kernel and vendor's tools have set, and what the NIC has counted."""

from collections.abc import Callable, Mapping
from typing import Any

from sonic_sim.nodes.netlink import Link
from sonic_sim.spec import SimNic

ReadFile = Callable[[str], str]
_DSCPS = range(64)
# E810 marks CNPs by itself.
_INTEL_CNP_DSCP = 48


class NodeNic:
    """The values in force. ``counters`` are written by whoever moves packets, under the names of the vendor."""

    def __init__(self, spec: SimNic) -> None:
        self.spec = spec
        self.name = spec.name
        self.rdma = spec.rdma
        self.vendor = spec.vendor
        # The number of the NIC from 0; its ports share it.
        self.nic = spec.nic
        self.speed_gbps = spec.speed_gbps
        self.counters: dict[str, int] = {}
        self.power_off()

    def power_off(self) -> None:
        """Forget the settings and counters, which a restart resets."""
        self.up = False
        self.mtu = 1500
        self.addresses: tuple[str, ...] = ()
        self.trusts_dscp = False
        self.priority_of: Mapping[int, int] = {}
        self.pfc: frozenset[int] = frozenset()
        # The IP traffic class that the driver forces on all queue pairs, None where programs choose.
        self.traffic_class: int | None = None
        self.cnp_dscp = 0
        self.counters.clear()

    def take_link(self, link: Link | None) -> None:
        """Take over what the kernel has; None for an interface that is gone."""
        self.up = link is not None and link.up
        if link is not None:
            self.mtu = link.mtu
            self.addresses = tuple(link.addresses)

    def take_settings(self, state: Mapping[str, Any], read: ReadFile) -> None:
        """Take over what the vendor's tools keep in ``state`` (`nic_tools`), and the files of the driver.

        ``read`` returns the text of a file of the node.
        """
        port = state.get(self.name, {})
        self.pfc = _enabled(port.get("pfc", ()))
        match self.spec.vendor:
            case "nvidia":
                self._take_mlx5(port, read)
            case "broadcom":
                self._take_bnxt(port, read)
            case "amd":
                self._take_ionic(state)
            case "intel":
                self._take_ice(port)

    def _take_mlx5(self, port: Mapping[str, Any], read: ReadFile) -> None:
        """Take over the settings of an NVIDIA NIC."""
        self.trusts_dscp = port.get("trust") == "dscp"
        self.priority_of = _numbers(port.get("dscp", {}))
        self.traffic_class = _number(read(f"/sys/class/infiniband/{self.rdma}/tc/1/traffic_class"))
        self.cnp_dscp = _number(read(f"/sys/class/net/{self.name}/ecn/roce_np/cnp_dscp")) or 0

    def _take_bnxt(self, port: Mapping[str, Any], read: ReadFile) -> None:
        """Take over the settings of a Broadcom NIC."""
        self._take_app(port)
        self.cnp_dscp = _number(read(f"/sys/kernel/config/bnxt_re/{self.rdma}/ports/1/cc/cnp_dscp")) or 0

    def _take_ice(self, port: Mapping[str, Any]) -> None:
        """Take over the settings of an Intel NIC."""
        self._take_app(port)
        self.cnp_dscp = _INTEL_CNP_DSCP

    def _take_app(self, port: Mapping[str, Any]) -> None:
        """Take over DCB application entries. The NIC trusts DSCP as soon as one DSCP is mapped."""
        self.priority_of = _numbers(port.get("app", {}))
        self.trusts_dscp = bool(self.priority_of)

    def _take_ionic(self, state: Mapping[str, Any]) -> None:
        """Take over the settings of an AMD NIC; its tool keeps them for the card, not for the interface."""
        card = state.get(f"card {self.spec.pci}", {})
        self.trusts_dscp = card.get("type") == "DSCP"
        self.priority_of = dict(zip(_DSCPS, card.get("dscp", ()), strict=False))
        if card.get("pause"):
            self.pfc = frozenset(card.get("no_drop", ()))
        self.cnp_dscp = _number(state.get(f"dcqcn {self.rdma}", {}).get("cnp", "")) or 0


def _enabled(bits: Any) -> frozenset[int]:
    """Return the priorities whose bits are set."""
    return frozenset(priority for priority, bit in enumerate(bits) if bit)


def _numbers(mapping: Mapping[str, Any]) -> dict[int, int]:
    """Return a mapping of DSCPs to priorities as numbers; in JSON its keys are texts."""
    return {int(key): int(value) for key, value in mapping.items()}


def _number(text: Any) -> int | None:
    """Return the number in a file of the driver, decimal or hexadecimal; None if it has none."""
    try:
        return int(str(text).strip(), 0)
    except ValueError:
        return None
