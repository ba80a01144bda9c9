"""``ecnconfig``: the thresholds of WRED profiles (sonic-utilities, scripts/ecnconfig)."""

from typing import NoReturn

import click

from sonic_sim.commands.click7 import PLAIN_HELP, Choice, Command, Run, argument, flag, option, run, with_run
from sonic_sim.commands.tables import plain_table
from sonic_sim.configdb import ConfigDb, Hash
from sonic_sim.shell.programs import Call, Result, program

FIELDS = {
    "rmax": "red_max_threshold", "rmin": "red_min_threshold", "ymax": "yellow_max_threshold",
    "ymin": "yellow_min_threshold", "gmax": "green_max_threshold", "gmin": "green_min_threshold",
    "rdrop": "red_drop_probability", "ydrop": "yellow_drop_probability", "gdrop": "green_drop_probability",
}  # fmt: skip
_LONG = {"drop": "drop-prob", "min": "min", "max": "max"}


def listing(db: ConfigDb, name: str, title: str) -> str:
    """Return the text of a table, each row as a block of its own below ``title``; empty if there are no rows."""
    text = ""
    for key, row in sorted(db.table(name).items()):
        fields = [[field, row[field]] for field in sorted(row)]
        text += f"{title}: {key}\n{plain_table(fields)}\n\n"
    return text


def _setting(short: str) -> click.Option:
    """Return the option of a field by its short name, such as ``gmin``: a color, then a threshold or probability."""
    color = {"g": "green", "y": "yellow", "r": "red"}[short[0]]
    parameter = short[1:]
    noun = "max drop/mark probability" if parameter == "drop" else f"{parameter} threshold"
    text = f"set {noun} for packets marked '{color}'"
    return option(f"-{short}", f"--{color}-{_LONG[parameter]}", short, help=text)


def _run(
    run: Run, command: str | None, show_config: bool, profile: str | None, verbose: bool, queue: str | None,
    namespace: str | None, **values: str | None,
) -> None:  # fmt: skip
    settings: dict[str, str] = {}
    for name in FIELDS:
        value = values[name]
        if value:
            settings[name] = value
    if show_config:
        if settings:
            _refuse(run, "No set options allowed when -l[ist] specified")
        run.say(listing(run.db, "WRED_PROFILE", "Profile"), end="")
        if verbose:
            run.say(f"Total profiles: {len(run.db.table('WRED_PROFILE'))}")
    elif profile:
        if not settings:
            _refuse(run, "Specify at least one threshold parameter to set")
        _set_fields(run, profile, settings, verbose=verbose, namespace=namespace)
    elif queue:
        _show_or_switch_queues(run, command, queue.split(","))
    else:
        raise click.exceptions.Exit(1)


ecnconfig = Command(
    "ecnconfig", callback=with_run(_run), context_settings=PLAIN_HELP,
    help="Show and change: ECN WRED configuration\nECN on/off status on queues",
    params=[
        argument("command", type=Choice(["on", "off"], case_sensitive=False), required=False),
        flag("-l", "--list", "show_config", help="show ECN WRED configuration"),
        option("-p", "--profile", help="specify WRED profile name"), *map(_setting, FIELDS),
        option("-n", "--namespace", type=Choice([""]), help="Namespace name or skip for all"),
        flag("-vv", "--verbose", help="Verbose output"),
        option("-q", "--queue", help="specify queue index list: 3,4"),
    ],
)  # fmt: skip


def _refuse(run: Run, reason: str) -> NoReturn:
    run.leave(f"Exception caught:  Input arguments error. {reason}")


def _set_fields(run: Run, profile: str, settings: dict[str, str], *, verbose: bool, namespace: str | None) -> None:
    """Set fields of a profile by their short names, if the whole profile is valid with them."""
    key = f"WRED_PROFILE|{profile}"
    if key not in run.db.rows:
        _refuse(run, f"Invalid WRED profile {profile} for namespace {namespace}")
    row = run.db.get(key) | {FIELDS[name]: value for name, value in settings.items()}
    faults = _range_faults(row) or _order_faults(row)
    for fault in faults:
        run.say(fault)
    if faults:
        _refuse(run, "Invalid WRED profile parameters")
    for name, value in settings.items():
        if verbose:
            unit = "%" if name.endswith("drop") else ""
            run.say(f"Setting {FIELDS[name]} value to {value}{unit}")
        run.db.set_fields(key, {FIELDS[name]: value})


def _range_faults(row: Hash) -> list[str]:
    """Return the messages about values of a profile that are out of their range."""
    faults = []
    for name, field in FIELDS.items():
        if field in row and not _is_in_range(name, row[field]):
            faults.append(f"Invalid {name} ({row[field]}). {name} should be {_range(name)}.")
    return faults


def _order_faults(row: Hash) -> list[str]:
    """Return the messages about colors whose minimum is above the maximum."""
    faults = []
    for color in "gyr":
        minimum = row.get(FIELDS[f"{color}min"])
        maximum = row.get(FIELDS[f"{color}max"])
        if minimum is None or maximum is None:
            continue
        if int(minimum) > int(maximum):
            values = f"Invalid {color}min ({int(minimum)}) and {color}max ({int(maximum)})."
            faults.append(f"{values} {color}min should be smaller than {color}max")
    return faults


def _range(name: str) -> str:
    return "an integer between 0 and 100" if name.endswith("drop") else "an non-negative integer"


def _is_in_range(name: str, value: str) -> bool:
    if not value.isdigit():
        return False
    is_percentage = name.endswith("drop")
    return not is_percentage or int(value) <= 100


def _show_or_switch_queues(run: Run, command: str | None, queues: list[str]) -> None:
    """Show ECN on the queues of all ports with a neighbor, or switch it ``on`` or ``off`` as ``command`` says."""
    ports = list(run.db.table("DEVICE_NEIGHBOR"))
    if not ports:
        run.leave("Exception caught:  No active ports detected in table 'DEVICE_NEIGHBOR'")
    if command is None:
        run.say("ECN status:")
    for queue in queues:
        keys = [f"QUEUE|{port}|{queue}" for port in ports]
        if command is None:
            # The first port stands for all: the program sets them all alike.
            state = "on" if "wred_profile" in run.db.get(keys[0]) else "off"
            run.say(f"queue {queue}: {state}")
            continue
        for key in keys:
            if command == "on":
                run.db.set_fields(key, {"wred_profile": "AZURE_LOSSLESS"})
            else:
                run.db.delete_fields(key, ["wred_profile"])


@program("ecnconfig")
def run_ecnconfig(call: Call) -> Result:
    """Run ``ecnconfig``."""
    return run(ecnconfig, call)
