"""``show switch-hash`` (sonic-utilities show/plugins/sonic-hash.py)."""

import json
from collections.abc import Mapping
from typing import NamedTuple

from tabulate import tabulate

from sonic_sim.commands.click7 import Run, flag
from sonic_sim.commands.show.root import show
from sonic_sim.commands.tables import grid
from sonic_sim.databases import STATE, rows_of_database
from sonic_sim.switchhash import CAPABILITY, NATIVE, ROW

_json = flag("-j", "--json", "json_format", help="Display in JSON format")


class _ShownHash(NamedTuple):
    """The fields and the algorithm of a hash, or those that it can have; a text if there are none."""

    fields: list[str] | str
    algorithm: list[str] | str


show_group = show.branch("switch-hash", "Show switch hash feature configuration")


@show_group.leaf("global", "Show switch hash global configuration", _json)
def show_global(run: Run, json_format: bool) -> None:
    row = run.db.get(ROW)
    if not row:
        run.stop("No configuration is present in CONFIG DB", 0)
    hashes: dict[str, _ShownHash] = {}
    for kind in ("ecmp", "lag"):
        text = row.get(f"{kind}_hash@", "")
        fields = text.split(",") if text else "N/A"
        hashes[kind] = _ShownHash(fields, row.get(f"{kind}_hash_algorithm", "N/A"))
    _say(run, hashes, "Configuration", as_json=json_format)


@show_group.leaf("capabilities", "Show switch hash capabilities", _json)
def show_capabilities(run: Run, json_format: bool) -> None:
    row = rows_of_database(run.device, STATE, CAPABILITY).get(CAPABILITY, {})
    hashes: dict[str, _ShownHash] = {}
    for kind in ("ecmp", "lag"):
        start = f"{kind.upper()}_HASH"
        if not {NATIVE, f"{start}_CAPABLE", f"{start}_ALGORITHM"} <= set(row):
            # orchagent has not written the row yet.
            run.fail("No data is present in STATE DB")
        fields = row[NATIVE].split(",") if row[f"{start}_CAPABLE"] == "true" else "not supported"
        hashes[kind] = _ShownHash(fields, row[f"{start}_ALGORITHM"].split(","))
    _say(run, hashes, "Capabilities", as_json=json_format)


def _say(run: Run, hashes: Mapping[str, _ShownHash], title: str, *, as_json: bool) -> None:
    """Print the hashes by kind, as a table or as JSON, which ends the run."""
    if as_json:
        document = {kind: {"hash_field": shown.fields, "algorithm": shown.algorithm} for kind, shown in hashes.items()}
        run.stop(json.dumps(document, indent=4), 0)
    rows = []
    for kind, shown in hashes.items():
        inner = tabulate([[_lines(shown.fields), _lines(shown.algorithm)]], ["Hash Field", "Algorithm"], "psql")
        rows.append([kind.upper(), inner])
    run.say(grid(["Hash", title], rows))


def _lines(value: list[str] | str) -> str:
    """Return the text of a cell, one line for each value."""
    if isinstance(value, str):
        return value
    return "\n".join(value)
