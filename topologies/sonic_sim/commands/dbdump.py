"""``sonic-db-dump``: rows of a database as JSON (sonic-py-common, redisdl's form)."""

import fnmatch
import json

from sonic_sim.configdb import to_json
from sonic_sim.databases import CONFIG, NUMBERS, rows_of_database
from sonic_sim.shell.programs import Call, Result, program


@program("sonic-db-dump")
def db_dump(call: Call) -> Result:
    """Run ``sonic-db-dump -n DB [-y] [-k PATTERN]``."""
    words = call.argv[1:]
    values = {name: words[place + 1] for place, name in enumerate(words[:-1]) if name in ("-n", "-k")}
    database = values.get("-n", "")
    if database not in NUMBERS:
        return Result(1, err=f"Invalid database name input : '{database}'\n")
    pattern = values.get("-k", "*")
    number = NUMBERS[database]
    rows = call.device.db.rows if number == CONFIG else rows_of_database(call.device, number, pattern)
    found = {key: row for key, row in rows.items() if fnmatch.fnmatchcase(key, pattern)}
    dumped = {
        key: {"expireat": call.device.clock.now(), "ttl": -0.001, "type": "hash", "value": dict(sorted(row.items()))}
        for key, row in sorted(found.items())
    }
    text = to_json(dumped, step="  ") if "-y" in words else json.dumps(dumped)
    return Result(out=text + "\n", seconds=0.2)
