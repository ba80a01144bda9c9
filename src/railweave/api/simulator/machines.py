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
    rdma_devices = {rail.name: rail.rdma for rail in node_of(fabric, host).rails}
    fec_modes = {link.lower_port: _fec(fabric, link.upper, link.upper_port) for link in fabric.links_of[host.name]}
    vendor = host_vendor(fabric, host) or ""
    slot = _slot(host.nic_model)
    nics = []
    for index, port in enumerate(host.ports):
        # A node without a vendor's tools has no name for it, and nobody asks for the RDMA device there.
        rdma = rdma_devices.get(port.name, "") or port.rdma or f"roce{index}"
        nic = SimNic(
            name=port.name,
            mac=_mac(mac, index),
            rdma=rdma,
            pci=port.pci or _pci(port),
            vendor=vendor,
            speed_gbps=port.speed_gbps,
            fec=fec_modes.get(index, _ETHTOOL_FEC["rs"]),
            pcie=slot,
            nic=port.nic,
        )
        nics.append(nic)
    return tuple(nics)


def _fec(fabric: Fabric, switch: str, port: int) -> str:
    return _ETHTOOL_FEC[fabric.switch_of[switch].panel.ports[port].fec]


def _slot(model: str) -> tuple[str, ...]:
    """Return the fastest single slot of a NIC model as the kernel shows it: its speed and its number of lanes.

    Empty if the catalog does not have the model, or only with socket direct.
    """
    catalog = load_catalog()
    nic = catalog.find_nic(model)
    if nic is None:
        return ()
    # Socket direct takes two slots, of which the kernel shows one.
    single_slots = [slot for slot in map(catalog.pcie_slot, nic.pcie) if slot.slots == 1]
    if not single_slots:
        return ()
    fastest = max(single_slots, key=lambda slot: slot.raw_gbps)
    return f"{_GIGATRANSFERS[fastest.generation]} GT/s PCIe", str(fastest.lanes)


def _pci(port: HostPort) -> str:
    """Return a made-up PCI address: each NIC has its own bus, and each port of it a function."""
    return f"0000:{port.nic * 16 + 10:02x}:00.{port.port}"


def _mac(mac: str, index: int) -> str:
    """Return the address of a port: the node's own with another first octet, which numbers the ports."""
    # The two lowest bits are 10: locally administered and unicast (IEEE 802).
    first_octet = (index + 1) * 4 + 2
    _, other_octets = mac.split(":", 1)
    return f"{first_octet:02x}:{other_octets}"
