"""``config interface breakout`` of a running switch (config/config_mgmt.py of sonic-utilities)."""

import copy
import json
from typing import Any, NamedTuple

import click

from sonic_sim.commands.click7 import Run, argument, flag
from sonic_sim.commands.config.interface import interface, name_argument, verbose_flag
from sonic_sim.commands.config.root import NOT_SAVED
from sonic_sim.configdb import decode_fields, encode_fields
from sonic_sim.databases import ASIC, COUNTERS, rows_of_database
from sonic_sim.platform import cages
from sonic_sim.yang.check import Checker, translation_notes
from sonic_sim.yang.rows import Value, YangError

Document = dict[str, Any]
# What is written for a removed field: the program writes Python's None as text.
_REMOVED = "None"
_ASIC_S = 60


@interface.leaf(
    "breakout", "Set interface breakout mode", name_argument, argument("mode"),
    flag("-f", "--force-remove-dependencies", help="Clear all dependencies internally first."),
    flag("-l", "--load-predefined-config", help="load predefied user configuration (alias, lanes, speed etc) first."),
    flag("-y", "--yes"), verbose_flag,
)  # fmt: skip
def breakout(
    run: Run, interface_name: str, mode: str, force_remove_dependencies: bool, yes: bool, verbose: bool, **others: Any
) -> None:
    if not yes:
        run.confirm("Do you want to Breakout the port, continue?")
    ports = _port_change(run, interface_name, mode)
    try:
        checker = Checker()
        before: Document = copy.deepcopy(dict(run.db.document()))
        if verbose:
            for note in translation_notes(before):
                run.say(note)
        _check_running(run, checker, before)
        references = [ref for ref in checker.references(before) if ref.text in ports.removed and _names_port(ref)]
        if references and not force_remove_dependencies:
            run.say("Dependencies Exist. No further action will be taken\n*** Printing dependencies ***")
            run.stop("\n".join(value.path for value in references))
        without = _without_ports(before, references, ports.removed)
        after = copy.deepcopy(without)
        after["PORT"].update(ports.added)
        for document in (without, after):
            checker.check(document)
    except YangError as error:
        run.err.append(error.libyang)
        run.say(f"{error.printed}{error.reason}\n", end="")
        run.say("[ERROR] Port breakout Failed!!! Opting Out\nFailed to break out Port. Error: ")
        raise click.exceptions.Exit(1) from None
    _write_removals(run, before, without)
    _wait_for_asic(run, ports.removed)
    for name, row in ports.added.items():
        run.db.put(f"PORT|{name}", row)
    run.db.put(f"BREAKOUT_CFG|{interface_name}", {"brkout_mode": mode})
    run.say(f"Breakout process got successfully completed.\n{NOT_SAVED}")


class _PortChange(NamedTuple):
    """The ports that a breakout removes, and the rows of those that it adds."""

    removed: list[str]
    added: dict[str, dict[str, str]]


def _port_change(run: Run, name: str, mode: str) -> _PortChange:
    """Return the ports that the breakout ``mode`` of a parent port removes and adds.

    Ends the run if the mode is not possible, or is the current one.
    """
    modes = run.db.table("BREAKOUT_CFG")
    parents = cages(run.device.spec)
    errors = {
        "BREAKOUT_CFG table is NOT present in CONFIG DB": not modes,
        f"{name} interface is NOT present in BREAKOUT_CFG table of CONFIG DB": name not in modes,
        f"{name} is not a Parent port. So, Breakout Mode is not available on this port": name not in parents,
        f"Target mode {mode} is not available for the port {name}": name in parents and mode not in parents[name].modes,
        f"{name} is not in port_dict": f"PORT|{name}" not in run.db.rows,
    }
    for text, is_wrong in errors.items():
        if is_wrong:
            run.say(f"[ERROR] {text}")
            raise click.Abort
    current = modes[name]["brkout_mode"]
    run.say(f"\nRunning Breakout Mode : {current} \nTarget Breakout Mode : {mode}")
    if current == mode:
        run.stop("[WARNING] No action will be taken as current and desired Breakout Mode are same.", 0)
    old = parents[name].children(current)
    new = parents[name].children(mode)
    run.say(f"\nPorts to be deleted : \n {_speeds(old)}")
    run.say(f"Ports to be added : \n {_speeds(new)}")
    for port in old:
        if f"PORT|{port}" not in run.db.rows:
            run.say(f"[ERROR] Interface name {port} is invalid")
            raise click.Abort
    return _PortChange(list(old), new)


