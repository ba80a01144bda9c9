"""An acceptance plan carried out on simulated flows: tools are called as nodes call them, counters read at each round.

``python tests/support/flow_acceptance.py FABRIC LEVEL SEED [NODE-OR-SWITCH KIND NAME=VALUE…]`` prints the verdict.
"""

import asyncio
import hashlib
import json
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from acceptance_trials import judged, plan_text
from flow_fabrics import FlowRig

from railweave.acceptance.document import PLAN_FILE
from railweave.acceptance.judge.verdict import AcceptanceVerdict
from railweave.acceptance.model import Level
from sonic_sim.clock import Clock
from sonic_sim.databases import COUNTERS, rows_of_database
from sonic_sim.faults import Faults
from sonic_sim.flows.constants import Constants
from sonic_sim.flows.tools import Tools
from sonic_sim.flows.tools.starter import Starter

_NAMES = {"ports": "COUNTERS_PORT_NAME_MAP", "queues": "COUNTERS_QUEUE_NAME_MAP", "groups": "COUNTERS_PG_NAME_MAP"}

_NUMBERS = {"ports": ("",), "queues": ("0", "3", "6"), "groups": ("3",)}


@dataclass
class Request:
    """A tool of a node."""

    node: str
    argv: list[str]
    environment: dict[str, str]


class Acceptance:
    """A rig, and the folder of a plan that is carried out on it."""

    def __init__(self, fabric: str, level: Level, folder: Path, constants: Constants) -> None:
        self.rig = FlowRig(fabric, constants, Clock(0.0))
        self.model = self.rig.model
        self.folder = folder
        text = plan_text(fabric, level)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / PLAN_FILE).write_bytes(text)
        self.sha256 = hashlib.sha256(text).hexdigest()
        self.plan: dict[str, Any] = json.loads(text)
        self.ends = {(end["device"], end["port"]) for link in self.plan["links"] for end in (link["a"], link["b"])}
        self.starter = Starter(self.model, grace_s=0.0, quiet_s=0.05)
        self.tools = Tools(self.model, self.starter)
        for device in self.rig.net.devices.values():
            device.db.put("FLEX_COUNTER_TABLE|WRED_ECN_QUEUE", {"FLEX_COUNTER_STATUS": "enable"})

    def fault(self, name: str, kind: str, **details: Any) -> None:
        """Arm a fault at a switch or node."""
        if name in self.rig.net.devices:
            self.rig.net.devices[name].faults.add(kind, **details)
        else:
            self.rig.net.host_faults.setdefault(name, Faults()).add(kind, **details)

    async def run(self) -> None:
        """Carry out all rounds."""
        tests: dict[str, list[dict[str, Any]]] = {}
        for test in self.plan["tests"]:
            tests.setdefault(test["round"], []).append(test)
        for planned in self.plan["rounds"]:
            self.read_counters(planned["id"], "before")
            await asyncio.gather(*map(self.carry_out, tests[planned["id"]]))
            self.read_counters(planned["id"], "after")

    async def carry_out(self, test: dict[str, Any]) -> None:
        """Start the server of a test, then its client."""
        client = test["from"]["node"]
        commands = sorted(test["argv"].items(), key=lambda entry: entry[0] == client)
        await asyncio.gather(*(self.tool(test["id"], node, argv) for node, argv in commands))

    async def tool(self, test: str, node: str, argv: list[str]) -> None:
        """Run a tool and keep what it prints."""
        printed: list[str] = []

        def keep(_stream: str, text: str) -> None:
            printed.append(text)

        status = await self.tools.answer_tool(Request(node, argv, {}), keep)
        path = self.folder / "results" / test / f"{node}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(printed))
        meta = {"started": 0.0, "ended": 0.0, "rc": status, "argv": argv, "tool_version": "", "host": node}
        meta["plan_sha256"] = self.sha256
        (path.parent / f"{node}.meta.json").write_text(json.dumps(meta))

    def read_counters(self, name: str, when: str) -> None:
        """Write the counters of all devices."""
        folder = self.folder / "counters" / name / when
        folder.mkdir(parents=True, exist_ok=True)
        for device in self.rig.net.devices.values():
            rows: dict[str, dict[str, str]] = {}
            for pattern in ("COUNTERS*", "PERSISTENT_WATERMARKS*"):
                rows |= rows_of_database(device, COUNTERS, pattern)
            document: dict[str, Any] = {"version": 1, "device": device.name, "at": time.time(), "boot": "1"}
            for table, names in _NAMES.items():
                document[table] = {}
                for port, key in rows[names].items():
                    name, _, number = port.partition(":")
                    if (device.name, name) not in self.ends or number not in _NUMBERS[table]:
                        continue
                    fields = dict(rows.get(f"COUNTERS:{key}", {}), **rows.get(f"PERSISTENT_WATERMARKS:{key}", {}))
                    values = {field: int(value) for field, value in fields.items() if value.isdecimal()}
                    document[table][port.replace(":", "|")] = values
            (folder / f"{device.name}.json").write_bytes(orjson.dumps(document))
        for node, nics in self.rig.nics.items():
            self.model.publish(node)
            ports = {nic.name: nic.counters for nic in nics}
            document = {"version": 1, "device": node, "at": time.time(), "boot": "1", "nics": ports}
            (folder / f"{node}.json").write_bytes(orjson.dumps(document))

    def judge(self) -> AcceptanceVerdict:
        """Return the verdict of what is in the folder."""
        return judged(self.folder)


def accept(
    fabric: str, level: Level, constants: Constants, *faults: tuple[str, str, dict[str, Any]]
) -> AcceptanceVerdict:
    """Carry out a plan with faults and return its verdict."""
    folder = Path(tempfile.mkdtemp(prefix="flow-acceptance-"))
    try:
        acceptance = Acceptance(fabric, level, folder, constants)
        for name, kind, details in faults:
            acceptance.fault(name, kind, **details)
        asyncio.run(acceptance.run())
        return acceptance.judge()
    finally:
        shutil.rmtree(folder)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def main() -> None:
    """Print the verdict of each trial: a line of standard input, or of one, is ``FABRIC LEVEL SEED [NAME KIND …]``."""
    lines = [sys.argv[1:]] if len(sys.argv) > 1 else [line.split() for line in sys.stdin if line.strip()]
    for fabric, level, seed, *fault in lines:
        faults = []
        if fault:
            details = dict(word.split("=", 1) for word in fault[2:])
            faults.append((fault[0], fault[1], {name: _value(value) for name, value in details.items()}))
        began = time.process_time()
        verdict = accept(fabric, Level(level), Constants(seed=float(seed), speedup=1000), *faults)
        print(
            fabric, level, seed, *fault, "->", verdict.verdict, f"{time.process_time() - began:.1f} s CPU", flush=True
        )
        for finding in verdict.findings:
            elements = [f"{element.kind} {element.name}" for element in finding.elements]
            print("  ", finding.code, finding.severity, finding.message, elements, flush=True)
        for remark in verdict.diagnostics:
            print("   remark:", remark.code, remark.message, flush=True)


if __name__ == "__main__":
    main()
