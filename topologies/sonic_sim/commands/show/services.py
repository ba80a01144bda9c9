"""``show`` of what is configured for monitoring and log-in: syslog, SNMP, mirror sessions, warm restart, RADIUS."""

from sonic_sim.commands.click7 import Run, argument
from sonic_sim.commands.show.root import VERBOSE, show
from sonic_sim.commands.tables import table
from sonic_sim.configdb import natural_key
from sonic_sim.databases import STATE, rows_of_database


@show.leaf("mirror_session", "Show existing everflow sessions", argument("session_name", required=False), VERBOSE)
def mirror_session(run: Run, session_name: str | None, verbose: bool) -> None:
    run.say(sessions_text(run, session_name), end="")


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


def sessions_text(run: Run, wanted: str | None) -> str:
    """Return the tables of mirror sessions."""
    states = rows_of_database(run.device, STATE, "MIRROR_SESSION_TABLE|*")
    bodies: dict[bool, list[list[str]]] = {False: [], True: []}
    rows = run.db.table("MIRROR_SESSION")
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
