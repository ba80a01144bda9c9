"""The table of the management network: one row a port, with its address and its cable."""

from railweave.csv_text import csv_text
from railweave.fabric.management import Management
from railweave.units import ipv4_text

_COLUMNS = ("device", "port", "address", "gateway", "switch", "switch_port", "serves", "length_m")


def management_csv(planned: Management) -> bytes:
    """Return ``management.csv``: a header, then one line a port; UTF-8, lines end with a line feed.

    ``address`` has the prefix length of the pool; ``serves`` is where the switch stands, or whom it serves.
    """
    rows: list[tuple[object, ...]] = [_COLUMNS]
    length, gateway = planned.pool.length, ipv4_text(planned.gateway)
    for one in planned.ports:
        address = f"{ipv4_text(one.address)}/{length}"
        serves = planned.switches[one.switch]
        rows.append((one.device, one.name, address, gateway, one.switch, one.port, serves, planned.length_m))
    return csv_text(rows).encode()
