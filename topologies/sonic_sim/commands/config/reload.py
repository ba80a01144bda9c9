"""``config reload``: lock, readiness, YANG check, stop, flush, load, migrate, restart."""

import json
from functools import partial
from typing import Any

import click

from sonic_sim.commands.click7 import Choice, Run, argument, flag, option
from sonic_sim.commands.config.files import CFGGEN
from sonic_sim.commands.config.root import config
from sonic_sim.device import CONFIG_FILE, INIT_FILE, SWSS_READY_S, Device, Effect
from sonic_sim.faults import FaultKind
from sonic_sim.shell.programs import ProgramError
from sonic_sim.yang.reload_rule import ReloadRule

LOCK = "/etc/sonic/reload.lock"
_NOT_READY = "SwSS container is not ready. Retry later or use -f to avoid system checks"
# What a reload takes until the command ends; services go on starting after that.
_SECONDS = 30.0


@config.leaf(
    "reload",
    """Clear current configuration and import a previous saved config DB dump file.
<filename> : Names of configuration file(s) to load, separated by comma with no spaces in between
""",
    flag("-y", "--yes"),
    flag("-l", "--load-sysinfo", help="load system default information (mac, portmap etc) first."),
    flag("-n", "--no_service_restart", help="Do not restart docker services"),
    flag("-f", "--force", help="Force config reload without system checks"),
    option(
        "-t",
        "--file_format",
        default="config_db",
        type=Choice(["config_yang", "config_db"]),
        show_default=True,
        help="specify the file format",
    ),
    flag("-b", "--bypass-lock", help="Do reload without acquiring lock"),
    argument("filename", required=False),
)
def reload(run: Run, bypass_lock: bool, **options: Any) -> None:
    if bypass_lock:
        run.say(f"Bypass lock on {LOCK}")
        _reload(run, **options)
        return
    holder = run.device.locks.take(LOCK)
    if holder is None:
        run.stop(f"Failed to acquire lock on {LOCK}")
    run.say(f"Acquired lock on {LOCK}")
    run.ends.append(partial(run.device.locks.release, holder))
    try:
        _reload(run, **options)
    finally:
        run.say(f"Released lock on {LOCK}")


def _reload(
    run: Run,
    yes: bool,
    load_sysinfo: bool,
    no_service_restart: bool,
    force: bool,
    file_format: str,
    filename: str | None,
) -> None:
    restart = not no_service_restart
    if not force and restart:
        _check_readiness(run)
    if not yes:
        _confirm(run, file_format, filename)
    if file_format == "config_yang":
        run.leave("config reload -t config_yang: files in the form of YANG are not simulated")
    # config/main.py validates only a file that is named.
    if filename is not None:
        _check_file(run, filename)
    if run.device.faults.strike(FaultKind.REFUSE_COMMIT, "config reload"):
        run.stop(_NOT_READY)
    if restart:
        run.say("Disabling container and routeCheck monitoring ...\nStopping SONiC target ...")
        run.device.frr.stop()
    path = filename or CONFIG_FILE
    if run.device.files.exists(run.call.path(path)):
        _load(run, path, load_sysinfo)
    else:
        run.say(f"The config file {path} doesn't exist")
    run.seconds = 1.0
    if restart:
        _restart(run)
        run.seconds = _SECONDS


def _check_file(run: Run, names: str) -> None:
    """End the run unless one file is named, with a document that is valid."""
    files = [name for name in names.split(",") if name.strip()]
    if len(files) != 1:
        run.stop("Input 1 config file(s) separated by comma for multiple files ", 0)
    _validate(run, names, _document(run, names))


def _restart(run: Run) -> None:
    """Start the services again, which ends the sessions of the management interface."""
    run.say("Restarting SONiC target ...\nEnabling container and routeCheck monitoring ...")
    run.say("Reloading Monit configuration ...")
    _overwrite_mode(run.device)
    run.device.start_services()
    # The management interface goes down with the services that are restarted.
    run.device.emit(Effect.DROP_SESSIONS)


def _confirm(run: Run, file_format: str, filename: str | None) -> None:
    """Ask whether to reload, in the words of the program."""
    form = file_format
    where = f"file(s) {filename}"
    if filename is None:
        form = f"{file_format} format"
        where = "default config file(s)"
    run.confirm(f"Clear current config and reload config in {form} from the {where} ?")


