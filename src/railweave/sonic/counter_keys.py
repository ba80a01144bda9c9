"""Groups of counters (`fabric.counter_groups`) in CONFIG_DB: the keys of each in FLEX_COUNTER_TABLE."""

from collections.abc import Mapping

from railweave.fabric.counter_groups import CounterGroup

_KEYS: Mapping[str, tuple[str, ...]] = {
    "port": ("PORT",),
    "queue": ("QUEUE",),
    "watermark": ("BUFFER_POOL_WATERMARK", "PG_WATERMARK", "QUEUE_WATERMARK"),
    "pg_drop": ("PG_DROP",),
    "port_buffer_drop": ("PORT_BUFFER_DROP",),
    "phy": ("PORT_PHY_ATTR",),
    "pfcwd": ("PFCWD",),
    "wred_queue": ("WRED_ECN_QUEUE",),
    "wred_port": ("WRED_ECN_PORT",),
    "switch": ("SWITCH",),
}


def counter_keys(group: CounterGroup) -> tuple[str, ...]:
    """Return the keys of a group: `counterpoll watermark` writes three rows, every other command one."""
    return _KEYS[group.key]


def polled_every_ms(tables: Mapping[str, Mapping[str, Mapping[str, str]]], group: CounterGroup) -> int:
    """Return the interval, in ms, at which a switch polls a group by its CONFIG_DB tables; 0 if it does not poll it.

    Of several rows the longest interval counts. SONiC's defaults count for a row that is missing, and for an interval
    that is not a number.
    """
    rows = tables.get("FLEX_COUNTER_TABLE", {})
    longest_ms = 0
    for key in counter_keys(group):
        row = rows.get(key, {})
        status = row.get("FLEX_COUNTER_STATUS", "enable" if group.is_on_by_default else "disable")
        if status != "enable":
            continue
        text = row.get("POLL_INTERVAL", "")
        interval_ms = group.poll_ms
        if text.isdecimal():
            interval_ms = int(text)
        longest_ms = max(longest_ms, interval_ms)
    return longest_ms
