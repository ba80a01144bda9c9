"""LLDP: what each switch hears on a link that is up, from a switch or a server."""

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
    """Yield what a switch hears, in the order of its ports. The lldp container must run (FEATURE lldp)."""
    if device.db.get("FEATURE|lldp").get("state", "enabled") == "disabled":
        return
    for port in net.ports(device):
        far = net.far_end(device, port)
        if far is None or not net.link_up(device, port):
            continue
        host = net.hosts.get(far.node)
        if host is not None:
            yield Heard(port, host.name, far.port, "5", far.port, host.mac, "Linux server", "20 00")
            continue
        other = net.devices[far.node]
        if other.db.get("FEATURE|lldp").get("state", "enabled") == "disabled":
            continue
        alias = net.ports(other)[far.port].alias
        metadata = other.db.get("DEVICE_METADATA|localhost")
        build = "SONiC Software Version: SONiC.202505.0-simulated"
        text = f"{build} - HwSku: {metadata.get('hwsku', '')} - Distribution: Debian 12.11"
        chassis = metadata.get("mac", other.spec.mac)
        # lldpmgrd sends the alias as port id and the interface name as description
        yield Heard(port, other.hostname, alias, "7", far.port, chassis, text, "28 00")


def lldp_rows(device: Device, net: Fabric) -> Iterator[tuple[str, Hash]]:
    """Yield LLDP_ENTRY_TABLE and LLDP_LOC_CHASSIS of APPL_DB."""
    yield "LLDP_LOC_CHASSIS", {"lldp_loc_sys_name": device.hostname, "lldp_loc_chassis_id": device.spec.mac}
    for number, one in enumerate(neighbors(device, net), start=1):
        yield f"LLDP_ENTRY_TABLE:{one.port}", {
            "lldp_rem_sys_name": one.system, "lldp_rem_port_id": one.port_id,
            "lldp_rem_port_id_subtype": one.port_id_subtype, "lldp_rem_port_desc": one.port_description,
            "lldp_rem_chassis_id": one.chassis, "lldp_rem_chassis_id_subtype": "4",
            "lldp_rem_sys_desc": one.description,
            "lldp_rem_sys_cap_supported": one.capabilities, "lldp_rem_sys_cap_enabled": one.capabilities,
            "lldp_rem_man_addr": "", "lldp_rem_index": str(number), "lldp_rem_time_mark": "0",
        }  # fmt: skip
