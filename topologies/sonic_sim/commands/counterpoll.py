"""``counterpoll``: which counters are polled, and how often (sonic-utilities 202505, counterpoll/main.py)."""

import click

from sonic_sim.commands.click7 import PLAIN_HELP, PlainGroup, Range, Run, argument, run
from sonic_sim.commands.tables import table
from sonic_sim.databases import STATE, rows_of_database
from sonic_sim.shell.programs import Call, Result, program

counterpoll = PlainGroup("counterpoll", help="SONiC Static Counter Poll configurations", context_settings=PLAIN_HELP)
_FAST = (100, 30000)
_SLOW = (1000, 30000)
_DROPS = """Set port_buffer_drop counter query interval
This counter group causes high CPU usage when polled,
hence the allowed interval is between 30s and 300s.
This is a short term solution and
should be changed once the performance is enhanced"""
_PG_DROPS = "Set pg_drop packets counter query interval\ninterval is between 1s and 30s."
_ACL = "Set ACL counters query interval\ninterval is between 1s and 30s."
_GROUPS = {
    # command: (help, rows of FLEX_COUNTER_TABLE, milliseconds, what its commands name, help of the interval)
    "queue": ("Queue counter commands", ("QUEUE",), _FAST, "queue counter", ""),
    "port": ("Port counter commands", ("PORT",), _FAST, "port counter", ""),
    "port-buffer-drop": ("Port buffer drop  counter commands", ("PORT_BUFFER_DROP",), (30000, 300000), "port counter",
                         _DROPS),
    "phy": ("PHY counter commands", ("PORT_PHY_ATTR",), _FAST, "PHY counter", ""),
    "pg-drop": ("Ingress PG drop counter commands", ("PG_DROP",), _SLOW, "pg_drop counter", _PG_DROPS),
    "rif": ("RIF counter commands", ("RIF",), None, "rif counter", ""),
    "watermark": ("Watermark counter commands", ("QUEUE_WATERMARK", "PG_WATERMARK", "BUFFER_POOL_WATERMARK"),
                  (1000, 60000), "watermark counter",
                  "Set watermark counter query interval for both queue and PG watermarks"),
    "acl": ("ACL counter commands", ("ACL",), _SLOW, "ACL counter", _ACL),
    "tunnel": ("Tunnel counter commands", ("TUNNEL",), _FAST, "tunnel counter", ""),
    "flowcnt-trap": ("Trap flow counter commands", ("FLOW_CNT_TRAP",), _SLOW, "trap flow counter", ""),
    "flowcnt-route": ("Route flow counter commands", ("FLOW_CNT_ROUTE",), _SLOW, "route flow counter", ""),
    "wredqueue": ("WRED queue counter commands", ("WRED_ECN_QUEUE",), _FAST, "wred queue counter", ""),
    "wredport": ("WRED port counter commands", ("WRED_ECN_PORT",), _FAST, "wred port counter", ""),
    "srv6": ("SRv6 counter commands", ("SRV6",), _SLOW, "SRv6 counter", ""),
}  # fmt: skip
_SHOWN = {
    # name in the list: (row, default milliseconds)
    "QUEUE_STAT": ("QUEUE", 10000), "PORT_STAT": ("PORT", 1000), "PORT_BUFFER_DROP": ("PORT_BUFFER_DROP", 60000),
    "PHY": ("PORT_PHY_ATTR", 10000), "RIF_STAT": ("RIF", 1000), "QUEUE_WATERMARK_STAT": ("QUEUE_WATERMARK", 60000),
    "PG_WATERMARK_STAT": ("PG_WATERMARK", 60000), "PG_DROP_STAT": ("PG_DROP", 10000),
    "BUFFER_POOL_WATERMARK_STAT": ("BUFFER_POOL_WATERMARK", 60000), "ACL": ("ACL", 10000),
    "TUNNEL_STAT": ("TUNNEL", 10000), "FLOW_CNT_TRAP_STAT": ("FLOW_CNT_TRAP", 10000),
    "FLOW_CNT_ROUTE_STAT": ("FLOW_CNT_ROUTE", 10000), "WRED_ECN_QUEUE_STAT": ("WRED_ECN_QUEUE", 10000),
    "WRED_ECN_PORT_STAT": ("WRED_ECN_PORT", 1000), "SRV6_STAT": ("SRV6", 10000),
}  # fmt: skip


def _supported(run: Run) -> None:
    """End where the ASIC cannot count routes."""
    rows = rows_of_database(run.device, STATE, "FLOW_COUNTER_CAPABILITY_TABLE|route")
    row = rows.get("FLOW_COUNTER_CAPABILITY_TABLE|route")
    if row is None:
        run.stop("Waiting for swss to initialize route flow counter capability, please try again later")
    if row.get("support") != "true":
        run.stop("Route flow counter is not supported on this platform")


def _add(
    name: str, text: str, rows: tuple[str, ...], limits: tuple[int, int] | None, what: str, interval: str
) -> None:  # fmt: skip
    def check(run: Run) -> None:
        if name == "flowcnt-route":
            _supported(run)

    def put(run: Run, field: str, value: str) -> None:
        for key in rows:
            run.db.set_fields(f"FLEX_COUNTER_TABLE|{key}", {field: value})

    group = counterpoll.branching(name, text)(check)
    # counterpoll checks no limits of the counters of router interfaces.
    kind = click.STRING if limits is None else Range(*limits)
    group.leaf("interval", interval or f"Set {what} query interval", argument("poll_interval", type=kind))(
        lambda run, poll_interval: put(run, "POLL_INTERVAL", str(poll_interval))
    )
    for state in ("enable", "disable"):
        group.leaf(state, f"{state.capitalize()} {what} query")(
            lambda run, state=state: put(run, "FLEX_COUNTER_STATUS", state)
        )


for _name, _values in _GROUPS.items():
    _add(_name, *_values)


@counterpoll.leaf("show", "Show the counter configuration")
def show(run: Run) -> None:
    rows = run.db.table("FLEX_COUNTER_TABLE")
    body = []
    for name, (key, default) in _SHOWN.items():
        row = rows.get(key)
        if row:
            interval = row.get("POLL_INTERVAL", f"default ({default})")
            body.append([name, interval, row.get("FLEX_COUNTER_STATUS", "disable")])
    run.say(table(["Type", "Interval (in ms)", "Status"], body))


@program("counterpoll")
def run_counterpoll(call: Call) -> Result:
    """Run ``counterpoll``."""
    return run(counterpoll, call)
