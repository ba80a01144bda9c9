"""``pfcwd``: the PFC watchdog's rows of the ports that COUNTERS_DB knows (sonic-utilities, pfcwd/main.py)."""

from math import ceil
from typing import NamedTuple

from sonic_sim.commands.click7 import PLAIN_HELP, Choice, PlainGroup, Range, Run, argument, flag, option, run
from sonic_sim.commands.tables import table
from sonic_sim.configdb import natural_key
from sonic_sim.databases import COUNTERS, rows_of_database
from sonic_sim.files import ROOT
from sonic_sim.shell.programs import Call, Result, program

_STATES = Choice(["enable", "disable"])
# Milliseconds of `pfcwd start_default` for the first 32 ports.
_DEFAULT_MS = {"detection_time": 200, "restoration_time": 200}
# pfcwd/main.py multiplies its times for every so many ports (DEFAULT_PORT_NUM).
_PORTS_A_STEP = 32
_HEADERS = ["PORT", "ACTION", "DETECTION TIME", "RESTORATION TIME"]
# Columns of `pfcwd show stats` after queue and status, each with the two counters that it shows.
_STATISTICS = {
    "STORM DETECTED/RESTORED": ("DEADLOCK_DETECTED", "DEADLOCK_RESTORED"),
    "TX OK/DROP": ("TX_PACKETS", "TX_DROPPED_PACKETS"),
    "RX OK/DROP": ("RX_PACKETS", "RX_DROPPED_PACKETS"),
    "TX LAST OK/DROP": ("TX_PACKETS_LAST", "TX_DROPPED_PACKETS_LAST"),
    "RX LAST OK/DROP": ("RX_PACKETS_LAST", "RX_DROPPED_PACKETS_LAST"),
}
_COUNTER = "PFC_WD_QUEUE_STATS_"


pfcwd = PlainGroup("pfcwd", help="SONiC PFC Watchdog", context_settings=PLAIN_HELP)


@program("pfcwd")
def run_pfcwd(call: Call) -> Result:
    """Run ``pfcwd``."""
    return run(pfcwd, call)


def _known_ports(run: Run) -> list[str]:
    """Return the ports that COUNTERS_DB knows, in natural order."""
    key = "COUNTERS_PORT_NAME_MAP"
    names = rows_of_database(run.device, COUNTERS, key).get(key, {})
    return sorted((name for name in names if name.startswith("Ethernet")), key=natural_key)


def _need_root(run: Run) -> None:
    if run.call.user != ROOT:
        run.leave("Root privileges are required for this operation")


def _watch(run: Run, port: str, row: dict[str, str]) -> None:
    """Write the row of a port if PFC is enabled on it."""
    if "pfc_enable" not in run.db.get(f"PORT_QOS_MAP|{port}"):
        run.say(f"SKIPPED: PFC is not enabled on port: {port}")
    else:
        run.db.put(f"PFC_WD|{port}", row)


@pfcwd.leaf(
    "start",
    """Start PFC watchdog on port(s). To config all ports, use all as input.

Example:
sudo pfcwd start --action drop all 400 --restoration-time 400
""",
    option("--action", "-a", type=Choice(["drop", "forward", "alert"])),
    option("--restoration-time", "-r", type=Range(100, 60000)),
    argument("ports", nargs=-1),
    argument("detection-time", type=Range(100, 5000)),
)
def start(
    run: Run, action: str | None, restoration_time: int | None, ports: tuple[str, ...], detection_time: int
) -> None:
    all_ports = _known_ports(run)
    unknown = [port for port in dict.fromkeys(ports) if port not in all_ports and port != "all"]
    if unknown:
        run.stop("Failed to run command, invalid options:\n" + "\n".join(unknown))
    _need_root(run)
    row = {"detection_time": str(detection_time)}
    if action:
        row["action"] = action
    if restoration_time is None:
        restoration_time = 2 * detection_time
        text = f"default to 2 times detection time: {restoration_time} ms"
        run.say(f"restoration time not defined; {text}")
    row["restoration_time"] = str(restoration_time)
    for port in ports or all_ports:
        names = all_ports if port == "all" else [port]
        for name in names:
            _watch(run, name, row)


class _WatchTime(NamedTuple):
    """A time of a port's row in milliseconds, and its field."""

    ms: int
    field: str


