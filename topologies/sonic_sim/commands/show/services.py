"""``show`` of what is configured for monitoring and log-in: syslog, SNMP, mirror sessions, warm restart, RADIUS."""

from typing import Any

import click

from sonic_sim.commands.click7 import Choice, Run, argument, flag, option
from sonic_sim.commands.config.monitoring import check_limited_service
from sonic_sim.commands.config.root import not_simulated
from sonic_sim.commands.show.root import VERBOSE, show
from sonic_sim.commands.show.running import runningconfiguration
from sonic_sim.commands.tables import table
from sonic_sim.configdb import decode_fields, natural_key
from sonic_sim.databases import STATE, rows_of_database


def _has_subcommand() -> bool:
    return click.get_current_context().invoked_subcommand is not None


@show.branching("syslog", "Show syslog server configuration", invoke_without_command=True)
def syslog(one: Run) -> None:
    if _has_subcommand():
        return
    rows = one.db.table("SYSLOG_SERVER")
    fields = ("source", "port", "vrf")
    body = [[key, *(rows[key].get(field, "N/A") for field in fields)] for key in sorted(rows, key=natural_key)]
    one.say(table(["SERVER IP", "SOURCE IP", "PORT", "VRF"], body, numbers="left"))


_LIMITS = ("rate_limit_interval", "rate_limit_burst")


@syslog.leaf("rate-limit-host", "Show syslog rate limit configuration for host")
def rate_limit_host(one: Run) -> None:
    row = one.db.get("SYSLOG_CONFIG|GLOBAL")
    body = [[row.get(field, "N/A") for field in _LIMITS]]
    one.say(table(["INTERVAL", "BURST"], body, numbers="left"))


@syslog.leaf(
    "rate-limit-container", "Show syslog rate limit configuration for containers",
    argument("service_name", metavar="<service_name>", required=False),
    option("--namespace", "-n", type=Choice(["", "default"]), show_default=True, help="Namespace name or all"),
)  # fmt: skip
def rate_limit_container(one: Run, service_name: str | None, namespace: str | None) -> None:
    if service_name:
        check_limited_service(one, service_name)
    limits = one.db.table("SYSLOG_CONFIG_FEATURE")
    features = {name: row for name, row in one.db.table("FEATURE").items()
                if row.get("support_syslog_rate_limit", "").lower() == "true"}  # fmt: skip
    names = [service_name] if service_name else sorted(features, key=natural_key)
    body = [[name, *(limits.get(name, {}).get(field, "N/A") for field in _LIMITS)] for name in names]
    one.say(table(["SERVICE", "INTERVAL", "BURST"], body, numbers="left"))


not_simulated(syslog, "rate-limit-feature  Show syslog rate limit feature status")


@show.leaf("mirror_session", "Show existing everflow sessions", argument("session_name", required=False), VERBOSE)
def mirror_session(one: Run, session_name: str | None, verbose: bool) -> None:
    one.say(sessions_text(one, session_name), end="")


_ERSPAN = {
    "SRC IP": "src_ip",
    "DST IP": "dst_ip",
    "GRE": "gre_type",
    "DSCP": "dscp",
    "TTL": "ttl",
    "Queue": "queue",
    "Policer": "policer",
    "Monitor Port": "monitor_port",
    "SRC Port": "src_port",
    "Direction": "direction",
}
_SPAN = {"DST Port": "dst_port", "SRC Port": "src_port", "Direction": "direction", "Queue": "queue",
         "Policer": "policer"}  # fmt: skip


def sessions_text(one: Run, wanted: str | None) -> str:
    """Return the tables of mirror sessions."""
    states = rows_of_database(one.device, STATE, "MIRROR_SESSION_TABLE|*")
    bodies: dict[bool, list[list[str]]] = {False: [], True: []}
    rows = one.db.table("MIRROR_SESSION")
    for name in sorted(rows, key=natural_key):
        row = rows[name] | {key: value for key, value in states.get(f"MIRROR_SESSION_TABLE|{name}", {}).items()
                            if key in ("status", "monitor_port")}  # fmt: skip
        row["direction"] = row.get("direction", "").lower()
        span = row.get("type") == "SPAN"
        if wanted in (None, name):
            cells = [row.get(field, "") for field in (_SPAN if span else _ERSPAN).values()]
            bodies[span].append([name, row.get("status", "inactive"), *cells])
    erspan = table(["Name", "Status", *_ERSPAN], bodies[False])
    return f"ERSPAN Sessions\n{erspan}\n\nSPAN Sessions\n{table(['Name', 'Status', *_SPAN], bodies[True])}\n"


