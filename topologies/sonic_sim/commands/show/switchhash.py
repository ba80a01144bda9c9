"""``show switch-hash`` (sonic-utilities show/plugins/sonic-hash.py)."""

import json
from collections.abc import Mapping

from tabulate import tabulate

from sonic_sim.commands.click7 import Run, flag
from sonic_sim.commands.show.root import show
from sonic_sim.commands.tables import grid
from sonic_sim.databases import STATE, rows_of_database
from sonic_sim.switchhash import CAPABILITY, NATIVE, ROW

_json = flag("-j", "--json", "json_format", help="Display in JSON format")

show_group = show.branch("switch-hash", "Show switch hash feature configuration")


@show_group.leaf("global", "Show switch hash global configuration", _json)
def show_global(run: Run, json_format: bool) -> None:
    row = run.db.get(ROW)
    if not row:
        run.stop("No configuration is present in CONFIG DB", 0)
    shown: dict[str, tuple[list[str] | str, list[str] | str]] = {}
    for kind in ("ecmp", "lag"):
        fields = row.get(f"{kind}_hash@", "")
        shown[kind] = (fields.split(",") if fields else "N/A", row.get(f"{kind}_hash_algorithm", "N/A"))
    _say(run, shown, "Configuration", as_json=json_format)


@show_group.leaf("capabilities", "Show switch hash capabilities", _json)
def show_capabilities(run: Run, json_format: bool) -> None:
    row = rows_of_database(run.device, STATE, CAPABILITY).get(CAPABILITY, {})
    shown: dict[str, tuple[list[str] | str, list[str] | str]] = {}
    for kind in ("ecmp", "lag"):
        start = f"{kind.upper()}_HASH"
        if not {NATIVE, f"{start}_CAPABLE", f"{start}_ALGORITHM"} <= set(row):
            # orchagent has not written the row yet.
            run.fail("No data is present in STATE DB")
        fields = row[NATIVE].split(",") if row[f"{start}_CAPABLE"] == "true" else "not supported"
        shown[kind] = (fields, row[f"{start}_ALGORITHM"].split(","))
    _say(run, shown, "Capabilities", as_json=json_format)


Shown = Mapping[str, tuple[list[str] | str, list[str] | str]]


def _say(run: Run, shown: Shown, title: str, *, as_json: bool) -> None:
    if as_json:
        document = {kind: {"hash_field": fields, "algorithm": names} for kind, (fields, names) in shown.items()}
        run.stop(json.dumps(document, indent=4), 0)
    rows = []
    for kind, (fields, names) in shown.items():
        inner = tabulate([[_lines(fields), _lines(names)]], ["Hash Field", "Algorithm"], "psql")
        rows.append([kind.upper(), inner])
    run.say(grid(["Hash", title], rows))


def _lines(value: list[str] | str) -> str:
    if isinstance(value, str):
        return value
    return "\n".join(value)
