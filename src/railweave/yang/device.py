"""Rows that every switch has of its own and that the models need beside ours.

What railweave renders is only a part of CONFIG_DB. Where a rule of the models looks at a row that SONiC keeps itself,
the row stands here with the value of a running switch, so that the whole can be judged. A rendered value always wins.
"""

from railweave.sonic.rows import ConfigDb, Fields

OWN_METADATA: Fields = {
    # Written at first boot from the EEPROM; any address is as good to the models.
    "mac": "02:00:00:00:00:01",
    # The default of every image; `suppress-fib-pending` is refused without it.
    "synchronous_mode": "enable",
}

OWN_ROWS: ConfigDb = {
    # A MGMT_INTERFACE row, which an override may state, points here.
    "MGMT_PORT": {"eth0": {"admin_status": "up", "alias": "eth0"}},
}


def whole_document(rendered: ConfigDb, platform: str) -> dict[str, dict[str, Fields]]:
    """Return ``rendered`` with what a switch of this ``platform`` has of its own; the input stays as it is."""
    whole = {table: dict(rows) for table, rows in rendered.items()}
    metadata = whole.setdefault("DEVICE_METADATA", {})
    metadata["localhost"] = {**OWN_METADATA, "platform": platform, **metadata.get("localhost", {})}
    for table, rows in OWN_ROWS.items():
        present = whole.setdefault(table, {})
        for key, fields in rows.items():
            present.setdefault(key, fields)
    return whole
