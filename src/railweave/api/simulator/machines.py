"""The NICs of GPU nodes that the simulator runs as machines, as the intent names them."""

from railweave.catalog.load import load_catalog
from railweave.fabric.devices import Host, HostPort
from railweave.fabric.model import Fabric
from railweave.hosts.values import host_vendor, node_of
from sonic_sim.spec import SimNic

# Per lane, by generation (PCI Express Base Specification).
_GIGATRANSFERS = {3: "8.0", 4: "16.0", 5: "32.0", 6: "64.0"}
_ETHTOOL_FEC = {"rs": "RS", "fc": "BaseR", "none": "Off"}


def nics_of(fabric: Fabric, host: Host, mac: str) -> tuple[SimNic, ...]:
    """Return the NIC ports of a node; ``mac`` is the node's own address, from which theirs follow.

    A port has the FEC of the switch at the other end of its cable, which is what both ends agree on.
    """
    node = node_of(fabric, host)
    rdma = {rail.name: rail.rdma for rail in node.rails}
    fec = {link.lower_port: _fec(fabric, link.upper, link.upper_port) for link in fabric.links_of[host.name]}
    return tuple(
        SimNic(
            name=port.name,
            mac=_mac(mac, index),
            # Without a vendor's tools nobody asks for the RDMA device.
            rdma=rdma.get(port.name, "") or port.rdma or f"roce{index}",
            pci=port.pci or _pci(port),
            vendor=host_vendor(fabric, host) or "",
            speed_gbps=port.speed_gbps,
            fec=fec.get(index, _ETHTOOL_FEC["rs"]),
            pcie=_slot(host.nic_model),
            nic=port.nic,
        )
        for index, port in enumerate(host.ports)
    )


def _fec(fabric: Fabric, switch: str, port: int) -> str:
    return _ETHTOOL_FEC[fabric.switch_of[switch].panel.ports[port].fec]


def _slot(model: str) -> tuple[str, ...]:
    """Return the best single slot of a NIC model as the kernel shows it, empty without a model of the catalog."""
    catalog = load_catalog()
    nic = catalog.find_nic(model)
    if nic is None:
        return ()
    # Of socket direct, which takes two slots, the kernel shows one.
    slots = [slot for slot in map(catalog.pcie_slot, nic.pcie) if slot.slots == 1]
    if not slots:
        return ()
    slot = max(slots, key=lambda slot: slot.raw_gbps)
    return f"{_GIGATRANSFERS[slot.generation]} GT/s PCIe", str(slot.lanes)


def _pci(port: HostPort) -> str:
    """Return a PCI address of the NIC's own, with a function a port."""
    return f"0000:{port.nic * 16 + 10:02x}:00.{port.port}"


def _mac(mac: str, index: int) -> str:
    """Return the address of a port: the node's own with another first octet, which numbers the ports."""
    # Locally administered, of a single station (IEEE 802).
    return f"{(index + 1) * 4 + 2:02x}:{mac.split(':', 1)[1]}"
