"""Static routes of a switch: in its tables, and in the lines of its FRR configuration."""

import re
from collections.abc import Iterator

from railweave.sonic.frr.document import FrrDocument
from railweave.sonic.rows import ConfigDb

STATIC_ROUTE = "STATIC_ROUTE"

_LINE = re.compile(r"(?:ip|ipv6) route (?P<prefix>\S+) (?P<hop>\S+)")


def static_routes(tables: ConfigDb, document: FrrDocument | None) -> Iterator[tuple[str, str]]:
    """Yield the prefix and the next hop of every static route in ``tables`` and in FRR's configuration.

    A next hop is an address or the name of an interface. Both are spelled as in the configuration.
    """
    for key, row in tables.get(STATIC_ROUTE, {}).items():
        _, _, prefix = key.rpartition("|")
        for field in ("nexthop", "ifname"):
            hops = str(row.get(field, "")).split(",")
            for hop in hops:
                yield prefix, hop.strip()
    if document is None:
        return
    for entry in document.entries:
        match = _LINE.match(entry.line)
        if match:
            yield match["prefix"], match["hop"]
