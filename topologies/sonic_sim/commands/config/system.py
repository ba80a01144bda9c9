"""``config`` of the host: its name, features, time, DNS, banner, kdump and switches of the whole system."""

import ipaddress
import time
import zoneinfo

import click

from sonic_sim.commands.click7 import Choice, Integer, PlainGroup, Run, argument, flag, option
from sonic_sim.commands.config.names import is_address
from sonic_sim.commands.config.root import NOT_SAVED, config

_METADATA = "DEVICE_METADATA|localhost"
_ENABLED = Choice(["enabled", "disabled"])
_NAMESERVERS = 3


@config.leaf(
    "hostname",
    "Change device hostname without impacting the traffic.",
    argument("new_hostname", metavar="<new_hostname>"),
)
def hostname(one: Run, new_hostname: str) -> None:
    one.db.set_fields(_METADATA, {"hostname": new_hostname})
    one.say(NOT_SAVED)


def _mode(name: str, field: str, text: str) -> None:
    """Add a command that enables or disables something in DEVICE_METADATA."""

    @config.leaf(name, text, argument("mode", metavar="<enable|disable>"))
    def command(one: Run, mode: str) -> None:
        if mode not in ("enable", "disable"):
            raise click.BadParameter(f"Error: Invalid argument {mode}, expect either enable or disable")
        one.db.set_fields(_METADATA, {field: mode})
        if field == "synchronous_mode":
            one.say(
                f"Wrote {mode} synchronous mode into CONFIG_DB, swss restart required to apply the configuration: \n"
            )
            one.say("    Option 1. config save -y \n\n              config reload -y \n")
            one.say("    Option 2. systemctl restart swss")
        else:
            one.say(f"Wrote {mode} yang config validation into CONFIG_DB")


_mode("synchronous_mode", "synchronous_mode",
      "Enable or disable synchronous mode between orchagent and syncd \n\n    swss restart required to apply the "
      "configuration")  # fmt: skip
_mode("yang_config_validation", "yang_config_validation", "")


feature = config.branch("feature", "Configure features")


_feature_name = argument("name", metavar="<feature-name>")


def _must_be_feature(one: Run, name: str) -> dict[str, str]:
    row = one.db.get(f"FEATURE|{name}")
    if not row:
        one.stop(f"Feature '{name}' doesn't exist")
    return row


@feature.leaf(
    "state",
    "Enable/disable a feature",
    _feature_name,
    argument("state", metavar="<state>", type=_ENABLED),
    flag("--block", help="Wait till operation is finished"),
    short_help="Enable/disable a feature",
)
def feature_state(one: Run, name: str, state: str, block: bool) -> None:
    current = _must_be_feature(one, name).get("state", "")
    if current.startswith("always_"):
        one.stop(f"Feature '{name}' state is always {current.removeprefix('always_')} and can not be modified")
    one.db.set_fields(f"FEATURE|{name}", {"state": state})


@feature.leaf(
    "autorestart",
    "Enable/disable autorestart of a feature",
    _feature_name,
    argument("autorestart", metavar="<autorestart>", type=_ENABLED),
    short_help="Enable/disable autosrestart of a feature",
)
def feature_autorestart(one: Run, name: str, autorestart: str) -> None:
    if _must_be_feature(one, name).get("auto_restart") == "always_enabled":
        one.stop(f"Feature '{name}' auto-restart is always enabled and can not be modified", 0)
    one.db.set_fields(f"FEATURE|{name}", {"auto_restart": autorestart})


@feature.leaf(
    "owner",
    "Set owner for the feature",
    _feature_name,
    argument("owner", metavar="<owner>", type=Choice(["local", "kube"])),
    short_help="set owner for a feature",
)
def feature_owner(one: Run, name: str, owner: str) -> None:
    _update_feature(one, name, "set_owner", owner)


@feature.leaf(
    "fallback",
    "Set fallback for the feature",
    _feature_name,
    argument("fallback", metavar="<fallback>", type=Choice(["on", "off"])),
    short_help="set fallback for a feature",
)
def feature_fallback(one: Run, name: str, fallback: str) -> None:
    _update_feature(one, name, "no_fallback_to_local", "false" if fallback == "on" else "true")


def _update_feature(one: Run, name: str, field: str, value: str) -> None:
    if f"FEATURE|{name}" not in one.db.rows:
        one.stop(f"Unable to retrieve {name} from FEATURE table")
    one.db.set_fields(f"FEATURE|{name}", {field: value})


ntp = config.branch("ntp", "NTP server configuration tasks")


_ntp_address = argument("ntp_ip_address", metavar="<ntp_ip_address>")


@ntp.leaf(
    "add",
    "Add NTP server IP",
    _ntp_address,
    option(
        "--association-type",
        type=Choice(["server", "pool"], case_sensitive=False),
        default="server",
        help="Define the association type for this NTP server",
    ),
    flag("--iburst", help="Enable iburst for this NTP server"),
    option("--version", type=Integer(), help="Specify the version for this NTP server"),
)
def ntp_add(one: Run, ntp_ip_address: str, association_type: str, iburst: bool, version: int | None) -> None:
    if not is_address(ntp_ip_address) and association_type != "pool":
        one.fail("Invalid IP address")
    if f"NTP_SERVER|{ntp_ip_address}" in one.db.rows:
        one.stop(f"NTP server {ntp_ip_address} is already configured", 0)
    row = {"version": str(version)} if version else {}
    row |= {"association_type": association_type} if association_type != "server" else {}
    row |= {"iburst": "on"} if iburst else {}
    one.db.put(f"NTP_SERVER|{ntp_ip_address}", row)
    one.say(f"NTP server {ntp_ip_address} added to configuration\nRestarting chrony service...")