def _check_readiness(run: Run) -> None:
    """End the run if the services have not all started."""
    device = run.device
    now = run.device.clock.now()
    # systemctl is-system-running answers so while any unit is starting.
    if device.times.frr_up > now:
        run.stop("System is not up. Retry later or use -f to avoid system checks")
    if now < device.times.swss_up + device.clock.real_s(SWSS_READY_S):
        run.stop(_NOT_READY)


def _document(run: Run, path: str) -> Any:
    """Return the JSON of a file. Raises ProgramError as ``read_json_file`` of config/main.py does."""
    try:
        return json.loads(run.call.read(path))
    except json.JSONDecodeError as error:
        raise ProgramError(f"Exception: {error}") from error
    except OSError as error:
        raise ProgramError(f"Exception: {error_text(error, path)}") from error


def error_text(error: OSError, path: str) -> str:
    """Return Python's message about a file that cannot be read."""
    messages = {
        FileNotFoundError: "[Errno 2] No such file or directory",
        IsADirectoryError: "[Errno 21] Is a directory",
    }
    message = messages.get(type(error), "[Errno 13] Permission denied")
    return f"{message}: '{path}'"


def _validate(run: Run, path: str, document: Any) -> None:
    """Abort the run for a document that the YANG models refuse, or that has a table without a model."""
    if not isinstance(document, dict):
        return
    rule = ReloadRule()
    error = rule.violation(document)
    if error is not None:
        run.say(error.printed, end="")
        run.say(f"{path} fails YANG validation! Error: {error.reason}")
        run.err.append(error.libyang)
        raise click.Abort
    unknown = rule.unmodelled(document)
    if unknown:
        run.say(f"Config tables are missing yang models: dict_keys({unknown})")
        raise click.Abort


def _load(run: Run, path: str, load_sysinfo: bool) -> None:
    """Flush the database and fill it from the file ``path``. Raises ProgramError for a file of another form."""
    device = run.device
    document = _document(run, path)
    if not isinstance(document, dict):
        raise ProgramError(f"AttributeError: {type(document).__name__!r} object has no attribute 'get'")
    metadata = document.get("DEVICE_METADATA", {}).get("localhost", {})
    # A file without platform and MAC address is completed by what the hardware says.
    is_complete = bool(metadata.get("platform") and metadata.get("mac"))
    needs_hardware = load_sysinfo or not is_complete
    if needs_hardware:
        _load_hardware(run, document, metadata)
    device.load_files(run.call.path(path))
    if needs_hardware:
        hardware = {"mac": device.spec.mac, "platform": device.platform}
        loaded_row = device.db.get("DEVICE_METADATA|localhost")
        device.db.set_fields("DEVICE_METADATA|localhost", {**hardware, **loaded_row})
    run.say(f"Running command: {CFGGEN} -j {INIT_FILE} -j {path} --write-to-db")
    run.say("Running command: /usr/local/bin/db_migrator.py -o migrate")


def _load_hardware(run: Run, document: dict[str, Any], metadata: dict[str, Any]) -> None:
    """Write the rows of the SKU's folder and of the hardware.

    Without DEVICE_METADATA the run ends, and without a SKU it never does.
    """
    if not metadata:
        # The services are stopped already; sonic-cfggen -v prints no line where the row is missing.
        fault = "'DEVICE_METADATA' is undefined"
        if "DEVICE_METADATA" in document:
            fault = "'dict object' has no attribute 'localhost'"
        run.err.append(ProgramError(f"jinja2.exceptions.UndefinedError: {fault}").traceback())
        run.stop("Could not get the HWSKU from config file,  Exiting!!!")
    sku = metadata.get("hwsku", "")
    run.say(f"Running command: {CFGGEN} -H -k {sku} --write-to-db")
    if not sku:
        # The database is flushed already, and sonic-cfggen waits for a key that nobody sets (recorded).
        run.device.db.clear()
        run.device.initialized = False
        run.wait_for_ever()


def _overwrite_mode(device: Device) -> None:
    """Set the routing mode as a minigraph or a golden file states it, as the migration does."""
    golden = "/etc/sonic/golden_config_db.json"
    if device.files.exists("/etc/sonic/minigraph.xml"):
        device.db.set_fields("DEVICE_METADATA|localhost", {"docker_routing_config_mode": "separated"})
    elif device.files.exists(golden):
        rows = json.loads(device.files.read(golden)).get("DEVICE_METADATA", {}).get("localhost", {})
        mode = rows.get("docker_routing_config_mode")
        if mode:
            device.db.set_fields("DEVICE_METADATA|localhost", {"docker_routing_config_mode": mode})
        else:
            device.db.delete_fields("DEVICE_METADATA|localhost", ["docker_routing_config_mode"])
