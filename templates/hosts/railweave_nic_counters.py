#!/usr/bin/env python3
"""Write the counters of this node's NICs that node_exporter lacks, for its textfile collector.

    railweave-nic-counters            write the file that /etc/railweave/rails.json names
    railweave-nic-counters --print    print it instead

``--document FILE`` reads another document, ``--root DIR`` looks for /sys and the file below DIR. A counter that a NIC
lacks, or that cannot be read, has no sample: absent is not 0. Values are the driver's own, and those of 32 bits wrap
(mlx5), which Prometheus takes for a restart. Standard library only; Python 3.9 and later.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

DOCUMENT = "/etc/railweave/rails.json"
INFINIBAND = "/sys/class/infiniband"
UNREADABLE = 2**64 - 1
"""What ionic shows of a counter that its firmware does not give (ionic_v1_stat_val: ~0ull)."""


class Port(NamedTuple):
    """An interface with its RDMA device, and the folder of that device's port."""

    interface: str
    rdma_device: str
    folder: str


def ports(document: Mapping[str, Any], root: str) -> list[Port]:
    """Return the interfaces of the document that have an RDMA device now."""
    found = []
    for interface in document["interfaces"]:
        name = interface["name"]
        # A driver that is not loaded has none.
        devices = _names(f"{root}/sys/class/net/{name}/device/infiniband")
        if not devices:
            continue
        folder = _port_folder(f"{root}{INFINIBAND}/{devices[0]}/ports", name)
        if folder:
            found.append(Port(name, devices[0], folder))
    return found


def _port_folder(folder: str, interface: str) -> str:
    """Return the port of an RDMA device that belongs to an interface: one device may have the ports of a whole NIC."""
    numbers = _names(folder)
    if len(numbers) == 1:
        return f"{folder}/{numbers[0]}"
    for number in numbers:
        table = f"{folder}/{number}/gid_attrs/ndevs"
        # An empty entry of the table cannot be read (EINVAL).
        if any(_text(f"{table}/{index}") == interface for index in _names(table)):
            return f"{folder}/{number}"
    return ""


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def counter(path: str) -> int | None:
    """Return the value of a counter, None where the driver lacks it, cannot read it, or says that it does not count."""
    text = _text(path)
    if not text.isascii() or not text.isdigit():
        return None
    value = int(text)
    if value >= UNREADABLE:
        return None
    return value


def page(document: Mapping[str, Any], root: str = "") -> str:
    """Return the file in Prometheus' text format 0.0.4; without NICs it has no sample."""
    lines = ["# Written by railweave-nic-counters."]
    nics = ports(document, root)
    for metric in document["nic_counters"]["metrics"]:
        samples = list(_samples(metric, nics))
        if samples:
            lines += [
                f"# HELP {metric['name']} {metric['help']}",
                f"# TYPE {metric['name']} {metric['type']}",
                *samples,
            ]
    return "\n".join(lines) + "\n"


def _samples(metric: Mapping[str, Any], nics: Sequence[Port]) -> Iterator[str]:
    for nic in nics:
        value: int | None = 1
        if "file" in metric:
            value = counter(f"{nic.folder}/hw_counters/{metric['file']}")
        if value is None:
            continue
        values = {"port": nic.interface, "rdma_device": nic.rdma_device}
        labels = ",".join(f'{label}="{_escaped(values[label])}"' for label in metric["labels"])
        yield metric["name"] + "{" + labels + "} " + str(value)


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def write(place: str, text: str) -> None:
    """Put ``text`` to ``place`` at once: node_exporter reads either the old file or the new one. Raises OSError.

    A run beside another one writes nothing, because the other's values are as new.
    """
    folder = os.open(os.path.dirname(place), os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # node_exporter reads names that end in .prom alone.
        fresh = f"{place}.new"
        _remove(fresh)
        try:
            # The folder may belong to node_exporter's user: a link that it made there is not followed.
            handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            # Not flushed to the disk: after a loss of power the next run writes it again.
            with open(handle, "w", encoding="ascii") as file:
                os.fchmod(handle, 0o644)
                file.write(text)
            os.replace(fresh, place)
        except OSError:
            _remove(fresh)
            raise
    except BlockingIOError:
        return
    finally:
        os.close(folder)


def _remove(place: str) -> None:
    if os.path.lexists(place):
        os.remove(place)


def main(words: Sequence[str] | None = None) -> int:
    """Write or print the file and return the exit status, 1 where it cannot be written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--document", default=DOCUMENT, metavar="FILE")
    parser.add_argument("--root", default="", metavar="DIR")
    parser.add_argument("--print", action="store_true", help="print the file instead of writing it")
    chosen = parser.parse_args(words)
    root = chosen.root.rstrip("/")
    try:
        with open(chosen.document, encoding="utf-8") as file:
            document = json.load(file)
        text = page(document, root)
        if chosen.print:
            print(text, end="")
        else:
            write(root + document["nic_counters"]["textfile"], text)
    except OSError as fault:
        print(f"{fault.filename or 'the file of counters'}: {fault.strerror}", file=sys.stderr)
        return 1
    except (AttributeError, KeyError, TypeError, ValueError) as fault:
        print(f"{chosen.document} is of another form ({type(fault).__name__}: {fault})", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
