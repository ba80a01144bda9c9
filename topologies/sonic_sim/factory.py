"""What a switch boots with before anybody configures it: SONiC's sample for a leaf, and rows that are nobody's.

The sample is the one of ``sonic-cfggen --preset t1`` (sonic-buildimage, src/sonic-config-engine/config_samples.py): a
hostname ``sonic``, AS 65100, an address and a neighbor on every port. The other rows stand for what a site has
configured outside the fabric's tool: management, SNMP, TACACS+, an access list, time and log servers.
"""

from collections.abc import Mapping
from typing import Any

from sonic_sim.spec import ConfigDbDocument

_FIRST_LINK = (10 << 24) + 0
_DEFAULT_MTU = "9100"


def factory_config(
    ports: Mapping[str, Mapping[str, Any]],
    *,
    hwsku: str,
    platform: str,
    mac: str,
    management: str = "192.168.100.11/24",
) -> ConfigDbDocument:
    """Return the factory CONFIG_DB for a switch with these native PORT rows.

    ``ports``: ``{"Ethernet0": {"lanes": "1,2", "speed": "400000", "alias": "etp1", "index": "1"}, …}``.
    ``docker_routing_config_mode`` is missing, as in the sample: FRR runs from CONFIG_DB.
    """
    config: ConfigDbDocument = {
        "DEVICE_METADATA": {"localhost": _metadata(hwsku, platform, mac)},
        "PORT": {name: _port(row) for name, row in ports.items()},
        "LOOPBACK_INTERFACE": {"Loopback0": {}, "Loopback0|10.1.0.1/32": {}},
        "INTERFACE": {},
        "BGP_NEIGHBOR": {},
        "DEVICE_NEIGHBOR": {},
        "FLEX_COUNTER_TABLE": {"ACL": {"FLEX_COUNTER_STATUS": "disable", "POLL_INTERVAL": "10000"}},
    }
    for index, name in enumerate(ports):
        _add_sample_link(config, index, name)
    config.update(_site_rows(management))
    return config


def _metadata(hwsku: str, platform: str, mac: str) -> dict[str, Any]:
    return {
        "bgp_asn": "65100", "buffer_model": "traditional", "default_bgp_status": "up",
        "default_pfcwd_status": "disable", "hostname": "sonic", "hwsku": hwsku, "mac": mac,
        "platform": platform, "timezone": "UTC", "type": "LeafRouter",
    }  # fmt: skip


def _port(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"admin_status": "up", "mtu": _DEFAULT_MTU, **{name: str(value) for name, value in row.items()}}


def _add_sample_link(config: ConfigDbDocument, index: int, name: str) -> None:
    """Give the port ``name`` the /31 and the neighbor that the sample has for the port with this index."""
    address = _dotted(_FIRST_LINK + 2 * index)
    peer_address = _dotted(_FIRST_LINK + 2 * index + 1)
    config["INTERFACE"][name] = {}
    config["INTERFACE"][f"{name}|{address}/31"] = {}
    peer = f"ARISTA{index + 1:02d}T0"
    config["BGP_NEIGHBOR"][peer_address] = {
        "rrclient": "0", "name": peer, "local_addr": address, "nhopself": "0", "holdtime": "180", "asn": "65200",
        "keepalive": "60",
    }  # fmt: skip
    config["DEVICE_NEIGHBOR"][name] = {"name": peer, "port": "Ethernet1"}


def _dotted(number: int) -> str:
    return ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0))


def _site_rows(management: str) -> ConfigDbDocument:
    """Return the rows that belong to no fabric; ``management`` is the management address with its length."""
    gateway = management.split("/", maxsplit=1)[0].rpartition(".")[0] + ".1"
    feature = {"auto_restart": "enabled", "has_global_scope": "True", "state": "enabled"}
    features = ("bgp", "database", "lldp", "pmon", "snmp", "swss", "syncd", "teamd")
    return {
        "MGMT_PORT": {"eth0": {"admin_status": "up", "alias": "eth0"}},
        "MGMT_INTERFACE": {f"eth0|{management}": {"gwaddr": gateway}},
        "SNMP": {"LOCATION": {"Location": "hall 2, row 7"}, "CONTACT": {"Contact": "noc@example.net"}},
        "SNMP_COMMUNITY": {"monitoring": {"TYPE": "RO"}},
        "TACPLUS": {"global": {"auth_type": "pap", "passkey": "simulated", "timeout": "5"}},
        "TACPLUS_SERVER": {"192.0.2.20": {"priority": "1", "tcp_port": "49"}},
        "AAA": {"authentication": {"login": "tacacs+,local"}},
        "ACL_TABLE": {"SSH_ONLY": {"policy_desc": "SSH from the operators", "services": ["SSH"], "stage": "ingress",
                                   "type": "CTRLPLANE"}},
        "ACL_RULE": {"SSH_ONLY|RULE_1": {"IP_PROTOCOL": "6", "PACKET_ACTION": "ACCEPT", "PRIORITY": "9999",
                                         "SRC_IP": "192.0.2.0/24"}},
        "NTP_SERVER": {"192.0.2.30": {"association_type": "server", "iburst": "on", "resolve_as": "192.0.2.30"}},
        "SYSLOG_SERVER": {"192.0.2.40": {}},
        "FEATURE": {name: dict(feature) for name in features},
        "CRM": {"Config": {"polling_interval": "300"}},
    }  # fmt: skip
