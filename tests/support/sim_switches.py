"""Switches for the simulator's own tests."""

from sonic_sim.factory import factory_config
from sonic_sim.spec import SimDevice


def sim_device(name: str, number: int, ports: int = 4) -> SimDevice:
    """Return a switch of 100G ports as it leaves the factory."""
    rows = {
        f"Ethernet{4 * place}": {
            "lanes": ",".join(str(4 * place + lane) for lane in range(4)),
            "speed": "100000",
            "alias": f"etp{place + 1}",
            "index": str(place + 1),
        }
        for place in range(ports)
    }
    mac = f"02:00:00:00:00:{number:02x}"
    return SimDevice(
        name, factory_config(rows, hwsku="ACS-MSN2700", platform="x86_64-mlnx_msn2700-r0", mac=mac), f"SN{number}", mac
    )
