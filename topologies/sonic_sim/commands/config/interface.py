"""``config interface``: state, addresses, VRFs, PFC."""

import ipaddress

import click

from sonic_sim.bgp.views import view
from sonic_sim.commands.click7 import Choice, PlainGroup, Run, argument, flag, option
from sonic_sim.commands.config.names import (
    INVALID_NAME,
    VALID_KINDS,
    Address,
    addresses_of,
    expand_filter,
    interface_table,
    is_interface,
    port_channel_of,
    remove_addresses,
    vlans_of,
    vrf_exists,
)
from sonic_sim.commands.config.root import config, not_simulated
from sonic_sim.configdb import ConfigDb
from sonic_sim.interfaces import kernel_interfaces
from sonic_sim.shell.programs import ProgramError


def _without_subinterfaces(context: click.Context, param: click.Parameter, value: str) -> str:
    """Return the name of an interface; a subinterface ends the run."""
    if value.startswith(("Eth", "PortChannel", "Po")) and "." in value:
        context.find_root().obj.leave(f"{context.command_path}: subinterfaces are not simulated")
    return value


name_argument = argument("interface_name", metavar="<interface_name>", callback=_without_subinterfaces)
verbose_flag = flag("-v", "--verbose", help="Enable verbose output")


_namespace = option("-n", "--namespace", help="Namespace name", type=Choice([""]))
interface = config.branch("interface", "Interface-related configuration tasks", params=[_namespace])


not_simulated(
    interface,
    """
    dhcp-mitigation-rate  Set interface DHCP rate limit attribute
    storm-control         Configure storm-control
    transceiver           SFP transceiver configuration
    vrrp                  Vrrp configuration
    vrrp6                 Vrrpv6 configuration
    mpls                  Add or remove MPLS
    tpid                  Set interface tpid
""",
)


@interface.leaf("startup", "Start up interface", name_argument)
def startup(run: Run, interface_name: str) -> None:
    _set_admin(run, interface_name, "up")


@interface.leaf("shutdown", "Shut down interface", name_argument)
def shutdown(run: Run, interface_name: str) -> None:
    _set_admin(run, interface_name, "down")


def _set_admin(run: Run, text: str, state: str) -> None:
    """Set the state of all interfaces that a filter names. Unknown ones are ignored unless there is only one name."""
    names = list(expand_filter(text))
    if len(names) == 1 and not is_interface(run, text):
        run.fail(INVALID_NAME)
    for table in ("PORT", "PORTCHANNEL", "LOOPBACK_INTERFACE"):
        for name in names:
            if f"{table}|{name}" in run.db.rows:
                run.db.set_fields(f"{table}|{name}", {"admin_status": state})


ip = interface.branch("ip", "Set IP interface attributes")
not_simulated(ip, "loopback-action  Set IP interface loopback action")


@ip.leaf(
    "add",
    "Add an IP address towards the interface",
    name_argument,
    argument("ip_addr", metavar="<ip_addr>"),
    argument("gw", metavar="<default gateway IP address>", required=False),
    flag("--secondary", "-s"),
)
def ip_add(run: Run, interface_name: str, ip_addr: str, gw: str | None, secondary: bool) -> None:
    db = run.db
    _check_routable(run, interface_name)
    address = _address(run, ip_addr)
    if interface_name == "eth0":
        _set_management(run, address, gw)
        return
    table = _table_of(run, interface_name)
    if table == "VLAN_INTERFACE" and f"VLAN|{interface_name}" not in db.rows:
        run.fail(f"Error: {interface_name} does not exist. Vlan must be created before adding an IP address")
    if f"{table}|{interface_name}" not in db.rows:
        # The row without an address makes the interface a routed one.
        db.put(f"{table}|{interface_name}", {})
    key = f"{table}|{interface_name}|{address}"
    if not secondary:
        db.put(key, {})
    elif table == "VLAN_INTERFACE":
        if all("secondary" in db.get(address_key) for address_key in addresses_of(db, interface_name)):
            run.fail(f"Primary for the interface {interface_name} is not set, so skipping adding the interface")
        db.put(key, {"secondary": "true"})


def _check_routable(run: Run, name: str) -> None:
    """Refuse an interface that is a member of something."""
    db = run.db
    # Only the port channel is an error for click; the other refusals end with 0.
    if vlans_of(db, name):
        run.stop(f"Interface {name} is a member of vlan\nAborting!", 0)
    if port_channel_of(db, name):
        run.fail(f"{name} is configured as a member of portchannel.")
    mode = (db.get(f"PORT|{name}") or db.get(f"PORTCHANNEL|{name}")).get("mode")
    if mode in ("trunk", "access"):
        run.stop(f"Interface {name} is in {mode} mode and needs to be in routed mode!", 0)