@pfcwd.leaf("interval", "Set PFC watchdog counter polling interval", argument("poll_interval", type=Range(100, 3000)))
def interval(run: Run, poll_interval: int) -> None:
    _need_root(run)
    times = []
    for port, row in run.db.table("PFC_WD").items():
        if "Ethernet" in port:
            times += [_WatchTime(int(row[field]), field) for field in _DEFAULT_MS if field in row]
    shortest = min(times, key=lambda time: time.ms, default=None)
    if shortest is not None and shortest.ms < poll_interval:
        values = f"{shortest.field.replace('_', ' ')} values"
        reason = f"value is bigger than one of the configured {values}, please choose a smaller polling_interval"
        run.leave(f"unable to use polling interval = {poll_interval}ms, {reason}")
    run.db.set_fields("PFC_WD|GLOBAL", {"POLL_INTERVAL": str(poll_interval)})


@pfcwd.leaf("stop", "Stop PFC watchdog on port(s)", argument("ports", nargs=-1))
def stop(run: Run, ports: tuple[str, ...]) -> None:
    _need_root(run)
    all_ports = _known_ports(run)
    for port in ports or all_ports:
        if port in all_ports:
            run.db.delete(f"PFC_WD|{port}")


@pfcwd.leaf("start_default", "Start PFC WD by default configurations")
def start_default(run: Run) -> None:
    _need_root(run)
    if run.db.get("DEVICE_METADATA|localhost").get("default_pfcwd_status", "").lower() != "enable":
        return
    steps = max(1, ceil(len(run.db.table("PORT")) / _PORTS_A_STEP))
    times = {name: str(value * steps) for name, value in _DEFAULT_MS.items()}
    for port in sorted(run.db.table("DEVICE_NEIGHBOR"), key=natural_key):
        _watch(run, port, {**times, "action": "drop"})
    run.db.set_fields("PFC_WD|GLOBAL", {"POLL_INTERVAL": str(200 * steps)})


@pfcwd.leaf("counter_poll", "Enable/disable counter polling", argument("counter_poll", type=_STATES))
def counter_poll(run: Run, counter_poll: str) -> None:
    _need_root(run)
    run.db.set_fields("FLEX_COUNTER_TABLE|PFCWD", {"FLEX_COUNTER_STATUS": counter_poll})


@pfcwd.leaf("big_red_switch", "Enable/disable BIG_RED_SWITCH mode", argument("big_red_switch", type=_STATES))
def big_red_switch(run: Run, big_red_switch: str) -> None:
    _need_root(run)
    run.db.set_fields("PFC_WD|GLOBAL", {"BIG_RED_SWITCH": big_red_switch})


show = pfcwd.branch("show", "Show PFC Watchdog information", cls=PlainGroup)


@show.leaf(
    "config",
    "Show PFC Watchdog configuration",
    option("--display", "-d"),
    option("--namespace", "-n"),
    argument("ports", nargs=-1),
)
def show_config(run: Run, ports: tuple[str, ...], display: str | None, namespace: str | None) -> None:
    watched = {}
    for port in ports or _known_ports(run):
        row = run.db.get(f"PFC_WD|{port}")
        if row:
            watched[port] = row
    # The program looks at the general row only where a port has one of its own.
    general = run.db.get("PFC_WD|GLOBAL") if watched else {}
    if "POLL_INTERVAL" in general:
        run.say(f"Changed polling interval to {general['POLL_INTERVAL']}ms")
    if "BIG_RED_SWITCH" in general:
        run.say(f"BIG_RED_SWITCH status is {general['BIG_RED_SWITCH']}")
    body = []
    for port, row in watched.items():
        action = row.get("action", "drop")
        body.append([port, action, row.get("detection_time", "N/A"), row.get("restoration_time", "infinite")])
    run.say(table(_HEADERS, body, right=True))


@show.leaf(
    "stats",
    "Show PFC Watchdog stats per queue",
    option("--display", "-d"),
    option("--namespace", "-n"),
    flag("-e", "--empty"),
    argument("queues", nargs=-1),
)
def show_stats(run: Run, queues: tuple[str, ...], empty: bool, **others: object) -> None:
    names = rows_of_database(run.device, COUNTERS, "COUNTERS_QUEUE_NAME_MAP").get("COUNTERS_QUEUE_NAME_MAP", {})
    rows = rows_of_database(run.device, COUNTERS, "COUNTERS:oid:0x15*")
    body = []
    for queue in queues or sorted(names, key=natural_key):
        row = rows.get(f"COUNTERS:{names.get(queue, '')}")
        if row is None:
            continue
        cells = []
        for first, second in _STATISTICS.values():
            cells.append(f"{row.get(_COUNTER + first, '0')}/{row.get(_COUNTER + second, '0')}")
        # The program leaves out queues that never counted anything.
        if empty or cells != ["0/0"] * len(cells):
            body.append([queue, row.get("PFC_WD_STATUS", "N/A"), *cells])
    run.say(table(["QUEUE", "STATUS", *_STATISTICS], body, right=True))