def _speeds(rows: dict[str, dict[str, str]]) -> str:
    """Return the speeds of ports as the program prints them."""
    return json.dumps({port: row["speed"] for port, row in rows.items()}, indent=4)


def _check_running(run: Run, checker: Checker, document: Document) -> None:
    """End the run if the running configuration does not pass its models."""
    try:
        checker.check(document)
    except YangError as error:
        run.err.append(error.libyang)
        run.say(f"{error.printed}{error.reason}\nConfigMgmt Class creation failed")
        failed = "Failed to load the config. Error: ConfigMgmtDPB Class creation failed"
        run.stop(f"Failed to break out Port. Error: {failed}")


def _names_port(value: Value) -> bool:
    """Tell whether a value is a reference to a row of PORT."""
    return value.leaf is not None and any(target.table == "PORT" for target in value.leaf.targets)


def _without_ports(before: Document, references: list[Value], ports: list[str]) -> Document:
    """Return the configuration without ``ports``, and without the rows or fields that refer to them."""
    after = copy.deepcopy(before)
    for reference in references:
        table, key, *below_row = reference.place
        rows = after.get(table, {})
        if reference.leaf in reference.form.keys:
            rows.pop(key, None)
        elif key in rows and below_row:
            _remove_reference(rows[key], below_row[0], reference.text)
        if not rows:
            after.pop(table, None)
    for port in ports:
        after["PORT"].pop(port, None)
    return after


def _remove_reference(row: dict[str, Any], field: str, name: str) -> None:
    """Remove a name from the list in a field, or the whole field if it holds nothing else."""
    value = row.get(field)
    if isinstance(value, list) and name in value:
        value.remove(name)
    if not isinstance(value, list) or not value:
        row.pop(field, None)


def _write_removals(run: Run, before: Document, after: Document) -> None:
    """Write what ``after`` lacks of ``before``: rows are deleted, fields become ``None``."""
    for table, rows in before.items():
        for key, row in rows.items():
            row_after = after.get(table, {}).get(key)
            if row_after is None:
                run.db.delete(f"{table}|{key}")
            elif row_after != row:
                names = decode_fields(run.db.rows[f"{table}|{key}"])
                fields = {name: row_after.get(name, _REMOVED) for name in names}
                run.db.set_fields(f"{table}|{key}", encode_fields(fields))


def _wait_for_asic(run: Run, ports: list[str]) -> None:
    """End the run, after a minute, if the ASIC keeps an object of one of ``ports``."""
    oids = rows_of_database(run.device, COUNTERS, "COUNTERS_PORT_NAME_MAP").get("COUNTERS_PORT_NAME_MAP", {})
    objects = rows_of_database(run.device, ASIC)
    if any(f"ASIC_STATE:SAI_OBJECT_TYPE_PORT:{oids.get(port, '')}" in objects for port in ports):
        text = f"Ports are present in ASIC DB after {_ASIC_S} secs"
        run.say("!!!  Critical Failure, Ports                     are not Deleted from ASIC DB, Bail Out  !!!")
        run.say(f"{text}\n{text}\n[ERROR] Port breakout Failed!!! Opting Out")
        run.seconds = float(_ASIC_S)
        run.stop("Failed to break out Port. Error: ")
