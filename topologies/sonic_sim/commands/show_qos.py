"""``show ecn``, ``show buffer``, ``show pfc``, ``pfcwd``, and the changes ``config ecn`` and ``config pfcwd``."""

from itertools import pairwise

from sonic_sim.commands.clicklike import Argument, Option, Parsed, leaf
from sonic_sim.commands.table import plain_table, simple_table
from sonic_sim.configdb import ConfigDb, natural_key
from sonic_sim.shell.programs import Call, Result, program

_VERBOSE = (Option(("--verbose",)),)


def _listing(db: ConfigDb, table: str, title: str) -> str:
    """Return every row of a table as a block of its own."""
    blocks = []
    for name, row in sorted(db.table(table).items()):
        blocks.append(f"{title}: {name}\n{plain_table([[key, row[key]] for key in sorted(row)])}\n\n")
    return "".join(blocks)


def _ecn(db: ConfigDb) -> str:
    return _listing(db, "WRED_PROFILE", "Profile")


@leaf("show ecn", options=_VERBOSE)
def ecn(parsed: Parsed) -> Result:
    """Print the WRED profiles."""
    return Result(out=_ecn(parsed.call.device.db))


def _buffers(db: ConfigDb) -> str:
    return _listing(db, "BUFFER_POOL", "Pool") + _listing(db, "BUFFER_PROFILE", "Profile")


@leaf("show buffer configuration", options=_VERBOSE)
def buffer_configuration(parsed: Parsed) -> Result:
    """Print buffer pools and profiles."""
    return Result(out=_buffers(parsed.call.device.db))


@program("ecnconfig")
def ecnconfig(call: Call) -> Result:
    """Run ``ecnconfig -l``."""
    return Result(out=_ecn(call.device.db)) if "-l" in call.argv else Result(1)


@program("mmuconfig")
def mmuconfig(call: Call) -> Result:
    """Run ``mmuconfig -l``."""
    return Result(out=_buffers(call.device.db)) if "-l" in call.argv else Result(1)


_ECN_FIELDS = {
    "gmin": "green_min_threshold", "gmax": "green_max_threshold", "gdrop": "green_drop_probability",
    "ymin": "yellow_min_threshold", "ymax": "yellow_max_threshold", "ydrop": "yellow_drop_probability",
    "rmin": "red_min_threshold", "rmax": "red_max_threshold", "rdrop": "red_drop_probability",
}  # fmt: skip
_ECN_OPTIONS = (
    Option(("-profile",), value=True), *(Option((f"-{name}",), value=True) for name in _ECN_FIELDS), Option(("-v",)),
)  # fmt: skip


@leaf("config ecn", "[OPTIONS]", options=_ECN_OPTIONS)
def config_ecn(parsed: Parsed) -> Result:
    """Change thresholds of a WRED profile."""
    profile, db = parsed.values.get("profile", ""), parsed.call.device.db
    if f"WRED_PROFILE|{profile}" not in db.rows:
        reason = f"Input arguments error. Invalid WRED profile {profile} for namespace None"
        return Result(1, err=f"Exception caught:  {reason}\n")
    fields = {_ECN_FIELDS[name]: value for name, value in parsed.values.items() if name in _ECN_FIELDS}
    db.set_fields(f"WRED_PROFILE|{profile}", fields)
    return Result()


@leaf("show pfc priority", "[OPTIONS] [INTERFACE]", arguments=(Argument("interface", required=False),))
def pfc_priority(parsed: Parsed) -> Result:
    """Print the lossless priorities of the ports."""
    rows = [
        [port, maps.get("pfc_enable", "N/A") or "N/A"]
        for port, maps in parsed.call.device.db.table("PORT_QOS_MAP").items()
        if parsed.values.get("interface") in (None, port) and port != "global"
    ]
    rows.sort(key=lambda row: natural_key(row[0]))
    return Result(out="\n" + simple_table(["Interface", "Lossless priorities"], rows) + "\n\n")


@leaf("show pfc asymmetric", "[OPTIONS] [INTERFACE]", arguments=(Argument("interface", required=False),))
def pfc_asymmetric(parsed: Parsed) -> Result:
    """Print the asymmetric PFC state of the ports."""
    ports = parsed.call.device.db.table("PORT")
    rows = [
        [port, row.get("pfc_asym", "N/A")]
        for port, row in ports.items()
        if parsed.values.get("interface") in (None, port)
    ]
    rows.sort(key=lambda row: natural_key(row[0]))
    return Result(out="\n" + simple_table(["Interface", "Asymmetric"], rows) + "\n\n")