def _address(run: Run, text: str) -> Address:
    """Return an address with its prefix length; any other text is refused."""
    try:
        return ipaddress.ip_interface(text)
    except ValueError as error:
        run.fail(f"IP address is not valid: {error}")


def _set_management(run: Run, address: Address, gateway: str | None) -> None:
    """Give eth0 an address, in place of the one of the same IP version."""
    for key in list(run.db.table("MGMT_INTERFACE")):
        if ipaddress.ip_interface(key.partition("|")[2]).version == address.version:
            run.db.delete(f"MGMT_INTERFACE|{key}")
    run.db.put(f"MGMT_INTERFACE|eth0|{address}", {"gwaddr": gateway} if gateway else {})


@ip.leaf("remove", "Remove an IP address from the interface", name_argument, argument("ip_addr", metavar="<ip_addr>"))
def ip_remove(run: Run, interface_name: str, ip_addr: str) -> None:
    db = run.db
    address = _address(run, ip_addr)
    if interface_name == "eth0":
        db.delete(f"MGMT_INTERFACE|eth0|{address}")
        return
    table = _table_of(run, interface_name)
    addresses = addresses_of(db, interface_name)
    if set(addresses.values()) == {address}:
        _check_static_routes(run, interface_name)
    # The command flushes the kernel's neighbors of the address, so it needs the interface there.
    if interface_name not in {link["ifname"] for link in kernel_interfaces(run.device)}:
        run.leave(f'Cannot find device "{interface_name}"')
    for key, address_of_row in addresses.items():
        if address_of_row == address:
            db.delete(key)
    row = db.get(f"{table}|{interface_name}")
    is_in_vrf = bool(row.get("vrf_name") or row.get("vnet_name"))
    uses_link_local = row.get("ipv6_use_link_local_only") == "enable"
    # The row that makes the interface a routed one goes with its last reason.
    if not (addresses_of(db, interface_name) or is_in_vrf or uses_link_local):
        db.delete(f"{table}|{interface_name}")


def _check_static_routes(run: Run, name: str) -> None:
    """Refuse to take the last address while a static route leaves by the interface."""
    if not run.device.frr_answers():
        return
    for version in ("ip", "ipv6"):
        routes = view(run.device, f"show {version} route vrf all static") or ""
        if name in routes:
            reason = f"A static {version} route is still bound to the RIF."
            run.fail(f"Cannot remove the last IP entry of interface {name}. {reason}")


def _table_of(run: Run, name: str) -> str:
    """Return the table of an interface's addresses. A name of no known kind ends the run."""
    table = interface_table(name)
    if not table and "." in name:
        # get_interface_table_name returns None for a foreign name with a dot, which the C++ library refuses.
        raise ProgramError(
            "TypeError: in method 'ConfigDBConnector_Native_get_entry', argument 2 of type 'std::string'"
        )
    if not table:
        run.fail(VALID_KINDS)
    return table


vrf = interface.branch("vrf", "Bind or unbind VRF")


@vrf.leaf("bind", "Bind the interface to VRF", name_argument, argument("vrf_name", metavar="<vrf_name>"))
def bind(run: Run, interface_name: str, vrf_name: str) -> None:
    db = run.db
    field = "vrf_name"
    if vrf_name.startswith("Vnet_"):
        field = "vnet_name"
        if f"VNET|{vrf_name}" not in db.rows:
            run.fail(f"VNET {vrf_name} does not exist!")
    elif not vrf_exists(db, vrf_name):
        run.fail(f"VRF {vrf_name} does not exist!")
    key = f"{_table_of(run, interface_name)}|{interface_name}"
    if db.get(key).get(field) == vrf_name:
        return
    # The kernel drops the addresses as the interface changes its VRF; SONiC does not add them again.
    remove_addresses(db, interface_name)
    db.put(key, {field: vrf_name})
    run.say(f"Interface {interface_name} IP disabled and address(es) removed due to binding VRF {vrf_name}.")


@vrf.leaf("unbind", "Unbind the interface to VRF", name_argument)
def unbind(run: Run, interface_name: str) -> None:
    db = run.db
    key = f"{_table_of(run, interface_name)}|{interface_name}"
    row = db.get(key)
    if not row.get("vrf_name") and not row.get("vnet_name"):
        return
    remove_addresses(db, interface_name)
    db.delete(key)
    run.say(f"Interface {interface_name} IP disabled and address(es) removed due to unbinding VRF.")


ipv6 = interface.branch("ipv6", "Enable or Disable IPv6 processing on interface", cls=PlainGroup)


enable = ipv6.branch("enable", "Enable IPv6 processing on interface", cls=PlainGroup)


