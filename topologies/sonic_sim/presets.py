"""The samples of ``sonic-cfggen --preset`` (sonic-buildimage, src/sonic-config-engine/config_samples.py of 202505)."""

from collections.abc import Callable
from typing import Any

from sonic_sim.configdb import natural_key

Tables = dict[str, Any]

_LOOPBACKS: Tables = {"Loopback0": {}, "Loopback0|10.1.0.1/32": {}}


def sample(data: Tables, name: str) -> Tables:
    """Return ``data`` with what a preset adds. Raises KeyError, ZeroDivisionError where SONiC's own program does."""
    data["FLEX_COUNTER_TABLE"] = {"ACL": {"FLEX_COUNTER_STATUS": "disable", "POLL_INTERVAL": "10000"}}
    return PRESETS[name](data)


def _layer_1(data: Tables) -> Tables:
    for port in _ports(data):
        data["PORT"][port] |= {"admin_status": "up", "mtu": "9100"}
    return data


def _layer_2(data: Tables) -> Tables:
    data["VLAN"], data["VLAN_MEMBER"] = {"Vlan1000": {"vlanid": "1000"}}, {}
    for port in _ports(data):
        data["PORT"][port].setdefault("admin_status", "up")
        data["VLAN_MEMBER"][f"Vlan1000|{port}"] = {"tagging_mode": "untagged"}
    return data


def _layer_3(data: Tables) -> Tables:
    data |= {"LOOPBACK_INTERFACE": dict(_LOOPBACKS), "BGP_NEIGHBOR": {}, "DEVICE_NEIGHBOR": {}}
    data["INTERFACE"] = {port: {} for port in _ports(data)}
    return _layer_1(data)


def _t1(data: Tables) -> Tables:
    data["DEVICE_METADATA"]["localhost"] |= {"hostname": "sonic", "type": "LeafRouter", "bgp_asn": "65100"}
    data |= {"LOOPBACK_INTERFACE": dict(_LOOPBACKS), "BGP_NEIGHBOR": {}, "DEVICE_NEIGHBOR": {}, "INTERFACE": {}}
    ports = _ports(data)
    half = len(ports) // 2
    for place, port in enumerate(ports):
        own, peer = (f"10.0.{number // 256}.{number % 256}" for number in (2 * place, 2 * place + 1))
        data["INTERFACE"] |= {port: {}, f"{port}|{own}/31": {}}
        data["BGP_NEIGHBOR"][peer] = {
            "rrclient": 0,
            "name": f"ARISTA{1 + place % half:02d}{'T2' if place < half else 'T0'}",
            "local_addr": own,
            "nhopself": 0,
            "holdtime": "180",
            "asn": str(65200 if place < half else 64001 + place - half),
            "keepalive": "60",
        }
    return _layer_1(data)


def _t1_smart_switch(data: Tables) -> Tables:
    """Return the sample of a switch without DPUs: no other is simulated."""
    data = _t1(data)
    data["DEVICE_METADATA"]["localhost"]["subtype"] = "SmartSwitch"
    bridge = {"bridge": "bridge-midplane", "ip_prefix": "169.254.200.254/24"}
    return data | {"MID_PLANE_BRIDGE": {"GLOBAL": bridge}, "NTP": {"global": {"server_role": "enabled"}}}


def _empty(data: Tables) -> Tables:
    own = data["DEVICE_METADATA"]["localhost"]
    own.setdefault("hostname", "sonic")
    own.setdefault("type", "LeafRouter")
    return {"DEVICE_METADATA": data["DEVICE_METADATA"]}


def _ports(data: Tables) -> list[str]:
    return sorted(data["PORT"], key=natural_key)


PRESETS: dict[str, Callable[[Tables], Tables]] = {
    "t1": _t1,
    "l2": _layer_2,
    "t1-smartswitch": _t1_smart_switch,
    "empty": _empty,
    "l1": _layer_1,
    "l3": _layer_3,
}
