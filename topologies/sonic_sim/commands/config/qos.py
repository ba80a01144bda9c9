"""``config qos``: clear, reload from the templates of the SKU, and update single ports (config/main.py of 202505)."""

import json
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

import click

from sonic_sim.commands.cfggen import cfggen, platform_folder, sku_template
from sonic_sim.commands.click7 import Run, flag, option
from sonic_sim.commands.config.files import CFGGEN
from sonic_sim.commands.config.root import config
from sonic_sim.commands.merge import merge_into, read_document
from sonic_sim.databases import APPL, rows_of_database
from sonic_sim.device import VERSION_FILE
from sonic_sim.shell.programs import Call, ProgramError, Result
from sonic_sim.sku.data import NotSimulatedError
from sonic_sim.sku.ports import check_use

_TABLES = (
    "PORT_QOS_MAP", "QUEUE", "TC_TO_PRIORITY_GROUP_MAP", "MAP_PFC_PRIORITY_TO_QUEUE", "TC_TO_QUEUE_MAP",
    "DSCP_TO_TC_MAP", "MPLS_TC_TO_TC_MAP", "SCHEDULER", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "WRED_PROFILE",
    "CABLE_LENGTH", "BUFFER_PG", "BUFFER_QUEUE", "BUFFER_PORT_INGRESS_PROFILE_LIST",
    "BUFFER_PORT_EGRESS_PROFILE_LIST", "BUFFER_PROFILE", "BUFFER_POOL", "DEFAULT_LOSSLESS_BUFFER_PARAMETER",
    "LOSSLESS_TRAFFIC_PATTERN",
)  # fmt: skip
_OF_PORT = ("PORT_QOS_MAP", "BUFFER_PORT_INGRESS_PROFILE_LIST", "BUFFER_PORT_EGRESS_PROFILE_LIST")
_BELOW_PORT = ("QUEUE", "BUFFER_PG", "BUFFER_QUEUE")
# Vendors whose platforms have templates for calculated buffers (config/main.py).
_DYNAMIC_VENDORS = ("mellanox", "barefoot")
# What buffermgrd and orchagent have in APPL_DB: the rows, and the sets of those still to be taken.
_CLEARING = ("BUFFER_*_TABLE:*", "BUFFER_*_SET")
# SONiC looks twice a second for two minutes whether the rows are gone.
_CLEAR_WAIT_S = 120.0
_CLEAR_STEP_S = 0.5
_verbose = flag("--verbose", help="Enable verbose output")


qos = config.branch("qos", "QoS-related configuration tasks")


@qos.leaf("clear", "Clear QoS configuration", _verbose)
def clear(run: Run, verbose: bool) -> None:
    _clear(run)


def _clear(run: Run) -> None:
    for table in _TABLES:
        run.db.delete_table(table)


def _localhost(run: Run) -> Mapping[str, str]:
    return run.db.get("DEVICE_METADATA|localhost")


def _clear_and_wait(run: Run, *, wait: bool, verbose: bool) -> bool:
    """Delete the tables of QoS, and tell whether the buffers are gone from APPL_DB.

    Only with ``wait`` and the dynamic model they are waited for. What is in APPL_DB at first is there at the end of the
    wait too, as no simulated daemon runs meanwhile.
    """
    _clear(run)
    if not wait or _localhost(run).get("buffer_model") != "dynamic":
        return True
    remaining: dict[str, str] = {}
    for pattern in _CLEARING:
        key = _first_key(run, pattern)
        if key:
            remaining[pattern] = key
    if not remaining:
        return True
    if verbose:
        # Each look at a pattern is a step.
        rounds = int(_CLEAR_WAIT_S / (_CLEAR_STEP_S * len(remaining)))
        for _ in range(rounds):
            for pattern, key in remaining.items():
                run.say(f"Some entries matching {pattern} still exist: {key}")
    run.seconds = _CLEAR_WAIT_S
    run.say("Operation not completed successfully, please save and reload configuration.")
    return False


