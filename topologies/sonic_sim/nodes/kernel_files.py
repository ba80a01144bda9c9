"""The files of a NIC's driver below /sys, and the vendor's tools, as a node has them when it starts."""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_interface
from pathlib import Path

from sonic_sim.nodes.machines import SHARED
from sonic_sim.nodes.nic import NodeNic
from sonic_sim.spec import SimNic

PROGRAMS = Path(__file__).with_name("programs")
TOOLS = {
    "nvidia": ("mlnx_qos", "ethtool", "cma_roce_mode", "cma_roce_tos", "mlxconfig", "mlxreg"),
    "broadcom": ("ethtool", "bnxt_setupcc.sh", "dcb"),
    "amd": ("ethtool", "nicctl"),
    "intel": ("ethtool", "dcb", "devlink"),
}
"""The tools of each vendor's NICs, beside iproute2."""
OTHER_TOOLS = ("ethtool",)
_FIRMWARE = {"nvidia": "28.43.2026", "broadcom": "233.1.135.5", "amd": "1.117.1", "intel": "1.71"}
_DCQCN_OFF = {"ecn_marking": "0x0", "ecn_enable": "0x0", "disable_prio_vlan_tx": "0x0", "cc_mode": "0x0"}
_DCQCN_MARKING = {"roce_dscp": "0x18", "roce_prio": "0x2", "cnp_dscp": "0x8", "cnp_prio": "0x7"}
_BUFFER_BYTES = (130944, 16384, 0, 0, 0, 0, 0, 0)
_ALL_BUFFERS_BYTES = 524160


def kernel_files(nic: SimNic) -> dict[str, str]:
    """Return the text of each file of a NIC's driver, by its path."""
    device = f"/sys/devices/{nic.pci}"
    rdma_device = f"/sys/class/infiniband/{nic.rdma}"
    files = {
        f"{device}/infiniband/{nic.rdma}/node_type": "1: CA",
        f"{rdma_device}/ports/1/link_layer": "Ethernet",
        f"/sys/class/net/{nic.name}/speed": str(nic.speed_gbps * 1000),
        f"{rdma_device}/fw_ver": _FIRMWARE.get(nic.vendor, "1.0.0"),
    }
    # A NIC whose PCIe link is not known has no such files.
    for name, value in zip(("speed", "width"), nic.pcie, strict=False):
        files[f"{device}/current_link_{name}"] = value
        files[f"{device}/max_link_{name}"] = value
    if nic.vendor == "nvidia":
        files |= _mlx5_files(nic)
    elif nic.vendor == "broadcom":
        congestion_control = f"/sys/kernel/config/bnxt_re/{nic.rdma}/ports/1/cc"
        files |= {f"{congestion_control}/{name}": value for name, value in (_DCQCN_OFF | _DCQCN_MARKING).items()}
        files[f"{congestion_control}/apply"] = ""
    elif nic.vendor == "intel":
        files[f"/sys/kernel/config/irdma/{nic.rdma}/roce_dcqcn_enable"] = "0"
    if nic.vendor in ("broadcom", "intel"):
        connection_manager = f"/sys/kernel/config/rdma_cm/{nic.rdma}/ports/1"
        files[f"{connection_manager}/default_roce_tos"] = "0"
        files[f"{connection_manager}/default_roce_mode"] = "IB/RoCE v1"
    return {path: f"{text}\n" for path, text in files.items()}


def _mlx5_files(nic: SimNic) -> dict[str, str]:
    """Return the text of each file that only NVIDIA's driver has, by its path."""
    interface = f"/sys/class/net/{nic.name}"
    files = {f"/sys/class/infiniband/{nic.rdma}/tc/1/traffic_class": ""}
    for point in ("roce_np", "roce_rp"):
        files |= {f"{interface}/ecn/{point}/enable/{priority}": "0" for priority in range(8)}
    files |= {f"{interface}/ecn/roce_np/{name}": "0" for name in ("cnp_dscp", "cnp_802p_prio")}
    files[f"{interface}/qos/prio2buffer"] = _table("Priority\tBuffer", [0] * 8)
    spare_bytes = _ALL_BUFFERS_BYTES - sum(_BUFFER_BYTES)
    heading = f"Port buffer size = {_ALL_BUFFERS_BYTES}\nSpare buffer size = {spare_bytes}\nBuffer\tSize"
    files[f"{interface}/qos/buffer_size"] = _table(heading, _BUFFER_BYTES)
    return files


def _table(heading: str, numbers: Iterable[int]) -> str:
    """Return a table of numbers by their index, below a heading."""
    rows = [f"{index}\t{number}" for index, number in enumerate(numbers)]
    return "\n".join((heading, *rows))


def kernel_links(nic: SimNic) -> dict[str, str]:
    """Return the target of each symbolic link of a NIC's driver, by its path; counters and GIDs are the simulator's."""
    links = {f"/sys/class/net/{nic.name}/device": f"../../../devices/{nic.pci}"}
    if nic.rdma:
        port = f"/sys/class/infiniband/{nic.rdma}/ports/1"
        links |= {
            f"{port}/{name}": f"{SHARED}/rdma/{nic.rdma}/{name}"
            for name in ("gids", "gid_attrs", "counters", "hw_counters")
        }
    return links


def gid_files(nic: NodeNic) -> dict[str, str]:
    """Return the files of a NIC's GID table by their paths below the port of its RDMA device.

    Each address has an entry for RoCE v1 and one for v2. The link-local address comes first (Linux,
    drivers/infiniband/core/roce_gid_mgmt.c).
    """
    addresses = [ip_interface(text).ip for text in nic.addresses]
    files: dict[str, str] = {}
    number = 0
    for address in sorted(addresses, key=lambda address: not address.is_link_local):
        gid = address
        if isinstance(address, IPv4Address):
            gid = IPv6Address(f"::ffff:{address}")
        for roce_type in ("IB/RoCE v1", "RoCE v2"):
            files[f"gids/{number}"] = f"{gid.exploded}\n"
            files[f"gid_attrs/types/{number}"] = f"{roce_type}\n"
            files[f"gid_attrs/ndevs/{number}"] = f"{nic.name}\n"
            number += 1
    return files
