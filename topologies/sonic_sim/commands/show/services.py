"""``show mirror_session``."""

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


def sessions_text(run: Run, session_name: str | None) -> str:
    """Return the tables of all mirror sessions, or of the one that is named."""
    states = rows_of_database(run.device, STATE, "MIRROR_SESSION_TABLE|*")
    spans: list[list[str]] = []
    erspans: list[list[str]] = []
    rows = run.db.table("MIRROR_SESSION")
    for name in sorted(rows, key=natural_key):
        if session_name not in (None, name):
            continue
        row = rows[name]
        state = states.get(f"MIRROR_SESSION_TABLE|{name}", {})
        for field in ("status", "monitor_port"):
            if field in state:
                row[field] = state[field]
        row["direction"] = row.get("direction", "").lower()
        is_span = row.get("type") == "SPAN"
        fields = _SPAN.values() if is_span else _ERSPAN.values()
        cells = [name, row.get("status", "inactive"), *(row.get(field, "") for field in fields)]
        if is_span:
            spans.append(cells)
        else:
            erspans.append(cells)
    erspan_table = table(["Name", "Status", *_ERSPAN], erspans)
    span_table = table(["Name", "Status", *_SPAN], spans)
    return f"ERSPAN Sessions\n{erspan_table}\n\nSPAN Sessions\n{span_table}\n"