@ntp.leaf("del", "Delete NTP server IP", _ntp_address)
def ntp_del(one: Run, ntp_ip_address: str) -> None:
    if not one.db.delete(f"NTP_SERVER|{ntp_ip_address}"):
        one.fail(f"NTP server {ntp_ip_address} is not configured.")
    one.say(f"NTP server {ntp_ip_address} removed from configuration\nRestarting chrony service...")


dns = config.branch("dns", "Static DNS configuration", cls=PlainGroup)


nameserver = dns.branch("nameserver", "Static DNS nameservers configuration", cls=PlainGroup)


_nameserver = argument("ip_address_str", metavar="<ip_address>")


def _usable(one: Run, text: str) -> str:
    """Return the address of a name server as it is written into its row."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        address = ipaddress.IPv4Address(0)
    if address.is_reserved or address.is_multicast or address.is_loopback or address.is_unspecified:
        one.fail(f"{text} invalid nameserver ip address")
    return str(address)


@nameserver.leaf("add", "Add static DNS nameserver entry", _nameserver)
def nameserver_add(one: Run, ip_address_str: str) -> None:
    address = _usable(one, ip_address_str)
    servers = one.db.table("DNS_NAMESERVER")
    if address in servers:
        one.fail(f"{address} nameserver is already configured")
    if len(servers) >= _NAMESERVERS:
        one.fail(f"The maximum number ({_NAMESERVERS}) of nameservers exceeded.")
    one.db.put(f"DNS_NAMESERVER|{address}", {})


@nameserver.leaf("del", "Delete static DNS nameserver entry", _nameserver)
def nameserver_del(one: Run, ip_address_str: str) -> None:
    address = _usable(one, ip_address_str)
    if not one.db.delete(f"DNS_NAMESERVER|{address}"):
        one.fail(f"DNS nameserver {address} is not configured")


clock = config.branch("clock", "Configuring system clock", cls=PlainGroup)


@clock.leaf("timezone", "Set system timezone", argument("timezone", metavar="<timezone_name>"))
def timezone(one: Run, timezone: str) -> None:
    if "systemd" in one.device.spec.without:
        one.complain("System has not been booted with systemd as init system (PID 1). Can't operate.")
        one.complain("Failed to connect to bus: Host is down")
        one.stop(f"Timezone {timezone} does not conform format")
    if timezone not in zoneinfo.available_timezones():
        one.stop(f"Timezone {timezone} does not conform format")
    one.db.set_fields(_METADATA, {"timezone": timezone})


@clock.leaf(
    "date",
    "Set system date and time",
    argument("date", metavar="<YYYY-MM-DD>"),
    argument("clock_time", metavar="<HH:MM:SS>"),
)
def date(one: Run, date: str, clock_time: str) -> None:
    wrong = [
        f"{what} {text} does not conform format {shown}"
        for what, text, form, shown in (
            ("Date", date, "%Y-%m-%d", "YYYY-MM-DD"),
            ("Time", clock_time, "%H:%M:%S", "HH:MM:SS"),
        )
        if not _has_form(text, form)
    ]
    if wrong:
        one.stop("\n".join(wrong))


def _has_form(text: str, form: str) -> bool:
    try:
        time.strptime(text, form)
    except ValueError:
        return False
    return True


banner = config.branch("banner", "Configuring system banner messages", cls=PlainGroup)


def _banner(name: str, text: str) -> None:
    is_state = name == "state"

    @banner.leaf(
        name,
        text,
        argument(
            "value", metavar="<enabled|disabled>" if is_state else "<message>", type=_ENABLED if is_state else None
        ),
    )
    def command(one: Run, value: str) -> None:
        one.db.set_fields("BANNER_MESSAGE|global", {name: value})


_banner("state", "Set banner feature state")
_banner("login", "Set login message")
_banner("logout", "Set logout message")
_banner("motd", "Set message of the day")


kdump = config.branch("kdump", "Configure the KDUMP mechanism")


def _set_kdump(one: Run, field: str, value: str) -> None:
    if not one.db.table("KDUMP"):
        one.stop("Unable to retrieve 'KDUMP' table from Config DB.")
    if "KDUMP|config" not in one.db.rows:
        one.stop("Unable to retrieve key 'config' from KDUMP table.", 2)
    one.db.set_fields("KDUMP|config", {field: value})
    one.say("KDUMP configuration changes may require a reboot to take effect.")
    one.say("Save SONiC configuration using 'config save' before issuing the reboot command.")


@kdump.leaf("enable", "Enable the KDUMP mechanism")
def enable(one: Run) -> None:
    _set_kdump(one, "enabled", "true")


@kdump.leaf("disable", "Disable the KDUMP mechanism")
def disable(one: Run) -> None:
    _set_kdump(one, "enabled", "false")


@kdump.leaf("memory", "Configure the memory for KDUMP mechanism", argument("kdump_memory", metavar="<kdump_memory>"))
def memory(one: Run, kdump_memory: str) -> None:
    _set_kdump(one, "memory", kdump_memory)


@kdump.leaf(
    "num_dumps",
    "Configure the maximum dump files of KDUMP mechanism",
    argument("kdump_num_dumps", metavar="<kdump_num_dumps>", type=Integer()),
)
def num_dumps(one: Run, kdump_num_dumps: int) -> None:
    _set_kdump(one, "num_dumps", str(kdump_num_dumps))
