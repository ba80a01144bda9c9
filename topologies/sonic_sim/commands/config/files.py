"""``config save`` and ``config load``: files to and from the running CONFIG_DB."""

from sonic_sim.commands.click7 import Run, argument, flag
from sonic_sim.commands.config.root import config
from sonic_sim.commands.merge import merge_into, read_document
from sonic_sim.configdb import ConfigDb, natural_key, to_json
from sonic_sim.device import CONFIG_FILE
from sonic_sim.faults import FaultKind
from sonic_sim.shell.programs import ProgramError

CFGGEN = "/usr/local/bin/sonic-cfggen"
_SECONDS = 0.35


def saved_text(db: ConfigDb) -> str:
    """Return the text of ``config save``: tables and rows in natural order, indent 4, no newline at the end."""
    tables = {}
    for table, rows in db.document().items():
        tables[table] = {key: rows[key] for key in sorted(rows, key=natural_key)}
    return to_json(tables)


@config.leaf(
    "save",
    """Export current config DB to a file on disk.

<filename> : Names of configuration file(s) to save, separated by comma with no spaces in between
""",
    flag("-y", "--yes"),
    argument("filename", required=False),
)
def save(run: Run, yes: bool, filename: str | None) -> None:
    if not yes:
        run.confirm("Existing files will be overwritten, continue?")
    path = filename or CONFIG_FILE
    _refuse_several(run, path)
    run.say(f"Running command: {CFGGEN} -d --print-data > {path}")
    if run.device.faults.strike(FaultKind.REFUSE_COMMIT, "config save"):
        run.leave(f"/bin/sh: 1: cannot create {path}: Read-only file system", 2)
    try:
        run.device.files.write(run.call.path(path), saved_text(run.db).encode(), now=run.device.clock.now())
    except OSError:
        run.leave(f"/bin/sh: 1: cannot create {path}: Directory nonexistent", 2)
    run.seconds = _SECONDS


def _refuse_several(run: Run, path: str) -> None:
    """End the run if ``path`` names several files."""
    # Several files are one for each ASIC, and the simulated switch has a single one.
    if "," in path:
        run.stop("Input 1 config file(s) separated by comma for multiple files ", 0)


@config.leaf(
    "load",
    """Import a previous saved config DB dump file.

<filename> : Names of configuration file(s) to load, separated by comma with no spaces in between
""",
    flag("-y", "--yes"),
    argument("filename", required=False),
)
def load(run: Run, yes: bool, filename: str | None) -> None:
    path = filename or CONFIG_FILE
    if not yes:
        where = f"the file(s) {filename}" if filename else "the default config file(s)"
        run.confirm(f"Load config from {where} ?")
    _refuse_several(run, path)
    if not run.device.files.exists(run.call.path(path)):
        run.stop(f"The config_db file {path} doesn't exist", 0)
    run.say(f"Running command: {CFGGEN} -j {path} --write-to-db")
    run.seconds = _SECONDS
    if run.device.faults.strike(FaultKind.REFUSE_COMMIT, "config load"):
        # What sonic-cfggen prints when it does not reach Redis.
        reason = "redis.exceptions.ConnectionError: Error 111 connecting to 127.0.0.1:6379. Connection refused."
        raise ProgramError(reason)
    merge_into(run.db, read_document(run.device.files.read(run.call.path(path)).decode()))
