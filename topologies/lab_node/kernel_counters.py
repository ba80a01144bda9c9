"""What the kernel counts beside ``/proc/net/dev``: carrier transitions, drops of queueing disciplines, nft counters.

The kernel does not have the queues of an ASIC. A counter of ``nft`` represents one by its name, ``Ethernet0_q3_ecn``:
packets that were marked (``ecn``), dropped (``drop``) or sent (``sent``). Drops of a root discipline, such as a rate
limit by ``tbf``, are discards of the port.
"""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

Table = dict[str, dict[str, str]]

_INTERFACES = Path("/sys/class/net")
_NFT_NAME = re.compile(r"(?P<port>Ethernet\d+)_q(?P<queue>[0-7])_(?P<what>ecn|drop|sent)")
_QUEUE = "SAI_QUEUE_STAT_"
_FIELDS = {
    "ecn": (f"{_QUEUE}WRED_ECN_MARKED_PACKETS", f"{_QUEUE}WRED_ECN_MARKED_BYTES"),
    "drop": (f"{_QUEUE}DROPPED_PACKETS", f"{_QUEUE}DROPPED_BYTES"),
    "sent": (f"{_QUEUE}PACKETS", f"{_QUEUE}BYTES"),
}
_OUT_DISCARDS = "SAI_PORT_STAT_IF_OUT_DISCARDS"
# SAI's number of queues in object ids; a port has eight of them.
_QUEUE_OID = 0x15000000000000
_QUEUES = 8


class NftCounter(NamedTuple):
    """A named counter of nft."""

    packets: int
    octets: int


def carrier_changes(ports: Mapping[str, object]) -> dict[str, int]:
    """Return by port how often its carrier came or went: the kernel counts both, as orchagent does."""
    changes = {}
    for port in ports:
        path = _INTERFACES / port / "carrier_changes"
        try:
            changes[port] = int(path.read_text())
        except (OSError, ValueError):
            # The port is a tap that was just made, or went.
            continue
    return changes


def with_flaps(rows: Table, changes: Mapping[str, int]) -> Table:
    """Return APPL_DB's PORT_TABLE with ``flap_count``; a port that was never up has none."""
    rows_with_flaps = {}
    for key, row in rows.items():
        flaps = changes.get(key.removeprefix("PORT_TABLE:"), 0)
        rows_with_flaps[key] = row
        if flaps:
            rows_with_flaps[key] = {**row, "flap_count": str(flaps)}
    return rows_with_flaps


def root_drops(text: str) -> dict[str, int]:
    """Return the drops of the root discipline of each interface, from ``tc -j -s qdisc show``."""
    drops: dict[str, int] = {}
    for discipline in json.loads(text or "[]"):
        if discipline.get("root"):
            drops[discipline["dev"]] = drops.get(discipline["dev"], 0) + int(discipline.get("drops", 0))
    return drops


def named_counters(text: str) -> dict[str, NftCounter]:
    """Return each named counter, from ``nft -j list counters``."""
    counters = {}
    for entry in json.loads(text or "{}").get("nftables", ()):
        counter = entry.get("counter")
        if counter is not None:
            counters[counter["name"]] = NftCounter(int(counter["packets"]), int(counter["bytes"]))
    return counters


def with_kernel_counters(rows: Table, drops: Mapping[str, int], counters: Mapping[str, NftCounter]) -> Table:
    """Return COUNTERS_DB's rows with the ``drops`` of ports and with the queues that ``counters`` represent."""
    oid_of_port = rows["COUNTERS_PORT_NAME_MAP"]
    merged = {key: dict(row) for key, row in rows.items()}
    for port, dropped in drops.items():
        row = merged.get(f"COUNTERS:{oid_of_port.get(port, '')}")
        if row is not None:
            row[_OUT_DISCARDS] = str(int(row.get(_OUT_DISCARDS, "0")) + dropped)
    for key, fields in _queue_rows(oid_of_port, counters):
        merged.setdefault(key, {}).update(fields)
    return merged


def _queue_rows(
    oid_of_port: Mapping[str, str], counters: Mapping[str, NftCounter]
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield keys of COUNTERS_DB with the fields to add to their rows, for the queues that counters represent."""
    port_indices = {port: index for index, port in enumerate(oid_of_port)}
    for name, counter in sorted(counters.items()):
        parts = _NFT_NAME.fullmatch(name)
        if parts is None or parts["port"] not in port_indices:
            continue
        port = parts["port"]
        queue = parts["queue"]
        oid = f"oid:{_QUEUE_OID + port_indices[port] * _QUEUES + int(queue):#x}"
        packet_field, byte_field = _FIELDS[parts["what"]]
        yield f"COUNTERS:{oid}", {packet_field: str(counter.packets), byte_field: str(counter.octets)}
        yield "COUNTERS_QUEUE_NAME_MAP", {f"{port}:{queue}": oid}
        yield "COUNTERS_QUEUE_PORT_MAP", {oid: oid_of_port[port]}
        yield "COUNTERS_QUEUE_INDEX_MAP", {oid: queue}
        yield "COUNTERS_QUEUE_TYPE_MAP", {oid: "SAI_QUEUE_TYPE_UNICAST"}


def read(command: list[str]) -> str:
    """Return the output of a command; empty if it fails, as when the kernel lacks what it asks for."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return ""
    return done.stdout
