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