def _watchdog(call: Call) -> Result:
    """Print the PFC watchdog's configuration of the ports that COUNTERS_DB knows."""
    from sonic_sim.databases import COUNTERS, rows_of_database

    db = call.device.db
    names = rows_of_database(call.device, COUNTERS, "COUNTERS_PORT_NAME_MAP").get("COUNTERS_PORT_NAME_MAP", {})
    rows = [
        [port, row.get("action", "drop"), row.get("detection_time", "N/A"), row.get("restoration_time", "infinite")]
        for port, row in db.table("PFC_WD").items()
        if port in names
    ]
    rows.sort(key=lambda row: natural_key(row[0]))
    interval = db.get("PFC_WD|GLOBAL").get("POLL_INTERVAL")
    head = f"Changed polling interval to {interval}ms\n" if interval and names else ""
    table = simple_table(["PORT", "ACTION", "DETECTION TIME", "RESTORATION TIME"], rows, right=True)
    return Result(out=f"{head}{table}\n")


@leaf("show pfcwd config", options=(*_VERBOSE, Option(("-n", "--namespace"), value=True)))
def pfcwd_config(parsed: Parsed) -> Result:
    """Print the PFC watchdog's configuration."""
    return _watchdog(parsed.call)


@program("pfcwd")
def pfcwd(call: Call) -> Result:
    """Run ``pfcwd show config`` and ``pfcwd start``."""
    if call.argv[1:3] == ["show", "config"]:
        return _watchdog(call)
    if call.argv[1:2] == ["start"]:
        words = call.argv[2:]
        operands = [
            word
            for place, word in enumerate(words)
            if not word.startswith("-") and words[place - 1] not in ("-a", "-r")
        ]
        return _start(call.device.db, operands, dict(pairwise(words)))
    return Result(
        2, err='Usage: pfcwd [OPTIONS] COMMAND [ARGS]...\nTry "pfcwd -h" for help.\n\nError: Missing command.\n'
    )


def _start(db: ConfigDb, operands: list[str], options: dict[str, str]) -> Result:
    *ports, detection = operands or [""]
    unknown = [port for port in ports if f"PORT_QOS_MAP|{port}" not in db.rows and port != "all"]
    if unknown:
        return Result(1, out="Failed to run command, invalid options:\n" + "".join(f"{port}\n" for port in unknown))
    names = [port for port in db.table("PORT_QOS_MAP") if port != "global"] if "all" in ports else ports
    for port in names:
        row = {"action": options.get("-a", "drop"), "detection_time": detection}
        restoration = options.get("-r", str(2 * int(detection)))
        db.put(f"PFC_WD|{port}", {**row, "restoration_time": restoration})
    return Result()


_START = (
    Option(("-a", "--action"), value=True),
    Option(("-r", "--restoration-time"), value=True),
    Option(("-v", "--verbose")),
)


@leaf(
    "config pfcwd start",
    "[OPTIONS] [PORTS]... DETECTION-TIME",
    options=_START,
    arguments=(Argument("ports", many=True),),
)
def config_pfcwd_start(parsed: Parsed) -> Result:
    """Start the watchdog on ports."""
    options = {"-a": parsed.values.get("action", "drop")}
    if "restoration-time" in parsed.values:
        options["-r"] = parsed.values["restoration-time"]
    return _start(parsed.call.device.db, parsed.lists["ports"], options)


@leaf("config pfcwd stop", "[OPTIONS]", options=(Option(("-v", "--verbose")),))
def config_pfcwd_stop(parsed: Parsed) -> Result:
    """Stop the watchdog on all ports."""
    db = parsed.call.device.db
    for port in [one for one in db.table("PFC_WD") if one != "GLOBAL"]:
        db.delete(f"PFC_WD|{port}")
    return Result()


@leaf("config pfcwd interval", "[OPTIONS] POLL_INTERVAL", arguments=(Argument("POLL_INTERVAL"),))
def config_pfcwd_interval(parsed: Parsed) -> Result:
    """Set the watchdog's polling interval in milliseconds."""
    db, interval = parsed.call.device.db, int(parsed.values["POLL_INTERVAL"])
    times = [
        (name, int(row[name]))
        for row in db.table("PFC_WD").values()
        for name in ("detection_time", "restoration_time")
        if name in row
    ]
    for name, value in times:
        if interval > value:
            words = name.replace("_", " ")
            reason = (
                f"value is bigger than one of the configured {words} values, please choose a smaller polling_interval"
            )
            return Result(1, err=f"unable to use polling interval = {interval}ms, {reason}\n")
    db.set_fields("PFC_WD|GLOBAL", {"POLL_INTERVAL": str(interval)})
    return Result()
