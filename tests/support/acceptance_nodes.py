"""Nodes and switches for runs of an acceptance: the real program of nodes on this machine, or a cluster in memory."""

import base64
import json
import os
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from railweave.acceptance.running.answers import NodeAnswer, SwitchReading
from railweave_hosts.acceptance import ROLE
from railweave_hosts.runner import ROLES

MODULE = ROLES / ROLE / "library" / "railweave_acceptance.py"
PLACE = "<<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>"

IB_WRITE_BW = """#!/bin/sh
case "$*" in *--version*) echo "Version: 6.20"; exit 0;; esac
case "$*" in *" --hang"*) sleep 60 & exec sleep 60;; esac
sleep 0.2
cat "$RECORDED"
"""
"""A tool that prints a recorded output, or hangs together with a child."""

RECORDED = """---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF\t\tDevice         : mlx5_0
 Number of qps   : 4\t\tTransport type : IB
 Connection type : RC\t\tUsing SRQ      : OFF
 Mtu             : 4096[B]
 Link type       : Ethernet
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      7467740          0.00               391.51             0.746739
---------------------------------------------------------------------------------------
"""


class ModuleNodes:
    """Nodes that are folders of this machine: the module of the role runs as Ansible runs it."""

    def __init__(self, folder: Path, names: Iterable[str]) -> None:
        self.roots = {name: folder / name for name in names}
        self.tools = folder / "tools"
        self.tools.mkdir(parents=True)
        (folder / "recorded").write_text(RECORDED)
        self.environment = {"PATH": f"{self.tools}:/usr/bin:/bin", "RECORDED": str(folder / "recorded")}
        for root in self.roots.values():
            (root / "sys/class/net/rail0/device").mkdir(parents=True)
        self.install("ib_write_bw", IB_WRITE_BW)
        self.install("ethtool", '#!/bin/sh\necho "NIC statistics:"\necho "     tx_bytes_phy: 12"\n')

    def install(self, name: str, text: str) -> None:
        (self.tools / name).write_text(text)
        (self.tools / name).chmod(0o755)

    def ask(self, part: str, requests: Mapping[str, Mapping[str, Any]]) -> dict[str, NodeAnswer]:
        return {node: self.answer(part, node, request) for node, request in requests.items()}

    def answer(self, part: str, node: str, request: Mapping[str, Any]) -> NodeAnswer:
        bundle = base64.b64encode(json.dumps(request).encode()).decode()
        given = {"part": part, "bundle": bundle, "root": str(self.roots[node])}
        text = MODULE.read_text(encoding="utf-8")
        assert text.count(PLACE) == 1
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-"],
            input=text.replace(PLACE, json.dumps(given)),
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        answer = json.loads(done.stdout)
        if answer.get("failed"):
            return NodeAnswer(error=answer["msg"])
        return NodeAnswer(json.loads(zlib.decompress(base64.b64decode(answer["facts"]["packed"]))))

    def processes(self) -> list[str]:
        """Return what runs of tests on the nodes, and their supervisors."""
        marks = [f"RAILWEAVE_ACCEPTANCE={root}".encode() for root in self.roots.values()]
        running = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                environment = (path / "environ").read_bytes()
                words = (path / "cmdline").read_bytes()
            except OSError:
                continue
            if any(mark in environment for mark in marks):
                running.append(words.decode())
        for root in self.roots.values():
            file = root / "var/lib/railweave-acceptance/supervisor.json"
            if file.exists():
                running += [f"supervisor {pid}" for pid, _ in json.loads(file.read_text()) if is_alive(pid)]
        return running


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


class JumpClock:
    """Unix seconds that pass only where somebody waits."""

    def __init__(self) -> None:
        self.time = 1_000_000.0
        # Called with the time at each wait; may raise, as an interrupt does.
        self.waits: Callable[[float], None] = lambda _: None

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += max(0.0, seconds)
        self.waits(self.time)


