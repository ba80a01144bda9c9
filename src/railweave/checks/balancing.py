"""How a switch spreads flows and packets over its paths, against what the NICs can take (L-1, L-2; fabric-facts 7)."""

from collections.abc import Callable, Iterator

from railweave.catalog.load import load_catalog
from railweave.diagnostics import Diagnostic, Where, error
from railweave.fabric.model import Fabric, Host
from railweave.sonic.rows import ConfigDb

_ENTROPY = "L4_SRC_PORT"
"""The one field in which the flows between two NICs differ: RoCEv2 puts the queue pair's hash there."""


def balancing_findings(
    fabric: Fabric, name: str, tables: ConfigDb, place: Callable[[str], Where]
) -> Iterator[Diagnostic]:
    """Yield what does not fit between the balancing of switch ``name`` and the NICs of the fabric."""
    yield from _fields(fabric, name, tables, place)
    yield from _spraying(fabric, name, tables, place)


def _fields(fabric: Fabric, name: str, tables: ConfigDb, place: Callable[[str], Where]) -> Iterator[Diagnostic]:
    """L-1: the hash takes in what tells the flows between two NICs apart."""
    stated = tables.get("SWITCH_HASH", {}).get("GLOBAL", {}).get("ecmp_hash")
    if stated is None or not fabric.hosts:
        return
    fields = stated.split(",") if isinstance(stated, str) else list(stated)
    if _ENTROPY in fields:
        return
    host = fabric.hosts[0].name
    yield error(
        "L-1",
        f"{name} hashes over {', '.join(fields)}, without {_ENTROPY}, in which alone the flows of {host} to one other"
        " NIC differ: all of them take one path",
        place(name),
        fix=f"add {_ENTROPY} to SWITCH_HASH|GLOBAL|ecmp_hash of {name}, or take the row out",
        devices=(name, host),
    )


def _spraying(fabric: Fabric, name: str, tables: ConfigDb, place: Callable[[str], Where]) -> Iterator[Diagnostic]:
    """L-2: packets of one flow take several paths only towards NICs that put them in order again."""
    rows = [
        (table, key, field)
        for table, held in tables.items()
        if table.startswith("ARS_")
        for key, fields in held.items()
        for field, value in fields.items()
        if str(value).startswith("per_packet")
    ]
    host = _first_that_keeps_order(fabric) if rows else None
    if host is None:
        return
    table, key, field = rows[0]
    yield error(
        "L-2",
        f"{name} spreads the packets of one flow ({table}|{key}|{field}), and the {host.nic_model} of {host.name} takes"
        " packets out of order for lost: it sends whole windows again",
        place(name),
        fix=f"set {field} to per_flowlet_quality on {name}, or use NICs that reorder: {', '.join(_that_reorder())}",
        devices=(name, host.name),
    )


def _first_that_keeps_order(fabric: Fabric) -> Host | None:
    able = _that_reorder()
    return next((host for host in fabric.hosts if host.nic_model not in able), None)


def _that_reorder() -> tuple[str, ...]:
    catalog = load_catalog()
    return tuple(name for name in catalog.nic_ids() if catalog.nic(name).reorders)
