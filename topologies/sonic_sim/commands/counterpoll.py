"""``counterpoll``: which counters are polled, and how often."""

from sonic_sim.commands.click7 import PLAIN_HELP, PlainGroup, Range, Run, argument, run
from sonic_sim.commands.config.root import not_simulated
from sonic_sim.commands.tables import table
from sonic_sim.shell.programs import Call, Result, program

counterpoll = PlainGroup("counterpoll", help="SONiC Static Counter Poll configurations", context_settings=PLAIN_HELP)
_GROUPS = {
    # command: (help, tables of FLEX_COUNTER_TABLE, least and most milliseconds)
    "queue": ("Queue counter commands", ("QUEUE",), 100, 30000),
    "port": ("Port counter commands", ("PORT",), 100, 30000),
    "port-buffer-drop": ("Port buffer drop  counter commands", ("PORT_BUFFER_DROP",), 30000, 300000),
    "phy": ("PHY counter commands", ("PHY",), 100, 30000),
    "pg-drop": ("Ingress PG drop counter commands", ("PG_DROP",), 1000, 30000),
    "rif": ("RIF counter commands", ("RIF",), 0, 2**31),
    "watermark": ("Watermark counter commands", ("QUEUE_WATERMARK", "PG_WATERMARK", "BUFFER_POOL_WATERMARK"),
                  1000, 60000),
    "acl": ("ACL counter commands", ("ACL",), 1000, 30000),
    "tunnel": ("Tunnel counter commands", ("TUNNEL",), 100, 30000),
}  # fmt: skip
_SHOWN = {
    # name in the list: (table, default milliseconds)
    "QUEUE_STAT": ("QUEUE", 10000), "PORT_STAT": ("PORT", 1000), "PORT_BUFFER_DROP": ("PORT_BUFFER_DROP", 60000),
    "PHY": ("PHY", 10000), "RIF_STAT": ("RIF", 1000), "QUEUE_WATERMARK_STAT": ("QUEUE_WATERMARK", 60000),
    "PG_WATERMARK_STAT": ("PG_WATERMARK", 60000), "PG_DROP_STAT": ("PG_DROP", 10000),
    "BUFFER_POOL_WATERMARK_STAT": ("BUFFER_POOL_WATERMARK", 60000), "ACL": ("ACL", 10000),
    "TUNNEL_STAT": ("TUNNEL", 10000),
}  # fmt: skip


def _add(name: str, text: str, tables: tuple[str, ...], least: int, most: int) -> None:
    group = counterpoll.branch(name, text)

    def put(one: Run, field: str, value: str) -> None:
        for key in tables:
            one.db.set_fields(f"FLEX_COUNTER_TABLE|{key}", {field: value})

    what = text.removesuffix(" commands")
    group.leaf("interval", f"Set {what} query interval", argument("poll_interval", type=Range(least, most)))(
        lambda one, poll_interval: put(one, "POLL_INTERVAL", str(poll_interval))
    )
    for state in ("enable", "disable"):
        group.leaf(state, f"{state.capitalize()} {what} query")(
            lambda one, state=state: put(one, "FLEX_COUNTER_STATUS", state)
        )


for _name, _values in _GROUPS.items():
    _add(_name, *_values)
not_simulated(counterpoll, "flowcnt-trap  Trap flow counter commands\nflowcnt-route  Route flow counter commands")


@counterpoll.leaf("show", "Show the counter configuration")
def show(one: Run) -> None:
    rows = one.db.table("FLEX_COUNTER_TABLE")
    body = [
        [name, rows[key].get("POLL_INTERVAL", f"default ({default})"), rows[key].get("FLEX_COUNTER_STATUS", "disable")]
        for name, (key, default) in _SHOWN.items()
        if rows.get(key)
    ]
    one.say(table(["Type", "Interval (in ms)", "Status"], body, numbers="left"))


@program("counterpoll")
def run_counterpoll(call: Call) -> Result:
    """Run ``counterpoll``."""
    return run(counterpoll, call)
