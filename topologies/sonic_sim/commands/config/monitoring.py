"""``config syslog``, ``mirror_session``, ``warm_restart`` and ``watermark``."""

import ipaddress
from typing import Any

import click

from sonic_sim.commands.click7 import Choice, Group, Integer, Range, Run, argument, option
from sonic_sim.commands.config.names import is_interface, port_channel_of, vlans_of
from sonic_sim.commands.config.root import config, not_simulated
from sonic_sim.databases import STATE
from sonic_sim.interfaces import kernel_interfaces


def _ip(context: click.Context, param: click.Parameter, value: str | None) -> str | None:
    try:
        return None if value is None else str(ipaddress.ip_address(value))
    except ValueError as error:
        raise click.UsageError(f"Invalid value for {param.get_error_hint(context)}: {error}", context) from None


def _invalid(name: str, text: str) -> click.UsageError:
    """Return the error of a parameter of the command that runs."""
    context = click.get_current_context()
    hint = next(one for one in context.command.params if one.name == name).get_error_hint(context)
    return click.UsageError(f"Invalid value for {hint}: {text}", context)


_server = argument("server_ip_address", callback=_ip)
syslog = config.branch("syslog", "Configure syslog server", cls=Group)


def _restart_rsyslog(one: Run) -> None:
    one.say("Running command: systemctl reset-failed rsyslog-config rsyslog")
    one.say("Running command: systemctl restart rsyslog-config")


@syslog.leaf(
    "add", "Add object to SYSLOG_SERVER table", _server,
    option("-s", "--source", help="Configures syslog source IP address", callback=_ip),
    option("-p", "--port", help="Configures syslog server UDP port", type=Range(0, 65535)),
    option("-r", "--vrf", help="Configures syslog VRF device"),
)  # fmt: skip
def syslog_add(one: Run, server_ip_address: str, source: str | None, port: int | None, vrf: str | None) -> None:
    key = f"SYSLOG_SERVER|{server_ip_address}"
    if key in one.db.rows:
        raise _invalid("server_ip_address", f"{server_ip_address} is a valid syslog server")
    if source is not None:
        _check_source(server_ip_address, source)
    managed = one.db.get("MGMT_VRF_CONFIG|vrf_global").get("mgmtVrfEnabled") == "true"
    vrfs = ["default", *(["mgmt"] if managed else []), *one.db.table("VRF")]
    if vrf is not None and vrf not in vrfs:
        raise _invalid("vrf", f"invalid choice: {vrf}. (choose from {', '.join(vrfs)})")
    _check_kernel(one, source, vrf)
    values = {"source": source, "port": port, "vrf": vrf}
    one.db.put(key, {name: str(value) for name, value in values.items() if value is not None})
    _restart_rsyslog(one)


def _check_source(server: str, source: str) -> None:
    address = ipaddress.ip_address(source)
    if address.is_loopback or address.is_multicast or address.is_link_local:
        raise _invalid("source", f"{source} is a loopback/multicast/link-local IP address")
    if ipaddress.ip_address(server).version != address.version:
        context = click.get_current_context()
        hints = {one.name: one.get_error_hint(context) for one in context.command.params}
        both = f"{hints['server_ip_address']} / {hints['source']}"
        text = f"Invalid value for {both}: {server} / {source} IP address family mismatch"
        raise click.UsageError(text, context)


def _check_kernel(one: Run, source: str | None, vrf: str | None) -> None:
    """Refuse a VRF or an address that the kernel does not have."""
    links = {link["ifname"]: [info["local"] for info in link["addr_info"]] for link in kernel_interfaces(one.device)}
    if vrf not in (None, "default") and vrf not in links:
        raise _invalid("vrf", f"{vrf} VRF doesn't exist in Linux")
    if source is not None and not any(source in addresses for addresses in links.values()):
        raise _invalid("source", f"{source} IP doesn't exist in Linux {vrf or 'default'} VRF")


@syslog.leaf("del", "Delete object from SYSLOG_SERVER table", _server)
def syslog_del(one: Run, server_ip_address: str) -> None:
    if not one.db.delete(f"SYSLOG_SERVER|{server_ip_address}"):
        raise _invalid("server_ip_address", f"{server_ip_address} is not a valid syslog server")
    _restart_rsyslog(one)


_BIG = Range(0, 2147483647)


def _limits(where: str) -> tuple[click.Option, click.Option]:
    interval = f"Configures syslog rate limit interval in seconds for {where}"
    burst = f"Configures syslog rate limit burst in number of messages for {where}"
    return option("-i", "--interval", help=interval, type=_BIG), option("-b", "--burst", help=burst, type=_BIG)


def _save_limits(one: Run, key: str, name: str, interval: int | None, burst: int | None) -> None:
    if interval == 0 or burst == 0:
        one.say(f"Disable syslog rate limit for {name}")
        interval = burst = 0
    values = {"rate_limit_interval": interval, "rate_limit_burst": burst}
    one.db.set_fields(key, {field: str(value) for field, value in values.items() if value is not None})


