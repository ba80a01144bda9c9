"""The counters of ports, queues and priority groups by name, for an acceptance test around each of its rounds.

Object ids change with every reload and breakout, so each reading resolves the names again (sonic-swss portsorch.cpp).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from railweave_switch.host import DatabaseError, Hash, SwitchHost

NAME_MAPS = {
    "ports": "COUNTERS_PORT_NAME_MAP",
    "queues": "COUNTERS_QUEUE_NAME_MAP",
    "groups": "COUNTERS_PG_NAME_MAP",
}
OBJECTS = "COUNTERS:oid:0x*"
# Since they were cleared last: each poll clears those of COUNTERS.
WATERMARKS = "PERSISTENT_WATERMARKS:oid:0x*"

_COUNTED = ("SAI_", "PFC_WD_QUEUE_STATS_")
# A bad read of 2^64 - 1 stays in a watermark for ever, as the text of a float (watermark_queue.lua).
_INVALID = 2**63


def all_counters(host: SwitchHost) -> dict[str, Any]:
    """Return the counters of ``ports``, ``queues`` and ``groups`` by name, as far as they are integers.

    ``at`` is the time in Unix seconds; ``boot`` is a text that changes with everything that sets the counters to 0.
    Raises DatabaseError.
    """
    maps = name_maps(host)
    answer: dict[str, Any] = {"at": host.wall_s(), "boot": boot_of(host, maps["ports"])}
    objects = host.rows("COUNTERS_DB", OBJECTS)
    watermarks = host.rows("COUNTERS_DB", WATERMARKS)
    for table, names in maps.items():
        answer[table] = {}
        for name, object_id in names.items():
            row = dict(integers(objects.get(f"COUNTERS:{object_id}", {})))
            row.update(integers(watermarks.get(f"PERSISTENT_WATERMARKS:{object_id}", {})))
            answer[table][name.replace(":", "|")] = row
    return answer


def name_maps(host: SwitchHost) -> dict[str, Hash]:
    """Return the object ids by name for each table of ``NAME_MAPS``; raises DatabaseError if no port is polled."""
    maps = {table: host.rows("COUNTERS_DB", key).get(key, {}) for table, key in NAME_MAPS.items()}
    if not maps["ports"]:
        raise DatabaseError("COUNTERS_DB has no ports: their counters are not polled (`counterpoll port enable`)")
    return maps


def boot_of(host: SwitchHost, ports: Hash) -> str:
    """Return the boot id with a digest of the ports' object ids, which a reload and a restart of swss change."""
    object_ids = " ".join(f"{name}={object_id}" for name, object_id in sorted(ports.items()))
    return f"{host.boot_id()} {hashlib.sha256(object_ids.encode()).hexdigest()[:16]}"


def integers(row: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Yield the name and value of each counter of a row that is a number and was read without an error."""
    for name, text in row.items():
        if not name.startswith(_COUNTED):
            continue
        value = _integer(text)
        if value is not None and 0 <= value < _INVALID:
            yield name, value


def _integer(text: str) -> int | None:
    """Return the number in a text, None if it is not one, such as ``N/A``."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        # Lua writes large numbers as floats.
        return int(float(text))
    except (ValueError, OverflowError):
        return None
