"""``counterpoll``: which counters are polled, and how often (sonic-utilities 202505, counterpoll/main.py)."""

from collections.abc import Mapping
from typing import NamedTuple

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


class _CounterGroup(NamedTuple):
    """The commands of a group of counters."""

    help: str
    # Keys in FLEX_COUNTER_TABLE.
    rows: tuple[str, ...]
    # The shortest and the longest interval; None if any is taken.
    limits_ms: tuple[int, int] | None
    # What help texts call the counters.
    noun: str
    # The help of the interval; empty for one that is made of ``noun``.
    interval_help: str


_GROUPS = {
    "queue": _CounterGroup("Queue counter commands", ("QUEUE",), _FAST, "queue counter", ""),
    "port": _CounterGroup("Port counter commands", ("PORT",), _FAST, "port counter", ""),
    "port-buffer-drop": _CounterGroup(
        help="Port buffer drop  counter commands",
        rows=("PORT_BUFFER_DROP",),
        limits_ms=(30000, 300000),
        noun="port counter",
        interval_help=_DROPS,
    ),
    "phy": _CounterGroup("PHY counter commands", ("PORT_PHY_ATTR",), _FAST, "PHY counter", ""),
    "pg-drop": _CounterGroup("Ingress PG drop counter commands", ("PG_DROP",), _SLOW, "pg_drop counter", _PG_DROPS),
    "rif": _CounterGroup("RIF counter commands", ("RIF",), None, "rif counter", ""),
    "watermark": _CounterGroup(
        help="Watermark counter commands",
        rows=("QUEUE_WATERMARK", "PG_WATERMARK", "BUFFER_POOL_WATERMARK"),
        limits_ms=(1000, 60000),
        noun="watermark counter",
        interval_help="Set watermark counter query interval for both queue and PG watermarks",
    ),
    "acl": _CounterGroup("ACL counter commands", ("ACL",), _SLOW, "ACL counter", _ACL),
    "tunnel": _CounterGroup("Tunnel counter commands", ("TUNNEL",), _FAST, "tunnel counter", ""),
    "flowcnt-trap": _CounterGroup("Trap flow counter commands", ("FLOW_CNT_TRAP",), _SLOW, "trap flow counter", ""),
    "flowcnt-route": _CounterGroup("Route flow counter commands", ("FLOW_CNT_ROUTE",), _SLOW, "route flow counter", ""),
    "wredqueue": _CounterGroup("WRED queue counter commands", ("WRED_ECN_QUEUE",), _FAST, "wred queue counter", ""),
    "wredport": _CounterGroup("WRED port counter commands", ("WRED_ECN_PORT",), _FAST, "wred port counter", ""),
    "srv6": _CounterGroup("SRv6 counter commands", ("SRV6",), _SLOW, "SRv6 counter", ""),
}
_SHOWN: Mapping[str, tuple[str, int]] = {
    "QUEUE_STAT": ("QUEUE", 10000), "PORT_STAT": ("PORT", 1000), "PORT_BUFFER_DROP": ("PORT_BUFFER_DROP", 60000),
    "PHY": ("PORT_PHY_ATTR", 10000), "RIF_STAT": ("RIF", 1000), "QUEUE_WATERMARK_STAT": ("QUEUE_WATERMARK", 60000),
    "PG_WATERMARK_STAT": ("PG_WATERMARK", 60000), "PG_DROP_STAT": ("PG_DROP", 10000),
    "BUFFER_POOL_WATERMARK_STAT": ("BUFFER_POOL_WATERMARK", 60000), "ACL": ("ACL", 10000),
    "TUNNEL_STAT": ("TUNNEL", 10000), "FLOW_CNT_TRAP_STAT": ("FLOW_CNT_TRAP", 10000),
    "FLOW_CNT_ROUTE_STAT": ("FLOW_CNT_ROUTE", 10000), "WRED_ECN_QUEUE_STAT": ("WRED_ECN_QUEUE", 10000),
    "WRED_ECN_PORT_STAT": ("WRED_ECN_PORT", 1000), "SRV6_STAT": ("SRV6", 10000),
}  # fmt: skip
"""The row of FLEX_COUNTER_TABLE and the default interval in milliseconds by the name that is shown."""


def _require_route_counters(run: Run) -> None:
    """End the run with a message if the ASIC cannot count routes."""
    key = "FLOW_COUNTER_CAPABILITY_TABLE|route"
    row = rows_of_database(run.device, STATE, key).get(key)
    if row is None:
        run.stop("Waiting for swss to initialize route flow counter capability, please try again later")
    if row.get("support") != "true":
        run.stop("Route flow counter is not supported on this platform")


def _add_commands(name: str, counters: _CounterGroup) -> None:
    """Register the commands ``interval``, ``enable`` and ``disable`` of a group of counters."""

    def check(run: Run) -> None:
        if name == "flowcnt-route":
            _require_route_counters(run)

    def put(run: Run, field: str, value: str) -> None:
        for key in counters.rows:
            run.db.set_fields(f"FLEX_COUNTER_TABLE|{key}", {field: value})

    group = counterpoll.branching(name, counters.help)(check)
    interval_type = click.STRING if counters.limits_ms is None else Range(*counters.limits_ms)
    interval_help = counters.interval_help or f"Set {counters.noun} query interval"
    group.leaf("interval", interval_help, argument("poll_interval", type=interval_type))(
        lambda run, poll_interval: put(run, "POLL_INTERVAL", str(poll_interval))
    )
    for state in ("enable", "disable"):
        group.leaf(state, f"{state.capitalize()} {counters.noun} query")(
            lambda run, state=state: put(run, "FLEX_COUNTER_STATUS", state)
        )


for _name, _counters in _GROUPS.items():
    _add_commands(_name, _counters)


@counterpoll.leaf("show", "Show the counter configuration")
def show(run: Run) -> None:
    rows = run.db.table("FLEX_COUNTER_TABLE")
    body = []
    for name, (key, default_ms) in _SHOWN.items():
        row = rows.get(key)
        if row:
            interval = row.get("POLL_INTERVAL", f"default ({default_ms})")
            body.append([name, interval, row.get("FLEX_COUNTER_STATUS", "disable")])
    run.say(table(["Type", "Interval (in ms)", "Status"], body))


@program("counterpoll")
def run_counterpoll(call: Call) -> Result:
    """Run ``counterpoll``."""
    return run(counterpoll, call)
