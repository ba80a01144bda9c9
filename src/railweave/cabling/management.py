"""The table of the management network: one row for each port, with its address and its cable."""

from railweave.csv_text import csv_text
from railweave.fabric.management import Management
from railweave.units import ipv4_text

_COLUMNS = ("device", "port", "address", "gateway", "switch", "switch_port", "serves", "length_m")


def management_csv(planned: Management) -> bytes:
    """Return ``management.csv``: a header, then one line for each port; UTF-8, lines end with a line feed.

    ``address`` has the prefix length of the pool; ``serves`` is the location of the switch, or the devices it serves.
    """
    rows: list[tuple[object, ...]] = [_COLUMNS]
    gateway = ipv4_text(planned.gateway)
    for port in planned.ports:
        address = f"{ipv4_text(port.address)}/{planned.pool.length}"
        serves = planned.switches[port.switch]
        rows.append((port.device, port.name, address, gateway, port.switch, port.port, serves, planned.length_m))
    return csv_text(rows).encode()