def _check_limits(interval: int | None, burst: int | None) -> None:
    if interval is None and burst is None:
        raise click.UsageError("Either interval or burst must be configured")


@syslog.leaf("rate-limit-host", "Configure syslog rate limit for host", *_limits("host"))
def rate_limit_host(one: Run, interval: int | None, burst: int | None) -> None:
    _check_limits(interval, burst)
    _save_limits(one, "SYSLOG_CONFIG|GLOBAL", "host", interval, burst)


@syslog.leaf(
    "rate-limit-container", "Configure syslog rate limit for containers", argument("service_name"),
    *_limits("specified containers"),
    option("--namespace", "-n", type=Choice(["", "default"]), show_default=True, help="Namespace name or all"),
)  # fmt: skip
def rate_limit_container(one: Run, service_name: str, interval: int | None, burst: int | None, **others: Any) -> None:
    _check_limits(interval, burst)
    check_limited_service(one, service_name)
    _save_limits(one, f"SYSLOG_CONFIG_FEATURE|{service_name}", service_name, interval, burst)


def check_limited_service(one: Run, name: str) -> None:
    """Refuse a service that is not there, or whose messages are not limited."""
    features = one.db.table("FEATURE")
    if name not in features:
        one.leave(f"Error: Invalid service name {name}, please choose from: {','.join(sorted(features))}")
    if features[name].get("support_syslog_rate_limit", "").lower() != "true":
        one.leave(f"Error: Service {name} does not support syslog rate limit configuration")


@syslog.leaf(
    "level", "Configure log level",
    option("-i", "--identifier", required=True,
           help="Log identifier in DB for which loglevel is applied (provided with -l)"),
    option("-l", "--level", required=True, help="Loglevel value",
           type=Choice(["DEBUG", "INFO", "NOTICE", "WARN", "ERROR"])),
    option("--container", help="Container name to which the SIGHUP is sent (provided with --pid or --program)"),
    option("--program", help="Program name to which the SIGHUP is sent (provided with --container)"),
    option("--pid",
           help="Process ID to which the SIGHUP is sent (provided with --container if PID is from container)"),
    option("--namespace", "-n", type=Choice([""]), show_default=True, help="Namespace name"),
)  # fmt: skip
def level(one: Run, identifier: str, level: str, container: str | None, program: str | None, pid: str | None,
          namespace: str | None) -> None:  # fmt: skip
    if program and not container:
        raise click.UsageError("--program must be specified with --container")
    if container and not program and not pid:
        raise click.UsageError("--container must be specified with --pid or --program")
    one.db.set_fields(f"LOGGER|{identifier}", {"LOGLEVEL": level})


not_simulated(syslog, "rate-limit-feature  Configure syslog rate limit feature")


def _ipv4(context: click.Context, param: click.Parameter, value: str) -> str:
    try:
        if ipaddress.ip_network(value, strict=False).version != 4:
            raise click.UsageError(f"{value} is not a valid IPv4 address")
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    return value


def _gre(context: click.Context, param: click.Parameter, value: str | None) -> int | None:
    try:
        number = None if value is None else int(value, 16 if value.lower().startswith("0x") else 10)
    except ValueError:
        number = -1
    if number is not None and not 0 <= number <= 65535:
        raise click.UsageError(f"{value} is not a valid GRE type")
    return number


_name = argument("session_name", metavar="<session_name>")
_erspan = (
    _name, argument("src_ip", metavar="<src_ip>", callback=_ipv4),
    argument("dst_ip", metavar="<dst_ip>", callback=_ipv4),
    argument("dscp", metavar="<dscp>", type=Range(0, 63)), argument("ttl", metavar="<ttl>", type=Range(0, 255)),
    argument("gre_type", metavar="[gre_type]", callback=_gre, required=False),
    argument("queue", metavar="[queue]", type=Range(0, 255), required=False),
)  # fmt: skip
_source = (argument("src_port", metavar="[src_port]", required=False),
           argument("direction", metavar="[direction]", required=False))  # fmt: skip
mirror = config.branch("mirror_session", "")
erspan = mirror.branch("erspan", "ERSPAN mirror_session")
span = mirror.branch("span", "SPAN mirror session")


def _add_session(one: Run, session_name: str, kind: str, **values: Any) -> None:
    port, source, direction = values.get("dst_port"), values.get("src_port"), values.get("direction")
    if one.db.get(f"MIRROR_SESSION|{session_name}"):
        one.stop(f"Error: {session_name} already exists", 0)
    if port:
        _check_destination(one, port)
    for name in source.split(",") if source else ():
        if not is_interface(one, name):
            one.fail(f"Error: Source Interface {name} is invalid")
        if port == name:
            one.fail("Error: Destination Interface cant be same as Source Interface")
    _check_other_sessions(one, port, source, direction)
    if direction and direction not in ("rx", "tx", "both"):
        one.fail(f"Error: Direction {direction} is invalid")
    values["direction"] = (direction or "both").upper() if source else None
    row = {name: str(value) for name, value in values.items() if value is not None}
    one.db.put(f"MIRROR_SESSION|{session_name}", {"type": kind, **row})


