"""NAPALM's getters of interfaces: state, addresses, counters.

The kernel has all interfaces and addresses in force; APPL_DB has the port behind a network device (its speed, its
link). The tables of ``show`` commands are not read, because they break on wide values.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from napalm.base.exceptions import CommandErrorException

from napalm_sonic.codec import counter, database_rows, first_json, is_network_interface, natural
from napalm_sonic.decoding import decodes

if TYPE_CHECKING:
    from napalm_sonic.session import Session

ADDRESSES = "ip -j addr show"
PORTS = "sonic-db-dump -n APPL_DB -y -k 'PORT_TABLE:*'"
COUNTER_NAMES = "sonic-db-dump -n COUNTERS_DB -y -k 'COUNTERS_PORT_NAME_MAP'"
# An object id holds its type in the bits above 48: 1 is a port, so this pattern leaves queues and groups out.
COUNTERS = "sonic-db-dump -n COUNTERS_DB -y -k 'COUNTERS:oid:0x1????????????'"

_PORT_PREFIX = "PORT_TABLE:"
# NAPALM's names of the kernel's address families.
_FAMILIES = {"inet": "ipv4", "inet6": "ipv6"}
_COUNTED = {
    f"{direction}_{name}": f"SAI_PORT_STAT_IF_{sai_direction}_{sai_name}"
    for direction, sai_direction in {"rx": "IN", "tx": "OUT"}.items()
    for name, sai_name in {
        "errors": "ERRORS",
        "discards": "DISCARDS",
        "octets": "OCTETS",
        "unicast_packets": "UCAST_PKTS",
        "multicast_packets": "MULTICAST_PKTS",
        "broadcast_packets": "BROADCAST_PKTS",
    }.items()
}


@decodes("its interfaces")
def get_interfaces(session: "Session") -> dict[str, dict[str, Any]]:
    """Return ``{name: {is_up, is_enabled, description, last_flapped, mtu, speed, mac_address}}``; speed in Mbit/s."""
    return interfaces_of(kernel_interfaces(session), read_ports(session))


def interfaces_of(
    links: Mapping[str, Mapping[str, Any]], ports: Mapping[str, Mapping[str, str]]
) -> dict[str, dict[str, Any]]:
    """Return the interfaces of the kernel's links and the ports of APPL_DB, as ``get_interfaces`` does."""
    return {name: _interface(links.get(name, {}), ports.get(name)) for name in sorted({*links, *ports}, key=natural)}


@decodes("its addresses")
def get_interfaces_ip(session: "Session") -> dict[str, dict[str, dict[str, dict[str, int]]]]:
    """Return ``{name: {ipv4|ipv6: {address: {prefix_length}}}}`` of the interfaces that have an address."""
    return addresses_of(kernel_interfaces(session))


def addresses_of(links: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, dict[str, dict[str, int]]]]:
    """Return the addresses of the kernel's links, as ``get_interfaces_ip`` does."""
    interfaces: dict[str, dict[str, dict[str, dict[str, int]]]] = {}
    for name, link in links.items():
        for address in link.get("addr_info", []):
            family = _FAMILIES.get(address.get("family"))
            if family and address.get("local"):
                addresses = interfaces.setdefault(name, {}).setdefault(family, {})
                addresses[address["local"]] = {"prefix_length": int(address["prefixlen"])}
    return interfaces


@decodes("its counters")
def get_interfaces_counters(session: "Session") -> dict[str, dict[str, int]]:
    """Return NAPALM's twelve counters of every port, -1 where the switch does not count."""
    names = database_rows(session.run_checked(COUNTER_NAMES), COUNTER_NAMES).get("COUNTERS_PORT_NAME_MAP", {})
    rows = database_rows(session.run_checked(COUNTERS), COUNTERS)
    return counters_of({port: rows.get(f"COUNTERS:{names[port]}", {}) for port in names})


def counters_of(rows: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, int]]:
    """Return the counters of rows of COUNTERS_DB by port, as ``get_interfaces_counters`` does."""
    counters: dict[str, dict[str, int]] = {}
    for port in sorted(rows, key=natural):
        row = rows[port]
        counters[port] = {name: counter(row.get(field)) for name, field in _COUNTED.items()}
    return counters


def kernel_interfaces(session: "Session") -> dict[str, dict[str, Any]]:
    """Return the kernel's interfaces by name in natural order, without those of the host itself.

    Raises CommandErrorException.
    """
    links = first_json(session.run_checked(ADDRESSES), ADDRESSES)
    if not isinstance(links, list):
        raise CommandErrorException(f"{ADDRESSES!r} printed no list")
    return network_links(links)


def network_links(links: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the kernel's links by name in natural order, without those of the host itself, such as ``docker0``."""
    named = {link["ifname"]: link for link in links if link.get("ifname")}
    return {name: named[name] for name in sorted(named, key=natural) if is_network_interface(name)}


def read_ports(session: "Session") -> dict[str, dict[str, str]]:
    """Return the fields of every front-panel port in APPL_DB, by the port's name."""
    rows = database_rows(session.run_checked(PORTS), PORTS)
    return network_ports({key.removeprefix(_PORT_PREFIX): fields for key, fields in rows.items()})


def network_ports(ports: Mapping[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Return the front-panel ports; the table has other rows too."""
    return {name: fields for name, fields in ports.items() if is_network_interface(name)}


def _interface(link: Mapping[str, Any], port: Mapping[str, str] | None) -> dict[str, Any]:
    """Return an interface of the kernel; if it is a front-panel port, with the state that APPL_DB has of it."""
    flags = link.get("flags", ())
    state: dict[str, Any] = {
        "is_up": "UP" in flags and "LOWER_UP" in flags,
        "is_enabled": "UP" in flags,
        "description": str(link.get("ifalias", "")),
        "last_flapped": -1.0,
        "mtu": int(link.get("mtu", -1)),
        "speed": -1.0,
        "mac_address": str(link.get("address", "")).upper(),
    }
    if port is not None:
        state["is_up"] = port.get("oper_status") == "up"
        state["is_enabled"] = port.get("admin_status") == "up"
        state["description"] = port.get("description", state["description"])
        if not link:
            # The kernel's MTU is the one in force, so the configured one is only for a port without a device.
            state["mtu"] = int(port.get("mtu", -1))
        state["speed"] = float(counter(port.get("speed")))
    return state
