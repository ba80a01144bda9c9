"""LLDP neighbors of each switch on links that are up: switches and servers."""

from collections.abc import Iterator
from dataclasses import dataclass

from sonic_sim.configdb import Hash
from sonic_sim.device import Device, Fabric


@dataclass(frozen=True, slots=True)
class Heard:
    """One neighbor: the port id is a SONiC peer's alias (subtype 7, local) or a server's interface name (5)."""

    port: str
    system: str
    port_id: str
    port_id_subtype: str
    port_description: str
    chassis: str
    description: str
    capabilities: str


def neighbors(device: Device, net: Fabric) -> Iterator[Heard]:
    """Yield the LLDP neighbors of a switch in the order of its ports."""
    # The lldp container must run at both ends.
    if not _runs_lldp(device):
        return
    for port in net.ports(device):
        far = net.far_end(device, port)
        if far is None or not net.link_up(device, port):
            continue
        host = net.hosts.get(far.node)
        if host is not None:
            # Subtype 5 is an interface name (IEEE 802.1AB).
            yield Heard(
                port=port,
                system=host.name,
                port_id=far.port,
                port_id_subtype="5",
                port_description=far.port,
                chassis=host.mac,
                description="Linux server",
                capabilities="20 00",
            )
        elif _runs_lldp(net.devices[far.node]):
            yield _heard_from_switch(port, net.devices[far.node], far.port, net)


def _runs_lldp(device: Device) -> bool:
    return device.db.get("FEATURE|lldp").get("state", "enabled") != "disabled"


def _heard_from_switch(port: str, remote: Device, remote_port: str, net: Fabric) -> Heard:
    """Return the neighbor at a port that is a port of another switch."""
    metadata = remote.db.get("DEVICE_METADATA|localhost")
    build = "SONiC Software Version: SONiC.202505.0-simulated"
    description = f"{build} - HwSku: {metadata.get('hwsku', '')} - Distribution: Debian 12.11"
    # lldpmgrd sends the alias as port id and the interface name as description.
    return Heard(
        port=port,
        system=remote.hostname,
        port_id=net.ports(remote)[remote_port].alias,
        port_id_subtype="7",
        port_description=remote_port,
        chassis=metadata.get("mac", remote.spec.mac),
        description=description,
        capabilities="28 00",
    )


def lldp_rows(device: Device, net: Fabric) -> Iterator[tuple[str, Hash]]:
    """Yield LLDP_ENTRY_TABLE and LLDP_LOC_CHASSIS of APPL_DB."""
    yield "LLDP_LOC_CHASSIS", {"lldp_loc_sys_name": device.hostname, "lldp_loc_chassis_id": device.spec.mac}
    for number, heard in enumerate(neighbors(device, net), start=1):
        yield f"LLDP_ENTRY_TABLE:{heard.port}", {
            "lldp_rem_sys_name": heard.system, "lldp_rem_port_id": heard.port_id,
            "lldp_rem_port_id_subtype": heard.port_id_subtype, "lldp_rem_port_desc": heard.port_description,
            # Subtype 4: a MAC address.
            "lldp_rem_chassis_id": heard.chassis, "lldp_rem_chassis_id_subtype": "4",
            "lldp_rem_sys_desc": heard.description,
            "lldp_rem_sys_cap_supported": heard.capabilities, "lldp_rem_sys_cap_enabled": heard.capabilities,
            "lldp_rem_man_addr": "", "lldp_rem_index": str(number), "lldp_rem_time_mark": "0",
        }  # fmt: skip