def _first_key(run: Run, pattern: str) -> str:
    """Return the first key of APPL_DB that matches a pattern; empty if none does."""
    for key in rows_of_database(run.device, APPL, pattern):
        if fnmatchcase(key, pattern):
            return key
    return ""


def _template_files(run: Run, *, dynamic: bool) -> tuple[str, str]:
    """Return the paths of the templates of buffers and of QoS; ``dynamic`` selects the buffer model.

    Raises ProgramError if CONFIG_DB names no SKU.
    """
    sku = _localhost(run).get("hwsku")
    if sku is None:
        raise ProgramError("TypeError: join() argument must be str, bytes, or os.PathLike object, not 'NoneType'")
    folder = f"{platform_folder(run.device)}/{sku}"
    buffers = "buffers_dynamic.json.j2" if dynamic else "buffers.json.j2"
    return f"{folder}/{buffers}", f"{folder}/qos.json.j2"


def _missing_template(run: Run, buffers: str, maps: str) -> str:
    """Return SONiC's message about a missing template; empty if both are there.

    Ends the run if the SKU, or what the switch is used for, is not simulated.
    """
    try:
        check_use(run.db.document())
        for subject, path in (("Buffer", buffers), ("QoS", maps)):
            if sku_template(run.device, path) is None:
                return f"{subject} definition template not found at {path}"
    except NotSimulatedError as error:
        run.leave(f"config qos reload: {error}")
    return ""


def _generate(run: Run, *words: str, shown: bool = True) -> Result:
    """Run ``sonic-cfggen``; ``shown`` tells whether its command line is printed first."""
    if shown:
        run.say(f"Running command: {' '.join((CFGGEN, *words))}")
    return cfggen(Call(run.device, ["sonic-cfggen", *words], cwd=run.call.cwd))


@qos.leaf(
    "reload",
    "",
    option("--ports", help="List of ports that needs to be updated"),
    flag("--no-dynamic-buffer", help="Disable dynamic buffer calculation"),
    flag("--no-delay", hidden=True),
    _verbose,
    option("--json-data", help="json string with additional data, valid with --dry-run option"),
    option("--dry_run", help="Dry run, writes config to the given file"),
)
def reload(
    run: Run, ports: str | None, no_dynamic_buffer: bool, no_delay: bool, verbose: bool, json_data: str | None,
    dry_run: str | None,
) -> None:  # fmt: skip
    if ports:
        _update_ports(run, ports.split(","), json_data, dry_run)
        return
    has_models = run.device.spec.asic in _DYNAMIC_VENDORS
    dynamic = has_models and not no_dynamic_buffer
    if "hwsku" in _localhost(run):
        # Before anything is deleted: the SKU, or the switch's use, may not be simulated.
        _missing_template(run, *_template_files(run, dynamic=dynamic))
    is_cleared = bool(dry_run) or _clear_and_wait(run, wait=not no_delay, verbose=verbose)
    buffers, maps = _template_files(run, dynamic=dynamic)
    model = "dynamic" if dynamic else "traditional"
    is_new_model = has_models and _localhost(run).get("buffer_model") != model
    if is_new_model:
        run.db.set_fields("DEVICE_METADATA|localhost", {"buffer_model": model})
    missing = _missing_template(run, buffers, maps)
    if missing:
        run.say(missing)
    else:
        _render(run, buffers, maps, json_data, dry_run)
    if is_new_model:
        run.say("Buffer calculation model updated, restarting swss is required to take effect")
    if not is_cleared:
        run.stop()


