"""``config save`` and ``config load``."""

from sonic_sim.commands.clicklike import Argument, Option, Parsed, leaf
from sonic_sim.commands.prompting import ask
from sonic_sim.configdb import ConfigDb, natural_key, to_json
from sonic_sim.device import CONFIG_FILE
from sonic_sim.merge import ProgramError, merge_into, read_document
from sonic_sim.refusals import refused
from sonic_sim.shell.programs import Result

YES = Option(("-y", "--yes"))
CFGGEN = "/usr/local/bin/sonic-cfggen"
_SECONDS = 0.35


def saved_text(db: ConfigDb) -> str:
    """Return what ``config save`` writes: tables and rows in natural order, indent 4."""
    document = db.document()
    ordered = {table: {key: rows[key] for key in sorted(rows, key=natural_key)} for table, rows in document.items()}
    return to_json(ordered) + "\n"


@leaf("config save", "[OPTIONS] [FILENAME]", options=(YES,), arguments=(Argument("FILENAME", required=False),))
def save(parsed: Parsed) -> Result:
    """Write the running CONFIG_DB to the startup file or another."""
    call = parsed.call
    path = parsed.values.get("FILENAME", CONFIG_FILE)
    asked = "" if "yes" in parsed.flags else ask("Existing files will be overwritten, continue?", call.stdin)
    if isinstance(asked, Result):
        return asked
    command = f"Running command: {CFGGEN} -d --print-data > {path}\n"
    try:
        call.device.files.write(call.path(path), saved_text(call.device.db).encode(), now=call.device.clock.now())
    except OSError:
        return Result(2, out=asked + command, err=f"/bin/sh: 1: cannot create {path}: Directory nonexistent\n")
    return Result(out=asked + command, seconds=_SECONDS)


@leaf("config load", "[OPTIONS] [FILENAME]", options=(YES,), arguments=(Argument("FILENAME", required=False),))
def load(parsed: Parsed) -> Result:
    """Merge a file into the running CONFIG_DB, without validation."""
    call = parsed.call
    path = parsed.values.get("FILENAME", CONFIG_FILE)
    if "yes" not in parsed.flags:
        where = f"the file(s) {path}" if "FILENAME" in parsed.values else "the default config file(s)"
        asked = ask(f"Load config in config_db format from {where} ?", call.stdin)
    else:
        asked = ""
    if isinstance(asked, Result):
        return asked
    if "," in path:
        return Result(out=f"{asked}Input 1 config file(s) separated by comma for multiple files \n")
    if not call.device.files.exists(call.path(path)):
        return Result(out=f"{asked}The config_db file {path} doesn't exist\n")
    command = f"{asked}Running command: {CFGGEN} -j {path} --write-to-db\n"
    if refused(call.device, "config load"):
        reason = "redis.exceptions.ConnectionError: Error 111 connecting to 127.0.0.1:6379. Connection refused."
        return Result(1, out=command, err=ProgramError(reason).traceback())
    try:
        merge_into(call.device.db, read_document(call.device.files.read(call.path(path)).decode()))
    except ProgramError as error:
        return Result(1, out=command, err=error.traceback(), seconds=_SECONDS)
    return Result(out=command, seconds=_SECONDS)
