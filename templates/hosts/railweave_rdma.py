#!/usr/bin/env python3
"""One end of an RDMA test between two GPU nodes, rail by rail, with the traffic class of the intent.

    railweave_rdma.py --bundle FILE    as its ``test`` says: ``{role, rails: [{name, port, gid, peer}], tos, priority}``

Uses ``ib_write_bw`` and ``ib_write_lat`` of perftest. Prints one JSON object: ``rails`` with Gb/s and the latency of
small writes (microseconds, typical and 99th percentile), ``problem`` where the test failed, ``missing`` where it could
not be made. Where the NIC counts bytes by priority, the client holds them against what it has sent. Standard library
only; Python 3.9 and later.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import railweave_host as node

TOOL = "ib_write_bw"
LATENCY_TOOL = "ib_write_lat"
SECONDS = 2
LATENCY_BYTES = 2
LATENCY_WRITES = 1000
CONNECTS = 15
CONNECT_PAUSE_S = 1.0
MESSAGE_BYTES = 65536
GIDS = 256


def test(machine: node.Machine, document: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Carry out this node's end of the test."""
    for tool in (TOOL, LATENCY_TOOL):
        if shutil.which(tool) is None:
            return {"missing": f"{tool} is not installed"}
    rails = []
    for rail in wanted["rails"]:
        try:
            rails.append({"rail": rail["name"], **_rail(machine, document, wanted, rail)})
        except node.FaultError as fault:
            return {"rails": rails, "problem": f"{rail['name']}: {fault}"}
    return {"rails": rails}


def _rail(
    machine: node.Machine, document: Mapping[str, Any], wanted: Mapping[str, Any], rail: Mapping[str, Any]
) -> dict[str, float]:
    device = machine.rdma_device(rail["name"])
    options = ["-d", device, "-i", "1", "-x", _gid_index(machine, device, rail["gid"]), "-p", str(rail["port"])]
    options += ["--tclass", str(wanted["tos"]), "-F"]
    if ":" in rail["peer"]:
        options.append("--ipv6-addr")  # by which both ends find each other; the GID has a family of its own
    command = [TOOL, *options, "-s", str(MESSAGE_BYTES), "-D", str(SECONDS), "--report_gbits"]
    latency = [LATENCY_TOOL, *options, "-s", str(LATENCY_BYTES), "-n", str(LATENCY_WRITES)]
    if wanted["role"] == "server":
        machine.run(command)
        machine.run(latency)
        return {}
    before = _sent(machine, document, rail["name"], device)
    said = _connected(machine, [*command, rail["peer"]])
    after = _sent(machine, document, rail["name"], device)
    result = re.search(rf"^\s*{MESSAGE_BYTES}\s+(\d+)\s+[\d.]+\s+([\d.]+)", said, re.MULTILINE)
    if result is None:
        raise node.FaultError(f"{TOOL} shows no result")
    sent_bytes = int(result.group(1)) * MESSAGE_BYTES
    if before is not None and after is not None and after - before < sent_bytes // 2:
        raise node.FaultError(
            f"priority {wanted['priority']} carried {after - before} of {sent_bytes} bytes:"
            " the NIC marks or maps otherwise"
        )
    # #bytes #iterations t_min t_max t_typical t_avg t_stdev 99% 99.9%, in microseconds
    said = _connected(machine, [*latency, rail["peer"]])
    times = re.search(
        rf"^\s*{LATENCY_BYTES}\s+\d+\s+[\d.]+\s+[\d.]+\s+([\d.]+)\s+[\d.]+\s+[\d.]+\s+([\d.]+)", said, re.MULTILINE
    )
    if times is None:
        raise node.FaultError(f"{LATENCY_TOOL} shows no result")
    return {"gbps": float(result.group(2)), "latency_us": float(times.group(1)), "p99_us": float(times.group(2))}


def _gid_index(machine: node.Machine, device: str, gid: str) -> str:
    """Return the index of the RoCE v2 GID of an address."""
    folder = f"/sys/class/infiniband/{device}/ports/1"
    for index in range(GIDS):
        is_its = machine.read(f"{folder}/gids/{index}").strip() == gid
        if is_its and machine.read(f"{folder}/gid_attrs/types/{index}").strip() == "RoCE v2":
            return str(index)
    raise node.FaultError(f"{device} has no RoCE v2 GID {gid}")


def _connected(machine: node.Machine, command: Sequence[str]) -> str:
    """Run the client until the other end listens."""
    for _ in range(CONNECTS - 1):
        try:
            return machine.run(command)
        except node.FaultError as fault:
            if "connect" not in str(fault).lower():
                raise
        time.sleep(CONNECT_PAUSE_S)
    return machine.run(command)


def _sent(machine: node.Machine, document: Mapping[str, Any], interface: str, device: str) -> int | None:
    """Return the bytes sent in the RDMA class's priority, None where the NIC does not tell."""
    counter = document["nic"].get("sent_bytes")
    if not counter:
        return None
    machine.look_again()
    held = node.read_setting(machine, counter, node.nic_names(machine, document, interface, device))
    return int(held) if isinstance(held, str) and held.isdigit() else None


def main(words: Sequence[str] | None = None) -> int:
    """Print what the test gave."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", metavar="FILE", required=True)
    parser.add_argument("--root", default="", metavar="DIR")
    chosen = parser.parse_args(words)
    with open(chosen.bundle, encoding="utf-8") as file:
        bundle = json.load(file)
    print(json.dumps(test(node.Machine(chosen.root), bundle["document"], bundle["test"])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