@dataclass
class MemoryNodes:
    """Nodes in memory, which carry out their work by the driven clock; faults are put in by changing the fields."""

    clock: JumpClock
    names: tuple[str, ...]
    versions: dict[str, str | None] = field(default_factory=lambda: {"ib_write_bw": "ib_write_bw Version: 6.20"})
    # By node: its clock, the round from which on it is dead, and why tests on it fail.
    offsets: dict[str, float] = field(default_factory=dict)
    dies_at: dict[str, str] = field(default_factory=dict)
    fails: dict[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    # By node how many of its blocks end without their last counters.
    uncounted: dict[str, int] = field(default_factory=dict)
    # Nodes that cannot be reached, by part; each answer that is lost is taken off the list.
    lost: dict[str, list[str]] = field(default_factory=dict)
    output: str = RECORDED
    # What each node does, and what it has stored, by block.
    works: dict[str, dict[str, Any]] = field(default_factory=dict)
    stopped: set[tuple[str, str]] = field(default_factory=set)
    asked: list[tuple[str, int]] = field(default_factory=list)
    ran: list[tuple[str, str]] = field(default_factory=list)
    ends: dict[tuple[str, str], float] = field(default_factory=dict)

    def ask(self, part: str, requests: Mapping[str, Mapping[str, Any]]) -> dict[str, NodeAnswer]:
        self.asked.append((part, len(requests)))
        self.clock.sleep(1.0)
        return {node: self._answer(part, node, request) for node, request in requests.items()}

    def _answer(self, part: str, node: str, request: Mapping[str, Any]) -> NodeAnswer:
        if node in self.lost.get(part, ()):
            self.lost[part].remove(node)
            return NodeAnswer(error="no route to host")
        if part in ("prepare", "stop"):
            for block in self.works.get(node, {}):
                self.ends.setdefault((node, block), self.clock.time)
        works = self.works.setdefault(node, {})
        for block in list(works):
            if block in request["has"] or block not in request["blocks"]:
                del works[block]
        if part == "start":
            works[request["work"]["block"]] = request["work"]
        blocks = {block: self._lines(node, work) for block, work in self.works.get(node, {}).items()}
        document = {"blocks": blocks, "runs": False, "boot": "2" if node in self.dies_at else "1"}
        if part == "prepare":
            document |= {"versions": self.versions, "launchers": [], "reading_s": 0.1, "facts": {}, "nics": {}}
            document |= {"iommu": "", "boot": "1"}
        return NodeAnswer(document, "", self.offsets.get(node, 0.0))

    def _lines(self, node: str, work: dict[str, Any]) -> list[dict[str, Any]]:
        lines: list[dict[str, Any]] = []
        until = min(self.clock.time, self.ends.get((node, work["block"]), self.clock.time))
        for number, planned in enumerate(work["rounds"]):
            if planned["read"] > until:
                return lines
            lines.append({"reading": number, "at": planned["read"], "boot": "b", "nics": {"rail0": {"tx_bytes": 1}}})
            if planned["end"] > until or self.dies_at.get(node) == planned["round"]:
                return lines
            if node in self.problems:
                return [*lines, {"problem": self.problems[node], "round": planned["round"]}]
            lines += [self._test(node, planned, test) for test in planned["tests"]]
        if int(work["block"][1:]) <= self.uncounted.get(node, 0):
            return lines
        end = work["rounds"][-1]["end"]
        return [*lines, {"reading": len(work["rounds"]), "at": end, "boot": "b", "nics": {}}, {"ended": end}]

    def _test(self, node: str, planned: dict[str, Any], test: dict[str, Any]) -> dict[str, Any]:
        self.ran.append((node, test["test"]))
        meta = {"started": planned["send"], "ended": planned["end"], "rc": 0, "argv": test["words"], "plan_sha256": ""}
        why = self.fails.get(node, "")
        return {
            "test": test["test"],
            "round": planned["round"],
            "why": why,
            "meta": meta,
            "out": self.output,
            "err": "",
        }


@dataclass
class MemorySwitches:
    """Switches in memory; ``slow`` ones take that many seconds to answer."""

    clock: JumpClock
    slow: dict[str, float] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    reads: int = 0

    def read(self, names: Iterable[str]) -> dict[str, SwitchReading]:
        self.reads += 1
        started = self.clock.now()
        readings = {}
        for name in names:
            took = self.slow.get(name, 0.05)
            counters = {"at": started, "boot": "1", "ports": {"Ethernet0": {"SAI_PORT_STAT_IF_OUT_OCTETS": self.reads}}}
            readings[name] = SwitchReading(counters, self.errors.get(name, ""), started + took)
        self.clock.sleep(max((self.slow.get(name, 0.05) for name in readings), default=0.0))
        return readings
