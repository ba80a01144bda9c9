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
    found = {}
    for kind in ("ecmp", "lag"):
        fields = row.get(f"{kind}_hash@", "")
        found[kind] = (fields.split(",") if fields else "N/A", row.get(f"{kind}_hash_algorithm", "N/A"))
    _say(run, found, "Configuration", as_json=json_format)


@show_group.leaf("capabilities", "Show switch hash capabilities", _json)
def show_capabilities(run: Run, json_format: bool) -> None:
    row = rows_of_database(run.device, STATE, CAPABILITY).get(CAPABILITY, {})
    found = {}
    for kind in ("ecmp", "lag"):
        of = kind.upper()
        if not {NATIVE, f"{of}_HASH_CAPABLE", f"{of}_HASH_ALGORITHM"} <= set(row):
            run.fail("No data is present in STATE DB")
        fields = row[NATIVE].split(",") if row[f"{of}_HASH_CAPABLE"] == "true" else "not supported"
        found[kind] = (fields, row[f"{of}_HASH_ALGORITHM"].split(","))
    _say(run, found, "Capabilities", as_json=json_format)


Shown = Mapping[str, tuple[list[str] | str, list[str] | str]]


def _say(run: Run, found: Shown, title: str, *, as_json: bool) -> None:
    if as_json:
        shown = {kind: {"hash_field": fields, "algorithm": kinds} for kind, (fields, kinds) in found.items()}
        run.stop(json.dumps(shown, indent=4), 0)
    rows = [[kind.upper(), tabulate([[*map(_lines, cells)]], ["Hash Field", "Algorithm"], "psql")]
            for kind, cells in found.items()]  # fmt: skip
    run.say(grid(["Hash", title], rows))


def _lines(value: list[str] | str) -> str:
    return value if isinstance(value, str) else "\n".join(value)