disable = ipv6.branch("disable", "Disble IPv6 processing on interface", cls=PlainGroup)


@enable.leaf("use-link-local-only", "Enable IPv6 link local address on interface", name_argument)
def enable_link_local(run: Run, interface_name: str) -> None:
    set_link_local(run.db, _link_local_key(run, interface_name), "enable")


@disable.leaf("use-link-local-only", "Disable IPv6 link local address on interface", name_argument)
def disable_link_local(run: Run, interface_name: str) -> None:
    set_link_local(run.db, _link_local_key(run, interface_name), "disable")


def set_link_local(db: ConfigDb, key: str, mode: str) -> None:
    """Enable or disable IPv6 by link-local addresses alone on the interface of a row."""
    row = db.get(key)
    if row.get("ipv6_use_link_local_only", "disable") == mode:
        return
    if mode == "enable" or row.get("vrf_name") or addresses_of(db, key.partition("|")[2]):
        db.set_fields(key, {"ipv6_use_link_local_only": mode})
    else:
        # A row that says nothing more would leave the interface routed.
        db.delete(key)


_LINK_LOCAL = {"Ethernet": "INTERFACE", "PortChannel": "PORTCHANNEL_INTERFACE", "Vlan": "VLAN_INTERFACE"}


def _link_local_key(run: Run, name: str) -> str:
    """Return the key of an interface that may have IPv6 by link-local addresses; any other is refused."""
    db = run.db
    table = ""
    for start, table_of_kind in _LINK_LOCAL.items():
        if name.startswith(start):
            table = table_of_kind
    if not table:
        run.fail("'interface_name' is not valid. Valid names [Ethernet/PortChannel/Vlan]")
    # A VLAN is there once it has an interface, the others by their own row.
    exists = f"VLAN_INTERFACE|{name}" in db.rows if table == "VLAN_INTERFACE" else is_interface(run, name)
    if not exists:
        run.fail(f"Interface name {name} is invalid. Please enter a valid interface name!!")
    if port_channel_of(db, name):
        run.fail(f"{name} is configured as a member of portchannel. Cannot configure the IPv6 link local mode!")
    if vlans_of(db, name):
        run.fail(f"{name} is configured as a member of vlan. Cannot configure the IPv6 link local mode!")
    return f"{table}|{name}"


pfc = interface.branch("pfc", "Set PFC configuration.")


_on_off = argument("status", type=Choice(["on", "off"]))
_asic = option("--namespace", "-n", type=Choice([""]), show_default=True, help="Namespace name or all")


@pfc.leaf("asymmetric", "Set asymmetric PFC configuration.", name_argument, _on_off, _asic)
def asymmetric(run: Run, interface_name: str, status: str, namespace: str | None) -> None:
    # the program behind it writes without a look at the ports
    run.db.set_fields(f"PORT|{interface_name}", {"pfc_asym": status})


@pfc.leaf(
    "priority",
    "Set PFC priority configuration.",
    name_argument,
    argument("priority", type=Choice([str(number) for number in range(8)])),
    _on_off,
    _asic,
)
def priority(run: Run, interface_name: str, priority: str, status: str, namespace: str | None) -> None:
    key = f"PORT_QOS_MAP|{interface_name}"
    if key not in run.db.rows:
        run.say(f"Cannot find interface {interface_name}")
        return
    enabled = {number for number in run.db.get(key).get("pfc_enable", "").split(",") if number}
    if status == "on" and priority in enabled:
        run.say(f"Priority {priority} has already been enabled on {interface_name}")
        return
    if status == "off" and priority not in enabled:
        run.say(f"Priority {priority} is not enabled on {interface_name}")
        return
    if status == "on":
        enabled.add(priority)
    else:
        enabled.remove(priority)
    run.db.set_fields(key, {"pfc_enable": ",".join(sorted(enabled))})


@interface.leaf("cable-length", "Set interface cable length", name_argument, argument("length", metavar="<length>"))
def cable_length(run: Run, interface_name: str, length: str) -> None:
    if run.db.get("DEVICE_METADATA|localhost").get("buffer_model") != "dynamic":
        run.fail("This command can only be supported on a system with dynamic buffer enabled")
    if f"PORT|{interface_name}" not in run.db.rows:
        run.fail(f"Port {interface_name} doesn't exist")
    if not length.endswith("m"):
        run.fail("Invalid cable length. Should be in format <num>m, like 300m")
    # The table has one row, named AZURE on most switches: SONiC takes the first.
    row_name = next(iter(run.db.table("CABLE_LENGTH")))
    run.db.set_fields(f"CABLE_LENGTH|{row_name}", {interface_name: length})