def _render(run: Run, buffers: str, maps: str, json_data: str | None, dry_run: str | None) -> None:
    """Render the templates and write their rows into CONFIG_DB, or into the file ``dry_run``."""
    buffer_file = "/tmp/cfg_buffer.json"  # noqa: S108  a path inside the simulated switch
    qos_file = "/tmp/cfg_qos.json"  # noqa: S108  a path inside the simulated switch
    words = ["-t", f"{buffers},{buffer_file}", "-t", f"{maps},{qos_file}", "-y", VERSION_FILE]
    # A dry run takes its data from the command line alone, not from CONFIG_DB.
    if not dry_run:
        words.insert(0, "-d")
    elif json_data:
        words = ["--additional-data", json_data, *words]
    run.finish(_generate(run, *words))
    result = _generate(run, "-j", buffer_file, "-j", qos_file, "--print-data" if dry_run else "--write-to-db")
    if not dry_run or result.exit:
        run.finish(result)
    else:
        _write(run, dry_run, json.loads(result.out))


def _write(run: Run, path: str, tables: Mapping[str, Any]) -> None:
    """Write tables into a file as JSON. Raises ProgramError if its folder is not there."""
    try:
        text = json.dumps(tables, sort_keys=True, indent=4)
        run.device.files.write(run.call.path(path), text.encode(), now=run.device.clock.now())
    except FileNotFoundError as error:
        raise ProgramError(f"FileNotFoundError: [Errno 2] No such file or directory: {path!r}") from error


def _update_ports(run: Run, ports: list[str], json_data: str | None, dry_run: str | None) -> None:
    """Render the rows of some ports and write them, into CONFIG_DB or the file ``dry_run``. All other rows stay."""
    is_dynamic = _localhost(run).get("buffer_model") == "dynamic"
    buffers, maps = _template_files(run, dynamic=is_dynamic)
    missing = _missing_template(run, buffers, maps)
    if missing:
        run.say(missing)
        raise click.Abort
    for table in (*_OF_PORT, *_BELOW_PORT):
        for key in run.db.table(table):
            if key.partition("|")[0] in ports:
                run.db.delete(f"{table}|{key}")
    start = ["--additional-data", json_data] if json_data else ["-d"]
    words = ("-t", f"{buffers},config-db", "-t", f"{maps},config-db", "-y", VERSION_FILE, "--print-data")
    result = _generate(run, *start, *words, shown=False)
    run.err.append(result.err)
    tables = read_document(result.out)
    known_ports = tables.get("PORT", {})
    existing_ports = [port for port in dict.fromkeys(ports) if port in known_ports]
    missing_ports = [port for port in dict.fromkeys(ports) if port not in known_ports]
    if existing_ports:
        _apply(run, _rows_of_ports(run, tables, existing_ports), dry_run)
    if missing_ports:
        # The program prints a Python set.
        run.say(f"The port(s) {{{str(missing_ports)[1:-1]}}} are not updated because they do not exist")


def _apply(run: Run, tables: Mapping[str, Any], dry_run: str | None) -> None:
    """Write tables into CONFIG_DB, or into the file ``dry_run``."""
    if dry_run:
        _write(run, dry_run, tables)
    else:
        merge_into(run.db, tables)


def _rows_of_ports(run: Run, tables: Mapping[str, Any], ports: list[str]) -> dict[str, Any]:
    """Return those rows of the rendered ``tables`` that belong to ``ports``.

    The rows of cable lengths are those of CONFIG_DB with the new lengths of these ports.
    """
    tables_of_ports: dict[str, Any] = {}
    for table in (*_OF_PORT, *_BELOW_PORT):
        rows = {key: row for key, row in tables.get(table, {}).items() if key.partition("|")[0] in ports}
        if rows:
            tables_of_ports[table] = rows
    length_rows = {}
    for name, row in tables.get("CABLE_LENGTH", {}).items():
        new_lengths = {port: row[port] for port in ports if row.get(port)}
        length_rows[name] = run.db.get(f"CABLE_LENGTH|{name}") | new_lengths
    if length_rows:
        tables_of_ports["CABLE_LENGTH"] = length_rows
    return tables_of_ports