def _check_destination(one: Run, port: str) -> None:
    db, text = one.db, f"Error: Destination Interface {port}"
    for wrong, why in (
        (not is_interface(one, port), "is invalid"), (f"PORTCHANNEL|{port}" in db.rows, "is not supported"),
        (vlans_of(db, port), "has vlan config"), (port_channel_of(db, port), "has portchannel config"),
        (f"INTERFACE|{port}" in db.rows, "is a L3 interface"),
    ):  # fmt: skip
        if wrong:
            one.fail(f"{text} {why}")


def _check_other_sessions(one: Run, port: str | None, source: str | None, direction: str | None) -> None:
    """Refuse ports that another session has."""
    for row in one.db.table("MIRROR_SESSION").values():
        if port and row.get("dst_port") == port:
            one.fail(f"Error: Destination Interface {port} already has mirror config")
        if port and port in row.get("src_port", "").split(","):
            one.fail(f"Error: Destination Interface {port} already has mirror config")
        for name in source.split(",") if source else ():
            if row.get("dst_port") == name:
                one.fail(f"Error: Source Interface {name} already has mirror config")
            held = row.get("direction", "").lower()
            if name in row.get("src_port", "").split(",") and (
                direction in (None, "both") or held in (direction, "both")
            ):
                one.fail(f"Error: Source Interface {name} already has mirror config in same direction")


@mirror.leaf("add", "Add ERSPAN mirror session.(Legacy support)", *_erspan, option("--policer"))
def mirror_add(one: Run, **values: Any) -> None:
    _add_session(one, kind="ERSPAN", **values)


@erspan.leaf("add", "Add ERSPAN mirror session", *_erspan, *_source, option("--policer"))
def erspan_add(one: Run, **values: Any) -> None:
    _add_session(one, kind="ERSPAN", **values)


@span.leaf(
    "add", "Add SPAN mirror session", _name, argument("dst_port", metavar="<dst_port>"), *_source,
    argument("queue", metavar="[queue]", type=Range(0, 255), required=False), option("--policer"),
)  # fmt: skip
def span_add(one: Run, **values: Any) -> None:
    _add_session(one, kind="SPAN", **values)


@mirror.leaf("remove", "Delete mirror session", _name)
def mirror_remove(one: Run, session_name: str) -> None:
    one.db.delete(f"MIRROR_SESSION|{session_name}")


warm = config.branch("warm_restart", "warm_restart-related configuration tasks",
                     params=[option("-s", "--redis-unix-socket-path", help="unix socket path for redis connection")],
                     )  # fmt: skip


def _enable(name: str, value: str) -> None:
    @warm.leaf(name, "", argument("module", metavar="<module>", default="system", required=False))
    def command(one: Run, module: str) -> None:
        if module != "system" and f"FEATURE|{module}" not in one.db.rows:
            one.leave(f"Feature {module} is unknown")
        rows = one.device.other.setdefault(STATE, {})
        rows.setdefault(f"WARM_RESTART_ENABLE_TABLE|{module}", {})["enable"] = value


_enable("enable", "true")
_enable("disable", "false")


def _timer(daemon: str, most: int, key: str) -> None:
    @warm.leaf(f"{daemon}_timer", "", argument("seconds", metavar="<seconds>", type=Integer()))
    def command(one: Run, seconds: int) -> None:
        if not 1 <= seconds < most:
            one.fail(f"{daemon} warm restart timer must be in range 1-{most}")
        one.db.set_fields(f"WARM_RESTART|{key}", {f"{daemon}_timer": str(seconds)})


_timer("neighsyncd", 9999, "swss")
_timer("bgp", 3600, "bgp")
_timer("teamsyncd", 3600, "teamd")


@warm.leaf("bgp_eoiu", "", argument("enable", metavar="<enable>", default="true", required=False,
                                    type=Choice(["true", "false"])))  # fmt: skip
def bgp_eoiu(one: Run, enable: str) -> None:
    one.db.set_fields("WARM_RESTART|bgp", {"bgp_eoiu": enable})


telemetry = config.branch("watermark", "Configure watermark").branch("telemetry", "Configure watermark telemetry")


@telemetry.leaf("interval", "Configure watermark telemetry interval", argument("interval"))
def watermark_interval(one: Run, interval: str) -> None:
    try:
        seconds = int(interval)
    except ValueError:
        one.complain("usage: watermarkcfg [-h] [-s] [-c CONFIG_INTERVAL] [-v]")
        one.leave(f"watermarkcfg: error: argument -c/--config-interval: invalid int value: {interval!r}", 2)
    if seconds:  # watermarkcfg takes 0 for an option that is not given
        one.db.put("WATERMARK_TABLE|TELEMETRY_INTERVAL", {"interval": str(seconds)})