warm_restart = show.branch("warm_restart", "Show warm restart configuration and state")
_socket = option("-s", "--redis-unix-socket-path", help="unix socket path for redis connection")


@warm_restart.leaf("state", "Show warm restart state", _socket)
def state(one: Run, redis_unix_socket_path: str | None) -> None:
    rows = rows_of_database(one.device, STATE, "WARM_RESTART_TABLE|*")
    names = [key for key in rows if key.startswith("WARM_RESTART_TABLE|")]
    fields = ("restore_count", "state")
    body = [[key.partition("|")[2], *(rows[key].get(field, "") for field in fields)] for key in names]
    one.say(table(["name", *fields], body))


@warm_restart.leaf("config", "Show warm restart config", _socket)
def warm_config(one: Run, redis_unix_socket_path: str | None) -> None:
    rows = one.db.table("WARM_RESTART")
    states = rows_of_database(one.device, STATE, "WARM_RESTART_ENABLE_TABLE|*")
    enabled = {
        key.partition("|")[2]: row for key, row in states.items() if key.startswith("WARM_RESTART_ENABLE_TABLE|")
    }
    body = []
    for name in [*sorted(rows), *(key for key in enabled if key not in rows)]:
        row = rows.get(name, {})
        timer = next((field for field in ("neighsyncd_timer", "bgp_timer", "teamsyncd_timer") if field in row), "NULL")
        eoiu = row.get("bgp_eoiu", "NULL") if timer in ("bgp_timer", "NULL") else "NULL"
        body.append([name, enabled.get(name, {}).get("enable", "false"), timer, row.get(timer, "NULL"), eoiu])
    one.say(table(["name", "enable", "timer_name", "timer_duration", "eoiu_enable"], body))


_COMMUNITY = ["Community String", "Community Type"]
_USER = {"Permission Type": "PERMISSION", "Type": "TYPE", "Auth Type": "AUTH_TYPE", "Auth Password": "AUTH_PASSWORD",
         "Encryption Type": "ENCRYPTION_TYPE", "Encryption Password": "ENCRYPTION_PASSWORD"}  # fmt: skip


def _snmp_tables(one: Run, contact_titles: list[str]) -> dict[str, str]:
    db = one.db
    contact = list(db.get("SNMP|CONTACT").items())[:1]
    location = db.get("SNMP|LOCATION").get("Location")
    communities = sorted(([key, row["TYPE"]] for key, row in db.table("SNMP_COMMUNITY").items()), key=str)
    users = [[name, *(row.get(f"SNMP_USER_{field}", "Null") for field in _USER.values())]
             for name, row in sorted(db.table("SNMP_USER").items())]  # fmt: skip
    return {
        "location": table(["Location"], [[location]] if location else []),
        "contact": table(contact_titles, [list(one_of) for one_of in contact]),
        "community": table(_COMMUNITY, communities),
        "user": table(["User", *_USER], users),
    }


@runningconfiguration.branching("snmp", "Show SNMP running configuration", invoke_without_command=True)
def snmp(one: Run) -> None:
    if not _has_subcommand():
        one.say("\n\n\n".join(_snmp_tables(one, ["SNMP_CONTACT", "SNMP_CONTACT_EMAIL"]).values()))


def _snmp_part(name: str, config_table: str, row: str) -> None:
    text = f"show SNMP running configuration {name}"

    @snmp.leaf(name, text, flag("--json", "json_output", help="Display the output in JSON format"))
    def command(one: Run, json_output: bool) -> None:
        if json_output:
            held: Any = one.db.table(config_table)
            one.say(str(decode_fields(held.get(row, {})) if row else dict(sorted(held.items()))))
        else:
            one.say(_snmp_tables(one, ["Contact", "Contact Email"])[name])


_snmp_part("community", "SNMP_COMMUNITY", "")
_snmp_part("contact", "SNMP", "CONTACT")
_snmp_part("location", "SNMP", "LOCATION")
_snmp_part("user", "SNMP_USER", "")
