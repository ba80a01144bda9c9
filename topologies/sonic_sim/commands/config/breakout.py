"""``config interface breakout`` of a running switch (config/config_mgmt.py of sonic-utilities)."""

import copy
import json
from typing import Any

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
# What is written for a field that goes: the program writes Python's None as text.
_GONE = "None"
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
    gone, come = _ports(run, interface_name, mode)
    try:
        checker = Checker()
        before: Document = copy.deepcopy(dict(run.db.document()))
        for note in translation_notes(before) if verbose else ():
            run.say(note)
        _check(run, checker, before)
        references = [value for value in checker.references(before) if value.text in gone and _names_port(value)]
        if references and not force_remove_dependencies:
            run.say("Dependencies Exist. No further action will be taken\n*** Printing dependencies ***")
            run.stop("\n".join(value.path for value in references))
        without = _without(before, references, gone)
        after = copy.deepcopy(without)
        after["PORT"].update(come)
        for document in (without, after):
            checker.check(document)
    except YangError as error:
        run.err.append(error.libyang)
        run.say(f"{error.printed}{error.reason}\n", end="")
        run.say("[ERROR] Port breakout Failed!!! Opting Out\nFailed to break out Port. Error: ")
        raise click.exceptions.Exit(1) from None
    _write(run, before, without)
    _wait_for_asic(run, gone)
    for name, row in come.items():
        run.db.put(f"PORT|{name}", row)
    run.db.put(f"BREAKOUT_CFG|{interface_name}", {"brkout_mode": mode})
    run.say(f"Breakout process got successfully completed.\n{NOT_SAVED}")


def _ports(run: Run, name: str, mode: str) -> tuple[list[str], dict[str, dict[str, str]]]:
    """Return the ports that go and the rows that come."""
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
    return list(old), new


def _speeds(rows: dict[str, dict[str, str]]) -> str:
    return json.dumps({port: row["speed"] for port, row in rows.items()}, indent=4)


def _check(run: Run, checker: Checker, document: Document) -> None:
    """End where the running configuration does not pass its models."""
    try:
        checker.check(document)
    except YangError as error:
        run.err.append(error.libyang)
        run.say(f"{error.printed}{error.reason}\nConfigMgmt Class creation failed")
        failed = "Failed to load the config. Error: ConfigMgmtDPB Class creation failed"
        run.stop(f"Failed to break out Port. Error: {failed}")


def _names_port(value: Value) -> bool:
    return value.leaf is not None and any(target.table == "PORT" for target in value.leaf.targets)


def _without(before: Document, references: list[Value], gone: list[str]) -> Document:
    """Return the configuration without ports and the rows or fields that refer to them."""
    after = copy.deepcopy(before)
    for value in references:
        table, key, *rest = value.place
        rows = after.get(table, {})
        if value.leaf in value.form.keys:
            rows.pop(key, None)
        elif key in rows and rest:
            held = rows[key].get(rest[0])
            if isinstance(held, list) and value.text in held:
                held.remove(value.text)
            if not held or not isinstance(held, list):
                rows[key].pop(rest[0], None)
        if not rows:
            after.pop(table, None)
    for port in gone:
        after["PORT"].pop(port, None)
    return after


def _write(run: Run, before: Document, after: Document) -> None:
    """Write the removals: rows are deleted, fields become ``None``."""
    for table, rows in before.items():
        for key, row in rows.items():
            left = after.get(table, {}).get(key)
            if left is None:
                run.db.delete(f"{table}|{key}")
            elif left != row:
                kept = {name: left.get(name, _GONE) for name in decode_fields(run.db.rows[f"{table}|{key}"])}
                run.db.set_fields(f"{table}|{key}", encode_fields(kept))


def _wait_for_asic(run: Run, ports: list[str]) -> None:
    """Give up after a minute where the ASIC keeps an object of a port."""
    oids = rows_of_database(run.device, COUNTERS, "COUNTERS_PORT_NAME_MAP").get("COUNTERS_PORT_NAME_MAP", {})
    objects = rows_of_database(run.device, ASIC)
    if any(f"ASIC_STATE:SAI_OBJECT_TYPE_PORT:{oids.get(port, '')}" in objects for port in ports):
        text = f"Ports are present in ASIC DB after {_ASIC_S} secs"
        run.say("!!!  Critical Failure, Ports                     are not Deleted from ASIC DB, Bail Out  !!!")
        run.say(f"{text}\n{text}\n[ERROR] Port breakout Failed!!! Opting Out")
        run.seconds = float(_ASIC_S)
        run.stop("Failed to break out Port. Error: ")
